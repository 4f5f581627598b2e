// The quota, from the Worker's side: one object a caller, called over fetch since itty-durable takes no RPC.

import { ProtocolError } from '../src/protocol/errors.ts'
import { digestOf } from '../src/server/canonical.ts'
import type { QuotaPort } from '../src/server/quota-port.ts'
import { callObject, reach } from './objects.ts'
import { TAKE, type Taken } from './quota.ts'

/** Counts with `QuotaObject`. */
export function quotaPort(): QuotaPort {
  return {
    async take(env, key, { calls, windowMs }, count) {
      const name = await digestOf(key)
      const taken = await reach('quota', () => take(env, name, [count, calls, windowMs]))
      if (!taken.isOver) return
      const retryAfterSeconds = Math.max(1, Math.ceil((taken.resetsAt - Date.now()) / 1000))
      throw new ProtocolError(
        'TooManyRequests',
        `Too many requests: the quota has ${taken.left} of ${calls} tool calls left until ${new Date(taken.resetsAt).toISOString()}`,
        undefined,
        { retryAfterSeconds },
      )
    },
  }
}

/**
 * itty-durable's own stub is not used: it throws errors without the platform's flags, and asks the object for a method
 * `then` when it is awaited.
 */
function take({ QUOTA_OBJECT }: Cloudflare.Env, name: string, parameters: readonly number[]): Promise<Taken> {
  const headers = { [TAKE.argumentsHeader]: JSON.stringify(parameters) }
  return callObject(
    () => QUOTA_OBJECT.getByName(name),
    async (object) => {
      const response = await object.fetch(TAKE.url, { headers })
      const answer = await response.json<Taken | { error: string }>()
      // itty-durable answers with an error where it might throw.
      if ('error' in answer) throw new Error(`the quota's object failed: ${answer.error}`)
      return answer
    },
    // Not quite, but to count a call twice when an object restarts is better than to refuse it.
    true,
  )
}
