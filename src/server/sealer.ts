// Sealing: what a client carries for this server, so that nothing has to be stored. A compact JWE (dir, A256GCM).

import { base64url, CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import { limits } from '../limits.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import type { KeySource, SealingKeys } from './ports.ts'

/** Seals and opens values with the keys in force. */
export interface Sealer {
  /** @throws {ProtocolError} Unavailable when the key store is down */
  seal(env: Cloudflare.Env, value: JsonObject): Promise<string>
  /** The value, or undefined for anything this server did not seal. @throws {ProtocolError} Unavailable */
  open(env: Cloudflare.Env, token: string): Promise<JsonObject | undefined>
}

/** A sealer that asks `source` for keys once, and again when they are due for rotation. */
export function createSealer(source: KeySource): Sealer {
  let held: { keys: SealingKeys; imported: Map<string, Uint8Array> } | undefined
  const load = async (env: Cloudflare.Env): Promise<NonNullable<typeof held>> => {
    if (held && Date.now() < held.keys.refreshAt) return held
    const keys = await source(env).catch((cause: unknown) => {
      throw Object.assign(new ProtocolError('Unavailable', 'Sealing keys are unavailable: try again'), { cause })
    })
    held = { keys, imported: new Map(keys.keys.map(({ kid, secret }) => [kid, base64url.decode(secret)])) }
    return held
  }
  return {
    async seal(env, value) {
      const { keys, imported } = await load(env)
      const { kid } = keys.keys[0]!
      return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(value)))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
        .encrypt(imported.get(kid)!)
    },
    async open(env, token) {
      const kid = kidOf(token)
      if (kid === undefined) return undefined
      const key = (await load(env)).imported.get(kid)
      return key && decrypt(token, key)
    },
  }
}

function kidOf(token: string): string | undefined {
  if (token.length > limits.requestStateBytes) return undefined
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    // Not a JWE at all.
    return undefined
  }
}

async function decrypt(token: string, key: Uint8Array): Promise<JsonObject | undefined> {
  try {
    const { plaintext } = await compactDecrypt(token, key, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    })
    const value: unknown = JSON.parse(new TextDecoder().decode(plaintext))
    return isObject(value) ? value : undefined
  } catch {
    // Altered, truncated or sealed by another key that took the same name.
    return undefined
  }
}
