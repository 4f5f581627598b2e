// An SSE answer held by the Worker and fed by an object's socket, which lets the object sleep meanwhile.
// If the socket breaks the stream is connected again after what was sent, and the client notices nothing.

import { limits } from '../limits.ts'
import { SSE_HEADERS } from './headers.ts'
import { CLOSE, type SessionFrame } from './session-call.ts'

/** How a held stream is made and written. */
export interface HeldStream {
  /** Connects after a sequence; undefined is the beginning chosen by the object. A number is the status that says no. */
  connect(after: number | undefined): Promise<WebSocket | number>
  /** What the client has seen already. */
  after: number | undefined
  /** The event id of a sequence. */
  eventId(sequence: number): string
  /** True if the client understands `retry:`. */
  mayRetry: boolean
}

const encoder = new TextEncoder()
const KEEP_ALIVE = ': keep-alive\n\n'
const ATTEMPTS = 6

/** Connects and answers with the stream, or with the status that says why there is none. */
export async function holdStream(stream: HeldStream): Promise<Response | number> {
  const socket = await stream.connect(stream.after)
  return typeof socket === 'number' ? socket : new Response(new Holder(stream, socket).body, { headers: SSE_HEADERS })
}

class Holder {
  readonly body: ReadableStream<Uint8Array>
  readonly #stream: HeldStream
  readonly #timers: ReturnType<typeof setTimeout>[] = []
  #out!: ReadableStreamDefaultController<Uint8Array>
  #socket: WebSocket
  #cursor: number | undefined
  #isOver = false

  constructor(stream: HeldStream, socket: WebSocket) {
    this.#stream = stream
    this.#socket = socket
    this.#cursor = stream.after
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => this.#start(controller),
        cancel: () => this.#stop('the client closed the stream'),
      },
      { highWaterMark: 65_536, size: ({ byteLength }) => byteLength },
    )
  }

  #start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#out = controller
    this.#attach(this.#socket)
    // Jittered, so that streams which began together do not end together.
    const ageMs = limits.streamMaxAgeMs * (0.9 + Math.random() / 5)
    this.#timers.push(
      setInterval(() => this.#write(KEEP_ALIVE), limits.idleKeepAliveMs),
      setTimeout(() => this.#leave(), ageMs),
    )
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const { sequence, text } = JSON.parse(data as string) as SessionFrame
      if (sequence !== undefined) this.#cursor = sequence
      const id = sequence === undefined ? '' : `id: ${this.#stream.eventId(sequence)}\n`
      this.#write(text === '' ? `${id}data: \n\n` : `${id}event: message\ndata: ${text}\n\n`)
    })
    socket.addEventListener('close', ({ code }) => {
      if (socket === this.#socket) void this.#closed(code)
    })
    socket.accept()
  }

  async #closed(code: number): Promise<void> {
    if (this.#isOver) return
    if (code === CLOSE.finished) return this.#end()
    if (code === CLOSE.replaced || code === CLOSE.poll) return this.#leave()
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // After a deploy every stream breaks at once, so they come back one by one.
      await scheduler.wait(100 * 2 ** attempt * Math.random())
      const socket = await this.#reconnect()
      if (this.#isOver) return typeof socket === 'object' ? socket.close(CLOSE.finished) : undefined
      if (typeof socket === 'object') return this.#attach(socket)
      if (typeof socket === 'number' && socket < 500) return this.#end()
    }
    this.#leave()
  }

  async #reconnect(): Promise<WebSocket | number | undefined> {
    try {
      return await this.#stream.connect(this.#cursor)
    } catch {
      // The object is restarting; the next attempt will tell.
      return undefined
    }
  }

  #write(text: string): void {
    if (this.#isOver) return
    if ((this.#out.desiredSize ?? 0) < -limits.streamBacklogBytes) {
      this.#stop('the client does not read')
      this.#out.error(new Error('the client does not read'))
      return
    }
    this.#out.enqueue(encoder.encode(text))
  }

  /** Ends the connection, not the stream: the client is told to come back. */
  #leave(): void {
    if (this.#stream.mayRetry) this.#write(`retry: ${limits.retryMs}\n\n`)
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#stop('ended')
    this.#out.close()
  }

  #stop(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#socket.close(CLOSE.finished, reason)
  }
}
