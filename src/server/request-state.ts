// `requestState`: a call's memory, sealed so that only this server reads it and only for the same call of the same caller.
// A compact JWE (dir, A256GCM). Anything altered, foreign or stale is refused before the handler runs.
// @see basic/patterns/mrtr, Server Requirements

import { base64url, CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import { limits } from '../limits.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import type { KeySource, SealingKeys } from './ports.ts'

/** What a state belongs to. */
export interface StateBinding {
  principal: string
  method: string
  /** Digest over the name or URI and the arguments. */
  digest: string
}

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

/**
 * Seals the memory of a call.
 * @throws {Error} when it grew over `limits.requestStateBytes`, naming what takes the room
 */
export async function sealState(
  sealer: Sealer,
  env: Cloudflare.Env,
  binding: StateBinding,
  memory: JsonObject,
  expiresAt: number,
): Promise<string> {
  const token = await sealer.seal(env, { p: binding.principal, m: binding.method, d: binding.digest, x: expiresAt, memory })
  if (token.length <= limits.requestStateBytes) return token
  throw new Error(`the call remembers more than ${limits.requestStateBytes} bytes: ${largestStep(memory)}`)
}

function largestStep({ s: steps }: JsonObject): string {
  if (!isObject(steps)) return 'its answers are too large'
  const sizes = Object.entries(steps).map(([key, value]) => ({ key, bytes: JSON.stringify(value).length }))
  const { key, bytes } = sizes.reduce((a, b) => (b.bytes > a.bytes ? b : a))
  return `step '${key}' holds ${bytes} of them`
}

/**
 * The memory a state carries.
 * @throws {ProtocolError} InvalidParams when it is altered, expired, or from another call or caller
 */
export async function openState(
  sealer: Sealer,
  env: Cloudflare.Env,
  binding: StateBinding,
  token: string,
  now: number,
): Promise<JsonObject> {
  const state = await sealer.open(env, token)
  const fits =
    state !== undefined &&
    state['p'] === binding.principal &&
    state['m'] === binding.method &&
    state['d'] === binding.digest &&
    typeof state['x'] === 'number' &&
    now < state['x'] &&
    isObject(state['memory'])
  if (!fits) throw new ProtocolError('InvalidParams', 'Invalid params: requestState is not valid for this request')
  return state['memory'] as JsonObject
}
