// One over every cap of a session: what the client sees, and that rows stop growing.

import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineResourceTemplate, defineTool } from '../../src/server/index.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  eventually,
  gate,
  later,
  isAsk,
  logsOf,
  NOTHING,
  query,
  ring,
  sessionOf,
  storageOf,
  stubOf,
  textOf,
  tool,
  withLimits,
} from './support.ts'

let go = gate()
const waits = tool('waits', async (ctx) => {
  ctx.progress(1)
  await go.opened
  return 'done'
})
const quiet = tool('quiet', async () => (await go.opened, 'done'))
const emits = defineTool('emits', {
  description: 'Emits.',
  inputSchema: z.object({
    times: z.int(),
    chars: z.int().default(1),
    end: z.int().default(1),
    char: z.string().default('x'),
  }),
  handler({ times, chars, end, char }, ctx) {
    for (let i = 0; i < times; i++) ctx.log('info', `${i}:${char.repeat(chars)}`)
    return char.repeat(end)
  },
})
const bursts = tool('bursts', async (ctx) => {
  ctx.progress(1)
  await go.opened
  for (let i = 0; i < 300; i++) ctx.log('info', 'x'.repeat(1_000))
  await scheduler.wait(300)
  return 'done'
})
const remembers = defineTool('remembers', {
  description: 'Remembers much, then asks.',
  inputSchema: z.object({ chars: z.int().default(0), pad: z.string().default('') }),
  async handler({ chars }, ctx) {
    await ctx.step('much', () => 'x'.repeat(chars))
    const answer = await ctx.elicit('who', { message: 'Who?', schema: z.object({ name: z.string() }) })
    return answer.content?.name ?? answer.action
  },
})
const notes = defineResourceTemplate('test://{id}', { name: 'note', read: ({ id }) => id })
const fetcher = serve({ tools: [waits, quiet, emits, bursts, remembers], resources: [notes] })
const progress = { progressToken: 't' }

async function loud() {
  const session = await sessionOf(fetcher)
  await session.result('logging/setLevel', { level: 'debug' })
  return session
}
const events = async (session: { objectId: string }) =>
  (
    await query(session, 'select count(*) as n, coalesce(sum(length(cast(text as blob))), 0) as bytes from event')
  )[0] as {
    n: number
    bytes: number
  }

const openSockets = (session: { objectId: string }) =>
  runInDurableObject(stubOf(session), (_object, state) => {
    return state.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN).length
  })

describe('sessionCalls', () => {
  test('bounds what runs and waits at once, on streams or quiet', async () => {
    go = gate()
    withLimits({ sessionCalls: 3, quietMs: 5_000 })
    const session = await loud()
    const streams = [await session.callStream('waits', undefined, progress), await session.callStream('remembers')]
    await streams[1]!.until(isAsk)
    const third = session.call('quiet')
    await scheduler.wait(20)
    const refused = await session.error('tools/call', { name: 'quiet' })
    expect(refused).toMatchObject({ code: -32600, message: expect.stringContaining('too many calls') })
    expect((await session.request('ping')).result).toEqual({})
    go.open()
    expect((await third).result.content[0]?.text).toBe('done')
    await streams[0]!.rest()
    expect((await session.call('quiet')).result.content[0]?.text).toBe('done')
    await streams[1]!.cancel()
  })
})

describe('sessionEvents', () => {
  test('lets the oldest finished streams go first, and never the one that runs', async () => {
    withLimits({ sessionEvents: 12 })
    const session = await loud()
    const streams = []
    for (let i = 0; i < 4; i++) {
      streams.push(await session.callStream('emits', { times: 3 }))
      await streams.at(-1)!.rest()
      expect((await events(session)).n).toBeLessThanOrEqual(12)
    }
    expect((await session.get({ 'last-event-id': streams[0]!.read[0]!.id! })).status).toBe(405)
    const newest = await session.resume(streams[3]!, streams[3]!.read[0]!.id!)
    expect(logsOf(await newest.rest())).toHaveLength(3)
  })

  test('of one stream that is too long keeps the newest, while all reach who is connected', async () => {
    withLimits({ sessionEvents: 10 })
    const session = await loud()
    const stream = await session.callStream('emits', { times: 40 })
    const messages = await stream.rest()
    expect(textOf(messages.at(-1))).toBe('x')
    expect((await events(session)).n).toBeLessThanOrEqual(10)
    const again = await session.resume(stream, stream.read[0]!.id!)
    expect(textOf((await again.rest()).at(-1))).toBe('x')
  })
})

test('sessionEventBytes bounds what is kept, in bytes', async () => {
  withLimits({ sessionEventBytes: 30_000 })
  const session = await loud()
  for (let i = 0; i < 5; i++) {
    await (await session.callStream('emits', { times: 4, chars: 1_000, char: '字' })).rest()
    expect((await events(session)).bytes).toBeLessThanOrEqual(30_000)
  }
})

describe('eventBytes', () => {
  test('counts bytes, and what is larger is delivered but not kept', async () => {
    withLimits({ eventBytes: 2_000 })
    const session = await loud()
    const stream = await session.callStream('emits', { times: 2, chars: 900, char: '字' })
    const messages = await stream.rest()
    expect(logsOf(messages)).toHaveLength(2)
    expect(new Set(stream.read.map(({ id }) => id)).size).toBe(4)
    expect((await events(session)).bytes).toBeLessThan(2_000)
    const again = await session.resume(stream, stream.read[0]!.id!)
    expect((await again.rest()).map((message) => message.method ?? textOf(message))).toEqual(['字'])
  })

  test('replaces a final response on a replay, so that the call ends', async () => {
    withLimits({ eventBytes: 2_000 })
    const session = await loud()
    const stream = await session.callStream('emits', { times: 1, end: 3_000 })
    expect(textOf((await stream.rest()).at(-1))).toBe('x'.repeat(3_000))
    const again = await session.resume(stream, stream.read.at(-2)!.id!)
    const [end] = await again.rest()
    expect(end?.result?.['isError']).toBe(true)
    expect(textOf(end)).toContain('too large to be sent again')
  })

  test.for([{ chars: 3_000 }, { pad: 'x'.repeat(3_000) }])(
    'of a call that is too large: its asks work, but not over a crash',
    async (args) => {
      withLimits({ eventBytes: 2_000 })
      const session = await loud()
      const { result } = await session.talk('remembers', args, () => accept({ name: 'Ann' }))
      expect(result.content[0]?.text).toBe('Ann')
      const stream = await session.callStream('remembers', args)
      const ask = await stream.until(isAsk)
      await abortAllDurableObjects()
      await session.reply(ask.id, accept({ name: 'Ann' }))
      expect((await stream.rest()).at(-1)?.result?.['isError']).toBe(true)
      const [row] = await query(session, 'select max(length(call)) as call, max(length(memory)) as memory from call')
      expect(Number(row?.['call'] ?? 0) + Number(row?.['memory'] ?? 0)).toBeLessThan(2_000)
    },
  )
})

test('sessionSubscriptions bounds the resources a session watches; watching one again is no other', async () => {
  withLimits({ sessionSubscriptions: 2 })
  const session = await sessionOf(fetcher)
  for (const id of [1, 2, 2]) await session.result('resources/subscribe', { uri: `test://${id}` })
  expect(await session.error('resources/subscribe', { uri: 'test://3' })).toMatchObject({ code: -32602 })
  expect((await storageOf(session)).rows['subscription']).toBe(2)
  await session.result('resources/unsubscribe', { uri: 'test://1' })
  await session.result('resources/subscribe', { uri: 'test://3' })
})

describe('a slow reader', () => {
  test('of a long replay gets it in pieces, whole and in order', async () => {
    withLimits({ streamBacklogBytes: 4_000 })
    const session = await loud()
    const stream = await session.callStream('emits', { times: 60, chars: 500 })
    const messages = await stream.rest()
    expect(logsOf(messages).map((text) => Number(String(text).split(':')[0]))).toEqual(
      Array.from({ length: 60 }, (_, i) => i),
    )
    expect(textOf(messages.at(-1))).toBe('x')
    const again = await session.resume(stream, stream.read[0]!.id!)
    expect(await again.rest()).toEqual(messages)
  })

  test('is waited for, with no more than streamBacklogBytes before it', async () => {
    withLimits({ streamBacklogBytes: 100_000 })
    const session = await loud()
    const stream = await session.callStream('emits', { times: 600, chars: 1_000 })
    await scheduler.wait(300)
    expect(logsOf(await stream.rest())).toHaveLength(600)
  })

  test('of a burst lets go of the object, which keeps what is left', async () => {
    withLimits({ streamBacklogBytes: 20_000 })
    go = gate()
    const session = await loud()
    const stream = await session.callStream('bursts', undefined, progress)
    await stream.until(({ method }) => method === 'notifications/progress')
    go.open()
    await eventually(async () => (await events(session)).n > 300)
    await eventually(async () => (await openSockets(session)) === 0)
    expect(logsOf(await stream.rest())).toHaveLength(300)
  })

  test('that reads nothing for streamStallMs is cut, and finds everything when it comes back', async () => {
    withLimits({ streamBacklogBytes: 10_000, streamStallMs: 50 })
    const session = await loud()
    const stream = await session.callStream('emits', { times: 300, chars: 1_000 })
    await stream.next()
    await scheduler.wait(400)
    await expect(stream.rest()).rejects.toThrow('the client does not read')
    const again = await session.resume(stream)
    await again.rest()
    const messages = [stream, again].flatMap(({ read }) => read.flatMap(({ message }) => message ?? []))
    expect(logsOf(messages)).toHaveLength(300)
  })
})

describe('sessionIdleMs', () => {
  test('ends what a session keeps, but not the session', async () => {
    const session = await loud()
    await session.result('resources/subscribe', { uri: 'test://a' })
    later(limits.sessionIdleMs - 1_000)
    await ring(session)
    expect((await storageOf(session)).rows).toMatchObject({ subscription: 1 })
    later(2_000)
    await ring(session)
    expect(await storageOf(session)).toEqual(NOTHING)
    expect((await session.request('ping')).status).toBe(200)
    const call = session.callStream('emits', { times: 0 }, { accept: 'text/event-stream' })
    expect(textOf((await (await call).rest()).at(-1))).toBe('x')
    await session.result('logging/setLevel', { level: 'debug' })
    expect(logsOf(await (await session.callStream('emits', { times: 1 })).rest())).toHaveLength(1)
  })

  test('is put off by use and while a stream is open', async () => {
    const session = await loud()
    later(limits.sessionIdleMs * 0.6)
    await session.request('ping')
    later(limits.sessionIdleMs * 0.6)
    await ring(session)
    expect((await storageOf(session)).rows['setting']).toBeGreaterThan(0)
    const get = await session.listen()
    await get.next()
    later(limits.sessionIdleMs * 1.1)
    await ring(session)
    const { rows, alarm } = await storageOf(session)
    expect([rows['setting']! > 0, alarm === null]).toEqual([true, false])
    await get.cancel()
    later(limits.sessionIdleMs * 1.1)
    await eventually(async () => (await ring(session), (await storageOf(session)).alarm === null))
    expect(await storageOf(session)).toEqual(NOTHING)
  })

  test('costs one write in half of it, not one for each event', async () => {
    const session = await loud()
    const touched = () => query(session, `select value from setting where name = 'touched'`)
    const before = await touched()
    later(1_000)
    await session.result('resources/subscribe', { uri: 'test://a' })
    expect(await touched()).toEqual(before)
    later(limits.sessionIdleMs / 2)
    await session.result('resources/subscribe', { uri: 'test://b' })
    expect(await touched()).not.toEqual(before)
  })

  test('does not end a call that runs quietly meanwhile', async () => {
    go = gate()
    withLimits({ quietMs: 150 })
    const session = await loud()
    const call = session.callStream('quiet')
    await scheduler.wait(10)
    later(limits.sessionIdleMs * 1.1)
    await ring(session)
    expect(await storageOf(session)).toEqual(NOTHING)
    const stream = await call
    go.open()
    expect(textOf((await stream.rest()).at(-1))).toBe('done')
  })
})

test('callMs bounds how long a call may work, not how long it may wait for an answer', async () => {
  let reason: unknown
  const endless = tool('endless', (ctx) => {
    ctx.signal.addEventListener('abort', () => (reason = ctx.signal.reason))
    ctx.progress(1)
    return new Promise(() => {})
  })
  const asks = tool(
    'asks',
    async (ctx) => {
      const answer = await ctx.elicit('who', { message: 'Who?', schema: z.object({ name: z.string() }) })
      return answer.action
    },
    { askTtlMs: limits.callMs * 3 },
  )
  const session = await sessionOf(serve({ tools: [endless, asks] }))
  const asking = await session.callStream('asks')
  const ask = await asking.until(isAsk)
  const stream = await session.callStream('endless', undefined, { progressToken: true })
  await ring(session)
  await stream.next()
  later(limits.callMs + 1)
  await ring(session)
  expect(textOf((await stream.rest()).at(-1))).toContain('The call took too long')
  expect(reason).toMatchObject({ name: 'TimeoutError' })
  await session.reply(ask.id, accept({ name: 'Jo' }))
  expect(textOf((await asking.rest()).at(-1))).toBe('accept')
  later(limits.streamGraceMs + 1)
  await ring(session)
  expect(await storageOf(session)).toEqual(NOTHING)
})

test('after grace and idle time nothing is left of a session that used everything', async () => {
  go = gate()
  go.open()
  const session = await loud()
  await session.result('resources/subscribe', { uri: 'test://a' })
  await (await session.callStream('emits', { times: 3 })).rest()
  await session.talk('remembers', {}, () => accept({ name: 'Ann' }))
  later(limits.streamGraceMs)
  await ring(session)
  expect((await storageOf(session)).rows).toMatchObject({ call: 0, event: 0, ask: 0, subscription: 1 })
  later(limits.sessionIdleMs)
  await ring(session)
  expect(await storageOf(session)).toEqual(NOTHING)
})
