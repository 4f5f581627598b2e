// What a parsed body is: the kinds of message, their ids, and how deep a body may nest.
// @see basic/index, Messages

import { describe, expect, test } from 'vitest'
import { isDeeperThan, isRequestId, parseMessage } from '../../src/protocol/json-rpc.ts'
import { modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, message, outcome, post } from '../http/post.ts'

const fetcher = serve({})
const client = modern(fetcher)
const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }
const discover = { ...message('server/discover', { _meta: envelope() }) }

describe('a request id', () => {
  test.each(['1', '', 'a"b\\🧡', 0, 1, -1, 2 ** 53 - 1, -(2 ** 53) + 1])('is echoed as it came: %j', async (id) => {
    const { messages } = await post(client, { ...discover, id }, headers)
    expect(messages[0]?.id).toBe(id)
  })

  test.each([null, 1.5, 2 ** 53, true, [], {}])('is a string or an exact integer, not %j', async (id) => {
    const answer = await post(client, { ...discover, id }, headers)
    expect(outcome(answer)).toBe('400 -32600')
    expect(answer.messages[0]).not.toHaveProperty('id')
  })

  test.each([
    ['string', 'x', true],
    ['integer', 7, true],
    ['float', 7.5, false],
    ['null', null, false],
    ['undefined', undefined, false],
  ])('isRequestId tells a %s', (_type, value, expected) => {
    expect(isRequestId(value)).toBe(expected)
  })
})

test.each([
  ['result', { result: { action: 'decline' }, error: null }, { result: { action: 'decline' } }],
  ['error', { error: { code: 1, message: 'x' }, result: null }, { error: { code: 1, message: 'x' } }],
])('an answer whose other member is null is its %s', (_member, sent, kept) => {
  expect(parseMessage({ jsonrpc: '2.0', id: 'a', ...sent })).toEqual({ kind: 'answer', id: 'a', ...kept })
})

describe('a message that is none', () => {
  // Read without the judge of the client, which takes a body without a method for one without a request.
  async function refusal(body: unknown, version: string): Promise<[number, JsonObject]> {
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const request = new Request('http://localhost/mcp', init)
    request.headers.set('mcp-protocol-version', version)
    const response = await fetcher(request)
    return [response.status, await response.json()]
  }

  test.each<[string, unknown]>([
    ['no "jsonrpc"', { id: 1, method: 'ping' }],
    ['another "jsonrpc"', { jsonrpc: '1.0', id: 1, method: 'ping' }],
    ['no method', { jsonrpc: '2.0', id: 1 }],
    ['a method that is no string', { jsonrpc: '2.0', id: 1, method: 5 }],
    ['a null method', { jsonrpc: '2.0', id: 1, method: null }],
    ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }],
    ['params that are null', { jsonrpc: '2.0', id: 1, method: 'ping', params: null }],
  ])('is -32600 with 400 and its id where it could be read: %s', async (_what, body) => {
    for (const version of ['2026-07-28', '2025-06-18']) {
      const [status, answer] = await refusal(body, version)
      expect([status, answer]).toEqual([
        400,
        { jsonrpc: '2.0', id: 1, error: { code: -32600, message: expect.any(String) } },
      ])
    }
  })

  test.each<[string, unknown]>([
    ['a string', 'tools/list'],
    ['a number', 1],
    ['null', null],
    ['a request with a null id', { jsonrpc: '2.0', id: null, method: 'ping' }],
    ['a notification with a broken method', { jsonrpc: '2.0', method: 5 }],
    ['an answer with result and error', { jsonrpc: '2.0', id: 1, result: {}, error: {} }],
    ['an answer whose result is no object', { jsonrpc: '2.0', id: 1, result: 'x' }],
    ['an answer whose error is no object', { jsonrpc: '2.0', id: 1, error: 'x' }],
    ['an answer without id', { jsonrpc: '2.0', result: {} }],
  ])('is -32600 with 400 and no id where there is no request: %s', async (_what, body) => {
    for (const version of ['2026-07-28', '2025-06-18']) {
      const [status, answer] = await refusal(body, version)
      expect([status, answer]).toEqual([400, { jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } }])
    }
  })
})

test('parseMessage takes missing params for none', () => {
  expect(parseMessage({ jsonrpc: '2.0', id: 1, method: 'ping' })).toEqual({
    kind: 'request',
    id: 1,
    method: 'ping',
    params: {},
  })
})

test('parseMessage tells the kinds of message apart', () => {
  const kinds = [
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } },
    {},
  ].map((value) => parseMessage(value).kind)
  expect(kinds).toEqual(['request', 'notification', 'answer', 'answer', 'invalid'])
})

describe('isDeeperThan', () => {
  const nested = (depth: number, inner = '1'): string => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`

  test('counts arrays and objects alike', () => {
    expect(isDeeperThan('{"a":[{"b":[1]}]}', 4)).toBe(false)
    expect(isDeeperThan('{"a":[{"b":[1]}]}', 3)).toBe(true)
  })

  test('allows exactly the depth and not one more', () => {
    expect(isDeeperThan(nested(64), 64)).toBe(false)
    expect(isDeeperThan(nested(65), 64)).toBe(true)
    expect(isDeeperThan(nested(65, ''), 64)).toBe(true)
  })

  test('counts levels, not brackets', () => {
    expect(isDeeperThan(`[${'[],{},'.repeat(1000)}1]`, 2)).toBe(false)
  })

  test.each([
    ['brackets in a string', JSON.stringify({ a: '[[[[[[[[{{{{{{{{' })],
    ['brackets after an escaped quote', JSON.stringify({ a: 'x"[[[[[[[[[[[[' })],
    ['brackets after an escaped backslash and an escaped quote', JSON.stringify({ a: '\\"[[[[[[[[[[' })],
    ['brackets in a key', JSON.stringify({ '"{[{[{[{[{[{[': 1 })],
  ])('sees no depth in %s', (_what, text) => {
    expect(isDeeperThan(text, 1)).toBe(false)
  })

  test.each([
    ['a string that ends in an escaped backslash', '["\\\\",[[1]]]'],
    ['a string of escaped quotes', '["\\"\\"",[[1]]]'],
    ['an empty string', '["",[[1]]]'],
  ])('sees the depth after %s', (_what, text) => {
    expect(isDeeperThan(text, 2)).toBe(true)
    expect(isDeeperThan(text, 3)).toBe(false)
  })

  test('ends on text that is no JSON', () => {
    for (const text of ['"never closed [[[[', ']]]]]]]]', '"\\', '\\"[[[[[[['])
      expect(isDeeperThan(text, 3)).toBeTypeOf('boolean')
  })
})
