// How often a caller may ask for what costs something: the platform's rate limits, and the quota of tool calls where there
// is one. It must not know how a request is answered. @see server/tools, Security Considerations; server/utilities/completion, Security

import type { Config } from '../config.ts'
import { failure, report } from '../observability/sink.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { JsonRpcRequest } from '../protocol/json-rpc.ts'
import { digestOf } from '../server/canonical.ts'
import type { Server } from '../server/define-server.ts'
import type { Auth } from '../server/ports.ts'
import type { QuotaPort } from '../server/quota-port.ts'
import { findTool } from '../server/run.ts'
import { hostOf, ownerOf } from './caller.ts'

/** What of a request is looked at. */
export interface LimitedArrival {
  request: Request
  env: Cloudflare.Env
  auth: Auth
  config: Pick<Config, 'publicUrl' | 'rateLimit' | 'quota' | 'log'>
}

/**
 * What counts: a MUST for `tools/call` and `completion/complete`, and beside them whatever runs an author's code, seals
 * something, calls an object or writes a row. What is answered from memory does not: other lists, `server/discover`, `ping` and
 * what does not exist. Nor do notifications and answers, which a call may be waiting for.
 */
const COUNTED: ReadonlySet<string> = new Set([
  'tools/call',
  'completion/complete',
  'prompts/get',
  // Templates may compute entries of it.
  'resources/list',
  'resources/read',
  // Seals a session id.
  'initialize',
  // Write rows of a session.
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  // Holds a socket of an object, for each shard it names things of.
  'subscriptions/listen',
  // Call the objects of tasks.
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'tasks/result',
  'tasks/list',
])

/** The binding of everything that names no other. */
const CALLS = 'CALLS'
/** The longest period a rate limit can have. Which one a binding has cannot be read. */
const PERIOD_SECONDS = 60
/** Owners longer than this are hashed: principals hold what an issuer likes to call its users. */
const OWNER_CHARS = 100
const REPORT_MS = 60_000

/** The limits of one server's callers. */
export class CallLimits {
  readonly #server: Server
  readonly #quotas: QuotaPort
  #isMissed = false
  #failedAt = -Infinity

  constructor(server: Server, quotas: QuotaPort) {
    this.#server = server
    this.#quotas = quotas
  }

  /**
   * Counts the requests of one POST; one that is over refuses them all. Undefined where none counts.
   * @throws {ProtocolError} TooManyRequests or Unavailable
   */
  requests(arrival: LimitedArrival, messages: readonly JsonRpcRequest[]): Promise<unknown> | undefined {
    if (!arrival.config.rateLimit) return undefined
    const counted = messages.filter(({ method }) => COUNTED.has(method))
    return counted.length === 0 ? undefined : Promise.all(counted.map((message) => this.#limit(arrival, message)))
  }

  /**
   * Takes the tool calls of one POST from the caller's quota, all or none: the last thing before they are made. Undefined
   * where there is nothing to take. @throws {ProtocolError} TooManyRequests or Unavailable
   */
  quota(
    { env, auth, request, config: { quota } }: LimitedArrival,
    messages: readonly JsonRpcRequest[],
  ): Promise<void> | undefined {
    const calls = quota ? messages.filter(({ method }) => method === 'tools/call').length : 0
    if (!quota || calls === 0) return undefined
    return this.#quotas.take(env, ownerOf({ auth, headers: request.headers }), quota, calls)
  }

  /**
   * Counts a GET or DELETE of a session. The first holds a connection of its object. The second leaves a row there that says
   * so until the id expires, and ids cost nothing, so who ends sessions in a loop would fill storage.
   * @throws {ProtocolError} TooManyRequests
   */
  async session(arrival: LimitedArrival): Promise<void> {
    if (arrival.config.rateLimit) await this.#limit(arrival)
  }

  async #limit(arrival: LimitedArrival, message?: JsonRpcRequest): Promise<void> {
    const limiter = this.#limiterOf(arrival, message)
    if (!limiter) return
    const owner = ownerOf({ auth: arrival.auth, headers: arrival.request.headers })
    const key = `${hostOf(arrival.request, arrival.config)} ${owner.length > OWNER_CHARS ? await digestOf(owner) : owner}`
    try {
      if ((await limiter.limit({ key })).success) return
    } catch (cause) {
      // A limiter that is down must not take the server down.
      this.#failed(cause, arrival)
      return
    }
    throw new ProtocolError('TooManyRequests', 'Too many requests: try again in a minute', undefined, {
      retryAfterSeconds: PERIOD_SECONDS,
    })
  }

  /** The binding that counts a request. @throws {ProtocolError} Unavailable when its tool names one that there is not */
  #limiterOf({ env, auth, config }: LimitedArrival, message: JsonRpcRequest | undefined): RateLimit | undefined {
    const bindings = env as unknown as { [name: string]: unknown }
    const own = message?.method === 'tools/call' ? this.#rateLimitOf(message.params['name'], auth) : undefined
    if (own !== undefined) {
      const limiter = bindings[own]
      if (isRateLimit(limiter)) return limiter
      const cause = new TypeError(`there is no [[ratelimits]] binding "${own}", which a tool names`)
      const error = new ProtocolError('Unavailable', 'The tool cannot be called now: see the log of the server')
      throw Object.assign(error, { cause })
    }
    const limiter = bindings[CALLS]
    if (isRateLimit(limiter)) return limiter
    if (!this.#isMissed) {
      this.#isMissed = true
      report(
        { event: 'warning', message: `there is no [[ratelimits]] binding "${CALLS}": calls have no limit` },
        config.log,
      )
    }
    return undefined
  }

  /** What a tool names, if it exists for the caller: one that does not counts as any other name does. */
  #rateLimitOf(name: unknown, auth: Auth): string | undefined {
    const rateLimit = this.#server.tools.get(name as string)?.rateLimit
    return rateLimit !== undefined && findTool(this.#server, auth, name) ? rateLimit : undefined
  }

  /** Once a minute, or a log would be as long as the outage. */
  #failed(cause: unknown, { config }: LimitedArrival): void {
    const now = Date.now()
    if (now - this.#failedAt < REPORT_MS) return
    this.#failedAt = now
    report(failure(new Error('a rate limit cannot be read: calls go on without it', { cause }), {}), config.log)
  }
}

/** A service binding has every method one asks for. */
function isRateLimit(binding: unknown): binding is RateLimit {
  const { limit, fetch } = (binding ?? {}) as { limit?: unknown; fetch?: unknown }
  return typeof limit === 'function' && typeof fetch !== 'function'
}
