// The HTTP status of every error, in both eras, as a client meets it.
// @see basic/transports/streamable-http; 2025-11-25 basic/transports

import { afterEach, describe, expect, test, vi } from 'vitest'
import { definePrompt, defineResource, defineTool } from '../../src/server/index.ts'
import { legacy, LEGACY, modern, type Client, type JsonObject, type RawExchange } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, message, outcome, post } from './post.ts'

const tool = defineTool('tool', { description: 'A tool.', requires: ['roots'], handler: () => 'ok' })
const broken = definePrompt('broken', {
  description: 'Throws.',
  get() {
    throw new Error('a secret of the handler')
  },
})
const page = defineResource('test://page', { name: 'page', read: () => undefined })
const fetcher = serve({ tools: [tool], prompts: [broken], resources: [page] })

type Headers = Record<string, string | null>
type Send = (client: Client, over?: Headers) => Promise<RawExchange>

/** A request that its era would serve, with some headers changed. */
function send(method: string, params: JsonObject = {}): Send {
  return (client, over = {}) => {
    const isModern = client.revision === '2026-07-28'
    const name = (params['name'] ?? params['uri'] ?? null) as string | null
    const body = message(method, { ...params, ...(isModern && { _meta: envelope() }) })
    const own = isModern ? { 'mcp-method': method, 'mcp-name': name } : {}
    return post(client, body, { 'mcp-protocol-version': client.revision, ...own, ...over })
  }
}

const raw =
  (body: unknown, over: Headers = {}): Send =>
  (client) =>
    post(client, body, { 'mcp-protocol-version': client.revision, ...over })

/** What is sent, and what each era answers: HTTP status and JSON-RPC code. */
const ROWS: [what: string, send: Send, onModern: string, onLegacy: string][] = [
  ['a broken body', raw('{'), '400 -32700', '400 -32700'],
  ['no message', raw({ jsonrpc: '2.0', id: null, method: 'ping' }), '400 -32600', '400 -32600'],
  ['an unknown method', send('nope'), '404 -32601', '200 -32601'],
  ['a method of a family nobody defined', send('completion/complete'), '404 -32601', '200 -32601'],
  ['an unknown tool', send('tools/call', { name: 'other' }), '200 -32602', '200 -32602'],
  ['an unknown prompt', send('prompts/get', { name: 'other' }), '200 -32602', '200 -32602'],
  ['broken parameters', send('tools/list', { cursor: 5 }), '200 -32602', '200 -32602'],
  ['a missing resource', send('resources/read', { uri: 'test://page' }), '200 -32602', '200 -32002'],
  ['a handler that throws', send('prompts/get', { name: 'broken' }), '200 -32603', '200 -32603'],
  ['no envelope', raw(message('tools/list')), '400 -32602', '200 result'],
  ['no Mcp-Method', (client) => send('tools/list')(client, { 'mcp-method': null }), '400 -32020', '200 result'],
  ['a missing capability', send('tools/call', { name: 'tool' }), '400 -32021', '200 result'],
  [
    'an unsupported version',
    raw(message('ping'), { 'mcp-protocol-version': '2099-01-01' }),
    '400 -32022',
    '400 -32022',
  ],
  ['a refused Origin', (client) => send('tools/list')(client, { origin: 'null' }), '403 -32600', '403 -32600'],
  ['a refused Accept', (client) => send('tools/list')(client, { accept: 'text/plain' }), '406 -32600', '406 -32600'],
  ['a large body', raw('{}', { 'content-length': '99999999' }), '413 -32600', '413 -32600'],
  ['a refused content type', raw('{}', { 'content-type': 'text/plain' }), '415 -32600', '415 -32600'],
]

afterEach(() => void vi.restoreAllMocks())

test.each(ROWS)('%s is answered with the status and the code of its era', async (_what, send, onModern, onLegacy) => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(outcome(await send(modern(fetcher)))).toBe(onModern)
  for (const revision of LEGACY)
    expect([revision, outcome(await send(legacy(fetcher, revision)))]).toEqual([revision, onLegacy])
})

test('an error repeats the id of its request, and has none where it could not be read', async () => {
  for (const client of [modern(fetcher), legacy(fetcher, '2025-06-18')]) {
    expect((await send('nope')(client)).messages[0]?.id).toBe(1)
    expect((await send('tools/list')(client, { accept: 'text/plain' })).messages[0]).not.toHaveProperty('id')
    expect((await raw('{"jsonrpc":"2.0","id":1,')(client)).messages[0]).not.toHaveProperty('id')
  }
})

describe('what a handler throws', () => {
  test('stays in the log, under the request id that the client is told', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    for (const client of [modern(fetcher), legacy(fetcher, '2025-11-25')]) {
      log.mockClear()
      const error = await client.error('prompts/get', { name: 'broken' })
      const [, requestId = ''] = /^Internal error \(request ([0-9a-f-]{36})\)$/.exec(error.message) ?? []
      expect(log).toHaveBeenCalledTimes(1)
      const event = JSON.parse(String(log.mock.calls[0]![0])) as JsonObject
      expect(event).toMatchObject({ event: 'failure', requestId, method: 'prompts/get', name: 'broken' })
      expect(event['error']).toBe('Error: a secret of the handler')
      expect(event['stack']).toEqual(expect.stringContaining('respond.test.ts'))
      expect(JSON.stringify(error)).not.toContain('secret')
    }
  })
})

test('a result that is no JSON is -32603 under a request id, and its reason stays in the log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {})
  const odd = defineTool('odd', {
    description: 'Counts.',
    handler: () => ({ content: [], _meta: { 'com.example/n': 1n } }),
  })
  for (const client of [modern(serve({ tools: [odd] })), legacy(serve({ tools: [odd] }), '2025-11-25')]) {
    log.mockClear()
    const error = await client.error('tools/call', { name: 'odd' })
    expect(error).toMatchObject({ status: 200, code: -32603 })
    const [, requestId = ''] = /^Internal error \(request ([0-9a-f-]{36})\)$/.exec(error.message) ?? []
    expect(JSON.parse(String(log.mock.calls[0]![0]))).toMatchObject({
      requestId,
      error: expect.stringContaining('BigInt'),
    })
  }
})

test('a store of keys that is down is 503 with Retry-After, and its reason stays in the log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {})
  const keys = (): Promise<never> => Promise.reject(new Error('a secret of the store'))
  const down = modern(serve({ tools: [tool] }, { keys }), { capabilities: { roots: {} } })
  const { status, headers, error } = await down.request('tools/call', { name: 'tool', requestState: stateLike() })
  expect([status, headers.get('retry-after'), error?.code]).toEqual([503, '5', -32603])
  expect(JSON.stringify(error)).not.toContain('secret')
  expect(String(log.mock.calls[0]![0])).toContain('a secret of the store')
})

/** Something that names a key, so that the store is asked for it. */
function stateLike(): string {
  return `${btoa(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid: 'x' })).replaceAll('=', '')}..AAAA.AAAA.AAAA`
}
