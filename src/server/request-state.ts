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
 * @throws {Error} when it grew over `limits.requestStateBytes`, naming what takes the room. An answer that does is the
 * client's fault: a {ProtocolError} InvalidParams
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
  const [step, answer] = [largest(memory['s']), largest(memory['a'])]
  if (answer.bytes > step.bytes) {
    throw new ProtocolError(
      'InvalidParams',
      `Invalid params: the answer to "${answer.key}" is too large to be remembered`,
    )
  }
  const most = `step '${step.key}' holds ${step.bytes} of them`
  throw new Error(`the call remembers more than ${limits.requestStateBytes} bytes: ${most}`)
}

function largest(entries: unknown): { key: string; bytes: number } {
  const sizes = Object.entries(isObject(entries) ? entries : {}).map(([key, value]) => {
    return { key, bytes: JSON.stringify(value).length }
  })
  return sizes.reduce((a, b) => (b.bytes > a.bytes ? b : a), { key: '', bytes: 0 })
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
