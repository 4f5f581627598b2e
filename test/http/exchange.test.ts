// When an answer is JSON and when it becomes a stream, what the stream looks like, and when it ends.
// @see basic/transports/streamable-http, Receiving Messages; basic/patterns/progress

import * as z from 'zod'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool } from '../../src/server/index.ts'
import { describeEras, modern, type OpenStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const wait = defineTool('wait', {
  description: 'Waits without a word.',
  inputSchema: z.object({ ms: z.int() }),
  async handler({ ms }) {
    await scheduler.wait(ms)
    return `waited ${ms}`
  },
})
const steps = defineTool('steps', {
  description: 'Reports the given progress, with a pause after each.',
  inputSchema: z.object({ values: z.array(z.number()), pauseMs: z.int().default(0) }),
  async handler({ values, pauseMs }, ctx) {
    for (const value of values) {
      ctx.progress(value, 10, `step ${value}`)
      await scheduler.wait(pauseMs)
    }
    return 'done'
  },
})
const late = defineTool('late', {
  description: 'Reports progress, then asks for what the client cannot do.',
  async handler(_input, ctx) {
    ctx.progress(1)
    await scheduler.wait(5)
    await ctx.elicit('sure', { message: 'Sure?', schema: z.object({ sure: z.boolean() }) })
    return 'never'
  },
})
const after = defineTool('after', {
  description: 'Goes on talking after it has answered.',
  handler(_input, ctx) {
    ctx.progress(1)
    setTimeout(() => ctx.progress(2), 20)
    return 'done'
  },
})
const afterwards = defineTool('afterwards', {
  description: 'Talks only after it has answered.',
  handler(_input, ctx) {
    setTimeout(() => ctx.progress(1), 10)
    return 'done'
  },
})
const abandoned = defineTool('abandoned', {
  description: 'Asks, and goes on talking without the answer.',
  async handler(_input, ctx) {
    ctx.progress(1)
    void ctx.elicit('sure', { message: 'Sure?', schema: z.object({ sure: z.boolean() }) })
    for (let i = 2; i < 20; i++) {
      await scheduler.wait(10)
      ctx.progress(i)
    }
    return 'never'
  },
})
const fetcher = serve({ tools: [wait, steps, late, after, afterwards, abandoned] })
const client = modern(fetcher, { capabilities: { elicitation: {} } })

afterEach(() => void vi.restoreAllMocks())

describeEras(
  'an answer',
  (client, revision) => {
    test('is JSON when it is quick and quiet', async () => {
      const { contentType, result } = await client.request('tools/call', { name: 'wait', arguments: { ms: 50 } })
      expect([contentType, result?.content[0]?.text]).toEqual(['application/json', 'waited 50'])
    })

    test('is JSON when it reports progress nobody asked for', async () => {
      const { contentType } = await client.call('steps', { values: [1, 2] })
      expect(contentType).toBe('application/json')
    })

    test('is a stream from the first notification on', async () => {
      const options = { progressToken: 'p' }
      const stream = await client.open(
        'tools/call',
        { name: 'steps', arguments: { values: [1], pauseMs: 1_500 } },
        options,
      )
      const started = Date.now()
      const first = await stream.messages.next()
      expect(Date.now() - started).toBeLessThan(1_000)
      expect(first.value).toMatchObject({ method: 'notifications/progress' })
      await stream.cancel()
    })

    test('carries progress in order, then the result, then nothing', async () => {
      const { notifications, result, log } = await client.call('steps', { values: [1, 2.5, 10] }, { progressToken: 7 })
      expect(notifications.map(({ params }) => params)).toEqual([
        { progressToken: 7, progress: 1, total: 10, message: 'step 1' },
        { progressToken: 7, progress: 2.5, total: 10, message: 'step 2.5' },
        { progressToken: 7, progress: 10, total: 10, message: 'step 10' },
      ])
      expect(result.content[0]?.text).toBe('done')
      expect([log.ids, log.retries]).toEqual([[], []])
    })

    test('drops progress that does not increase', async () => {
      const { notifications } = await client.call('steps', { values: [1, 1, 0.5, 2, -1, 3] }, { progressToken: true })
      expect(notifications.map(({ params }) => params.progress)).toEqual([1, 2, 3])
    })

    test('says nothing after its result', async () => {
      const { notifications } = await client.call('after', {}, { progressToken: true })
      expect(notifications).toHaveLength(1)
      await scheduler.wait(40)
    })

    test('opens no stream, with its timer, for what a handler says after a JSON answer', async () => {
      const intervals = vi.spyOn(globalThis, 'setInterval')
      const { contentType } = await client.call('afterwards', {}, { progressToken: true })
      await scheduler.wait(30)
      expect(contentType).toBe('application/json')
      expect(intervals).not.toHaveBeenCalled()
    })

    test('has its own notifications alone when two run at once', async () => {
      const call = async (token: string): Promise<unknown[]> => {
        const args = { values: [1, 2, 3], pauseMs: 10 }
        const { notifications } = await client.call('steps', args, { progressToken: token, id: 1 })
        return notifications.map(({ params }) => params.progressToken)
      }
      expect(await Promise.all([call('a'), call('b')])).toEqual([
        ['a', 'a', 'a'],
        ['b', 'b', 'b'],
      ])
    })

    test('comes as one event for each message, without ids or retries', async () => {
      const { frames } = await client.call('steps', { values: [1] }, { progressToken: 'p', id: 5 })
      const result = '"content":[{"type":"text","text":"done"}]'
      expect(frames).toMatch(/^event: message\ndata: \{[^\n]*\}\n\nevent: message\ndata: \{[^\n]*\}\n\n$/)
      expect(frames).toContain(result)
      expect(frames).toContain(revision === '2026-07-28' ? '"resultType":"complete"' : `"id":5,"result":{${result}}`)
    })
  },
  { fetcher },
)

describe('a handler that keeps the client waiting', () => {
  test('turns its answer into a stream after quietMs, with a comment at least every second', async () => {
    const started = Date.now()
    const stream = await client.open('tools/call', { name: 'wait', arguments: { ms: 2_200 } })
    const opened = Date.now() - started
    expect(opened).toBeGreaterThanOrEqual(limits.quietMs - 50)
    expect(opened).toBeLessThan(limits.quietMs + 1_000)
    const messages = await readAll(stream)
    expect(messages).toHaveLength(1)
    expect(stream.comments).toBeGreaterThanOrEqual(2)
    expect(stream.log.text).toMatch(/^(: keep-alive\n\n)+event: message\ndata: /)
  })

  test('ends its stream right after the result', async () => {
    const stream = await client.open('tools/call', { name: 'wait', arguments: { ms: 600 } })
    await stream.messages.next()
    const answered = Date.now()
    expect((await stream.messages.next()).done).toBe(true)
    expect(Date.now() - answered).toBeLessThan(1_000)
  })

  test('sends no comments into a stream that keeps talking', async () => {
    const { log } = await client.call('steps', { values: [1, 2, 3], pauseMs: 20 }, { progressToken: true })
    expect(log.comments).toBe(0)
  })
})

test('a capability that is missed only after bytes were sent is -32021 as the last event', async () => {
  const answer = await modern(fetcher).request('tools/call', { name: 'late' }, { progressToken: true })
  expect([answer.status, answer.contentType]).toEqual([200, 'text/event-stream'])
  expect(answer.notifications).toHaveLength(1)
  expect(answer.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } })
})

test('a capability that is missed before any byte was sent is -32021 with 400', async () => {
  expect(await modern(fetcher).error('tools/call', { name: 'late' })).toMatchObject({ status: 400, code: -32021 })
})

test('a round that asks is the last message, whatever its handler goes on to do', async () => {
  const answer = await client.request('tools/call', { name: 'abandoned' }, { progressToken: true })
  expect(answer.result?.resultType).toBe('input_required')
  expect(answer.notifications.length).toBeLessThan(4)
  await scheduler.wait(100)
})

test('a notification leaves out what JSON cannot say', async () => {
  const vague = defineTool('vague', {
    description: 'Says as little as it can.',
    handler(_input, ctx) {
      ctx.progress(Number.NaN)
      ctx.progress(Number.POSITIVE_INFINITY)
      ctx.progress(1, Number.POSITIVE_INFINITY)
      ctx.progress(2, Number.NaN)
      ctx.log('info', undefined)
      return 'ok'
    },
  })
  const options = { progressToken: 'p', logLevel: 'info' }
  const { notifications } = await modern(serve({ tools: [vague] })).call('vague', {}, options)
  expect(notifications.map(({ params }) => params)).toEqual([
    { progressToken: 'p', progress: 1 },
    { progressToken: 'p', progress: 2 },
    { level: 'info', data: null },
  ])
})

test('a stream says that nobody should buffer, keep or change it', async () => {
  const { headers } = await client.call('steps', { values: [1] }, { progressToken: true })
  expect(headers.get('x-accel-buffering')).toBe('no')
  expect(headers.get('cache-control')).toBe('no-store, no-transform')
  expect(headers.get('content-type')).toBe('text/event-stream')
})

test('JSON says what it is and that nobody should keep it', async () => {
  const { headers } = await client.call('wait', { ms: 0 })
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('cache-control')).toBe('no-store')
})

async function readAll({ messages }: OpenStream): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const message of messages) all.push(message)
  return all
}
