// The log line of one JSON-RPC request, and the failures on its way.

import type { Config } from '../config.ts'
import type { Event } from '../observability/events.ts'
import { failure, report } from '../observability/sink.ts'
import { clip } from '../protocol/clip.ts'
import type { Classification } from '../protocol/era.ts'
import type { JsonRpcRequest } from '../protocol/json-rpc.ts'
import type { Implementation } from '../protocol/meta.ts'
import type { Auth, Trace } from '../server/ports.ts'

export class RequestLog {
  readonly requestId = crypto.randomUUID()
  classified: Classification | undefined
  client: Implementation | undefined
  trace: Trace | undefined
  /** True once the answer is a stream. */
  isStream = false
  readonly #request: JsonRpcRequest
  readonly #auth: Auth
  readonly #log: Config['log']
  readonly #startedAt = Date.now()

  constructor(request: JsonRpcRequest, auth: Auth, log: Config['log']) {
    this.#request = request
    this.#auth = auth
    this.#log = log
  }

  /** The request was answered. Nothing of its arguments or its answer is logged. */
  answered(status: number, code?: number): void {
    if (this.#log !== 'requests') return
    const line: Event = {
      event: 'request',
      requestId: this.requestId,
      ...this.#about(),
      ...(this.classified && { era: this.classified.era, version: this.classified.version }),
      // What failed after bytes were sent failed inside a 200.
      status: this.isStream ? 200 : status,
      ...(code !== undefined && { code }),
      ...(this.isStream && { stream: true as const }),
      ms: Date.now() - this.#startedAt,
      ...(this.client && { client: clip(`${this.client.name} ${this.client.version}`) }),
      principal: this.#auth.principal,
    }
    report(line, this.#log)
  }

  /** Something failed whose text the caller does not see. */
  failed(error: unknown): void {
    report(failure(error, { requestId: this.requestId, ...this.#about() }), this.#log)
  }

  #about(): { method: string; name?: string; traceId?: string } {
    const { method, params } = this.#request
    const { name } = params
    return {
      method: clip(method),
      ...(typeof name === 'string' && { name: clip(name) }),
      ...(this.trace && { traceId: this.trace.traceId }),
    }
  }
}
