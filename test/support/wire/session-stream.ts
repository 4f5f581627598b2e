// One SSE stream of a session, read event by event: ids matter here, and a stream may end before its response.

import { createJudge } from './judge.ts'
import type { SentRequest } from './judge.ts'
import { mediaType } from './exchange.ts'
import type { LegacyRevision, Message } from './revisions.ts'
import { createSseLog, createSseReader } from './sse.ts'
import type { SseLog } from './sse.ts'
import { WireViolation } from './violation.ts'

/** One event. Without a message it only carries an id. */
export interface StreamEvent {
  id?: string
  message?: Message
}

export interface SessionStream {
  response: Response
  /** Comments, ids, retries and the text so far, which may be ahead of `read`. */
  log: SseLog
  /** The events that were read, in order. */
  read: StreamEvent[]
  /** The id of the last event that was read. */
  readonly lastEventId: string | undefined
  /** The next event, or undefined when the stream has ended. */
  next(): Promise<StreamEvent | undefined>
  /** Reads on to the first message that fits; throws when the stream ends before. */
  until(fits: (message: Message) => boolean): Promise<Message>
  /** Reads to the end. Gives all messages that were read. */
  rest(): Promise<Message[]>
  /** Hangs up. */
  cancel(): Promise<void>
}

export async function readStream(
  revision: LegacyRevision,
  response: Response,
  requests: SentRequest[],
): Promise<SessionStream> {
  if (mediaType(response) !== 'text/event-stream' || response.body === null)
    throw new WireViolation(revision, `no stream but ${response.status} ${await response.text()}`)
  const judge = createJudge(revision, requests)
  const log = createSseLog()
  const reader = createSseReader(response.body, log)
  const read: StreamEvent[] = []
  const stream: SessionStream = {
    response,
    log,
    read,
    get lastEventId() {
      return read.findLast(({ id }) => id !== undefined)?.id
    },
    async next() {
      for (let block = await reader.next(); block !== undefined; block = await reader.next()) {
        if (block.kind !== 'event') continue
        const isPriming = block.data === '' && block.id !== undefined
        if (isPriming && revision !== '2025-11-25') throw new WireViolation(revision, 'an event has no data', log.text)
        const event: StreamEvent = {
          ...(block.id !== undefined && { id: block.id }),
          ...(!isPriming && { message: judge.message(JSON.parse(block.data)) }),
        }
        read.push(event)
        return event
      }
      return undefined
    },
    async until(fits) {
      for (let event = await stream.next(); event !== undefined; event = await stream.next())
        if (event.message !== undefined && fits(event.message)) return event.message
      throw new WireViolation(revision, 'the stream ended before the message that was waited for', log.text)
    },
    async rest() {
      while ((await stream.next()) !== undefined);
      return read.flatMap(({ message }) => message ?? [])
    },
    cancel: () => reader.cancel(),
  }
  return stream
}
