// The body of a POST: its type, its size, its encoding and how deep it nests, before anything looks inside.

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool } from '../../src/server/index.ts'
import { modern, worker, type JsonObject, type RawExchange } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, message, outcome, post } from './post.ts'

const echo = defineTool('echo', {
  description: 'Echoes its text.',
  inputSchema: { type: 'object', properties: { text: {} } },
  handler: ({ text }) => JSON.stringify(text),
})
const fetcher = serve({ tools: [echo] })
const client = modern(fetcher)
const HEADERS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }

const call = (text: unknown): JsonObject =>
  message('tools/call', { name: 'echo', arguments: { text }, _meta: envelope() })
const echoed = ({ messages }: RawExchange): unknown => {
  const { content } = messages[0]!.result as { content: { text: string }[] }
  return JSON.parse(content[0]!.text)
}
const sendBytes = (body: Uint8Array | ReadableStream<Uint8Array>, headers: JsonObject = {}): Promise<RawExchange> =>
  client.raw({ method: 'POST', body, headers: { 'content-type': 'application/json', ...HEADERS, ...headers } })

/** A body that tells how far it was read. */
function watched(chunks: Iterable<Uint8Array>): {
  body: ReadableStream<Uint8Array>
  read(): number
  isCancelled(): boolean
} {
  const source = chunks[Symbol.iterator]()
  let read = 0
  let cancelled = false
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = source.next()
        if (done) return controller.close()
        read += value.byteLength
        controller.enqueue(value)
      },
      cancel: () => void (cancelled = true),
    },
    { highWaterMark: 0 },
  )
  return { body, read: () => read, isCancelled: () => cancelled }
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('a content type', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; charset=utf8',
    'Application/JSON',
    'application/json; profile=x',
  ])('may be %s', async (type) => {
    expect(outcome(await post(client, call('x'), { ...HEADERS, 'content-type': type }))).toBe('200 result')
  })

  test.each([
    'text/plain',
    'text/plain;charset=UTF-8',
    'application/json-rpc',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    '',
  ])('is refused with 415 and a JSON-RPC error: %s', async (type) => {
    expect(outcome(await post(client, call('x'), { ...HEADERS, 'content-type': type }))).toBe('415 -32600')
  })

  test('that is missing is refused with 415', async () => {
    expect(outcome(await sendBytes(utf8(JSON.stringify(call('x'))), { 'content-type': '' }))).toBe('415 -32600')
    const request = new Request('http://localhost/mcp', { method: 'POST', body: utf8('{}'), headers: HEADERS })
    expect(request.headers.has('content-type')).toBe(false)
    expect((await fetcher(request)).status).toBe(415)
  })

  test('is refused before the body is read', async () => {
    const { body, read } = watched([utf8(JSON.stringify(call('x')))])
    expect((await sendBytes(body, { 'content-type': 'text/plain' })).status).toBe(415)
    expect(read()).toBe(0)
  })
})

describe('an encoding', () => {
  test('keeps what lies outside of the basic plane', async () => {
    const text = '🧡 é 世界 \u2028\u2029 \u0000 "\\'
    expect(echoed(await post(client, call(text), HEADERS))).toBe(text)
  })

  test('survives a body and an answer that are cut inside a character', async () => {
    const bytes = utf8(JSON.stringify(call('🧡🧡')))
    const { body } = watched(Array.from(bytes, (byte) => Uint8Array.of(byte)))
    const headers = { 'content-type': 'application/json', ...HEADERS }
    const response = await fetcher(new Request('http://localhost/mcp', { method: 'POST', body, headers }))
    expect(await response.text()).toContain('"text":"\\"🧡🧡\\""')
    const answer = await sendBytes(bytes, { accept: 'text/event-stream' })
    expect(answer.contentType).toBe('text/event-stream')
    expect(echoed(answer)).toBe('🧡🧡')
  })

  test('may begin with a byte order mark', async () => {
    expect(echoed(await sendBytes(utf8(`\ufeff${JSON.stringify(call('x'))}`)))).toBe('x')
  })

  test.each<[string, number[]]>([
    ['a byte that no character has', [0xff]],
    ['a character that breaks off', [0xf0, 0x9f]],
    ['an overlong character', [0xc0, 0xaf]],
    ['half of a surrogate pair', [0xed, 0xa0, 0x80]],
  ])('that is not UTF-8 is -32700 with 400: %s', async (_what, bytes) => {
    const [head, tail] = JSON.stringify(call('@')).split('@').map(utf8)
    const body = Uint8Array.from([...head!, ...bytes, ...tail!])
    expect(outcome(await sendBytes(body))).toBe('400 -32700')
  })

  test('of UTF-16 is -32700 with 400', async () => {
    const text = JSON.stringify(call('x'))
    const bytes = new Uint8Array(Uint16Array.from(text, (char) => char.charCodeAt(0)).buffer)
    expect(outcome(await sendBytes(bytes))).toBe('400 -32700')
  })
})

describe('JSON', () => {
  test.each<[string, string]>([
    ['nothing', ''],
    ['blanks', '  \n'],
    ['truncated', JSON.stringify(call('x')).slice(0, -1)],
    ['two values', '{}{}'],
    ['a trailing comma', '{"jsonrpc":"2.0",}'],
    ['single quotes', "{'jsonrpc':'2.0'}"],
    ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
    ['a raw control character', '{"a":"\u0001"}'],
  ])('that is none is -32700 with 400 and no id: %s', async (_what, body) => {
    const answer = await post(client, body, HEADERS)
    expect(outcome(answer)).toBe('400 -32700')
    expect(answer.messages[0]).not.toHaveProperty('id')
  })

  test('that breaks off on the way is -32700 with 400', async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(utf8('{"jsonrpc":'))
        controller.error(new Error('connection reset'))
      },
    })
    expect(outcome(await sendBytes(body))).toBe('400 -32700')
  })

  test('may nest limits.jsonDepth levels deep, and not one more', async () => {
    expect(limits.jsonDepth).toBe(64)
    // The request, its params and its arguments are three of them.
    const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
    expect(outcome(await post(client, call(nested(61)), HEADERS))).toBe('200 result')
    expect(outcome(await post(client, call(nested(62)), HEADERS))).toBe('400 -32700')
  })

  test('that nests a million levels deep is refused, not run out of stack', async () => {
    expect(outcome(await post(client, '['.repeat(1_000_000), HEADERS))).toBe('400 -32700')
    expect(outcome(await post(client, '{"a":'.repeat(500_000), HEADERS))).toBe('400 -32700')
  })

  test('may be full of brackets that are text', async () => {
    const text = '[{"\\'.repeat(200)
    expect(echoed(await post(client, call(text), HEADERS))).toBe(text)
  })
})

describe('a size', () => {
  const padded = (bytes: number): string => JSON.stringify(call('x')).padEnd(bytes, ' ')

  test('may be limits.bodyBytes, and not one byte more', async () => {
    expect(limits.bodyBytes).toBe(4 * 1024 * 1024)
    expect(outcome(await post(client, padded(limits.bodyBytes), HEADERS))).toBe('200 result')
    expect(outcome(await post(client, padded(limits.bodyBytes + 1), HEADERS))).toBe('413 -32600')
  })

  test('is measured in bytes, not in characters', async () => {
    const text = 'é'.repeat(limits.bodyBytes / 2)
    expect(outcome(await post(client, call(text), HEADERS))).toBe('413 -32600')
  })

  test('over the cap is refused unread where Content-Length says so', async () => {
    const { body, read } = watched([utf8('{}')])
    const answer = await sendBytes(body, { 'content-length': `${limits.bodyBytes + 1}` })
    expect(outcome(answer)).toBe('413 -32600')
    expect(read()).toBe(0)
  })

  test('nobody announced is read only as far as the cap', async () => {
    const chunk = new Uint8Array(64 * 1024).fill(32)
    const { body, read, isCancelled } = watched(Array<Uint8Array>(200).fill(chunk))
    expect(outcome(await sendBytes(body))).toBe('413 -32600')
    expect(read()).toBeLessThanOrEqual(limits.bodyBytes + 2 * chunk.byteLength)
    expect(isCancelled()).toBe(true)
  })

  test('over the cap is refused by the Worker itself, with a Content-Length of the platform', async () => {
    const { status, messages } = await post(modern(worker), padded(limits.bodyBytes + 1), HEADERS)
    expect([status, messages[0]?.error?.code]).toEqual([413, -32600])
  })
})
