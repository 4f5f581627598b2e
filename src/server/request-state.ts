// `requestState`: a call's memory, sealed so that only this server reads it and only for the same call of the same caller.
// Anything altered, foreign or stale is refused before the handler runs.
// @see basic/patterns/mrtr, Server Requirements

import { limits } from '../limits.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import type { Sealer } from './sealer.ts'

/** What a state belongs to. */
export interface StateBinding {
  principal: string
  method: string
  /** Digest over the name or URI and the arguments. */
  digest: string
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
  const token = await sealer.seal(env, {
    p: binding.principal,
    m: binding.method,
    d: binding.digest,
    x: expiresAt,
    memory,
  })
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
