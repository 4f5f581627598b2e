// One POST's answer: JSON when the work is quick and quiet, a stream as soon as it emits or takes longer.
// Knows nothing of JSON-RPC beyond that messages are text. @see basic/transports/streamable-http, Receiving Messages

import { IMMEDIATE_TURNS, limits } from '../limits.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { notificationMessage } from '../protocol/messages.ts'
import type { Accepted } from './accept.ts'
import { JSON_HEADERS, SSE_HEADERS } from './headers.ts'
import { openSse, sseEvent, type SseStream } from './sse.ts'

/** What an exchange ends with. The status only shows when nothing was streamed before. */
export interface Final {
  /** One message, or the answers of a batch. */
  message: string | readonly string[]
  status: number
  headers?: Headers
  /** Sent as Mcp-Session-Id. */
  sessionId?: string
}

/** The part of the platform's execution context an exchange needs. */
export interface Execution {
  waitUntil(work: Promise<unknown>): void
}

/** The answer to one request. */
export class Exchange {
  readonly #request: Request
  readonly #accepted: Accepted
  readonly #execution: Execution
  #controller: AbortController | undefined
  #stream: SseStream | undefined
  #begin: (response: Response) => void = () => {}
  #work: Promise<unknown> = Promise.resolve()
  #isOver = false

  constructor(request: Request, accepted: Accepted, execution: Execution) {
    this.#request = request
    this.#accepted = accepted
    this.#execution = execution
  }

  /** Aborts when the client is gone. */
  readonly signal = (): AbortSignal => this.#abort().signal

  /** Sends a notification; the first one turns the answer into a stream, where the client takes streams. */
  readonly emit = (method: string, params: JsonObject): void => {
    if (this.#isOver) return
    const message = notificationMessage(method, params)
    if (this.#accepted.sse) this.#open().send(message)
  }

  readonly waitUntil = (work: Promise<unknown>): void => this.#execution.waitUntil(work)

  /** True once the client left before it was answered. */
  get isCancelled(): boolean {
    return this.#controller?.signal.aborted ?? false
  }

  get isStream(): boolean {
    return this.#stream !== undefined
  }

  /** Runs `work`, which must not reject, and answers with what it returns. */
  async answer(work: () => Promise<Final>): Promise<Response> {
    let final: Final | undefined
    const working = work().then((value) => void (final = value))
    this.#work = working
    for (let turn = 0; turn < IMMEDIATE_TURNS && !final && !this.#stream; turn++) await undefined
    if (final && !this.#stream) return this.#finish(final)
    return this.#answerLater(working, () => final!)
  }

  #answerLater(working: Promise<void>, final: () => Final): Promise<Response> {
    this.#abort()
    return new Promise((resolve) => {
      this.#begin = resolve
      // No stream, with its timer, for a client that left before.
      const quiet = this.#accepted.sse ? setTimeout(() => this.#isOver || this.#open(), limits.quietMs) : undefined
      if (this.#stream) resolve(this.#streamed(this.#stream))
      void working.then(() => {
        clearTimeout(quiet)
        if (!this.#stream) return resolve(this.#finish(final()))
        this.#isOver = true
        for (const message of [final().message].flat()) this.#stream.send(message)
        this.#stream.end()
      })
    })
  }

  #finish(final: Final): Response {
    this.#isOver = true
    return Exchange.respond(this.#accepted, final)
  }

  /** The response to work that needed no stream. */
  static respond(accepted: Accepted, { message, status, headers = JSON_HEADERS, sessionId }: Final): Response {
    // A client that takes only streams gets its result as one, as does nothing at all; errors with a status stay JSON.
    const texts = [message].flat()
    const isJson = (accepted.json && texts.length > 0) || status !== 200
    const body = isJson
      ? typeof message === 'string'
        ? message
        : `[${message.join(',')}]`
      : texts.map((text) => sseEvent(text)).join('')
    return new Response(body, { status, headers: withSession(isJson ? headers : SSE_HEADERS, sessionId) })
  }

  #open(): SseStream {
    if (this.#stream) return this.#stream
    const stream = openSse(limits.runningKeepAliveMs, (reason) => this.#leave(reason))
    this.#stream = stream
    this.#begin(this.#streamed(stream))
    return stream
  }

  #streamed(stream: SseStream): Response {
    return new Response(stream.body, { headers: SSE_HEADERS })
  }

  /** The controller behind `signal`, tied to the request on first use. */
  #abort(): AbortController {
    if (this.#controller) return this.#controller
    this.#controller = new AbortController()
    const { signal } = this.#request
    if (signal.aborted) this.#leave('the client went away')
    else signal.addEventListener('abort', () => this.#leave('the client went away'), { once: true })
    return this.#controller
  }

  /** The client is gone: cancel, and keep the handler for its clean-up, but never for longer than the grace. */
  #leave(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stream?.end()
    const grace = new Promise((resolve) => setTimeout(resolve, limits.cancelGraceMs))
    this.#execution.waitUntil(Promise.race([this.#work, grace]))
    this.#abort().abort(new DOMException(reason, 'AbortError'))
  }
}

function withSession(headers: Headers, sessionId: string | undefined): Headers {
  if (sessionId === undefined) return headers
  const more = new Headers(headers)
  more.set('mcp-session-id', sessionId)
  return more
}
