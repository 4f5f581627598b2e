// Which answers a client takes: lenient, but what it refuses it does not get.
// @see basic/transports/streamable-http, Sending Messages

import { describe, expect, test } from 'vitest'
import { parseAccept } from '../../src/http/accept.ts'
import { defineTool } from '../../src/server/index.ts'
import { describeEras } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const quick = defineTool('quick', { description: 'Answers at once.', handler: () => 'ok' })
const noisy = defineTool('noisy', {
  description: 'Reports progress.',
  async handler(_input, ctx) {
    ctx.progress(1, 2)
    await scheduler.wait(5)
    ctx.progress(2, 2)
    return 'ok'
  },
})
const slow = defineTool('slow', {
  description: 'Takes longer than quietMs.',
  async handler() {
    await scheduler.wait(700)
    return 'ok'
  },
})
const fetcher = serve({ tools: [quick, noisy, slow] })

const JSON_ONLY = [
  'application/json',
  'application/*',
  'application/json, text/event-stream;q=0',
  'APPLICATION/JSON;charset=utf-8',
]
const SSE_ONLY = [
  'text/event-stream',
  'text/*',
  'text/event-stream, application/json;q=0',
  'text/event-stream, application/json;q=0.000',
]
const ANY = [null, '', '*/*', 'application/json, text/event-stream', 'text/event-stream,application/json', '*/*;q=0.1']
const NEITHER = ['text/plain', 'text/html', 'image/*', 'application/xml', '*/*;q=0', 'application/json;q=0', 'x']

describeEras(
  'Accept',
  (client) => {
    const isOld = client.revision !== '2026-07-28'
    const first = isOld ? 'ping' : 'server/discover'

    test.each([...JSON_ONLY, ...ANY])('%j gets a quick quiet answer as JSON', async (accept) => {
      const { contentType } = await client.request('tools/call', { name: 'quick' }, { accept })
      expect(contentType).toBe('application/json')
      expect((await client.request(first, {}, { accept })).contentType).toBe('application/json')
    })

    test.each(SSE_ONLY)('%j gets every result as a stream of one event', async (accept) => {
      for (const [method, params] of [
        ['tools/call', { name: 'quick' }],
        [first, {}],
        ['tools/list', {}],
      ] as const) {
        const { status, contentType, frames } = await client.request(method, params, { accept })
        expect([status, contentType]).toEqual([200, 'text/event-stream'])
        expect(frames).toMatch(/^event: message\ndata: \{.*\}\n\n$/)
      }
    })

    test.each(JSON_ONLY)('%j never gets a stream: its progress is dropped', async (accept) => {
      const answer = await client.request('tools/call', { name: 'noisy' }, { accept, progressToken: true })
      expect([answer.contentType, answer.notifications]).toEqual(['application/json', []])
      expect(answer.result?.content[0]?.text).toBe('ok')
    })

    test('without streams waits for a slow answer', async () => {
      const answers = JSON_ONLY.map((accept) => client.request('tools/call', { name: 'slow' }, { accept }))
      for (const { contentType, result } of await Promise.all(answers)) {
        expect([contentType, result?.content[0]?.text]).toEqual(['application/json', 'ok'])
      }
    })

    test.each([...SSE_ONLY, ...ANY])('%j gets progress as a stream', async (accept) => {
      const answer = await client.request('tools/call', { name: 'noisy' }, { accept, progressToken: true })
      expect(answer.contentType).toBe('text/event-stream')
      expect(answer.notifications.map(({ params }) => params.progress)).toEqual([1, 2])
    })

    test.each(NEITHER)('%j is refused with 406 and a JSON-RPC error', async (accept) => {
      expect(await client.error(first, {}, { accept })).toMatchObject({ status: 406, code: -32600 })
    })

    test('with streams alone still gets an error that has its own status as JSON', async () => {
      const { status, contentType } = await client.request(
        isOld ? 'tools/call' : 'nope',
        {},
        { accept: 'text/event-stream' },
      )
      expect([status, contentType]).toEqual(isOld ? [200, 'text/event-stream'] : [404, 'application/json'])
    })
  },
  { fetcher },
)

test('initialize is answered whatever type a host sends', async () => {
  for (const accept of [...ANY, ...JSON_ONLY, ...SSE_ONLY]) {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' }, _meta: {} },
    })
    const headers = { 'content-type': 'application/json', ...(accept !== null && { accept }) }
    const response = await fetcher(new Request('http://localhost/mcp', { method: 'POST', body, headers }))
    expect([accept, response.status]).toEqual([accept, 200])
    await response.text()
  }
})

describe('parseAccept', () => {
  test('takes the most specific range, wherever it stands', () => {
    expect(parseAccept('*/*, application/json;q=0')).toEqual({ json: false, sse: true })
    expect(parseAccept('application/*;q=0, application/json')).toEqual({ json: true, sse: false })
    expect(parseAccept('text/*;q=0, */*')).toEqual({ json: true, sse: false })
  })

  test('reads q as a number, and no other parameter as q', () => {
    expect(parseAccept('application/json;q=0.5, text/event-stream;Q=0')).toEqual({ json: true, sse: false })
    expect(parseAccept('application/json; q=0.01')).toEqual({ json: true, sse: false })
    expect(parseAccept('application/json;eq=0')).toEqual({ json: true, sse: false })
  })
})
