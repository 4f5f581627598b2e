// Batches, which only 2025-03-26 has: what may be in one, how it is answered, and what is refused as a whole.
// @see 2025-03-26 basic/index, Batching; basic/transports, Sending Messages; basic/lifecycle

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool } from '../../src/server/index.ts'
import { legacy, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, outcome, post } from './post.ts'

let calls = 0
const count = defineTool('count', { description: 'Counts its calls.', handler: () => `call ${++calls}` })
const steps = defineTool('steps', {
  description: 'Reports progress.',
  async handler(_input, ctx) {
    for (let i = 1; i < 4; i++) {
      ctx.progress(i)
      await scheduler.wait(2)
    }
    return 'done'
  },
})
const client = legacy(serve({ tools: [count, steps] }), '2025-03-26')
const VERSION = { 'mcp-protocol-version': '2025-03-26' }

const request = (id: unknown, method = 'ping', params?: JsonObject): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})
const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
const response = { jsonrpc: '2.0', id: 1, result: {} }

describe('a batch', () => {
  test('of requests is answered with an array, a response for each in its order', async () => {
    const batch = [
      request(1),
      request('b', 'tools/list'),
      request(3, 'tools/call', { name: 'count' }),
      request(4, 'nope'),
    ]
    const { status, contentType, json } = await post(client, batch, VERSION)
    expect([status, contentType]).toEqual([200, 'application/json'])
    expect((json as JsonObject[]).map(({ id }) => id)).toEqual([1, 'b', 3, 4])
    expect((json as JsonObject[]).map(({ error }) => (error as JsonObject | undefined)?.['code'])).toEqual([
      undefined,
      undefined,
      undefined,
      -32601,
    ])
  })

  test('of one request is answered with an array of one', async () => {
    expect((await post(client, [request(1)], VERSION)).json).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
  })

  test('of requests and notifications answers the requests alone', async () => {
    const { json } = await post(client, [notification, request(1), notification], VERSION)
    expect(json).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
  })

  test.each([
    ['notifications', [notification, notification]],
    ['answers', [response, { ...response, id: 2 }]],
  ])('of nothing but %s is accepted with 202 and no body', async (_what, batch) => {
    const { status, text, contentType } = await post(client, batch, VERSION)
    expect([status, text, contentType]).toEqual([202, '', ''])
  })

  test('that names no version is 2025-03-26 by its shape', async () => {
    expect((await post(client, [request(1)])).json).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
  })

  test('is one stream with a response for each request, where a client takes streams and something is reported', async () => {
    const call = (token: string): JsonObject => ({ name: 'steps', _meta: { progressToken: token } })
    const batch = [request(1, 'tools/call', call('a')), request(2, 'tools/call', call('b')), request(3)]
    const { contentType, messages } = await post(client, batch, VERSION)
    expect(contentType).toBe('text/event-stream')
    expect(messages.filter(({ id }) => id === undefined)).toHaveLength(6)
    expect(messages.slice(-3).map(({ id }) => id)).toEqual([1, 2, 3])
  })

  test('is one stream for a client that takes nothing else, and an array for one that takes no stream', async () => {
    const batch = [request(1), request(2)]
    const streamed = await post(client, batch, { ...VERSION, accept: 'text/event-stream' })
    expect([streamed.contentType, streamed.messages.length]).toEqual(['text/event-stream', 2])
    const call = request(1, 'tools/call', { name: 'steps', _meta: { progressToken: 1 } })
    const plain = await post(client, [call], { ...VERSION, accept: 'application/json' })
    expect([plain.contentType, plain.messages.length]).toEqual(['application/json', 1])
  })

  test('may hold limits.batchMessages messages, and not one more', async () => {
    expect(limits.batchMessages).toBe(50)
    const batch = Array.from({ length: 50 }, (_, i) => request(i))
    expect((await post(client, batch, VERSION)).messages).toHaveLength(50)
    expect(outcome(await post(client, [...batch, notification], VERSION))).toBe('400 -32600')
  })
})

describe('a batch is refused as a whole, with 400, -32600 and no id, and nothing in it runs', () => {
  const call = request(1, 'tools/call', { name: 'count' })

  test.each<[string, unknown[], Record<string, string>]>([
    ['empty', [], VERSION],
    ['empty, without a version', [], {}],
    ['with initialize inside', [call, request(2, 'initialize', { protocolVersion: '2025-03-26' })], VERSION],
    ['with initialize alone', [request(2, 'initialize')], {}],
    ['with answers among requests', [call, response], VERSION],
    ['with answers among notifications', [notification, response], VERSION],
    ['with a message that is none', [call, 5], VERSION],
    ['with null', [null], VERSION],
    ['with a batch inside', [[call]], VERSION],
    ['with a null id', [call, request(null)], VERSION],
    ['with a modern request', [call, request(2, 'tools/list', { _meta: envelope() })], VERSION],
    ['with a modern request, without a version', [request(2, 'tools/list', { _meta: envelope() })], {}],
    ['with a modern notification', [call, { ...notification, params: { _meta: envelope() } }], VERSION],
    ['on 2025-06-18', [call], { 'mcp-protocol-version': '2025-06-18' }],
    ['on 2025-11-25', [call], { 'mcp-protocol-version': '2025-11-25' }],
    ['on 2026-07-28', [call], { 'mcp-protocol-version': '2026-07-28' }],
    ['on 2026-07-28, of nothing but notifications', [notification], { 'mcp-protocol-version': '2026-07-28' }],
  ])('%s', async (_what, batch, headers) => {
    const before = calls
    const answer = await post(client, batch, headers)
    expect(outcome(answer)).toBe('400 -32600')
    expect(answer.json).toEqual({ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } })
    expect(calls).toBe(before)
  })

  test('on a version nobody knows, with that error', async () => {
    expect(outcome(await post(client, [call], { 'mcp-protocol-version': '2099-01-01' }))).toBe('400 -32022')
  })
})
