// Which methods exist in which era, and which capability has to be announced for them. Absence is -32601.
// @see basic/transports/streamable-http, Protocol Version Header; server/tools, Capabilities and its siblings

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type ServerOptions,
} from '../../src/server/index.ts'
import { isModernOnly, methodIn } from '../../src/protocol/methods.ts'
import { describeEras, legacy, modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const tool = defineTool('tool', { description: 'A tool.', handler: () => 'ok' })
const plain = definePrompt('plain', { description: 'A prompt.', get: () => 'ok' })
const completing = definePrompt('completing', {
  description: 'A prompt that completes.',
  arguments: z.object({ tone: z.enum(['kind', 'blunt']) }),
  get: ({ tone }) => tone,
})
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const pages = defineResourceTemplate('test://pages/{id}', { name: 'pages', read: ({ id }) => id })

const FAMILIES: { [family: string]: { methods: [string, JsonObject][]; server: Partial<ServerOptions> } } = {
  tools: {
    methods: [
      ['tools/list', {}],
      ['tools/call', { name: 'tool' }],
    ],
    server: { tools: [tool] },
  },
  prompts: {
    methods: [
      ['prompts/list', {}],
      ['prompts/get', { name: 'plain' }],
    ],
    server: { prompts: [plain] },
  },
  resources: {
    methods: [
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', { uri: 'test://page' }],
    ],
    server: { resources: [page] },
  },
}
const all = serve({ tools: [tool], prompts: [plain, completing], resources: [page, pages] })
const COMPLETE = { ref: { type: 'ref/prompt', name: 'completing' }, argument: { name: 'tone', value: '' } }

describeEras(
  'a method',
  (client, revision) => {
    const isModern = revision === '2026-07-28'
    const unknown = { status: isModern ? 404 : 200, code: -32601 }

    test.each(Object.keys(FAMILIES))('of a family nobody defined is unknown: %s', async (family) => {
      const others = Object.entries(FAMILIES).filter(([name]) => name !== family)
      const without = serve(Object.assign({}, ...others.map(([, { server }]) => server)))
      const withIt = serve(FAMILIES[family]!.server)
      for (const [method, params] of FAMILIES[family]!.methods) {
        const client = isModern ? modern(without) : legacy(without, revision)
        expect(await client.error(method, params)).toMatchObject(unknown)
        const served = isModern ? modern(withIt) : legacy(withIt, revision)
        expect((await served.request(method, params)).result).toBeDefined()
      }
    })

    test('completes only where something does', async () => {
      const without = serve({ prompts: [plain], resources: [page] })
      const one = isModern ? modern(without) : legacy(without, revision)
      expect(await one.error('completion/complete', COMPLETE)).toMatchObject(unknown)
      expect((await client.result('completion/complete', COMPLETE)).completion.values).toEqual(['kind', 'blunt'])
    })

    test.each([
      'nope',
      'TOOLS/LIST',
      'tools/list ',
      'toString',
      '__proto__',
      'notifications/initialized',
      'sampling/createMessage',
      'elicitation/create',
      'roots/list',
      'tasks/get',
      'tasks/list',
    ])('that nobody announced is unknown: %s', async (method) => {
      const headers: Record<string, string> = isModern ? { 'mcp-method': method } : {}
      const error = await client.error(method, {}, { headers })
      // Blanks at the end of a header are no part of its value, so on modern that method does not match.
      expect(error).toMatchObject(isModern && method.endsWith(' ') ? { status: 400, code: -32020 } : unknown)
    })

    test('that is about a session does not exist on modern, and names what is missing without one', async () => {
      for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        const error = await client.error(method, { uri: 'test://page' })
        expect(error).toMatchObject(isModern ? unknown : { status: 400, code: -32600 })
        if (!isModern) expect(error.message).toContain('needs a session')
      }
    })

    test('that listens to changes exists on modern, for servers that have something to change', async () => {
      const missing = isModern ? { status: 200, code: -32602 } : unknown
      expect(await client.error('subscriptions/listen')).toMatchObject(missing)
      const empty = isModern ? modern(serve({})) : legacy(serve({}), revision)
      expect(await empty.error('subscriptions/listen', { notifications: {} })).toMatchObject(unknown)
    })

    test('that sets a level has no effect without a session, and does not exist on modern', async () => {
      if (isModern) expect(await client.error('logging/setLevel', { level: 'info' })).toMatchObject(unknown)
      else expect(await client.result('logging/setLevel', { level: 'info' })).toEqual({})
    })

    test('of the other era is unknown', async () => {
      for (const method of isModern ? ['ping'] : ['server/discover']) {
        expect(await client.error(method)).toMatchObject(unknown)
      }
      if (!isModern) expect(await client.result('ping')).toEqual({})
    })
  },
  { fetcher: all },
)

test.each<[method: string, eras: string[]]>([
  ['server/discover', ['modern']],
  ['subscriptions/listen', ['modern']],
  ['initialize', ['legacy']],
  ['ping', ['legacy']],
  ['logging/setLevel', ['legacy']],
  ['resources/subscribe', ['legacy']],
  ['resources/unsubscribe', ['legacy']],
  ['tools/list', ['modern', 'legacy']],
  ['tools/call', ['modern', 'legacy']],
  ['prompts/list', ['modern', 'legacy']],
  ['prompts/get', ['modern', 'legacy']],
  ['resources/list', ['modern', 'legacy']],
  ['resources/templates/list', ['modern', 'legacy']],
  ['resources/read', ['modern', 'legacy']],
  ['completion/complete', ['modern', 'legacy']],
  ['constructor', []],
])('methodIn finds %s in %j', (method, eras) => {
  expect((['modern', 'legacy'] as const).filter((era) => methodIn(era, method) !== undefined)).toEqual(eras)
  expect(isModernOnly(method)).toBe(eras.join() === 'modern')
})

describe('what is announced', () => {
  const announced = async (server: Partial<ServerOptions>): Promise<[JsonObject, JsonObject]> => {
    const fetcher = serve(server)
    const { capabilities } = await modern(fetcher).result('server/discover')
    const old = await legacy(fetcher, '2025-11-25').result('initialize')
    return [capabilities, old.capabilities]
  }

  test.each<[string, Partial<ServerOptions>, string[]]>([
    ['nothing', {}, []],
    ['tools', { tools: [tool] }, ['tools']],
    ['prompts', { prompts: [plain] }, ['prompts']],
    ['resources, for one alone', { resources: [page] }, ['resources']],
    ['resources, for a template alone', { resources: [pages] }, ['resources']],
    ['completions, once something completes', { prompts: [completing] }, ['completions', 'prompts']],
    [
      'everything',
      { tools: [tool], prompts: [completing], resources: [page] },
      ['completions', 'prompts', 'resources', 'tools'],
    ],
  ])('follows from the definition, and logging where a handler could log: %s', async (_what, server, families) => {
    const [capabilities, old] = await announced(server)
    const logging = families.length > 0 ? ['logging'] : []
    expect(Object.keys(capabilities).toSorted()).toEqual([...families, ...logging].toSorted())
    expect(Object.keys(old).toSorted()).toEqual([...families, ...logging].toSorted())
  })

  test('promises no task or extension that is not built, and changes to whoever can listen to them', async () => {
    const [capabilities, old] = await announced({ tools: [tool], prompts: [plain], resources: [page] })
    const listChanged = true
    const resources = { subscribe: true, listChanged }
    expect(capabilities).toEqual({ tools: { listChanged }, prompts: { listChanged }, resources, logging: {} })
    expect(old).toEqual(capabilities)
    const off = legacy(serve({ tools: [tool] }, { vars: { SESSIONS: 'off' } }), '2025-11-25')
    expect((await off.result('initialize')).capabilities).toEqual({ tools: {} })
  })
})
