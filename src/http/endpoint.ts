// The MCP endpoint: from bytes to the handler of the request's era. The order of checks is `LADDER` in protocol/era.ts.

import type { Config } from '../config.ts'
import { failure, report } from '../observability/sink.ts'
import { readTrace } from '../observability/trace.ts'
import { checkHeader, classifyRequest, eraOfHeader, type Classification } from '../protocol/era.ts'
import { ProtocolError, type Era } from '../protocol/errors.ts'
import {
  parseMessage,
  type JsonRpcAnswer,
  type JsonRpcNotification,
  type JsonRpcRequest,
} from '../protocol/json-rpc.ts'
import { resultMessage } from '../protocol/messages.ts'
import type { TaskForm } from '../protocol/task.ts'
import type { Server } from '../server/define-server.ts'
import { isAnonymous, type Auth, type CallPort } from '../server/ports.ts'
import { Publisher } from '../server/publisher.ts'
import type { ListenPort } from '../server/listen-port.ts'
import type { QuotaPort } from '../server/quota-port.ts'
import type { Sealer } from '../server/sealer.ts'
import type { TaskPort } from '../server/task-port.ts'
import { parseAccept, type Accepted } from './accept.ts'
import { checkBatch } from './batch.ts'
import { readJson } from './body.ts'
import { Exchange, type Execution, type Final } from './exchange.ts'
import { SSE_HEADERS } from './headers.ts'
import { Listens } from './listen.ts'
import { answerLegacy, checkMethod, handshakeResult, NO_SESSION, parseHandshake } from './legacy.ts'
import { LISTEN, ModernEndpoint, type Admitted } from './modern.ts'
import { CallLimits } from './rate-limit.ts'
import { RequestLog } from './request-log.ts'
import { acceptedResponse, errorFinal, errorResponse, toProtocolError } from './respond.ts'
import { ScopeCheck } from './scope-check.ts'
import { Sessions, type SessionArrival, type SessionPort } from './session.ts'

/** One HTTP request and what came with it. */
export interface Arrival {
  request: Request
  env: Cloudflare.Env
  execution: Execution
  config: Config
  auth: Auth
}

/** A request on its way to its answer. */
interface Incoming {
  message: JsonRpcRequest
  classified: Classification
  arrival: Arrival
  accepted: Accepted
  log: RequestLog
  /** Set on modern requests. */
  admitted?: Admitted
  /** Set once it has said that something changed. */
  publisher?: Publisher
}

/** Where an endpoint keeps what outlives a request. */
export interface Ports {
  sessions: SessionPort
  tasks: TaskPort
  hubs: ListenPort
  quotas: QuotaPort
}

/** The handler of one server's endpoint. */
export class Endpoint {
  readonly #server: Server
  readonly #modern: ModernEndpoint
  readonly #sessions: Sessions
  readonly #tasks: TaskPort
  readonly #hubs: ListenPort
  readonly #listens: Listens
  readonly #scopes: ScopeCheck
  readonly #limits: CallLimits

  constructor(server: Server, sealer: Sealer, { sessions, tasks, hubs, quotas }: Ports) {
    this.#server = server
    this.#tasks = tasks
    this.#hubs = hubs
    this.#listens = new Listens(server, sealer, hubs, tasks)
    this.#modern = new ModernEndpoint(server, sealer, tasks)
    this.#sessions = new Sessions(sessions, sealer)
    this.#scopes = new ScopeCheck(server, tasks)
    this.#limits = new CallLimits(server, quotas)
  }

  /** Answers a POST. Never rejects: what cannot be answered is an error response. */
  post(arrival: Arrival): Promise<Response> {
    return guarded(arrival, async () => {
      const accepted = parseAccept(arrival.request.headers.get('accept'))
      const body = await readJson(arrival.request)
      return Array.isArray(body) ? this.#batch(body, arrival, accepted) : this.#single(body, arrival, accepted)
    })
  }

  /** Answers a GET: a stream of a session, where there is one. */
  get(arrival: Arrival): Promise<Response> {
    return guarded(arrival, async () => {
      const { headers, method } = arrival.request
      // Hono answers HEAD as a GET without its body, and a stream nobody reads would take the place of a real one.
      if (method === 'HEAD') throw notAllowed()
      if (!parseAccept(headers.get('accept')).sse)
        throw new ProtocolError('NotAcceptable', 'Not acceptable: a GET is answered with text/event-stream')
      try {
        const session = await this.#sessionOf(arrival)
        if (!session) throw notAllowed()
        await this.#limits.session(arrival)
        return await this.#sessions.listen(session, headers.get('last-event-id'))
      } catch (error) {
        const isDead = error instanceof ProtocolError && error.kind === 'SessionNotFound'
        throw isDead && arrival.config.deadSessionGet === 405 ? notAllowed() : error
      }
    })
  }

  /** Answers a DELETE: the end of a session. */
  delete(arrival: Arrival): Promise<Response> {
    return guarded(arrival, async () => {
      const session = await this.#sessionOf(arrival)
      if (!session) throw notAllowed()
      await this.#limits.session(arrival)
      await this.#sessions.end(session)
      return acceptedResponse(204)
    })
  }

  /**
   * The session a request without a modern claim names, or undefined when it names none.
   * @throws {ProtocolError} UnsupportedProtocolVersion, SessionRequired or SessionNotFound
   */
  async #sessionOf({ request: { headers }, env, config, auth }: Arrival): Promise<SessionArrival | undefined> {
    const id = headers.get('mcp-session-id')
    const version = headers.get('mcp-protocol-version')
    checkHeader(version)
    if (config.sessions === 'off' || eraOfHeader(version) === 'modern') return undefined
    if (id !== null) return { env, config, auth, facts: await this.#sessions.open(env, id, auth) }
    if (config.sessions === 'optional') return undefined
    throw new ProtocolError('SessionRequired', 'Invalid request: Mcp-Session-Id is missing, initialize first')
  }

  async #single(body: unknown, arrival: Arrival, accepted: Accepted): Promise<Response> {
    const version = arrival.request.headers.get('mcp-protocol-version')
    const message = parseMessage(body)
    switch (message.kind) {
      case 'invalid': {
        const error = new ProtocolError('InvalidRequest', `Invalid request: ${message.reason}`)
        return errorResponse(error, eraOfHeader(version), message.id)
      }
      case 'notification':
        return this.#notification(message, arrival)
      case 'answer':
        return this.#answer(message, arrival)
      case 'request':
        return this.#request(message, arrival, accepted)
    }
  }

  async #notification({ method, params }: JsonRpcNotification, arrival: Arrival): Promise<Response> {
    const session = await this.#sessionOf(arrival)
    if (session) await this.#sessions.notified(session, method, params)
    return acceptedResponse()
  }

  async #answer(answer: JsonRpcAnswer, arrival: Arrival): Promise<Response> {
    if (eraOfHeader(arrival.request.headers.get('mcp-protocol-version')) === 'modern') {
      throw new ProtocolError('InvalidRequest', 'Invalid request: modern clients send no responses')
    }
    const session = await this.#sessionOf(arrival)
    if (session) await this.#take(answer, session, arrival)
    return acceptedResponse()
  }

  /** @throws {ProtocolError} InsufficientScope where the call that asked needs more than the token that answers is good for */
  async #take(answer: JsonRpcAnswer, session: SessionArrival, arrival: Arrival): Promise<void> {
    const needed = await this.#sessions.answered(session, answer)
    if (needed) throw this.#scopes.refusal(needed, arrival)
  }

  async #request(message: JsonRpcRequest, arrival: Arrival, accepted: Accepted): Promise<Response> {
    const version = arrival.request.headers.get('mcp-protocol-version')
    const log = new RequestLog(message, arrival.auth, arrival.config.log)
    let era = eraOfHeader(version)
    try {
      const classified = classifyRequest(message, version)
      era = classified.era
      log.classified = classified
      const incoming: Incoming = { message, classified, arrival, accepted, log }
      log.trace = readTrace(message.params, arrival.request.headers)
      if (classified.era === 'modern') {
        const admitted = this.#modern.admit(message, classified.version, arrival.request.headers)
        log.client = admitted.envelope.clientInfo
        const allowing = this.#allow([message], 'extension', arrival)
        if (allowing) await allowing
        if (message.method === LISTEN) return await this.#listen(incoming, admitted)
        const known = this.#modern.known(admitted, arrival.config)
        if (!known) return await this.#stateless({ ...incoming, admitted })
        log.answered(known.status)
        return Exchange.respond(accepted, known)
      }
      const isHandshake = message.method === 'initialize'
      const session = isHandshake ? undefined : await this.#sessionOf(arrival)
      const allowing = this.#allow([message], '2025-11-25', arrival)
      if (allowing) await allowing
      if (isHandshake) return await this.#stateless(incoming)
      return session ? await this.#inSession(incoming, session) : await this.#stateless(incoming)
    } catch (thrown) {
      const { message: text, status, headers } = failed(thrown, era, message, log)
      return new Response(text as string, { status, ...(headers && { headers }) })
    }
  }

  /**
   * Says whether the requests of one POST may be made, all or none, before anything happens. Undefined where nothing is asked.
   * @throws {ProtocolError} TooManyRequests, InsufficientScope or Unavailable
   */
  #allow(requests: readonly JsonRpcRequest[], form: TaskForm, arrival: Arrival): Promise<void> | undefined {
    const limited = this.#limits.requests(arrival, requests)
    if (!limited && !arrival.config.quota && isAnonymous(arrival.auth)) return undefined
    return this.#allowed(limited, requests, form, arrival)
  }

  async #allowed(
    limited: Promise<unknown> | undefined,
    requests: readonly JsonRpcRequest[],
    form: TaskForm,
    arrival: Arrival,
  ): Promise<void> {
    if (limited) await limited
    const checked = this.#scopes.check(requests, form, arrival)
    if (checked) await checked
    const taken = this.#limits.quota(arrival, requests)
    if (taken) await taken
  }

  async #listen({ arrival, accepted, log }: Incoming, admitted: Admitted): Promise<Response> {
    const { request, env, config, auth } = arrival
    const response = await this.#listens.open(admitted, { env, config, auth, headers: request.headers, accepted })
    log.isStream = true
    log.answered(200)
    return response
  }

  #stateless(incoming: Incoming): Promise<Response> {
    const { arrival, accepted } = incoming
    const exchange = new Exchange(arrival.request, accepted, arrival.execution)
    return exchange.answer(() => this.#final(incoming, exchange))
  }

  /** Answers one request of a session; the session's object does the work. */
  async #inSession({ message, classified, accepted, log }: Incoming, session: SessionArrival): Promise<Response> {
    checkMethod(this.#server, message.method, session.facts.version)
    log.classified = { ...(classified as Extract<Classification, { era: 'legacy' }>), version: session.facts.version }
    log.client = session.facts.client.info
    const about = { requestId: log.requestId, trace: log.trace, takesStream: accepted.sse }
    const reply = await this.#sessions.request(session, message, about)
    if (!reply || reply instanceof Response) {
      log.isStream = true
      log.answered(200)
      // A cancelled request gets no answer, but HTTP wants one.
      return reply ?? new Response('', { headers: SSE_HEADERS })
    }
    log.answered(reply.status, reply.code)
    return Exchange.respond(accepted, reply)
  }

  /** Batches, which only 2025-03-26 has, are answered whole: their calls neither emit nor ask. */
  async #batch(body: readonly unknown[], arrival: Arrival, accepted: Accepted): Promise<Response> {
    const session = await this.#sessionOf(arrival)
    const version = arrival.request.headers.get('mcp-protocol-version')
    const { requests, notifications, answers } = checkBatch(body, session ? session.facts.version : version)
    await this.#allow(requests, '2025-11-25', arrival)
    for (const answer of answers) if (session) await this.#take(answer, session, arrival)
    for (const { method, params } of notifications) if (session) await this.#sessions.notified(session, method, params)
    if (requests.length === 0) return acceptedResponse()
    const exchange = new Exchange(arrival.request, accepted, arrival.execution)
    return exchange.answer(async () => {
      const messages = requests.map((message) => this.#batched({ message, arrival, accepted }, exchange, session))
      return { message: (await Promise.all(messages)).filter((text) => text !== undefined), status: 200 }
    })
  }

  async #batched(
    { message, arrival, accepted }: Pick<Incoming, 'message' | 'arrival' | 'accepted'>,
    exchange: Exchange,
    session: SessionArrival | undefined,
  ): Promise<string | undefined> {
    const log = new RequestLog(message, arrival.auth, arrival.config.log)
    const classified: Classification = { era: 'legacy', version: '2025-03-26', named: true }
    log.trace = readTrace(message.params, arrival.request.headers)
    log.classified = classified
    if (!session)
      return (await this.#final({ message, classified, arrival, accepted, log }, exchange)).message as string
    try {
      checkMethod(this.#server, message.method, classified.version)
      const about = { requestId: log.requestId, trace: log.trace, takesStream: false }
      const reply = await this.#sessions.request(session, message, about)
      if (reply instanceof Response) throw new Error('a call that takes no stream became one')
      log.answered(reply?.status ?? 200, reply?.code)
      return reply?.message
    } catch (thrown) {
      return failed(thrown, 'legacy', message, log).message as string
    }
  }

  /** Answers one request in this isolate. Never rejects. */
  async #final(incoming: Incoming, exchange: Exchange): Promise<Final> {
    const { message, classified, log } = incoming
    try {
      const final = await this.#answerHere(incoming, exchange)
      if (incoming.publisher) await incoming.publisher.settled()
      log.isStream = exchange.isStream
      log.answered(final.status)
      return final
    } catch (thrown) {
      if (incoming.publisher) await incoming.publisher.settled()
      log.isStream = exchange.isStream
      return failed(thrown, classified.era, message, log)
    }
  }

  #publisher({ arrival, log }: Incoming, { waitUntil }: Exchange): Publisher {
    return new Publisher({
      publish: (topics) => this.#hubs.publish(arrival.env, topics),
      waitUntil,
      report: (error) => log.failed(error),
    })
  }

  #answerHere(incoming: Incoming, exchange: Exchange): Promise<Final> {
    const { message, classified, admitted, arrival, log } = incoming
    const { trace } = log
    const port: CallPort = {
      notify: (topic) => (incoming.publisher ??= this.#publisher(incoming, exchange)).notify(topic),
      emit: exchange.emit,
      signal: exchange.signal,
      waitUntil: exchange.waitUntil,
      // That a call failed because its caller left is no news.
      report: (error) => exchange.isCancelled || log.failed(error),
    }
    const common = { env: arrival.env, auth: arrival.auth, requestId: log.requestId, ...(trace && { trace }), port }
    if (classified.era === 'modern')
      return this.#modern.answer(admitted!, { ...common, headers: arrival.request.headers })
    if (message.method === 'initialize') return this.#initialize(message, arrival, log)
    const client = { capabilities: {} }
    return answerLegacy(this.#server, {
      ...common,
      request: message,
      revision: classified,
      client,
      journal: NO_SESSION,
      tasks: this.#tasks,
    })
  }

  async #initialize({ id, params }: JsonRpcRequest, { env, config, auth }: Arrival, log: RequestLog): Promise<Final> {
    const { version, client } = parseHandshake(params)
    log.client = client.info
    log.classified = { era: 'legacy', version, named: true }
    const hasSession = config.sessions !== 'off'
    const audience = { version, hasSession, isIdentified: !isAnonymous(auth) }
    const result = JSON.stringify(handshakeResult(this.#server, audience))
    const final = { message: resultMessage(id, result), status: 200 }
    return hasSession ? { ...final, sessionId: await this.#sessions.mint(env, version, client, auth) } : final
  }
}

/** Turns what is thrown before a request is known into a response. */
async function guarded(arrival: Arrival, run: () => Promise<Response>): Promise<Response> {
  try {
    return await run()
  } catch (error) {
    const requestId = crypto.randomUUID()
    if (isOurs(error)) report(failure(error, { requestId }), arrival.config.log)
    return errorResponse(
      toProtocolError(error, requestId),
      eraOfHeader(arrival.request.headers.get('mcp-protocol-version')),
    )
  }
}

/** Logs what was thrown and turns it into the end of an exchange. */
function failed(thrown: unknown, era: Era, { id }: JsonRpcRequest, log: RequestLog): Final {
  if (isOurs(thrown)) log.failed(thrown)
  const error = toProtocolError(thrown, log.requestId)
  log.answered(error.status(era), error.code)
  return errorFinal(error, era, id)
}

/** True for what the operator must hear of, false for what the caller did wrong. */
function isOurs(error: unknown): boolean {
  return !(error instanceof ProtocolError) || error.kind === 'Unavailable'
}

function notAllowed(): ProtocolError {
  return new ProtocolError('MethodNotAllowed', 'Method not allowed: there is no session to listen to or to end')
}
