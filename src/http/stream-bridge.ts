// An SSE answer held by the Worker and fed by an object's socket, which lets the object sleep meanwhile.
// If the socket breaks the stream is connected again after what was sent, and the client notices nothing. The socket is
// also let go while the client is slow: what it has not read yet stays in the object, not in the memory of this isolate.

import { limits } from '../limits.ts'
import { SSE_HEADERS } from './headers.ts'
import { remainingMs } from './sse.ts'
import { CLOSE, type SessionFrame } from './session-call.ts'

/** How a held stream is made and written. */
export interface HeldStream {
  /** Connects after a cursor; undefined is the beginning chosen by the object. A number is the status that says no. */
  connect(after: string | undefined): Promise<WebSocket | number>
  /** What the client has seen already. */
  after: string | undefined
  /** The event id of a cursor. */
  eventId(cursor: string): string
  /** True if the client understands `retry:` and events without data. */
  mayRetry: boolean
  /** True for the answer to a request: it begins although the object cannot be reached yet, and without an id the client
   * could not come back to it. */
  isOwed: boolean
  /** When the token ends it was asked for with, ms since the epoch: its client then comes back with another. */
  endsAt?: number | undefined
}

const encoder = new TextEncoder()
const KEEP_ALIVE = ': keep-alive\n\n'
const ATTEMPTS = 6

/** Connects and answers with the stream, or with the status that says why there is none. */
export async function holdStream(stream: HeldStream): Promise<Response | number> {
  const socket = await connect(stream, stream.after)
  if (typeof socket === 'number' && !(stream.isOwed && socket >= 500)) return socket
  return new Response(new Holder(stream, socket).body, { headers: SSE_HEADERS })
}

/** A socket, or a status: 503 while the object cannot be reached. */
async function connect(stream: HeldStream, after: string | undefined): Promise<WebSocket | number> {
  try {
    return await stream.connect(after)
  } catch {
    // The object is restarting; another attempt will tell.
    return 503
  }
}

class Holder {
  readonly body: ReadableStream<Uint8Array>
  readonly #stream: HeldStream
  readonly #timers: ReturnType<typeof setTimeout>[] = []
  #out!: ReadableStreamDefaultController<Uint8Array>
  #socket: WebSocket | undefined
  #cursor: string | undefined
  #hasSentId = false
  /** Set while the client has to read before more is fetched. */
  #stall: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  constructor(stream: HeldStream, socket: WebSocket | number) {
    this.#stream = stream
    this.#cursor = stream.after
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => this.#start(controller, socket),
        pull: () => this.#drained(),
        cancel: () => this.#stop('the client closed the stream'),
      },
      { highWaterMark: 65_536, size: ({ byteLength }) => byteLength },
    )
  }

  #start(controller: ReadableStreamDefaultController<Uint8Array>, socket: WebSocket | number): void {
    this.#out = controller
    // Official clients forget the id they came with, and could not come back if this connection dropped at once.
    if (this.#cursor !== undefined) this.#receive({ cursor: this.#cursor, text: '' })
    if (typeof socket === 'number') void this.#reattach()
    else this.#attach(socket)
    // Jittered, so that streams which began together do not end together.
    const ageMs = Math.min(limits.streamMaxAgeMs * (0.9 + Math.random() / 5), remainingMs(this.#stream.endsAt))
    this.#timers.push(
      setInterval(() => this.#stall === undefined && this.#write(KEEP_ALIVE), limits.idleKeepAliveMs),
      setInterval(() => (this.#hasSentId || !this.#stream.isOwed) && this.#leave(), ageMs),
    )
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      if (socket === this.#socket) this.#receive(JSON.parse(data as string) as SessionFrame)
    })
    socket.addEventListener('close', ({ code }) => {
      if (socket === this.#socket) this.#closed(code)
    })
    socket.accept()
  }

  #receive({ cursor, text }: SessionFrame): void {
    const id = cursor === undefined ? '' : `id: ${this.#stream.eventId(cursor)}\n`
    const isShown = text !== '' || this.#stream.mayRetry
    if (isShown) this.#write(text === '' ? `${id}data: \n\n` : `${id}event: message\ndata: ${text}\n\n`)
    this.#hasSentId ||= isShown && cursor !== undefined
    if (cursor !== undefined) this.#cursor = cursor
    if ((this.#out.desiredSize ?? 0) < -limits.streamBacklogBytes) this.#pause()
  }

  #closed(code: number): void {
    this.#socket = undefined
    if (code === CLOSE.finished) this.#end()
    else if (code === CLOSE.replaced || code === CLOSE.poll) this.#leave()
    // After a deploy every stream breaks at once, so they come back one by one.
    else void this.#reattach()
  }

  /** @param pauseMs about how long to wait before the first attempt */
  async #reattach(pauseMs = 100): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS && !this.#isOver; attempt++) {
      await scheduler.wait((pauseMs || attempt * 100) * 2 ** attempt * Math.random())
      const socket = await connect(this.#stream, this.#cursor)
      if (typeof socket === 'object' && this.#isOver) {
        // One that was not accepted cannot be closed.
        socket.accept()
        return socket.close(CLOSE.finished)
      }
      if (typeof socket === 'object') return this.#attach(socket)
      if (socket < 500) return this.#end()
    }
    this.#leave()
  }

  /** Lets the socket go until the client has read what it was sent. A client that reads nothing is cut. */
  #pause(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close(CLOSE.finished, 'the client has to read first')
    this.#stall = setTimeout(() => this.#cut(), limits.streamStallMs)
  }

  #drained(): void {
    if (this.#stall === undefined) return
    clearTimeout(this.#stall)
    this.#stall = undefined
    void this.#reattach(0)
  }

  #cut(): void {
    if (this.#isOver) return
    this.#stop('the client does not read')
    this.#out.error(new Error('the client does not read'))
  }

  #write(text: string): void {
    if (!this.#isOver) this.#out.enqueue(encoder.encode(text))
  }

  /** Ends the connection, not the stream: the client is told to come back. */
  #leave(): void {
    if (this.#stall !== undefined) return this.#cut()
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
    clearTimeout(this.#stall)
    for (const timer of this.#timers) clearTimeout(timer)
    this.#socket?.close(CLOSE.finished, reason)
  }
}
