// A POST to the endpoint: from bytes to the handler of its era. The order of checks is `LADDER` in protocol/era.ts.

import type { Config } from '../config.ts'
import type { Event } from '../observability/events.ts'
import { failure, report } from '../observability/sink.ts'
import { readTrace } from '../observability/trace.ts'
import {
  classifyRequest,
  eraOfHeader,
  isLegacyVersion,
  isModernVersion,
  unsupportedVersion,
  type Classification,
} from '../protocol/era.ts'
import type { Era } from '../protocol/errors.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { parseMessage, type JsonRpcRequest } from '../protocol/json-rpc.ts'
import type { Server } from '../server/define-server.ts'
import type { Auth } from '../server/ports.ts'
import type { Sealer } from '../server/sealer.ts'
import { parseAccept } from './accept.ts'
import { checkBatch } from './batch.ts'
import { readJson } from './body.ts'
import { Exchange, type Execution, type Final } from './exchange.ts'
import type { Incoming } from './incoming.ts'
import { answerLegacy } from './legacy.ts'
import { ModernEndpoint } from './modern.ts'
import { acceptedResponse, errorFinal, errorResponse, toProtocolError } from './respond.ts'

/** One HTTP request and what came with it. */
export interface Arrival {
  request: Request
  env: Cloudflare.Env
  execution: Execution
  config: Config
}

const ANONYMOUS: Auth = { principal: 'anonymous' }

/** The handler of POSTs to one server. */
export class Endpoint {
  readonly #server: Server
  readonly #modern: ModernEndpoint

  constructor(server: Server, sealer: Sealer) {
    this.#server = server
    this.#modern = new ModernEndpoint(server, sealer)
  }

  /** Answers a POST. Never rejects: what cannot be answered is an error response. */
  async post(arrival: Arrival): Promise<Response> {
    const { request } = arrival
    const version = request.headers.get('mcp-protocol-version')
    try {
      const accepted = parseAccept(request.headers.get('accept'))
      const body = await readJson(request)
      const exchange = new Exchange(request, accepted, arrival.execution)
      if (Array.isArray(body)) return await this.#batch(body, version, arrival, exchange)
      return await this.#single(body, version, arrival, exchange)
    } catch (error) {
      const requestId = crypto.randomUUID()
      if (!(error instanceof ProtocolError)) report(failure(error, { requestId }), arrival.config.log)
      return errorResponse(toProtocolError(error, requestId), eraOfHeader(version))
    }
  }

  #single(body: unknown, version: string | null, arrival: Arrival, exchange: Exchange): Promise<Response> {
    const message = parseMessage(body)
    switch (message.kind) {
      case 'invalid': {
        const error = new ProtocolError('InvalidRequest', `Invalid request: ${message.reason}`)
        return Promise.resolve(errorResponse(error, eraOfHeader(version), message.id))
      }
      case 'notification':
        return Promise.resolve(takeNotification(version))
      case 'answer':
        return Promise.resolve(takeAnswer(version))
      case 'request': {
        const log = new RequestLog(arrival, message, exchange)
        return exchange.answer(() => this.#answer(message, version, arrival, exchange, log))
      }
    }
  }

  async #batch(
    body: readonly unknown[],
    version: string | null,
    arrival: Arrival,
    exchange: Exchange,
  ): Promise<Response> {
    const requests = checkBatch(body, version)
    if (requests.length === 0) return acceptedResponse()
    return exchange.answer(async () => {
      const answers = requests.map(async (request) => {
        const log = new RequestLog(arrival, request, exchange)
        return (await this.#answer(request, '2025-03-26', arrival, exchange, log)).message as string
      })
      return { message: await Promise.all(answers), status: 200 }
    })
  }

  /** Answers one request. Never rejects. */
  async #answer(
    request: JsonRpcRequest,
    version: string | null,
    arrival: Arrival,
    exchange: Exchange,
    log: RequestLog,
  ): Promise<Final> {
    let era: Era = eraOfHeader(version)
    try {
      const classified = classifyRequest(request, version)
      era = classified.era
      log.classified(classified)
      const incoming = incomingOf(request, arrival, exchange, log)
      const final =
        classified.era === 'modern'
          ? await this.#modern.answer(request, classified.version, incoming)
          : await answerLegacy(this.#server, request, classified, incoming)
      log.answered(final.status)
      return final
    } catch (thrown) {
      if (!(thrown instanceof ProtocolError) || thrown.kind === 'Unavailable') log.failed(thrown)
      const error = toProtocolError(thrown, log.requestId)
      log.answered(error.status(era), error.code)
      return errorFinal(error, era, request.id)
    }
  }
}

/** Whatever it says and whatever its `_meta`; only a version nobody knows is refused, as both eras ask. */
function takeNotification(version: string | null): Response {
  if (version === null || isModernVersion(version) || isLegacyVersion(version)) return acceptedResponse()
  return errorResponse(unsupportedVersion(version), 'modern')
}

function takeAnswer(version: string | null): Response {
  if (eraOfHeader(version) === 'legacy') return acceptedResponse()
  const error = new ProtocolError('InvalidRequest', 'Invalid request: modern clients send no responses')
  return errorResponse(error, 'modern')
}

function incomingOf(request: JsonRpcRequest, arrival: Arrival, exchange: Exchange, log: RequestLog): Incoming {
  const { headers } = arrival.request
  const trace = readTrace(request.params, headers)
  log.traceId = trace?.traceId
  return {
    headers,
    env: arrival.env,
    auth: ANONYMOUS,
    requestId: log.requestId,
    ...(trace && { trace }),
    port: {
      emit: exchange.emit,
      signal: exchange.signal,
      waitUntil: exchange.waitUntil,
      report: (error) => log.failed(error),
    },
    note: ({ client }) => void (log.client = client && `${client.name} ${client.version}`),
  }
}

/** The log line of one request. */
class RequestLog {
  readonly requestId = crypto.randomUUID()
  traceId: string | undefined
  client: string | undefined
  readonly #arrival: Arrival
  readonly #request: JsonRpcRequest
  readonly #exchange: Exchange
  readonly #startedAt = Date.now()
  #classified: Classification | undefined

  constructor(arrival: Arrival, request: JsonRpcRequest, exchange: Exchange) {
    this.#arrival = arrival
    this.#request = request
    this.#exchange = exchange
  }

  classified(classified: Classification): void {
    this.#classified = classified
  }

  answered(status: number, code?: number): void {
    if (this.#arrival.config.log !== 'requests') return
    const line: Event = {
      event: 'request',
      requestId: this.requestId,
      ...this.#about(),
      ...(this.#classified && { era: this.#classified.era, version: this.#classified.version }),
      // What failed after bytes were sent failed inside a 200.
      status: this.#exchange.isStream ? 200 : status,
      ...(code !== undefined && { code }),
      ...(this.#exchange.isStream && { stream: true as const }),
      ms: Date.now() - this.#startedAt,
      ...(this.client !== undefined && { client: clip(this.client) }),
      principal: ANONYMOUS.principal,
    }
    report(line, this.#arrival.config.log)
  }

  /** Logs a failure, unless it only says that the caller left. */
  failed(error: unknown): void {
    if (this.#exchange.isCancelled) return
    report(failure(error, { requestId: this.requestId, ...this.#about() }), this.#arrival.config.log)
  }

  #about(): { method: string; name?: string; traceId?: string } {
    const { method, params } = this.#request
    const { name } = params
    return {
      method: clip(method),
      ...(typeof name === 'string' && { name: clip(name) }),
      ...(this.traceId !== undefined && { traceId: this.traceId }),
    }
  }
}

function clip(text: string): string {
  return text.slice(0, 128)
}
