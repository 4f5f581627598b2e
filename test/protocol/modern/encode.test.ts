// What every modern result carries, and no legacy one: `resultType`, `serverInfo`, and hints where results may be kept.
// @see basic/index, Results and Per-response protocol fields; server/utilities/caching

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
} from '../../../src/server/index.ts'
import { legacy, LEGACY, modern, type JsonObject } from '../../support/client.ts'
import { serve } from '../../support/serve.ts'

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
const ask = { message: 'Sure?', schema: z.object({ sure: z.boolean() }) }

const ok = defineTool('ok', { description: 'Answers.', handler: () => 'ok' })
const broken = defineTool('broken', {
  description: 'Throws.',
  handler() {
    throw new Error('secret')
  },
})
const picky = defineTool('picky', { description: 'Refuses.', inputSchema: z.object({ a: z.int() }), handler: () => '' })
const asking = defineTool('asking', {
  description: 'Asks.',
  handler: async (_input, ctx) => (await ctx.elicit('sure', ask)).action,
})
const marked = defineTool('marked', {
  description: 'Brings its own _meta.',
  handler: () => ({ content: [], _meta: { 'com.example/mark': 1 } }),
})
const hello = definePrompt('hello', {
  description: 'Greets.',
  arguments: z.object({ name: z.enum(['Ada']) }),
  get: ({ name }) => name,
})
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const asked = defineResource('test://asked', {
  name: 'asked',
  cache: { ttlMs: 60_000, scope: 'public' },
  read: async (ctx) => (await ctx.elicit('sure', ask)).action,
})
const pages = defineResourceTemplate('test://pages/{id}', { name: 'pages', read: ({ id }) => id })

const info = { name: 'encode', version: '1.2.3', title: 'Encode', websiteUrl: 'https://example.com' }
const server = defineServer({
  ...info,
  tools: [ok, broken, picky, asking, marked],
  prompts: [hello],
  resources: [page, asked, pages],
})
const fetcher = serve(server, { vars: { LOG: 'off' } })
const client = modern(fetcher, { capabilities: { elicitation: {} } })

/** Every kind of success, and whether it may be kept. */
const CALLS: [what: string, method: string, params: JsonObject, isCacheable: boolean][] = [
  ['discovery', 'server/discover', {}, true],
  ['a list of tools', 'tools/list', {}, true],
  ['a list of prompts', 'prompts/list', {}, true],
  ['a list of resources', 'resources/list', {}, true],
  ['a list of templates', 'resources/templates/list', {}, true],
  ['a resource', 'resources/read', { uri: 'test://page' }, true],
  ['a resource by template', 'resources/read', { uri: 'test://pages/1' }, true],
  ['a tool result', 'tools/call', { name: 'ok' }, false],
  ['a tool result with its own _meta', 'tools/call', { name: 'marked' }, false],
  ['a tool error', 'tools/call', { name: 'broken' }, false],
  ['refused arguments', 'tools/call', { name: 'picky', arguments: {} }, false],
  ['a prompt', 'prompts/get', { name: 'hello', arguments: { name: 'Ada' } }, false],
  [
    'a completion',
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'hello' }, argument: { name: 'name', value: '' } },
    false,
  ],
]

const stamped = '%s is complete on modern, names the server, and carries hints only where it may be kept'
test.each(CALLS)(stamped, async (_what, method, params, isCacheable) => {
  const result = await client.result(method, params)
  expect(result.resultType).toBe('complete')
  expect(result._meta?.[SERVER_INFO]).toEqual(info)
  expect('ttlMs' in result).toBe(isCacheable)
  expect('cacheScope' in result).toBe(isCacheable)
  if (!isCacheable) return
  expect(result.ttlMs).toBeGreaterThanOrEqual(0)
  expect(['public', 'private']).toContain(result.cacheScope)
})

test.each(CALLS.slice(1))('%s carries none of it on legacy', async (_what, method, params) => {
  for (const revision of LEGACY) {
    const result = await legacy(fetcher, revision).result(method, params)
    for (const key of ['resultType', 'ttlMs', 'cacheScope']) expect(result).not.toHaveProperty(key)
    expect(result._meta ?? {}).not.toHaveProperty(SERVER_INFO)
  }
})

describe('a round that asks', () => {
  test.each([
    ['tools/call', { name: 'asking' }],
    ['resources/read', { uri: 'test://asked' }],
  ])('names the server and carries no hints: %s', async (method, params) => {
    const result = await client.result(method, params)
    expect(result.resultType).toBe('input_required')
    expect(result._meta).toEqual({ [SERVER_INFO]: info })
    expect(Object.keys(result).toSorted()).toEqual(['_meta', 'inputRequests', 'requestState', 'resultType'])
  })

  test('ends in a result that may not be kept', async () => {
    const answers = { sure: { action: 'decline' } }
    const { result } = await client.converse('resources/read', { uri: 'test://asked' }, { answers })
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' })
  })
})

test('the _meta of a handler stays beside what is stamped', async () => {
  const { result } = await client.call('marked')
  expect(result._meta).toEqual({ 'com.example/mark': 1, [SERVER_INFO]: info })
})

test('a handler cannot pass for another server, nor for another kind of result', async () => {
  const liar = defineTool('liar', {
    description: 'Lies.',
    handler: () => ({ content: [], resultType: 'task', _meta: { [SERVER_INFO]: { name: 'other', version: '0' } } }),
  })
  const { result } = await modern(serve({ tools: [liar] })).call('liar')
  expect(result._meta?.[SERVER_INFO]).toEqual({ name: 'test', version: '1.0.0' })
  expect(result.resultType).toBe('complete')
})

test('discovery says which versions there are, what is announced, and how to use the server', async () => {
  const fetcher = serve(defineServer({ ...info, instructions: 'Be kind.', tools: [ok] }))
  expect(await modern(fetcher).result('server/discover')).toEqual({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: { listChanged: true }, logging: {} },
    instructions: 'Be kind.',
    ttlMs: 300_000,
    cacheScope: 'public',
    _meta: { [SERVER_INFO]: info },
  })
})

test('a server says of itself on legacy what its revision knows', async () => {
  const icons = [{ src: 'https://example.com/a.png' }]
  const fetcher = serve(defineServer({ ...info, description: 'For tests.', icons }))
  const known = async (revision: (typeof LEGACY)[number]): Promise<string[]> => {
    return Object.keys((await legacy(fetcher, revision).result('initialize')).serverInfo).toSorted()
  }
  expect(await known('2025-03-26')).toEqual(['name', 'version'])
  expect(await known('2025-06-18')).toEqual(['name', 'title', 'version'])
  expect(await known('2025-11-25')).toEqual(['description', 'icons', 'name', 'title', 'version', 'websiteUrl'])
})
