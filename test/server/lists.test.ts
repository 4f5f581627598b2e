// Lists: pages, cursors and caching hints. @see server/utilities/pagination, server/utilities/caching

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type ServerOptions,
} from '../../src/server/index.ts'
import { describeEras, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const names = ['a', 'b', 'c']
const tools = names.map((name) => defineTool(name, { description: name, handler: () => name }))
const prompts = names.map((name) => definePrompt(name, { description: name, get: () => name }))
const resources = names.map((name) => defineResource(`test://${name}`, { name, read: () => name }))
const templates = names.map((name) => defineResourceTemplate(`${name}://{x}`, { name, read: ({ x }) => x }))
const computed = defineResourceTemplate('note://{id}', {
  name: 'note',
  list: async () => names.map((id) => ({ uri: `note://${id}`, name: id })),
  read: ({ id }) => id,
})

const LISTS = [
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
] as const

const options: Partial<ServerOptions> = { tools, prompts, resources: [...resources, ...templates], pageSize: 1 }
const fetcher = serve(options)

describeEras(
  'a list with one entry per page',
  (client) => {
    test.each(LISTS)('%s hands out every entry once, in order', async (method, member) => {
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = (await client.result(method, cursor === undefined ? {} : { cursor })) as unknown as Record<
          string,
          unknown
        >
        const entries = page[member] as { name: string }[]
        expect(entries).toHaveLength(1)
        seen.push(entries[0]!.name)
        cursor = page['nextCursor'] as string | undefined
      } while (cursor !== undefined)
      expect(seen).toEqual(names)
    })

    test('refuses a cursor it did not hand out, also one of another list', async () => {
      const { nextCursor } = await client.result('tools/list')
      for (const cursor of ['', 'x', nextCursor + 'A', btoa('tools:9'), btoa('tools:-1'), btoa('tools:1.5'), 'é']) {
        expect(await client.error('tools/list', { cursor }), cursor).toMatchObject({ code: -32602, status: 200 })
      }
      expect(await client.error('prompts/list', { cursor: nextCursor })).toMatchObject({ code: -32602 })
      expect(await client.error('tools/list', { cursor: 5 })).toMatchObject({ code: -32602 })
    })
  },
  { fetcher },
)

describe('caching hints', () => {
  test('are public and fresh for five minutes on lists that are the same for everybody', async () => {
    const client = modern(fetcher)
    for (const [method] of LISTS) {
      expect(await client.result(method)).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' })
    }
    expect(await client.result('server/discover')).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' })
  })

  test('are private and 0 on a resource list with computed entries, on every page', async () => {
    const client = modern(serve({ resources: [...resources, computed], pageSize: 2 }))
    const first = await client.result('resources/list')
    expect(first).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    const second = await client.result('resources/list', { cursor: first.nextCursor! })
    expect(second).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    expect([...first.resources, ...second.resources].map(({ name }) => name)).toEqual(['a', 'b', 'c', 'a'])
  })

  test('follow what the author says, per list and per resource', async () => {
    const shared = defineResource('test://shared', {
      name: 'shared',
      cache: { ttlMs: 60_000, scope: 'public' },
      read: () => 'x',
    })
    const cache = { tools: { ttlMs: 1, scope: 'private' as const } }
    const client = modern(serve({ tools, resources: [shared, ...resources], cache }))
    expect(await client.result('tools/list')).toMatchObject({ ttlMs: 1, cacheScope: 'private' })
    expect(await client.result('resources/read', { uri: 'test://shared' })).toMatchObject({
      ttlMs: 60_000,
      cacheScope: 'public',
    })
    expect(await client.result('resources/read', { uri: 'test://a' })).toMatchObject({
      ttlMs: 0,
      cacheScope: 'private',
    })
  })

  test('keep the result of a retry from any cache', async () => {
    const asking = defineResource('test://asking', {
      name: 'asking',
      cache: { ttlMs: 60_000, scope: 'public' },
      read: async (ctx) => (await ctx.elicit('q', { message: 'q', schema: z.object({}) })).action,
    })
    const client = modern(serve({ resources: [asking] }), { capabilities: { elicitation: {} } })
    const { rounds, result } = await client.converse(
      'resources/read',
      { uri: 'test://asking' },
      { answers: { q: { action: 'decline' } } },
    )
    expect(rounds[0]).not.toHaveProperty('ttlMs')
    expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
  })
})

describe('a family without definitions', () => {
  test('is not announced and its methods do not exist', async () => {
    const client = modern(serve({ tools }))
    expect((await client.result('server/discover')).capabilities).toEqual({ tools: { listChanged: true }, logging: {} })
    for (const method of ['prompts/list', 'resources/list', 'resources/templates/list', 'completion/complete']) {
      expect(await client.error(method)).toMatchObject({ status: 404, code: -32601 })
    }
    const empty = modern(serve({}))
    expect((await empty.result('server/discover')).capabilities).toEqual({})
    for (const method of ['tools/list', 'subscriptions/listen'])
      expect(await empty.error(method)).toMatchObject({ status: 404, code: -32601 })
  })
})

describe('a callback that lists', () => {
  test('cannot ask, even if types are ignored, and its failure is an internal error', async () => {
    const cheating = defineResourceTemplate('note://{id}', {
      name: 'note',
      list: async (ctx) => {
        await (ctx as unknown as { elicit(key: string, ask: object): Promise<void> }).elicit('a', {})
        return []
      },
      read: ({ id }) => id,
    })
    const client = modern(serve({ resources: [cheating] }), { capabilities: { elicitation: {} } })
    const error = await client.error('resources/list')
    expect(error).toMatchObject({ code: -32603, status: 200 })
    expect(error.message).toMatch(/^Internal error \(request [0-9a-f-]{36}\)$/)
  })
})
