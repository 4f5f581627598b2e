// Every kind of violation, seen red: a checker that cannot fail proves nothing about the server.

import { describe, expect, it } from 'vitest'
import { createClient } from './create-client.ts'
import type { RequestOptions } from './envelope.ts'
import {
  failure,
  fakeServer,
  legacyToolResult,
  log,
  progress,
  stamp,
  stream,
  success,
  toolList,
  toolResult,
} from './fake-server.ts'
import { LEGACY, MODERN } from './revisions.ts'
import type { JsonObject, Message, Revision } from './revisions.ts'

const call = { name: 'echo', arguments: { free: ['form', { of: null }] } }

interface Case {
  rule: string
  revision?: Revision
  method?: string
  params?: JsonObject
  options?: RequestOptions
  answer: (message: Message) => unknown
  because: RegExp
}

function send({ revision = MODERN, method = 'tools/call', params = call, options, answer }: Case) {
  return createClient(fakeServer(answer), revision).request(method, params, options)
}

const refused: Case[] = [
  {
    rule: 'an unknown key of a result',
    answer: (message) => success(message, { ...toolResult, extra: 1 }),
    because: /CallToolResult at #\/extra: the key is not in the schema/,
  },
  {
    rule: 'an unknown key deep inside, naming its path and not those of other kinds of content',
    answer: (message) => success(message, { ...toolResult, content: [{ type: 'text', text: 'ok', extra: 1 }] }),
    because: /2026-07-28: [^\n]*\n {2}CallToolResult at #\/content\/0\/extra: [^\n]*\n\{/,
  },
  {
    rule: 'an unknown key of the envelope',
    answer: (message) => ({ ...success(message, toolResult), extra: 1 }),
    because: /JSONRPCResultResponse at #\/extra/,
  },
  {
    rule: 'an unknown key of an error',
    answer: (message) => ({ ...failure(message, -32602), error: { code: -32602, message: 'No', detail: 1 } }),
    because: /at #\/error\/detail/,
  },
  {
    rule: 'a missing resultType',
    answer: (message) => success(message, legacyToolResult),
    because: /required property "resultType"/,
  },
  {
    rule: 'a resultType the revision does not have',
    answer: (message) => success(message, { ...toolResult, resultType: 'partial' }),
    because: /has no result of this kind/,
  },
  {
    rule: 'input_required where it is not allowed',
    method: 'tools/list',
    params: {},
    answer: (message) => success(message, { resultType: 'input_required', requestState: 'x' }),
    because: /"tools\/list" has no result of this kind/,
  },
  {
    rule: 'input_required that asks nothing',
    answer: (message) => success(message, { ...stamp, resultType: 'input_required' }),
    because: /neither inputRequests nor requestState/,
  },
  {
    rule: 'input_required with caching hints',
    answer: (message) => success(message, { resultType: 'input_required', requestState: 'x', ttlMs: 0 }),
    because: /InputRequiredResult at #\/ttlMs/,
  },
  {
    rule: 'a result that does not say which server it is from',
    answer: (message) => success(message, { ...toolResult, _meta: {} }),
    because: /does not say which server/,
  },
  {
    rule: 'a missing ttlMs',
    method: 'tools/list',
    params: {},
    answer: (message) => success(message, { ...toolList, ttlMs: undefined }),
    because: /required property "ttlMs"/,
  },
  {
    rule: 'bytes that are no Base64',
    answer: (message) =>
      success(message, { ...toolResult, content: [{ type: 'image', data: '?', mimeType: 'image/png' }] }),
    because: /#\/content\/0\/data/,
  },
  {
    rule: 'a form beyond the flat subset',
    answer: (message) => {
      const requestedSchema = { type: 'object', properties: { when: { type: 'object', properties: {} } } }
      const params = { message: 'When?', requestedSchema }
      return success(message, {
        resultType: 'input_required',
        inputRequests: { a: { method: 'elicitation/create', params } },
      })
    },
    because: /#\/inputRequests\/a/,
  },
  {
    rule: 'an answer to another id',
    answer: () => success({ jsonrpc: '2.0', id: 'other' }, toolResult),
    because: /id is not the request's/,
  },
  {
    rule: 'an id of another type',
    options: { id: 7 },
    answer: () => success({ jsonrpc: '2.0', id: '7' }, toolResult),
    because: /id is not the request's: 7/,
  },
  {
    rule: 'an error without the id',
    answer: () => failure({ jsonrpc: '2.0' }, -32602),
    because: /id is not the request's/,
  },
  {
    rule: 'a null id',
    answer: () => ({ ...failure({ jsonrpc: '2.0' }, -32602), id: null }),
    because: /#\/id/,
  },
  {
    rule: 'an error code the protocol has not allocated',
    answer: (message) => failure(message, -32002),
    because: /-32002 is reserved/,
  },
  {
    rule: 'the legacy URL elicitation error on modern',
    answer: (message) => failure(message, -32042, { elicitations: [] }),
    because: /-32042 is reserved/,
  },
  {
    rule: 'a version error that names no versions',
    answer: (message) => failure(message, -32022, { requested: 'draft' }),
    because: /UnsupportedProtocolVersionError at #\/error\/data: .*"supported"/,
  },
  {
    rule: 'progress nobody asked for',
    answer: (message) => stream(progress('t', 1), success(message, toolResult)),
    because: /no request of this answer/,
  },
  {
    rule: 'progress that repeats its value',
    options: { progressToken: 't' },
    answer: (message) => stream(progress('t', 1), progress('t', 1), success(message, toolResult)),
    because: /does not increase: 1 after 1/,
  },
  {
    rule: 'a log message without logLevel',
    answer: (message) => stream(log('x'), success(message, toolResult)),
    because: /no logLevel was asked for/,
  },
  {
    rule: 'a change notification on the stream of a call',
    answer: (message) =>
      stream({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, success(message, toolResult)),
    because: /does not belong on this stream/,
  },
  {
    rule: 'a request of the server on modern',
    answer: (message) => stream({ jsonrpc: '2.0', id: 1, method: 'ping' }, success(message, toolResult)),
    because: /"ping" is not a request that servers send/,
  },
  {
    rule: 'a notification the revision does not have',
    answer: (message) =>
      stream(
        { jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: {} },
        success(message, toolResult),
      ),
    because: /not a notification that servers send/,
  },
  {
    rule: 'a stream that goes on',
    answer: (message) => stream(success(message, toolResult), ': more\n\n'),
    because: /goes on after the final/,
  },
  {
    rule: 'a second response',
    answer: (message) => stream(success(message, toolResult), success(message, toolResult)),
    because: /goes on after/,
  },
  {
    rule: 'a stream without a response',
    options: { progressToken: 't' },
    answer: () => stream(progress('t', 1)),
    because: /ended without a response/,
  },
  { rule: 'an array', answer: (message) => [success(message, toolResult)], because: /the answer is an array/ },
  {
    rule: 'what is no JSON',
    answer: () => new Response('{', { headers: { 'content-type': 'application/json' } }),
    because: /not JSON/,
  },
  {
    rule: 'JSON under another content type',
    answer: (message) =>
      new Response(JSON.stringify(success(message, toolResult)), { headers: { 'content-type': 'text/plain' } }),
    because: /no JSON-RPC: 200 with content type "text\/plain"/,
  },
  { rule: 'no answer at all', answer: () => new Response(null, { status: 202 }), because: /no JSON-RPC: 202/ },
  {
    rule: 'a result of a method the revision does not have',
    revision: '2025-11-25',
    method: 'server/discover',
    params: {},
    answer: (message) => success(message, {}),
    because: /"server\/discover" has no result/,
  },
  {
    rule: 'structuredContent before 2025-06-18',
    revision: '2025-03-26',
    answer: (message) => success(message, { ...legacyToolResult, structuredContent: {} }),
    because: /#\/structuredContent/,
  },
  {
    rule: 'a resource link before 2025-06-18',
    revision: '2025-03-26',
    answer: (message) => success(message, { content: [{ type: 'resource_link', uri: 'note://1', name: 'n' }] }),
    because: /#\/content\/0/,
  },
  {
    rule: 'icons before 2025-11-25',
    revision: '2025-06-18',
    method: 'tools/list',
    params: {},
    answer: (message) => success(message, { tools: [{ name: 'echo', inputSchema: { type: 'object' }, icons: [] }] }),
    because: /#\/tools\/0\/icons/,
  },
  {
    rule: 'an empty result that is not empty',
    revision: '2025-06-18',
    method: 'ping',
    params: {},
    answer: (message) => success(message, { pong: true }),
    because: /EmptyResult at #\/pong/,
  },
  {
    rule: 'an empty event before 2025-11-25',
    revision: '2025-06-18',
    answer: (message) => stream('id: 1\ndata:\n\n', success(message, legacyToolResult)),
    because: /not JSON/,
  },
]

describe('a client refuses', () => {
  it.each(refused)('$rule', async (each) => {
    await expect(send(each)).rejects.toThrow(each.because)
  })

  it.each(LEGACY.flatMap((revision) => ['resultType', 'ttlMs', 'cacheScope'].map((key) => ({ revision, key }))))(
    '$key on $revision',
    async ({ revision, key }) => {
      const answer = (message: Message) => success(message, { tools: [], [key]: key === 'ttlMs' ? 0 : 'complete' })
      await expect(
        send({ revision, method: 'tools/list', params: {}, answer, rule: '', because: /./ }),
      ).rejects.toThrow(`#/${key}`)
    },
  )

  it('a stream that stays open after the final response', async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const answer = (message: Message) => {
      void writer.write(new TextEncoder().encode(`data: ${JSON.stringify(success(message, toolResult))}\n\n`))
      return new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
    }
    await expect(send({ rule: '', answer, because: /./ })).rejects.toThrow(
      'still open 2000 ms after the final response',
    )
  })

  it('a request that breaks its own schema, unless the test says that it means to', async () => {
    const client = createClient(
      fakeServer((message) => success(message, toolResult)),
      MODERN,
    )
    const params = { ...call, task: {} }
    await expect(client.request('tools/call', params)).rejects.toThrow('CallToolRequest at #/params/task')
    await expect(client.request('tools/call', params, { unchecked: true })).resolves.toMatchObject({ status: 200 })
  })

  it('with an error that quotes the message and the revision', async () => {
    const violation = send({ ...refused[0]!, revision: '2025-11-25' })
    await expect(violation).rejects.toMatchObject({
      name: 'WireViolation',
      message: expect.stringContaining('"extra": 1'),
    })
    await expect(violation).rejects.toThrow(/^2025-11-25: /)
  })
})

describe('a client accepts', () => {
  const accepted: (Omit<Case, 'because'> & { because?: never })[] = [
    {
      rule: 'free maps: _meta, structuredContent, error data',
      answer: (m) => success(m, { ...toolResult, _meta: { ...stamp._meta, 'a/b': 1 }, structuredContent: [null, 0.5] }),
    },
    { rule: 'data of any shape in an error', answer: (m) => failure(m, -32602, { any: { thing: null } }) },
    {
      rule: 'JSON Schema of any keywords in a tool',
      method: 'tools/list',
      params: {},
      answer: (m) =>
        success(m, { ...toolList, tools: [{ name: 'a', inputSchema: { type: 'object', $defs: {}, if: true } }] }),
    },
    {
      rule: 'JSON Schema of any keywords in a tool on legacy',
      revision: '2025-03-26',
      method: 'tools/list',
      params: {},
      answer: (m) =>
        success(m, { tools: [{ name: 'a', inputSchema: { type: 'object', $defs: {}, additionalProperties: false } }] }),
    },
    {
      rule: 'an error without id before the body was read',
      answer: () => Response.json(failure({ jsonrpc: '2.0' }, -32600), { status: 413 }),
    },
    {
      rule: 'progress and log messages that were asked for',
      options: { progressToken: 't', logLevel: 'debug' },
      answer: (m) =>
        stream(': hi\n\n', progress('t', 0.5), log({ any: 'thing' }), progress('t', 1), success(m, toolResult)),
    },
    {
      rule: 'a request of the server on legacy',
      revision: '2025-06-18',
      answer: (m) => stream({ jsonrpc: '2.0', id: 'a', method: 'roots/list' }, success(m, legacyToolResult)),
    },
    {
      rule: 'a priming event on 2025-11-25',
      revision: '2025-11-25',
      answer: (m) => stream('id: 1\ndata:\n\n', 'retry: 500\n\n', success(m, legacyToolResult)),
    },
  ]

  it.each(accepted)('$rule', async (each) => {
    await expect(send(each as unknown as Case)).resolves.toHaveProperty('response')
  })
})
