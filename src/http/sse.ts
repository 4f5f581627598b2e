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
  /** Resolves when everything sent so far has been read, or nobody reads any more. */
  drained(): Promise<void>
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
  const waiting: (() => void)[] = []
  const wake = (): void => waiting.splice(0).forEach((resolve) => resolve())
  const close = (): boolean => {
    if (!isOpen) return false
    isOpen = false
    clearInterval(timer)
    wake()
    return true
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => void (out = controller),
      pull: () => {
        largest = 0
        wake()
      },
      cancel: () => void (close() && gone('the client closed the stream')),
    },
    { highWaterMark: 65_536, size: ({ byteLength }) => byteLength },
  )
  const write = (bytes: Uint8Array): void => {
    if (!isOpen) return
    if ((out.desiredSize ?? 0) < -limits.streamBacklogBytes - largest) {
      close()
      out.error(new Error('the client does not read'))
      return gone('the client does not read')
    }
    largest = Math.max(largest, bytes.byteLength)
    out.enqueue(bytes)
  }
  const timer = setInterval(() => write(COMMENT), keepAliveMs)
  return {
    body,
    send: (json, id) => write(encoder.encode(sseEvent(json, id))),
    drained: () =>
      new Promise((resolve) => (isOpen && (out.desiredSize ?? 1) <= 0 ? waiting.push(resolve) : resolve())),
    end: () => void (close() && out.close()),
  }
}
