// Results as each revision knows them. The definitions use every field there is; the client refuses what its schema does
// not name, so what is dropped too late fails there and what is dropped too early fails here.
// @see 2025-06-18 changelog; 2025-11-25 changelog

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  type ContentBlock,
} from '../../../src/server/index.ts'
import { describeEras, legacy, LEGACY, type JsonObject } from '../../support/client.ts'
import { serve } from '../../support/serve.ts'
import { message, post } from '../../http/post.ts'

const icons = [{ src: 'https://example.com/a.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' as const }]
const _meta = { 'com.example/key': 1 }
const annotations = { audience: ['user' as const], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' }
const described = { title: 'Title', description: 'Description', icons, _meta }

const CONTENT: ContentBlock[] = [
  { type: 'text', text: 'text', annotations, _meta },
  { type: 'image', data: 'AA==', mimeType: 'image/png', annotations, _meta },
  { type: 'audio', data: 'AA==', mimeType: 'audio/wav', annotations, _meta },
  {
    type: 'resource',
    resource: { uri: 'test://page', mimeType: 'text/plain', text: 'text', _meta },
    annotations,
    _meta,
  },
  { type: 'resource', resource: { uri: 'test://page', blob: 'AA==' } },
  {
    type: 'resource_link',
    uri: 'test://page',
    name: 'page',
    title: 'Title',
    description: 'Description',
    mimeType: 'text/plain',
    size: 4,
    icons,
    annotations,
    _meta,
  },
  { type: 'resource_link', uri: 'test://other', name: 'other' },
]

const full = defineTool('full', {
  ...described,
  annotations: {
    title: 'Hint',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: z.object({ a: z.string().optional() }),
  outputSchema: z.object({ a: z.string() }),
  handler: () => ({ content: CONTENT, structuredContent: { a: 'b' }, _meta }),
})
const list = defineTool('list', {
  description: 'Returns a list.',
  outputSchema: z.array(z.string()),
  handler: () => ['a', 'b'],
})
const scalar = defineTool('scalar', { description: 'Returns a number.', outputSchema: z.number(), handler: () => 5 })
const says = definePrompt('says', {
  ...described,
  arguments: z.object({ id: z.string().meta({ title: 'Id', description: 'Which one.' }) }),
  get: () => ({
    description: 'Says.',
    messages: CONTENT.map((content) => ({ role: 'user' as const, content })),
    _meta,
  }),
})
const page = defineResource('test://page', {
  name: 'page',
  ...described,
  mimeType: 'text/plain',
  annotations,
  size: 4,
  read: () => ({ contents: [{ uri: 'test://page', mimeType: 'text/plain', text: 'text', _meta }], _meta }),
})
const pages = defineResourceTemplate('test://pages/{id}', {
  name: 'pages',
  ...described,
  mimeType: 'text/plain',
  annotations,
  list: () => [{ uri: 'test://pages/1', name: 'one', ...described, mimeType: 'text/plain', annotations, size: 1 }],
  read: ({ id }) => id,
})
const fetcher = serve(
  defineServer({ name: 'x', version: '1', tools: [full, list, scalar], prompts: [says], resources: [page, pages] }),
)

/** The keys of `value` that are among those that came later. */
function later(value: unknown): string[] {
  return ['title', 'icons', '_meta', 'outputSchema'].filter((key) => key in (value as object))
}

describeEras(
  'a definition that uses every field',
  (client, revision) => {
    const since = (first: string): boolean => revision >= first
    const named = [...(since('2025-06-18') ? ['title'] : []), ...(since('2025-11-25') ? ['icons'] : [])]
    const known = [...named, ...(since('2025-06-18') ? ['_meta'] : [])]

    test('is listed as a tool with the fields its revision knows', async () => {
      const { tools } = await client.result('tools/list')
      const output = since('2025-06-18') ? ['outputSchema'] : []
      expect(later(tools[0])).toEqual([...known, ...output])
      expect(tools[0]).toMatchObject({ description: 'Description', annotations: full.annotations })
      expect(tools.slice(1).map(later)).toEqual(
        revision === '2026-07-28' ? [['outputSchema'], ['outputSchema']] : [[], []],
      )
    })

    test('is listed as a prompt, arguments included', async () => {
      const { prompts } = await client.result('prompts/list')
      expect(later(prompts[0])).toEqual(known)
      const title = since('2025-06-18') ? { title: 'Id' } : {}
      expect(prompts[0]!.arguments).toEqual([{ name: 'id', ...title, description: 'Which one.', required: true }])
    })

    test('is listed as a resource, one that was computed included', async () => {
      const { resources } = await client.result('resources/list')
      expect(resources.map(later)).toEqual([known, known])
      const kept = since('2025-06-18') ? annotations : { audience: ['user'], priority: 0.5 }
      for (const resource of resources)
        expect(resource).toMatchObject({ description: 'Description', mimeType: 'text/plain' })
      expect(resources.map((resource) => resource.annotations)).toEqual([kept, kept])
    })

    test('is listed as a template', async () => {
      const { resourceTemplates } = await client.result('resources/templates/list')
      expect(resourceTemplates.map(later)).toEqual([known])
    })

    const check = (blocks: JsonObject[]): void => {
      const meta = since('2025-06-18') ? { _meta } : {}
      const kept = since('2025-06-18') ? annotations : { audience: ['user'], priority: 0.5 }
      const resource = { uri: 'test://page', mimeType: 'text/plain', text: 'text', ...meta }
      expect(blocks.slice(0, 5)).toEqual([
        { type: 'text', text: 'text', annotations: kept, ...meta },
        { type: 'image', data: 'AA==', mimeType: 'image/png', annotations: kept, ...meta },
        { type: 'audio', data: 'AA==', mimeType: 'audio/wav', annotations: kept, ...meta },
        { type: 'resource', resource, annotations: kept, ...meta },
        { type: 'resource', resource: { uri: 'test://page', blob: 'AA==' } },
      ])
      const [link, other] = blocks.slice(5)
      if (!since('2025-06-18')) {
        // The revision has no links, so a model reads them.
        expect(link).toEqual({ type: 'text', text: 'page (Description): test://page' })
        expect(other).toEqual({ type: 'text', text: 'other: test://other' })
        return
      }
      expect(other).toEqual({ type: 'resource_link', uri: 'test://other', name: 'other' })
      expect(later(link)).toEqual(known)
      expect(link).toMatchObject({ type: 'resource_link', description: 'Description', size: 4, annotations })
    }

    test('answers with the content its revision knows, and structured content where there is such a thing', async () => {
      const { result } = await client.call('full')
      check(result.content)
      expect(result.structuredContent).toEqual(since('2025-06-18') ? { a: 'b' } : undefined)
      expect(result._meta).toMatchObject(_meta)
    })

    test('answers a prompt with the content its revision knows', async () => {
      const { messages, _meta: kept } = await client.result('prompts/get', { name: 'says', arguments: { id: '1' } })
      check(messages.map(({ content }) => content))
      expect(kept).toMatchObject(_meta)
    })

    test('is read with the fields its revision knows', async () => {
      const { contents } = await client.result('resources/read', { uri: 'test://page' })
      const meta = since('2025-06-18') ? { _meta } : {}
      expect(contents).toEqual([{ uri: 'test://page', mimeType: 'text/plain', text: 'text', ...meta }])
    })

    test('carries structured values that are no objects only on modern, and their text copy everywhere', async () => {
      for (const [name, value] of [
        ['list', ['a', 'b']],
        ['scalar', 5],
      ] as const) {
        const { result } = await client.call(name)
        expect(result.structuredContent).toEqual(revision === '2026-07-28' ? value : undefined)
        expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(value) }])
      }
    })
  },
  { fetcher },
)

describe('a legacy request that names no revision', () => {
  const send = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const { messages } = await post(legacy(fetcher, '2025-11-25'), message(method, params))
    return messages[0]!.result!
  }

  test('gets every field that any legacy revision knows', async () => {
    const { tools } = (await send('tools/list', {})) as { tools: JsonObject[] }
    expect(later(tools[0])).toEqual(['title', 'icons', '_meta', 'outputSchema'])
    expect(await send('tools/call', { name: 'full' })).toMatchObject({ structuredContent: { a: 'b' } })
  })

  test('gets nothing that no legacy revision knows', async () => {
    const { tools } = (await send('tools/list', {})) as { tools: JsonObject[] }
    expect(tools.slice(1).map(later)).toEqual([[], []])
    expect(await send('tools/call', { name: 'list' })).toEqual({ content: [{ type: 'text', text: '["a","b"]' }] })
  })
})

test('a tool that asks fails with a text that says why, since without a session nobody can be asked', async () => {
  const asking = defineTool('asking', {
    description: 'Asks.',
    handler: async (_input, ctx) =>
      (await ctx.elicit('sure', { message: '?', schema: z.object({ a: z.boolean() }) })).action,
  })
  const demanding = defineTool('demanding', {
    description: 'Needs.',
    requires: ['elicitation.url'],
    handler: () => 'no',
  })
  for (const revision of LEGACY) {
    const client = legacy(serve({ tools: [asking, demanding] }), revision, { capabilities: { elicitation: {} } })
    for (const [name, needed] of [
      ['asking', 'elicitation.form'],
      ['demanding', 'elicitation.url'],
    ] as const) {
      const { result } = await client.call(name)
      expect(result.isError).toBe(true)
      expect(result.content[0]?.text).toContain(needed)
    }
  }
})
