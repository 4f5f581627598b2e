// A strict reader of `text/event-stream`: anything a server should not write is an error, and what a client may ignore
// (comments, `id`, `retry`) is counted so that a test can say something about it.

/** What a stream has carried so far beside its messages. */
export interface SseLog {
  comments: number
  /** Values of `id:` fields, in order. */
  ids: string[]
  /** Values of `retry:` fields, in order. */
  retries: string[]
  /** Everything received, as text. */
  text: string
}

/** One block of the stream: an event with data, an id or retry without any, or a comment. */
export type SseBlock = { kind: 'event'; data: string; id?: string } | { kind: 'fields' } | { kind: 'comment' }

export class SseError extends Error {
  override readonly name = 'SseError'
}

export function createSseLog(): SseLog {
  return { comments: 0, ids: [], retries: [], text: '' }
}

export interface SseReader {
  /** The next block, or undefined when the stream has ended. */
  next(): Promise<SseBlock | undefined>
  /** Hangs up; a pending `next` then sees the end. */
  cancel(): Promise<void>
}

export function createSseReader(body: ReadableStream<Uint8Array>, log: SseLog): SseReader {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const parser = createSseParser(log)
  const reader = body.getReader()
  const blocks: SseBlock[] = []
  let isCancelled = false
  let hasEnded = false
  // workerd rejects the pending read of a stream that is cancelled; the standard ends it
  const endIfCancelled = (cause: unknown): ReadableStreamReadResult<Uint8Array> => {
    if (isCancelled) return { done: true, value: undefined }
    throw cause
  }
  return {
    async next() {
      while (blocks.length === 0 && !hasEnded) {
        const { done, value } = await reader.read().catch(endIfCancelled)
        hasEnded = done
        if (isCancelled) return undefined
        blocks.push(...parser.push(decode(decoder, value, !done)))
        if (done) parser.end()
      }
      return blocks.shift()
    },
    async cancel() {
      isCancelled = true
      await reader.cancel().catch(() => undefined) // a stream that broke or was aborted has nothing left to cancel
    },
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array | undefined, stream: boolean): string {
  try {
    return decoder.decode(bytes, { stream })
  } catch (cause) {
    throw new SseError('the stream is not valid UTF-8', { cause })
  }
}

function createSseParser(log: SseLog): { push(text: string): SseBlock[]; end(): void } {
  let rest = ''
  let block: string[] = []
  const line = (text: string): SseBlock[] => {
    if (text.startsWith(':')) {
      log.comments++
      return [{ kind: 'comment' }]
    }
    if (text !== '') {
      block.push(text)
      return []
    }
    const fields = block
    block = []
    return fields.length === 0 ? [] : [parseBlock(fields, log)]
  }
  return {
    push(text) {
      log.text += text
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      return lines.flatMap((each) => line(each.endsWith('\r') ? each.slice(0, -1) : each))
    },
    end() {
      const left = [...block, ...(rest === '' ? [] : [rest])]
      if (left.length > 0) throw new SseError(`the stream ends inside an event: ${JSON.stringify(left.join('\n'))}`)
    },
  }
}

function parseBlock(lines: string[], log: SseLog): SseBlock {
  const data: string[] = []
  let id: string | undefined
  for (const line of lines) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    else if (field === 'id') log.ids.push((id = value))
    else if (field === 'retry') log.retries.push(digits(value))
    else if (field !== 'event' || value !== 'message')
      throw new SseError(`the stream has an unexpected line: ${JSON.stringify(line)}`)
  }
  if (data.length === 0) return { kind: 'fields' }
  return { kind: 'event', data: data.join('\n'), ...(id === undefined ? {} : { id }) }
}

function digits(value: string): string {
  if (!/^\d+$/.test(value)) throw new SseError(`the stream has a retry that is not a number: ${JSON.stringify(value)}`)
  return value
}
