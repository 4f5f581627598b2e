// The operator's log: one line for each request, with everything to find it again and nothing of what was said.

import * as z from 'zod'
import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { definePrompt, defineResource, defineTool } from '../../src/server/index.ts'
import { describeEras, legacy, modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { sessionOf, stubOf } from '../sessions/support.ts'
import { envelope, message, post } from '../http/post.ts'

const SECRET = 'correct-horse-battery-staple'
const echo = defineTool('echo', {
  description: 'Echoes its text.',
  inputSchema: z.object({ text: z.string().meta({ 'x-mcp-header': 'Text' }) }),
  handler({ text }, ctx) {
    ctx.log('info', { text })
    ctx.progress(1, 1, text)
    return text
  },
})
const fail = defineTool('fail', {
  description: 'Throws.',
  inputSchema: z.object({ text: z.string() }),
  handler() {
    throw new TypeError('cannot do it')
  },
})
const late = defineTool('late', {
  description: 'Fails after it has begun.',
  async handler(_input, ctx) {
    ctx.progress(1)
    await scheduler.wait(2)
    await ctx.inputRequest('roots', { method: 'roots/list' })
    return 'never'
  },
})
const say = definePrompt('say', {
  description: 'Says.',
  arguments: z.object({ text: z.string() }),
  get: ({ text }) => text,
})
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const traced = defineTool('traced', {
  description: 'Says its trace.',
  handler: (_, ctx) => ctx.trace?.traceId ?? 'none',
})
const definition = { tools: [echo, fail, late, traced], prompts: [say], resources: [page] }
const fetcher = serve(definition, { vars: { LOG: 'requests' } })

let lines: { level: string; text: string }[] = []
const events = (): JsonObject[] => lines.map(({ text }) => JSON.parse(text) as JsonObject)

beforeEach(() => {
  lines = []
  for (const level of ['log', 'error', 'warn', 'info', 'debug'] as const) {
    vi.spyOn(console, level).mockImplementation(
      (...args: unknown[]) => void lines.push({ level, text: args.join(' ') }),
    )
  }
})
afterEach(() => void vi.restoreAllMocks())

/** Changes `LOG` where an object reads it. @returns what it was */
function setLog(object: object, value: string): string {
  const { env: bindings } = object as { env: { LOG: string } }
  const before = bindings.LOG
  bindings.LOG = value
  return before
}

describeEras(
  'the log line of a request',
  (client, revision) => {
    const era = revision === '2026-07-28' ? 'modern' : 'legacy'
    // Legacy requests do not say who sends them.
    const from = era === 'modern' ? { client: 'mcp-edge-tests 1.0.0' } : {}

    test('says what was called, in which era and by whom, how it went and how long it took', async () => {
      await client.paramHeaders('echo')
      lines = []
      await client.call('echo', { text: SECRET })
      expect(events()).toEqual([
        {
          event: 'request',
          requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          method: 'tools/call',
          name: 'echo',
          era,
          version: revision,
          status: 200,
          ms: expect.any(Number),
          ...from,
          principal: 'anonymous',
        },
      ])
      expect(lines[0]?.level).toBe('log')
    })

    test('holds no argument, answer, header or message, however the request ends', async () => {
      const args = { text: SECRET }
      await client.call('echo', args, { progressToken: SECRET, logLevel: 'debug' })
      await client.call('fail', args)
      await client.request('prompts/get', { name: 'say', arguments: args })
      await client.request('prompts/get', { name: 'say', arguments: { text: 5, other: SECRET } })
      await client.request('resources/read', { uri: `test://${SECRET}` })
      await client.request(
        'tools/call',
        { name: 'echo', arguments: { text: [SECRET] } },
        { headers: { 'mcp-param-text': SECRET } },
      )
      await client.request('tools/list', { cursor: SECRET }, { headers: { authorization: `Bearer ${SECRET}` } })
      expect(events().filter(({ event, method }) => event === 'request' && method !== 'tools/list')).toHaveLength(6)
      expect(JSON.stringify(lines)).not.toContain(SECRET)
    })

    test('says that the answer was a stream', async () => {
      await client.call('echo', { text: 'x' }, { progressToken: 1 })
      expect(events()).toMatchObject([{ stream: true, status: 200 }])
    })

    test('says which error it was, and the HTTP status that was sent', async () => {
      await client.request('nope')
      await client.request('tools/call', { name: 'other' })
      const status = era === 'modern' ? 404 : 200
      expect(events()).toMatchObject([
        { method: 'nope', status, code: -32601 },
        { method: 'tools/call', name: 'other', status: 200, code: -32602 },
      ])
    })

    test('has a unique id, that of the failure it belongs to', async () => {
      await client.call('fail', { text: 'x' })
      await client.call('fail', { text: 'x' })
      const [first, second] = [events().slice(0, 2), events().slice(2)]
      expect(first).toMatchObject([
        { event: 'failure', method: 'tools/call', name: 'fail', error: 'TypeError: cannot do it' },
        { event: 'request', status: 200 },
      ])
      expect(first[0]!['requestId']).toBe(first[1]!['requestId'])
      expect(second[0]!['requestId']).not.toBe(first[0]!['requestId'])
      expect(lines.map(({ level }) => level)).toEqual(['error', 'log', 'error', 'log'])
    })
  },
  { fetcher },
)

describe('the log line', () => {
  test('of an error that came after bytes were sent has the status that was sent', async () => {
    await modern(fetcher).request('tools/call', { name: 'late' }, { progressToken: 1 })
    expect(events()).toMatchObject([{ name: 'late', status: 200, code: -32021, stream: true }])
  })

  test('of initialize says who asks', async () => {
    await legacy(fetcher, '2025-06-18').result('initialize')
    expect(events()).toMatchObject([{ method: 'initialize', client: 'mcp-edge-tests 1.0.0', era: 'legacy' }])
  })

  test('is clipped where a client sends what has no end', async () => {
    const long = 'x'.repeat(10_000)
    const client = modern(fetcher, { clientInfo: { name: long, version: long } })
    await client.request('tools/call', { name: long })
    await client.request(long)
    for (const { text } of lines) expect(text.length).toBeLessThan(900)
    expect(lines).toHaveLength(2)
  })

  test('cannot be forged with a line break', async () => {
    const forged = 'x\n{"event":"request","requestId":"forged"}'
    await modern(fetcher, { clientInfo: { name: forged, version: '1' } }).request('tools/call', { name: forged })
    expect(lines).toHaveLength(1)
    expect(lines[0]!.text).not.toContain('\n')
  })

  test('is one for each request of a batch', async () => {
    const batch = [message('ping'), { ...message('tools/list'), id: 2 }]
    await post(legacy(fetcher, '2025-03-26'), batch)
    expect(events().map(({ method }) => method)).toEqual(['ping', 'tools/list'])
  })

  test('is one for a request that a rung of the ladder refused', async () => {
    const meta = envelope({ 'io.modelcontextprotocol/protocolVersion': '1900-01-01' })
    await post(modern(fetcher), message('tools/list', { _meta: meta }), { 'mcp-protocol-version': '1900-01-01' })
    expect(events()).toMatchObject([{ method: 'tools/list', status: 400, code: -32022 }])
    expect(events()[0]).not.toHaveProperty('era')
  })

  test.each([
    ['requests', ['error', 'log', 'log']],
    ['errors', ['error']],
    ['off', []],
  ])('LOG=%s writes %j', async (LOG, levels) => {
    const client = modern(serve(definition, { vars: { LOG } }))
    await client.paramHeaders('fail')
    lines = []
    await client.call('fail', { text: 'x' })
    await client.result('tools/list')
    expect(lines.map(({ level }) => level)).toEqual(levels)
  })
})

describe('a failure in a session', () => {
  test('is logged with the id, the name and the trace of its request', async () => {
    const session = await sessionOf(fetcher)
    lines = []
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'
    await session.call('fail', { text: SECRET }, { headers: { traceparent } })
    const [failure, request] = events()
    const about = { method: 'tools/call', name: 'fail', traceId: traceparent.slice(3, 35) }
    expect(failure).toMatchObject({ event: 'failure', requestId: request!['requestId'], ...about })
    expect(request).toMatchObject({ event: 'request', ...about })
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })

  test('is not logged with LOG=off', async () => {
    const session = await sessionOf(serve(definition, { vars: { LOG: 'off' } }))
    const restore = await runInDurableObject(stubOf(session), (object) => setLog(object, 'off'))
    lines = []
    await session.call('fail', { text: 'x' })
    await runInDurableObject(stubOf(session), (object) => setLog(object, restore))
    expect(lines).toEqual([])
  })
})

describe('a trace', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c'
  const OTHER = '11111111111111111111111111111111'
  const parent = (trace: string): string => `00-${trace}-00f067aa0ba902b7-01`

  test('is in the log line, wherever the client sent it', async () => {
    const client = modern(fetcher)
    await client.call('echo', { text: 'x' }, { meta: { traceparent: parent(TRACE) } })
    await client.call('echo', { text: 'x' }, { headers: { traceparent: parent(TRACE) } })
    await client.call('fail', { text: 'x' }, { headers: { traceparent: parent(TRACE) } })
    await legacy(fetcher, '2025-06-18').call('echo', { text: 'x' }, { meta: { traceparent: parent(TRACE) } })
    const traced = events().filter(({ method }) => method === 'tools/call')
    expect(traced.map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE, TRACE, TRACE])
  })

  test('reaches the handler, also from a batch in a session', async () => {
    const session = await sessionOf(fetcher, '2025-03-26')
    const call = { name: 'traced', _meta: { traceparent: parent(TRACE) } }
    const { messages } = await post(session, [message('tools/call', call)], { 'mcp-session-id': session.id })
    expect(messages).toMatchObject([{ result: { content: [{ text: TRACE }] } }])
  })

  test('of _meta goes before that of the headers', async () => {
    const options = { meta: { traceparent: parent(TRACE) }, headers: { traceparent: parent(OTHER) } }
    await modern(fetcher).result('server/discover', {}, options)
    expect(events()).toMatchObject([{ traceId: TRACE }])
  })

  test('that is malformed is left out, and refuses nothing', async () => {
    const headers = { traceparent: 'x' }
    await modern(fetcher).result('server/discover', {}, { headers })
    expect(events()[0]).not.toHaveProperty('traceId')
  })
})
