// Requests that belong to a legacy session, from the Worker's side: the id is opened here, the rest is asked of the
// session's object. @see 2025-11-25 basic/transports, Session Management, Resumability and Redelivery

import { limits } from '../limits.ts'
import { isSince } from '../protocol/era.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { JsonObject, JsonRpcAnswer, JsonRpcRequest } from '../protocol/json-rpc.ts'
import { tokenOf } from '../server/access-token.ts'
import { fingerprint } from '../server/canonical.ts'
import { lasting, type Auth, type Client, type Trace } from '../server/ports.ts'
import type { Sealer } from '../server/sealer.ts'
import type { Config } from '../config.ts'
import { SESSION_PROTOCOL, STANDALONE, type SessionCall, type SessionReply } from './session-call.ts'
import { openSession, sealSession, type SessionFacts } from './session-id.ts'
import { holdStream } from './stream-bridge.ts'

/** What sessions need from Durable Objects. Every method rejects when the object cannot be reached. */
export interface SessionPort {
  newId(env: Cloudflare.Env): string
  /** @param token the one its caller came with, which is not kept */
  request(env: Cloudflare.Env, call: SessionCall, token: string | undefined): Promise<SessionReply>
  notified(env: Cloudflare.Env, objectId: string, method: string, params: JsonObject): Promise<boolean>
  /** @returns false when the session has ended, or the scopes that the call needs which asked */
  answered(
    env: Cloudflare.Env,
    objectId: string,
    answer: JsonRpcAnswer,
    auth: Auth,
  ): Promise<boolean | readonly string[]>
  end(env: Cloudflare.Env, objectId: string, expiresAt: number): Promise<boolean>
  /** A socket of a stream, or the status that says why there is none. */
  connect(env: Cloudflare.Env, place: StreamPlace): Promise<WebSocket | number>
}

/** A place in a stream of a session. */
export interface StreamPlace {
  objectId: string
  /** Which stream to begin with; a cursor says itself which it is of. */
  stream: number
  /** The cursor of the last event the client has seen; undefined is the beginning of a call, or from now on. */
  after: string | undefined
}

/** What one request of a session comes with. */
export interface SessionArrival {
  env: Cloudflare.Env
  config: Config
  facts: SessionFacts
  auth: Auth
}

/** The sessions of one deployment. */
export class Sessions {
  readonly #port: SessionPort
  readonly #sealer: Sealer

  constructor(port: SessionPort, sealer: Sealer) {
    this.#port = port
    this.#sealer = sealer
  }

  /** Mints a session id. Stores nothing and wakes no object. */
  mint(env: Cloudflare.Env, version: SessionFacts['version'], client: Client, auth: Auth): Promise<string> {
    const expiresAt = Date.now() + limits.sessionTtlMs
    const facts = { objectId: this.#port.newId(env), version, principal: auth.principal, client, expiresAt }
    return sealSession(this.#sealer, env, facts)
  }

  /** @throws {ProtocolError} SessionNotFound for an id that is not, or no longer, one of this principal's */
  async open(env: Cloudflare.Env, id: string, auth: Auth): Promise<SessionFacts> {
    const facts =
      id.length <= limits.sessionIdChars && (await openSession(this.#sealer, env, id, auth.principal, Date.now()))
    if (!facts) throw notFound()
    return facts
  }

  /**
   * Asks the object to answer a request.
   * @returns the answer, a response when the answer is a stream, or nothing when the request was cancelled
   */
  async request(
    arrival: SessionArrival,
    request: JsonRpcRequest,
    { requestId, trace, takesStream }: { requestId: string; trace: Trace | undefined; takesStream: boolean },
  ): Promise<Extract<SessionReply, { kind: 'final' }> | Response | undefined> {
    const { env, config, facts, auth } = arrival
    const call: SessionCall = {
      protocol: SESSION_PROTOCOL,
      facts,
      auth,
      request,
      requestId,
      ...(trace && { trace }),
      takesStream,
      primes: primes(config, facts),
    }
    const reply = await this.#port.request(env, call, tokenOf(auth))
    switch (reply.kind) {
      case 'final':
        return reply
      case 'gone':
        throw notFound()
      case 'busy':
        throw new ProtocolError('Unavailable', 'The session is moving to another version: try again')
      case 'cancelled':
        return undefined
      case 'stream':
        return this.#hold(arrival, { stream: reply.stream, isOwed: true })
    }
  }

  /** Takes a notification. @throws {ProtocolError} SessionNotFound when the session has ended */
  async notified({ env, facts }: SessionArrival, method: string, params: JsonObject): Promise<void> {
    // The others change nothing, so no object is woken for them.
    if (method !== 'notifications/cancelled') return
    if (!(await this.#port.notified(env, facts.objectId, method, params))) throw notFound()
  }

  /**
   * Takes an answer to an ask.
   * @returns the scopes that the call needs which asked, where the token that answers lacks one
   * @throws {ProtocolError} SessionNotFound when the session has ended
   */
  async answered({ env, facts, auth }: SessionArrival, answer: JsonRpcAnswer): Promise<readonly string[] | undefined> {
    const taken = await this.#port.answered(env, facts.objectId, answer, lasting(auth))
    if (taken === false) throw notFound()
    return taken === true ? undefined : taken
  }

  /** Ends a session. @throws {ProtocolError} SessionNotFound when it had ended before */
  async end({ env, facts }: SessionArrival): Promise<void> {
    if (!(await this.#port.end(env, facts.objectId, facts.expiresAt))) throw notFound()
  }

  /**
   * A stream for a GET: the standalone one, or the one `Last-Event-ID` is from, after that event.
   * @throws {ProtocolError} InvalidRequest for a cursor that is none of this session, MethodNotAllowed at the end of one
   */
  async listen(arrival: SessionArrival, lastEventId: string | null): Promise<Response> {
    if (lastEventId === null || lastEventId === '') return this.#hold(arrival, { stream: STANDALONE })
    const after = parseEventId(arrival.facts, lastEventId)
    if (after === undefined) throw badCursor()
    return this.#hold(arrival, { stream: STANDALONE, after })
  }

  async #hold(
    { env, config, facts, auth }: SessionArrival,
    { stream, after, isOwed = false }: { stream: number; after?: string; isOwed?: boolean },
  ): Promise<Response> {
    const { objectId } = facts
    const isCall = !isStandalone(stream, after)
    const held = await holdStream({
      after,
      isOwed,
      // Not that of a call, whose token was good when it was taken: the official SDK of version 1 comes back for its answer
      // with the old token, and having got another one forgets where it was.
      endsAt: isCall ? undefined : auth.expiresAt,
      eventId: (cursor) => `${tagOf(facts)}-${cursor}`,
      mayRetry: primes(config, facts),
      connect: (from) => this.#port.connect(env, { objectId, stream, after: from }),
    })
    if (held instanceof Response) return held
    if (held === 404) throw notFound()
    if (held === 400) throw badCursor()
    if (held === 405)
      throw new ProtocolError('MethodNotAllowed', 'Method not allowed: nothing more will come on this stream')
    throw new ProtocolError('Unavailable', 'The session cannot be reached: try again')
  }
}

/** True for the stream of a session that no call has begun. A cursor says itself which stream it is of. */
export function isStandalone(stream: number, after: string | undefined): boolean {
  return (after === undefined ? stream : Number(after.split('.')[1])) === STANDALONE
}

/** True if streams begin with an id and may be closed for the client to come back: new in 2025-11-25. */
function primes(config: Config, facts: SessionFacts): boolean {
  return config.priming && isSince(facts.version, '2025-11-25')
}

/** What marks the event ids of a session, so that another session's are told apart. */
function tagOf({ objectId }: SessionFacts): string {
  return fingerprint(objectId)
}

/** The cursor in an event id, or undefined when it is none of this session. */
function parseEventId(facts: SessionFacts, id: string): string | undefined {
  const match = /^([0-9a-z]{1,7})-([0-9a-z]{1,12}\.\d{1,9}\.\d{1,7})$/.exec(id)
  return match?.[1] === tagOf(facts) ? match[2] : undefined
}

function badCursor(): ProtocolError {
  return new ProtocolError('InvalidRequest', 'Invalid request: Last-Event-ID is from no stream of this session')
}

/** The answer for every id that is no live session of the caller, whatever the reason. */
export function notFound(): ProtocolError {
  return new ProtocolError('SessionNotFound', 'Session not found: initialize again')
}
