// Coming back to a stream: every cut, every event once, never another stream's. @see Resumability and Redelivery

import { abortAllDurableObjects } from 'cloudflare:test'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  describeLegacy,
  gate,
  hibernate,
  later,
  logsOf,
  NOTHING,
  ring,
  sessionOf,
  storageOf,
  textOf,
  tool,
  withLimits,
} from './support.ts'

const EVENTS = 6

/** Emits and pauses, so that every cut falls while it still writes. */
const counter = tool('counter', async (ctx) => {
  for (let i = 1; i <= EVENTS; i++) {
    ctx.log('info', i)
    await scheduler.wait(10)
  }
  return 'counted'
})
const pair = tool('pair', async (ctx) => {
  ctx.log('info', ctx.requestId)
  await scheduler.wait(20)
  return ctx.requestId
})
const once = tool('once', (ctx) => {
  ctx.log('info', 'only')
  return 'done'
})

const fetcher = serve({ tools: [counter, pair, once] })

async function loud(revision: Parameters<typeof sessionOf>[1] = '2025-11-25') {
  const session = await sessionOf(fetcher, revision)
  await session.result('logging/setLevel', { level: 'debug' })
  return session
}

/** Ids and messages of everything that was read, in order. A resumed stream repeats the id it began after. */
const transcript = (...streams: SessionStream[]) =>
  streams.flatMap(({ read }, i) => (i === 0 ? read : read.filter(({ message }) => message !== undefined)))

describeLegacy('a stream that is cut', (revision) => {
  const total = EVENTS + 1 + (revision === '2025-11-25' ? 1 : 0)

  test.for(Array.from({ length: total }, (_, i) => i + 1))(
    'after event %i of it, goes on after the last event, each event once',
    async (cut) => {
      const session = await loud(revision)
      const first = await session.callStream('counter')
      for (let i = 0; i < cut; i++) await first.next()
      await first.cancel()
      if (cut === total) {
        expect((await session.get({ 'last-event-id': first.lastEventId! })).status).toBe(405)
        return
      }
      const second = await session.resume(first)
      await second.rest()
      const all = transcript(first, second)
      expect(all).toHaveLength(total)
      expect(new Set(all.map(({ id }) => id)).size).toBe(total)
      const messages = all.flatMap(({ message }) => message ?? [])
      expect(logsOf(messages)).toEqual(Array.from({ length: EVENTS }, (_, i) => i + 1))
      expect(textOf(messages.at(-1))).toBe('counted')
    },
  )

  test('after every single event in turn is the uncut one in the end', async () => {
    const session = await loud(revision)
    const parts = [await session.callStream('counter')]
    for (;;) {
      const stream = parts.at(-1)!
      const event = await stream.next()
      if (event?.message?.result !== undefined || event === undefined) break
      if (event.message === undefined && parts.length > 1) continue
      await stream.cancel()
      parts.push(await session.resume(stream))
    }
    const whole = await session.callStream('counter')
    const [seen, wanted] = [transcript(...parts), (await whole.rest(), transcript(whole))]
    expect(logsOf(seen.flatMap(({ message }) => message ?? []))).toEqual(
      logsOf(wanted.flatMap(({ message }) => message ?? [])),
    )
    expect(seen).toHaveLength(total)
  })

  test('is resumed with an id on its first frame', async () => {
    const session = await loud(revision)
    const first = await session.callStream('counter')
    await first.next()
    await first.cancel()
    const second = await session.resume(first)
    const { id } = (await second.next())!
    expect(id).toMatch(/^[\x21-\x7e]+$/)
    // Official clients forget the id they came with.
    if (revision === '2025-11-25') expect(id).toBe(first.lastEventId)
    await second.rest()
  })
})

describe('a cursor', () => {
  test('at the end of a finished stream gets 405 with Allow', async () => {
    const session = await loud()
    const stream = await session.callStream('once')
    await stream.rest()
    const { status, headers } = await session.get({ 'last-event-id': stream.lastEventId! })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, POST, DELETE, OPTIONS'])
  })

  test('before the final response replays it during the grace, and gets 405 after it', async () => {
    const session = await loud()
    const stream = await session.callStream('once')
    await stream.rest()
    const ids = stream.read.map(({ id }) => id!)
    for (const ms of [0, limits.streamGraceMs - 1_000]) {
      later(ms)
      await ring(session)
      const again = await session.resume(stream, ids.at(-2))
      expect((await again.rest()).map(textOf)).toEqual(['done'])
    }
    later(1_000)
    await ring(session)
    for (const id of ids) expect((await session.get({ 'last-event-id': id })).status).toBe(405)
  })

  test('is good for the whole grace, whenever the alarm of the call rings', async () => {
    withLimits({ quietMs: 20 })
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('counter')
    await stream.rest()
    later(limits.leaseMs)
    await ring(session)
    const again = await session.resume(stream, stream.read[0]!.id!)
    expect((await again.rest()).map(textOf)).toEqual(['counted'])
    const { alarm } = await storageOf(session)
    expect(alarm! - Date.now()).toBeLessThanOrEqual(limits.streamGraceMs - limits.leaseMs)
    later(limits.streamGraceMs)
    await ring(session)
    expect(await storageOf(session)).toEqual(NOTHING)
  })

  test.for(['garbage', '0', '1.1', '-1.1', 'é', 'x'.repeat(5_000), '../1', '%00', '1-1.1', '0-0.0 or 1=1'])(
    'that is malformed is refused: %s',
    async (lastEventId) => {
      const session = await loud()
      const { status, json } = await session.get({ 'last-event-id': lastEventId })
      expect(status).toBe(400)
      expect(json).toMatchObject({ error: { code: -32600 } })
    },
  )

  test('of another session is refused', async () => {
    const [mine, other] = [await loud(), await loud()]
    const stream = await other.callStream('once')
    await stream.rest()
    await (await mine.callStream('once')).rest()
    for (const { id } of stream.read) expect((await mine.get({ 'last-event-id': id! })).status).toBe(400)
  })

  test('that was never given out is refused', async () => {
    const session = await loud()
    const stream = await session.callStream('once')
    await stream.rest()
    const last = stream.lastEventId!
    const beyond = last.replace(/\d+$/, (n) => String(Number(n) + 1))
    const unborn = last.replace(/(\d+)\.\d+$/, (_, n) => `${Number(n) + 5}.1`)
    for (const id of [beyond, unborn]) expect((await session.get({ 'last-event-id': id })).status).toBe(400)
  })

  test('brings the events of its own stream only', async () => {
    const session = await loud()
    const [a, b] = await Promise.all([session.callStream('pair'), session.callStream('pair')])
    await Promise.all([a.next(), b.next()])
    await Promise.all([a.cancel(), b.cancel()])
    const [restA, restB] = await Promise.all([session.resume(a), session.resume(b)])
    const [messagesA, messagesB] = await Promise.all([restA.rest(), restB.rest()])
    expect(logsOf(messagesA)).toEqual([textOf(messagesA.at(-1))])
    expect(logsOf(messagesB)).toEqual([textOf(messagesB.at(-1))])
    expect(textOf(messagesA.at(-1))).not.toBe(textOf(messagesB.at(-1)))
  })

  test('from before everything was cleaned up never leads into a later stream', async () => {
    withLimits({ quietMs: 20, streamGraceMs: 0 })
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('counter')
    await stream.rest()
    const ids = stream.read.map(({ id }) => id!)
    await ring(session)
    expect(await storageOf(session)).toEqual(NOTHING)
    for (const id of ids) expect((await session.get({ 'last-event-id': id })).status).toBe(405)
    const later = await session.callStream('counter')
    await later.rest()
    expect(later.read.map(({ id }) => id!).filter((id) => ids.includes(id))).toEqual([])
    for (const id of ids) expect((await session.get({ 'last-event-id': id })).status).toBe(405)
  })
})

describe('a newer connection of a stream', () => {
  test('takes over from the older, and each event goes to one of them', async () => {
    const go = gate()
    const held = serve({
      tools: [
        tool('held', async (ctx) => {
          ctx.log('info', 'early')
          await go.opened
          ctx.log('info', 'late')
          return 'done'
        }),
      ],
    })
    const session = await sessionOf(held)
    await session.result('logging/setLevel', { level: 'debug' })
    const first = await session.callStream('held')
    await first.until(({ method }) => method === 'notifications/message')
    const second = await session.resume(first)
    expect(await first.next()).toBeUndefined()
    expect(first.log.retries).toEqual([String(limits.retryMs)])
    go.open()
    expect((await second.rest()).map((message) => message.method ?? textOf(message))).toEqual([
      'notifications/message',
      'done',
    ])
  })
})

describe('a held stream', () => {
  test('goes on over hibernation of its object', async () => {
    const session = await loud()
    await session.result('resources/subscribe', { uri: 'x' }).catch(() => undefined)
    const get = await session.listen()
    await get.next()
    await hibernate(session)
    const stream = await session.callStream('once')
    await stream.rest()
    expect(textOf(stream.read.at(-1)?.message)).toBe('done')
  })

  test('is attached again after a crash, without the client noticing', async () => {
    const session = await loud()
    const get = await session.listen()
    await get.next()
    await abortAllDurableObjects()
    await scheduler.wait(300)
    expect(get.log.retries).toEqual([])
    await get.cancel()
  })
})
