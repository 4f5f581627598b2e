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
  end(): void
}

/**
 * Opens a stream that writes a comment every `keepAliveMs`.
 * @param gone called once when the reader left, or stopped reading and `limits.streamBacklogBytes` piled up
 */
export function openSse(keepAliveMs: number, gone: (reason: string) => void): SseStream {
  let out!: ReadableStreamDefaultController<Uint8Array>
  let isOpen = true
  const close = (): boolean => {
    if (!isOpen) return false
    isOpen = false
    clearInterval(timer)
    return true
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => void (out = controller),
      cancel: () => void (close() && gone('the client closed the stream')),
    },
    { highWaterMark: 65_536, size: ({ byteLength }) => byteLength },
  )
  const write = (bytes: Uint8Array): void => {
    if (!isOpen) return
    if ((out.desiredSize ?? 0) < -limits.streamBacklogBytes) {
      close()
      out.error(new Error('the client does not read'))
      return gone('the client does not read')
    }
    out.enqueue(bytes)
  }
  const timer = setInterval(() => write(COMMENT), keepAliveMs)
  return {
    body,
    send: (json, id) => write(encoder.encode(sseEvent(json, id))),
    end: () => void (close() && out.close()),
  }
}
