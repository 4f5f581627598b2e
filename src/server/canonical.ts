// One text for one JSON value, whatever the order of its keys, and its digest.

import { isObject } from '../protocol/json-rpc.ts'

/** The JSON of a value with object keys sorted. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
  return `{${members.join(',')}}`
}

/** SHA-256 of the canonical JSON, base64url. */
export async function digestOf(value: unknown): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalJson(value))))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** A short hash that tells changed from unchanged. Not for anything an attacker chooses. */
export function fingerprint(value: unknown): string {
  let hash = 0x811c9dc5
  for (const char of canonicalJson(value)) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193)
  return (hash >>> 0).toString(36)
}
