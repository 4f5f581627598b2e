// One call of a session while its handler runs: quick and quiet it leaves nothing behind, otherwise it becomes a stream.
// What the session stores and sends for it goes through `CallHost`.

import { answerLegacy } from '../src/http/legacy.ts'
import type { SessionCall, SessionReply } from '../src/http/session-call.ts'
import { IMMEDIATE_TURNS, limits } from '../src/limits.ts'
import { isSince } from '../src/protocol/era.ts'
import { ProtocolError } from '../src/protocol/errors.ts'
import type { JsonObject } from '../src/protocol/json-rpc.ts'
import { legacyAsk } from '../src/protocol/legacy/asks.ts'
import { errorMessage, notificationMessage } from '../src/protocol/messages.ts'
import type { LogLevel } from '../src/protocol/meta.ts'
import type { Server } from '../src/server/define-server.ts'
import { ToolError } from '../src/server/errors.ts'
import { CallJournal } from '../src/server/journal.ts'
import type { Topic } from '../src/protocol/topic.ts'
import { Publisher } from '../src/server/publisher.ts'
import type { Ask, InputRequest } from '../src/server/ports.ts'
import type { TaskPort } from '../src/server/task-port.ts'
import { authOf, endlessMessage, tooLargeMessage } from './session-methods.ts'

/** A question on its way to the client. */
export interface OpenAsk {
  /** The handler's key, and the key of this attempt. */
  key: string
  wire: string
  request: InputRequest
  ttlMs: number
}

/** The session a call belongs to. */
export interface CallHost {
  readonly server: Server
  readonly env: Cloudflare.Env
  readonly tasks: TaskPort
  readonly logLevel: LogLevel | undefined
  /** Makes a stream of the call and returns its number. */
  begin(call: LiveCall, memory: JsonObject): number
  /** Stores and sends one message of a stream. @param instead what is stored if the message is too large */
  publish(stream: number, message: string, instead?: string): void
  /** Asks the client on a stream; resolves with the raw answer. */
  ask(stream: number, ask: OpenAsk): Promise<unknown>
  remember(stream: number, memory: JsonObject): void
  end(call: LiveCall, state: 'finished' | 'cancelled'): void
  poll(stream: number): void
  /** Brings changes to whoever watches. */
  publishTopics(topics: readonly Topic[]): Promise<void>
  mintId(): string
  report(error: unknown, call: SessionCall): void
  waitUntil(work: Promise<unknown>): void
}

export class LiveCall {
  readonly call: SessionCall
  readonly #host: CallHost
  readonly #journal: CallJournal
  readonly #controller = new AbortController()
  readonly #publisher: Publisher
  #stream: number | undefined
  #reply: (reply: SessionReply) => void = () => {}
  #isOver = false
  #workingSince = Date.now()

  /** @param resumed the stream and memory of a call that is entered again */
  constructor(host: CallHost, call: SessionCall, resumed?: { stream: number; memory: JsonObject }) {
    this.#host = host
    this.call = call
    this.#stream = resumed?.stream
    this.#publisher = new Publisher({
      publish: (topics) => host.publishTopics(topics),
      waitUntil: (work) => host.waitUntil(work),
      report: (error) => host.report(error, call),
    })
    this.#journal = new CallJournal(resumed?.memory, {
      early: () => undefined,
      mintId: () => host.mintId(),
      open: (wire, request, ask) => this.#ask(wire, request, ask),
      changed: () => {
        if (this.#stream !== undefined && !this.#isOver) this.#host.remember(this.#stream, this.#journal.memory())
      },
    })
  }

  get stream(): number | undefined {
    return this.#stream
  }

  /** Since when the handler has worked without an answer from the client. */
  get workingSince(): number {
    return this.#workingSince
  }

  /** Runs the handler. Resolves when it is done, or as soon as it emits or takes longer. */
  async start(): Promise<SessionReply> {
    let reply: SessionReply | undefined
    const replied = new Promise<SessionReply>((resolve) => (this.#reply = resolve))
    void replied.then((value) => (reply = value))
    const running = this.#run()
    this.#pollLater()
    for (let turn = 0; turn < IMMEDIATE_TURNS && !reply; turn++) await undefined
    if (reply || !this.call.takesStream) return replied
    const quiet = setTimeout(() => this.#isOver || this.#open(), limits.quietMs)
    void running.then(() => clearTimeout(quiet))
    return replied
  }

  /** Enters the handler of a call that already is a stream. */
  resume(): void {
    void this.#run()
  }

  /** Takes an answer, also before the handler, entered again by another one, has come to its question. */
  answered(key: string, wire: string, raw: unknown): void {
    this.#workingSince = Date.now()
    this.#journal.answered(key, wire, raw)
  }

  /** Stops the call. It gets no answer. @see 2025-11-25 basic/utilities/cancellation */
  cancel(reason: string): void {
    if (this.#isOver) return
    this.#leave('cancelled', { kind: 'cancelled' })
    this.#controller.abort(new DOMException(reason, 'AbortError'))
  }

  /** Ends a call that works for longer than any may, and says so. */
  giveUp(): void {
    if (this.#isOver || this.#stream === undefined) return
    this.#host.publish(this.#stream, endlessMessage(this.call.request))
    this.#leave('finished', { kind: 'cancelled' })
    this.#controller.abort(new DOMException('the call took too long', 'TimeoutError'))
  }

  async #run(): Promise<void> {
    const final = await this.#answer()
    await this.#publisher.settled()
    if (this.#isOver) return
    if (this.#stream !== undefined) this.#host.publish(this.#stream, final.message, tooLargeMessage(this.call.request))
    this.#leave('finished', { kind: 'final', ...final })
  }

  #leave(state: 'finished' | 'cancelled', reply: SessionReply): void {
    this.#isOver = true
    this.#journal.close()
    this.#host.end(this, state)
    this.#reply(reply)
  }

  async #answer(): Promise<{ message: string; status: number; code?: number }> {
    const { request, facts, requestId, trace } = this.call
    try {
      const final = await answerLegacy(this.#host.server, {
        request,
        revision: { version: facts.version, named: true },
        client: facts.client,
        auth: authOf(this.call),
        env: this.#host.env,
        requestId,
        ...(trace && { trace }),
        ...(this.#host.logLevel && { logLevel: this.#host.logLevel }),
        journal: this.#journal,
        tasks: this.#host.tasks,
        session: facts.objectId,
        port: {
          emit: (method, params) => this.#emit(method, params),
          signal: () => this.#controller.signal,
          waitUntil: (work) => this.#host.waitUntil(work),
          report: (error) => this.#report(error),
          notify: this.#publisher.notify,
        },
      })
      return { message: final.message as string, status: final.status }
    } catch (thrown) {
      if (!(thrown instanceof ProtocolError)) this.#report(thrown)
      const error =
        thrown instanceof ProtocolError
          ? thrown
          : new ProtocolError('InternalError', `Internal error (request ${requestId})`)
      return { message: errorMessage(request.id, error, 'legacy'), status: error.status('legacy'), code: error.code }
    }
  }

  #report(error: unknown): void {
    if (!this.#controller.signal.aborted) this.#host.report(error, this.call)
  }

  #emit(method: string, params: JsonObject): void {
    if (this.#isOver || !this.call.takesStream) return
    const message = notificationMessage(method, params)
    this.#host.publish(this.#open(), message)
  }

  #open(): number {
    if (this.#stream !== undefined) return this.#stream
    this.#stream = this.#host.begin(this, this.#journal.memory())
    this.#reply({ kind: 'stream', stream: this.#stream })
    return this.#stream
  }

  async #ask(wire: string, { method, params: asked = {}, elicitationId }: InputRequest, ask: Ask): Promise<unknown> {
    const { version } = this.call.facts
    const params = legacyAsk(method, elicitationId === undefined ? asked : { ...asked, elicitationId }, version)
    if (params === undefined)
      throw new ToolError(`This client cannot be asked: ${version} has no words for the question`)
    if (!this.call.takesStream) throw unaskable(method, params, version)
    if (this.#isOver) return new Promise(() => {})
    const stream = this.#open()
    this.#host.remember(stream, this.#journal.memory())
    return this.#host.ask(stream, { key: ask.key, wire, request: { method, params }, ttlMs: ask.ttlMs })
  }

  /** A tool that takes long may send its client away until it is done. @see SEP-1699 */
  #pollLater(): void {
    const { request, primes, takesStream } = this.call
    const pollAfterMs = this.#host.server.tools.get(request.params['name'] as string)?.pollAfterMs
    if (request.method !== 'tools/call' || pollAfterMs === undefined || !primes || !takesStream) return
    setTimeout(() => {
      if (!this.#isOver) this.#host.poll(this.#open())
    }, pollAfterMs)
  }
}

/** A client that takes no stream can still be told which page to open. @see 2025-11-25 client/elicitation */
function unaskable(method: string, params: JsonObject, version: SessionCall['facts']['version']): Error {
  if (method === 'elicitation/create' && params['mode'] === 'url' && isSince(version, '2025-11-25')) {
    return new ProtocolError('UrlElicitationRequired', 'This request needs a page to be opened first', {
      elicitations: [params],
    })
  }
  return new ToolError('This client cannot be asked: it takes no stream on which to ask')
}
