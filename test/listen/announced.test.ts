// What is announced of changes, in every era: what a client of it can be told, and no more.
// @see server/tools, prompts, resources, Capabilities; 2025-11-25 basic/lifecycle, Capability Negotiation

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type ServerOptions,
} from '../../src/server/index.ts'
import { describeEras, legacy, modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { listen } from './support.ts'

const tool = defineTool('tool', { description: 'A tool.', handler: () => 'ok' })
const prompt = definePrompt('prompt', {
  description: 'A prompt.',
  arguments: z.object({ tone: z.enum(['kind', 'blunt']) }),
  get: () => 'ok',
})
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const pages = defineResourceTemplate('test://pages/{id}', { name: 'pages', read: ({ id }) => id })

const listChanged = true
const told = { tools: { listChanged }, prompts: { listChanged }, resources: { subscribe: true, listChanged } }
const untold = { tools: {}, prompts: {}, resources: {} }
const everything: Partial<ServerOptions> = { tools: [tool], prompts: [prompt], resources: [page, pages] }

/** Servers, and what of the three lists they have. */
const SERVERS: [string, Partial<ServerOptions>, (keyof typeof told)[]][] = [
  ['everything', everything, ['tools', 'prompts', 'resources']],
  ['tools alone', { tools: [tool] }, ['tools']],
  ['prompts alone', { prompts: [prompt] }, ['prompts']],
  ['one resource', { resources: [page] }, ['resources']],
  ['one template', { resources: [pages] }, ['resources']],
  ['nothing', {}, []],
]
const MODES = ['optional', 'required', 'off'] as const

/** What of the capabilities is about changes. */
function aboutChanges({ tools, prompts, resources }: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries({ tools, prompts, resources }).filter(([, value]) => value !== undefined))
}

const pick = (from: JsonObject, lists: readonly string[]): JsonObject =>
  Object.fromEntries(lists.map((list) => [list, from[list]]))

describeEras('a server announces', (_client, revision) => {
  const isModern = revision === '2026-07-28'

  for (const mode of MODES) {
    test.for(SERVERS)(`the changes a client can be told of, with SESSIONS=${mode}: %s`, async ([, options, lists]) => {
      const fetcher = serve(options, { vars: { SESSIONS: mode } })
      const { capabilities } = isModern
        ? await modern(fetcher).result('server/discover')
        : await legacy(fetcher, revision).result('initialize')
      const isTold = isModern || mode !== 'off'
      expect(aboutChanges(capabilities)).toEqual(pick(isTold ? told : untold, lists))
    })
  }
})

describe('what is announced', () => {
  test('is the same for everybody, whatever their client can do', async () => {
    const fetcher = serve(everything)
    for (const capabilities of [{}, { roots: {}, elicitation: {} }, { extensions: { 'com.example/other': {} } }]) {
      const found = await modern(fetcher, { capabilities }).result('server/discover')
      expect(found.capabilities).toEqual({ ...told, completions: {}, logging: {} })
    }
  })

  test.for(SERVERS.slice(0, -1))('can be listened to, and nothing else can: %s', async ([, options, lists]) => {
    const client = modern(serve(options))
    const { capabilities } = await client.result('server/discover')
    const stream = await listen(client, {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['test://page', 'test://pages/a'],
    })
    const promised = Object.entries(aboutChanges(capabilities)).flatMap(([list, settings]) => {
      const { listChanged, subscribe } = settings as { listChanged?: true; subscribe?: true }
      return [...(listChanged ? [`${list}ListChanged`] : []), ...(subscribe ? ['resourceSubscriptions'] : [])]
    })
    expect(Object.keys(stream.agreed).toSorted()).toEqual(promised.toSorted())
    expect(lists).toEqual(Object.keys(aboutChanges(capabilities)))
  })
})
