// Every cap, typed by hand, and the caps on definitions and answers gone one over; the others are where they apply.

import * as z from 'zod'
import { expect, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { definePrompt, defineTool, type JsonSchema } from '../../src/server/index.ts'
import { describeEras, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

test('the caps are these', () => {
  expect(limits).toEqual({
    bodyBytes: 4_194_304,
    jsonDepth: 64,
    batchMessages: 50,
    quietMs: 500,
    runningKeepAliveMs: 750,
    streamBacklogBytes: 1_048_576,
    streamStallMs: 30_000,
    cancelGraceMs: 10_000,
    logMessages: 1_000,
    requestStateBytes: 65_536,
    askTtlMs: 3_600_000,
    askAttempts: 3,
    askRounds: 50,
    schemaDepth: 32,
    schemaNodes: 2_000,
    uniqueItems: 1_000,
    completionValues: 100,
    uriChars: 2_048,
    issues: 20,
    sessionTtlMs: 2_592_000_000,
    sessionIdleMs: 86_400_000,
    sessionIdChars: 512,
    sessionEvents: 2_000,
    sessionEventBytes: 8_388_608,
    eventBytes: 1_900_000,
    callAttempts: 3,
    sessionCalls: 32,
    sessionWaits: 32,
    sessionAsks: 32,
    sessionSubscriptions: 500,
    streamGraceMs: 300_000,
    callMs: 3_600_000,
    leaseMs: 30_000,
    streamMaxAgeMs: 1_800_000,
    idleKeepAliveMs: 25_000,
    retryMs: 1_000,
    streamReplacements: 3,
    streamConnections: 4,
    taskTtlMs: 2_592_000_000,
    anonymousTaskTtlMs: 172_800_000,
    defaultTaskTtlMs: 86_400_000,
    minTaskTtlMs: 1_000,
    taskPollMs: 2_000,
    principalTasks: 100,
    tasksPage: 20,
    taskAsks: 32,
    taskSteps: 10_000,
    taskStepBytes: 16_777_216,
    taskResultBytes: 16_777_216,
    taskAttempts: 5,
    listenResources: 500,
    listenTasks: 100,
    listenIdChars: 1_024,
    principalListeners: 50,
    addressListeners: 1_000,
    hubListeners: 30_000,
    ownerTopics: 20_000,
    hubTopics: 200_000,
    hubChanges: 10_000,
    hubReplayMs: 3_600_000,
    hubWindowMs: 200,
    hubSessions: 50,
    publishMs: 20_000,
    publishWaitMs: 1_000,
    listenAttempts: 8,
    reattachMs: 30_000,
    keyRotationMs: 2_592_000_000,
    tokenChars: 16_384,
    subjectChars: 255,
    issuerFetchMs: 5_000,
    issuerFreshMs: 300_000,
    issuerStaleMs: 900_000,
    issuerBackoffMs: 5_000,
    issuerRefreshes: 10,
    issuerRefreshMs: 6_000,
    knownTokens: 5_000,
    listTtlMs: 300_000,
  })
})

test('a handler is cancelled within two seconds of its client leaving: comments come often enough for that', () => {
  expect(limits.quietMs + limits.runningKeepAliveMs).toBeLessThan(2_000)
  expect(2 * limits.runningKeepAliveMs).toBeLessThan(2_000)
})

test('what a stream may have missed is remembered for longer than it lives, or looks for its hub', () => {
  const searchMs = Array.from({ length: limits.listenAttempts }, () => limits.reattachMs).reduce((sum, ms) => sum + ms)
  expect(limits.streamMaxAgeMs * 1.1 + searchMs).toBeLessThan(limits.hubReplayMs)
})

test('the sockets of one hub stay under what the platform allows an object', () => {
  expect(limits.hubListeners).toBeLessThan(32_768)
})

test('a change that is brought to its hubs behind an answer is brought there in the time the platform allows', () => {
  expect(limits.publishMs).toBeLessThan(30_000)
})

const withInput = (inputSchema: JsonSchema) => (): unknown =>
  defineTool('tool', { description: 'A tool.', inputSchema, handler: () => '' })

test('a schema may nest limits.schemaDepth levels, and not one more', () => {
  const nested = (levels: number): JsonSchema =>
    levels === 1 ? { type: 'object' } : { type: 'object', properties: { a: nested(levels - 1) } }
  expect(withInput(nested(limits.schemaDepth))).not.toThrow()
  expect(withInput(nested(limits.schemaDepth + 1))).toThrow(TypeError)
})

test('a schema may have limits.schemaNodes subschemas, itself included, and not one more', () => {
  const wide = (nodes: number): JsonSchema => {
    const fields = Array.from({ length: nodes - 1 }, (_, i) => [`f${i}`, { type: 'string' }])
    return { type: 'object', properties: Object.fromEntries(fields) as JsonSchema }
  }
  expect(withInput(wide(limits.schemaNodes))).not.toThrow()
  expect(withInput(wide(limits.schemaNodes + 1))).toThrow(TypeError)
})

test('a list that must hold no item twice may have limits.uniqueItems items, and not one more', async () => {
  const inputSchema = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } }
  const list = defineTool('list', { description: 'Takes a list.', inputSchema, handler: () => 'ok' })
  const client = modern(serve({ tools: [list] }))
  const isError = async (items: unknown[]): Promise<unknown> =>
    (await client.call('list', { list: items })).result.isError
  const items = Array.from({ length: limits.uniqueItems }, (_, i) => i)
  expect(await isError(items)).toBeUndefined()
  expect(await isError([...items, -1])).toBe(true)
  expect(await isError([...items.slice(1), 1])).toBe(true)
})

test('an ask stays answerable for limits.askTtlMs, and not a second longer', async () => {
  const schema = z.object({ sure: z.boolean() })
  const ask = defineTool('ask', {
    description: 'Asks.',
    handler: async (_input, ctx) => (await ctx.elicit('sure', { message: 'Sure?', schema })).action,
  })
  const client = modern(serve({ tools: [ask] }), { capabilities: { elicitation: {} } })
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const { requestState } = await client.result('tools/call', { name: 'ask' })
    const retry = { name: 'ask', requestState, inputResponses: { sure: { action: 'decline' } } }
    vi.advanceTimersByTime(limits.askTtlMs - 1_000)
    expect((await client.result('tools/call', retry)).content[0]?.text).toBe('decline')
    vi.advanceTimersByTime(2_000)
    expect(await client.error('tools/call', retry)).toMatchObject({ status: 200, code: -32602 })
  } finally {
    vi.useRealTimers()
  }
})

const picky = defineTool('picky', {
  description: 'Wants numbers.',
  inputSchema: { type: 'object', additionalProperties: { type: 'number' } },
  handler: () => 'ok',
})
const many = definePrompt('many', {
  description: 'Completes a lot.',
  arguments: z.object({ count: z.string() }),
  complete: { count: (typed) => Array.from({ length: Number(typed) }, (_, i) => `${i}`) },
  get: () => 'ok',
})
const fetcher = serve({ tools: [picky], prompts: [many] })

describeEras(
  'an answer',
  (client) => {
    test('names limits.issues bad fields, and counts the others', async () => {
      const lines = async (fields: number): Promise<string[]> => {
        const args = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`field${i}`, 'x']))
        const { result } = await client.call('picky', args)
        return result.content[0]!.text!.split('\n').slice(1)
      }
      expect(await lines(limits.issues)).toHaveLength(limits.issues)
      const [more] = (await lines(limits.issues + 1)).slice(limits.issues)
      expect(more).toBe('- and 1 more')
    })

    test('completes with limits.completionValues values, and says how many there are', async () => {
      const complete = async (count: number): Promise<unknown> => {
        const argument = { name: 'count', value: `${count}` }
        const { completion } = await client.result('completion/complete', {
          ref: { type: 'ref/prompt', name: 'many' },
          argument,
        })
        return [completion.values.length, completion.total, completion.hasMore]
      }
      const { completionValues } = limits
      expect(await complete(completionValues)).toEqual([completionValues, completionValues, false])
      expect(await complete(completionValues + 1)).toEqual([completionValues, completionValues + 1, true])
    })
  },
  { fetcher },
)

test('a list that never changes stays fresh for limits.listTtlMs', async () => {
  for (const method of ['server/discover', 'tools/list', 'prompts/list']) {
    expect(await modern(fetcher).result(method)).toMatchObject({ ttlMs: limits.listTtlMs, cacheScope: 'public' })
  }
})
