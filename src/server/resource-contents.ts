// What a resource's `read` returned, as contents. @see server/resources, Resource Contents

import { isObject, type JsonObject } from '../protocol/json-rpc.ts'

/**
 * The `contents` of a read, or undefined when there is no such resource.
 * @throws {TypeError} for a value that is no contents
 */
export function toContents(uri: string, mimeType: string | undefined, value: unknown): JsonObject | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return { contents: [{ uri, mimeType: mimeType ?? 'text/plain', text: value }] }
  if (value instanceof Uint8Array) {
    return { contents: [{ uri, mimeType: mimeType ?? 'application/octet-stream', blob: toBase64(value) }] }
  }
  if (Array.isArray(value)) return value.length === 0 ? undefined : { contents: checked(value) }
  if (isObject(value) && Array.isArray(value['contents'])) return { ...value, contents: checked(value['contents']) }
  return { contents: checked([value]) }
}

function checked(contents: readonly unknown[]): readonly unknown[] {
  if (contents.every(isContents)) return contents
  throw new TypeError('the resource returned neither text, nor bytes, nor contents with "uri" and "text" or "blob"')
}

function isContents(value: unknown): boolean {
  if (!isObject(value) || typeof value['uri'] !== 'string') return false
  return typeof value['text'] === 'string' || typeof value['blob'] === 'string'
}

const CHUNK = 0x8000

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += CHUNK) binary += String.fromCharCode(...bytes.subarray(i, i + CHUNK))
  return btoa(binary)
}
