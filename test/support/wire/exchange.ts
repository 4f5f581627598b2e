// One HTTP exchange with the server under test: reads the answer, JSON or SSE, and has every message of it judged.

import { createJudge } from './judge.ts'
import type { Judge, JudgeOptions, SentRequest } from './judge.ts'
import { mayHaveIds } from './listen-rules.ts'
import { MODERN } from './revisions.ts'
import type { Message, Revision } from './revisions.ts'
import { createSseLog, createSseReader, SseError } from './sse.ts'
import type { SseBlock, SseLog, SseReader } from './sse.ts'
import { WireViolation } from './violation.ts'

/** How long a stream may stay open after the final response. */
const END_OF_STREAM_MS = 2_000

/** Answers given before a body is read: their errors cannot repeat its id. */
const BEFORE_PARSING = new Set([401, 403, 405, 406, 413, 415, 421, 429, 431, 500, 502, 503, 504])

/** An answer whose messages arrive one by one. */
export interface Incoming {
  response: Response
  contentType: 'application/json' | 'text/event-stream'
  /** Judged as they are read; ends with the answer. Leaving a `for await` early hangs up. */
  messages: AsyncGenerator<Message, void>
  /** Comments, ids, retries and the text of an SSE answer so far; of a JSON answer only its text. */
  log: SseLog
  /** Hangs up; a pending read then sees the end. */
  cancel(): Promise<void>
}

export interface ReceiveOptions extends JudgeOptions {
  /** The request body was an array. */
  batch?: boolean
}

export function receive(
  revision: Revision,
  requests: SentRequest[],
  response: Response,
  options: ReceiveOptions = {},
): Incoming {
  const contentType = mediaType(response)
  const log = createSseLog()
  const anonymousErrors = options.anonymousErrors === true || BEFORE_PARSING.has(response.status)
  const judge = createJudge(revision, requests, { anonymousErrors })
  if (contentType === 'application/json') {
    const messages = readJson(response, { revision, judge, log, batch: options.batch === true })
    return { response, contentType, log, messages, cancel: async () => undefined }
  }
  if (contentType === 'text/event-stream' && response.body !== null) {
    const reader = createSseReader(response.body, log)
    let isAbandoned = false
    const cancel = (): Promise<void> => {
      isAbandoned = true
      return reader.cancel()
    }
    const hasIds = revision !== MODERN || mayHaveIds(requests)
    const messages = readStream(reader, { revision, judge, log, hasIds, isAbandoned: () => isAbandoned })
    return { response, contentType, log, messages, cancel }
  }
  throw new WireViolation(revision, `the answer is no JSON-RPC: ${response.status} with content type "${contentType}"`)
}

export function mediaType(response: Response): string {
  return response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
}

interface Reading {
  revision: Revision
  judge: Judge
  log: SseLog
}

async function* readJson(
  response: Response,
  { revision, judge, log, batch }: Reading & { batch: boolean },
): AsyncGenerator<Message, void> {
  log.text = await response.text()
  const value = parseJson(revision, log.text)
  const isArray = Array.isArray(value)
  if (isArray && !(batch && revision === '2025-03-26'))
    throw new WireViolation(revision, 'the answer is an array', value)
  for (const message of isArray ? value : [value]) yield judge.message(message)
  if (judge.owes || (isArray && value.length === 0))
    throw new WireViolation(revision, 'the answer lacks a response', value)
}

async function* readStream(
  reader: SseReader,
  reading: Reading & { hasIds: boolean; isAbandoned: () => boolean },
): AsyncGenerator<Message, void> {
  const { revision, judge, log, hasIds, isAbandoned } = reading
  try {
    for (let block = await next(reader, reading); block !== undefined; block = await next(reader, reading)) {
      if (judge.done) throw new WireViolation(revision, 'the stream goes on after the final response', log.text)
      if (log.ids.length > 0 && !hasIds)
        throw new WireViolation(revision, 'the stream has ids, which nobody asked for', log.text)
      if (block.kind === 'event' && !isPriming(revision, block)) yield judge.message(parseJson(revision, block.data))
    }
    if (judge.owes && !isAbandoned()) throw new WireViolation(revision, 'the stream ended without a response', log.text)
  } finally {
    await reader.cancel()
  }
}

async function next(reader: SseReader, { revision, judge, log }: Reading): Promise<SseBlock | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    if (!judge.done) return
    const reason = `the stream is still open ${END_OF_STREAM_MS} ms after the final response`
    timer = setTimeout(() => reject(new WireViolation(revision, reason, log.text)), END_OF_STREAM_MS)
  })
  try {
    return await Promise.race([reader.next(), late])
  } catch (cause) {
    throw cause instanceof SseError ? new WireViolation(revision, cause.message, log.text) : cause
  } finally {
    clearTimeout(timer)
  }
}

/** An event without data that only carries an id, so that a client can resume before the first message. */
function isPriming(revision: Revision, { data, id }: SseBlock & { kind: 'event' }): boolean {
  return revision === '2025-11-25' && data === '' && id !== undefined
}

function parseJson(revision: Revision, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new WireViolation(revision, 'the answer is not JSON', text)
  }
}
