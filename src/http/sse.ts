// Server-sent events: the bytes, and one stream of them with comments while nothing else is sent.

import { limits } from '../limits.ts'

const encoder = new TextEncoder()
const COMMENT = encoder.encode(': keep-alive\n\n')

/** One event. JSON holds no newlines, so one data line is enough. @param id where a client may go on after it */
export function sseEvent(json: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${json}\n\n`
}

/** An open answer. `send` and `end` do nothing once the reader is gone. */
export interface SseStream {
  readonly body: ReadableStream<Uint8Array>
  send(json: string, id?: string): void
  /** Writes a comment. */
  comment(): void
  /** Resolves when there is room for more: true, or false when nothing was read for `ms`, or nobody reads any more. */
  drained(ms: number): Promise<boolean>
  /** Ends a stream whose client does not read. */
  cut(): void
  end(): void
}

/**
 * Opens a stream that writes a comment every `keepAliveMs`.
 * @param gone called once when the reader left, or stopped reading and `limits.streamBacklogBytes` piled up, beside one
 * message of any size: a reader may be on its way through that
 */
export function openSse(keepAliveMs: number, gone: (reason: string) => void): SseStream {
  let out!: ReadableStreamDefaultController<Uint8Array>
  let isOpen = true
  /** The largest message that may still be unread. */
  let largest = 0
  const waiting: ((isDrained: boolean) => void)[] = []
  const wake = (isDrained: boolean): void => waiting.splice(0).forEach((resolve) => resolve(isDrained))
  const close = (): boolean => {
    if (!isOpen) return false
    isOpen = false
    clearInterval(timer)
    wake(false)
    return true
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => void (out = controller),
      pull: () => {
        largest = 0
        wake(true)
      },
      cancel: () => void (close() && gone('the client closed the stream')),
    },
    { highWaterMark: 65_536, size: ({ byteLength }) => byteLength },
  )
  const cut = (): void => {
    if (!close()) return
    out.error(new Error('the client does not read'))
    gone('the client does not read')
  }
  const write = (bytes: Uint8Array): void => {
    if (!isOpen) return
    if ((out.desiredSize ?? 0) < -limits.streamBacklogBytes - largest) return cut()
    largest = Math.max(largest, bytes.byteLength)
    out.enqueue(bytes)
  }
  const comment = (): void => write(COMMENT)
  const timer = setInterval(comment, keepAliveMs)
  return {
    body,
    send: (json, id) => write(encoder.encode(sseEvent(json, id))),
    comment,
    drained(ms) {
      if (!isOpen || (out.desiredSize ?? 0) > 0) return Promise.resolve(isOpen)
      return new Promise((resolve) => {
        const late = setTimeout(() => resolve(false), ms)
        waiting.push((isDrained) => {
          clearTimeout(late)
          resolve(isDrained)
        })
      })
    },
    cut,
    end: () => void (close() && out.close()),
  }
}

/** How long a stream may go on until the token ends it was asked for with. A moment at least. */
export function remainingMs(endsAt = Number.POSITIVE_INFINITY): number {
  return Math.max(1_000, endsAt - Date.now())
}
