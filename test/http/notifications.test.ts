// What is posted and wants no answer: notifications, and answers to requests of the server.
// @see basic/transports/streamable-http, Sending Messages; 2025-11-25 basic/transports, Sending Messages

import { describe, expect, test } from 'vitest'
import { defineTool } from '../../src/server/index.ts'
import { describeEras, legacy, LEGACY, modern, type JsonObject, type RawExchange } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, outcome, post, VERSION } from './post.ts'

let calls = 0
const count = defineTool('count', { description: 'Counts.', handler: () => `${++calls}` })
const fetcher = serve({ tools: [count] })

const accepted = ({ status, text, contentType, headers }: RawExchange): unknown[] => [
  status,
  text,
  contentType,
  headers.get('content-length') ?? '0',
]
const ACCEPTED = [202, '', '', '0']

describeEras(
  'a notification',
  (client, revision) => {
    test.each([
      ['notifications/initialized', undefined],
      ['notifications/cancelled', { requestId: 1, reason: 'enough' }],
      ['notifications/cancelled', {}],
      ['notifications/roots/list_changed', {}],
      ['notifications/nobody-knows', { a: 1 }],
      ['tools/call', { name: 'count' }],
    ])('is accepted with 202 and no body, known or not: %s %j', async (method, params) => {
      const before = calls
      expect(accepted(await client.notify(method, params))).toEqual(ACCEPTED)
      expect(calls).toBe(before)
    })

    test.each<[string, JsonObject]>([
      ['none', {}],
      ['empty', { _meta: {} }],
      ['modern', { _meta: envelope() }],
      ['of an unknown version', { _meta: { [VERSION]: '1900-01-01' } }],
      ['that is broken', { _meta: 5 }],
    ])('is accepted whatever its _meta: %s', async (_what, params) => {
      const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
      expect(accepted(await post(client, body, { 'mcp-protocol-version': revision }))).toEqual(ACCEPTED)
    })

    test('needs no header beside its type', async () => {
      const body = { jsonrpc: '2.0', method: 'notifications/initialized' }
      expect(accepted(await post(client, body, { accept: null }))).toEqual(ACCEPTED)
    })

    test('under a version that nobody knows is refused with 400, as both eras ask, and with no id', async () => {
      const body = { jsonrpc: '2.0', method: 'notifications/initialized' }
      for (const version of ['1999-01-01', '2099-01-01', '2024-11-05']) {
        const answer = await post(client, body, { 'mcp-protocol-version': version })
        expect(outcome(answer)).toBe('400 -32022')
        expect(answer.messages[0]).not.toHaveProperty('id')
      }
    })

    test.each<[string, unknown]>([
      ['a method that is no string', { jsonrpc: '2.0', method: 5 }],
      ['params that are a list', { jsonrpc: '2.0', method: 'notifications/cancelled', params: [] }],
      ['no version', { method: 'notifications/cancelled' }],
    ])('that is malformed is refused with 400: %s', async (_what, body) => {
      expect(outcome(await post(client, body, { 'mcp-protocol-version': revision }))).toBe('400 -32600')
    })
  },
  { fetcher },
)

describe('an answer that a client posts', () => {
  const ANSWERS = [
    { jsonrpc: '2.0', id: 1, result: { action: 'accept' } },
    { jsonrpc: '2.0', id: 'x', error: { code: -1, message: 'User refused' } },
  ]

  test('is accepted with 202 on legacy, where servers may ask', async () => {
    for (const revision of LEGACY) {
      for (const body of ANSWERS) {
        const answer = await post(legacy(fetcher, revision), body, { 'mcp-protocol-version': revision })
        expect(accepted(answer)).toEqual(ACCEPTED)
      }
    }
  })

  test('is refused with 400 and no id on modern, where nobody was asked', async () => {
    for (const body of ANSWERS) {
      const answer = await post(modern(fetcher), body, { 'mcp-protocol-version': '2026-07-28' })
      expect(outcome(answer)).toBe('400 -32600')
      expect(answer.messages[0]).not.toHaveProperty('id')
    }
  })
})
