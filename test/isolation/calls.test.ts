// Whose the memory of a call is: a `requestState` of somebody else is answered as one that was made up.
// @see basic/patterns/mrtr, Server Requirements

import { beforeAll, describe, expect, test } from 'vitest'
import { definePrompt, defineResource } from '../../src/server/index.ts'
import { tool } from '../sessions/support.ts'
import { modern, type Fetcher, type JsonObject } from '../support/client.ts'
import { createRealm, modernPost, NAME, whole, type People } from './support.ts'

const CAPABILITIES = { elicitation: { form: {} } }
let runs = 0
const definition = {
  tools: [
    tool('asking', async (ctx) => {
      const who = await ctx.elicit('name', NAME)
      runs++
      return who.content?.name ?? 'nobody'
    }),
  ],
  prompts: [
    definePrompt('asking', {
      description: 'Asks.',
      get: async (_input, ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody',
    }),
  ],
  resources: [
    defineResource('test://asking', {
      name: 'asking',
      read: async (ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody',
    }),
  ],
}

let fetcher: Fetcher
let people: People
beforeAll(async () => {
  const realm = await createRealm()
  people = realm.people
  fetcher = realm.serve(definition)
})

const calls: [method: string, params: JsonObject][] = [
  ['tools/call', { name: 'asking', arguments: {} }],
  ['prompts/get', { name: 'asking' }],
  ['resources/read', { uri: 'test://asking' }],
]

describe.each(calls)('%s', (method, params) => {
  /** The state of a call of Alice that waits for an answer. */
  async function state(): Promise<string> {
    const client = modern(fetcher, { capabilities: CAPABILITIES, headers: people.alice })
    const result = (await client.result(method, params)) as JsonObject
    expect(result['resultType']).toBe('input_required')
    return result['requestState'] as string
  }
  const retry = (headers: Record<string, string>, requestState: string): Request => {
    const inputResponses = { name: { action: 'accept', content: { name: 'Ann' } } }
    return modernPost(method, { ...params, requestState, inputResponses }, headers, CAPABILITIES)
  }

  test('of anybody else cannot be gone on with', async () => {
    const requestState = await state()
    const before = runs
    for (const [who, headers] of people.strangers) {
      const foreign = await whole(await fetcher(retry(headers, requestState)))
      expect(foreign, who).toContain('requestState is not valid for this request')
      for (const madeUp of ['unknown', `${requestState.slice(0, -5)}AAAAA`, requestState.toUpperCase()]) {
        expect(foreign, who).toBe(await whole(await fetcher(retry(headers, madeUp))))
      }
    }
    expect(runs).toBe(before)
  })

  test('goes on with the next token of its caller', async () => {
    const answer = await fetcher(retry(people.aliceAgain, await state()))
    expect(await answer.text()).toContain('"Ann"')
  })
})
