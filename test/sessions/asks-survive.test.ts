// An open ask outlives its object: asleep or crashed, the answer enters the handler again and the result goes out.

import { abortAllDurableObjects } from 'cloudflare:test'
import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { serve } from '../support/serve.ts'
import { accept, describeLegacy, hibernate, isAsk, logsOf, sessionOf, textOf, tool } from './support.ts'

const Name = z.object({ name: z.string() })

/** What handlers did to the world outside. */
const world = new Map<string, number>()
const act = (what: string): number => {
  world.set(what, (world.get(what) ?? 0) + 1)
  return world.get(what)!
}

const careful = tool('careful', async (ctx) => {
  const { requestId: key } = ctx
  act(`entered ${key}`)
  ctx.log('info', 'begun')
  await ctx.step('before', () => act(`before ${key}`))
  const { roots } = await ctx.inputRequest('roots', { method: 'roots/list' })
  ctx.log('info', 'answered')
  await ctx.step('after', () => act(`after ${key}`))
  return [roots.length, ...['entered', 'before', 'after'].map((name) => world.get(`${name} ${key}`))].join()
})

/** Its second ask is only reached after some work, also when it is entered again. */
const slowSecond = tool('slow_second', async (ctx) => {
  const later = async () => {
    await scheduler.wait(30)
    return ctx.elicit('second', { message: 'Second?', schema: Name })
  }
  const [first, second] = await Promise.all([ctx.elicit('first', { message: 'First?', schema: Name }), later()])
  return `${first.content?.name} ${second.content?.name}`
})
const twice = tool('twice', async (ctx) => {
  const first = await ctx.elicit('first', { message: 'First?', schema: Name })
  const second = await ctx.elicit('second', { message: 'Second?', schema: Name })
  return `${first.content?.name} ${second.content?.name}`
})

const dated = tool('dated', async (ctx) => {
  ctx.log('info', { at: new Date(0), who: undefined })
  const { roots } = await ctx.inputRequest('roots', { method: 'roots/list' })
  return String(roots.length)
})

const fetcher = serve({ tools: [careful, slowSecond, twice, dated] })
const answer = { result: { roots: [{ uri: 'file:///a' }] } }
const losses = [
  ['hibernation', hibernate],
  ['a crash', async () => abortAllDurableObjects()],
] as const

for (const [name, lose] of losses) {
  describeLegacy(`an ask that is open over ${name}`, (revision) => {
    async function loud() {
      const session = await sessionOf(fetcher, revision)
      await session.result('logging/setLevel', { level: 'debug' })
      return session
    }

    test('gets its answer, and the result goes out on the stream that was there all the time', async () => {
      const session = await loud()
      const stream = await session.callStream('careful')
      const ask = await stream.until(isAsk)
      await lose(session)
      expect((await session.reply(ask.id, answer)).status).toBe(202)
      const messages = await stream.rest()
      expect(logsOf(messages)).toEqual(['begun', 'answered'])
      expect(messages.filter(isAsk)).toHaveLength(1)
      expect(textOf(messages.at(-1))).toBe('1,2,1,1')
    })

    test('gets its answer, and nothing that was logged is sent again, whatever it was', async () => {
      const session = await loud()
      const stream = await session.callStream('dated')
      const ask = await stream.until(isAsk)
      await lose(session)
      await session.reply(ask.id, answer)
      expect(logsOf(await stream.rest())).toEqual([{ at: '1970-01-01T00:00:00.000Z' }])
    })

    test('gets its answer although the client was away, and the result is replayed', async () => {
      const session = await loud()
      const stream = await session.callStream('careful')
      const ask = await stream.until(isAsk)
      await stream.cancel()
      await lose(session)
      expect((await session.reply(ask.id, answer)).status).toBe(202)
      await scheduler.wait(20)
      const messages = await (await session.resume(stream)).rest()
      expect(logsOf(messages)).toEqual(['answered'])
      expect(textOf(messages.at(-1))).toBe('1,2,1,1')
    })

    test('is not asked again by a client that comes back before it answers', async () => {
      const session = await loud()
      const stream = await session.callStream('careful')
      const ask = await stream.until(isAsk)
      await stream.cancel()
      await lose(session)
      const again = await session.resume(stream)
      await session.reply(ask.id, answer)
      const messages = await again.rest()
      expect(messages.filter(isAsk)).toEqual([])
      expect(textOf(messages.at(-1))).toBe('1,2,1,1')
    })
  })

  describeLegacy(
    `asks that are open over ${name}`,
    (revision) => {
      test('one after the other each get their answer', async () => {
        const session = await sessionOf(fetcher, revision)
        const stream = await session.callStream('twice')
        const first = await stream.until(isAsk)
        await lose(session)
        await session.reply(first.id, accept({ name: 'Ann' }))
        const second = await stream.until(isAsk)
        await lose(session)
        await session.reply(second.id, accept({ name: 'Bob' }))
        const messages = await stream.rest()
        expect(messages.filter(isAsk)).toHaveLength(2)
        expect(textOf(messages.at(-1))).toBe('Ann Bob')
      })

      test('together are asked once each, though the handler comes to the second again before its answer', async () => {
        const session = await sessionOf(fetcher, revision)
        const stream = await session.callStream('slow_second')
        const first = await stream.until(isAsk)
        const second = await stream.until(isAsk)
        await lose(session)
        await session.reply(first.id, accept({ name: 'Ann' }))
        await scheduler.wait(80)
        await session.reply(second.id, accept({ name: 'Bob' }))
        const messages = await stream.rest()
        expect(messages.filter(isAsk)).toHaveLength(2)
        expect(textOf(messages.at(-1))).toBe('Ann Bob')
      })

      test('together are asked once each, though both answers come before the handler is back at the second', async () => {
        const session = await sessionOf(fetcher, revision)
        const stream = await session.callStream('slow_second')
        const first = await stream.until(isAsk)
        const second = await stream.until(isAsk)
        await lose(session)
        await Promise.all([
          session.reply(first.id, accept({ name: 'Ann' })),
          session.reply(second.id, accept({ name: 'Bob' })),
        ])
        const messages = await stream.rest()
        expect(messages.filter(isAsk)).toHaveLength(2)
        expect(textOf(messages.at(-1))).toBe('Ann Bob')
      })
    },
    ['2025-06-18', '2025-11-25'],
  )
}

describe('the answers to both asks', () => {
  test('survive a crash between them', async () => {
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('slow_second')
    const first = await stream.until(isAsk)
    const second = await stream.until(isAsk)
    await abortAllDurableObjects()
    await session.reply(first.id, accept({ name: 'Ann' }))
    await abortAllDurableObjects()
    await session.reply(second.id, accept({ name: 'Bob' }))
    const messages = await stream.rest()
    expect(messages.filter(isAsk)).toHaveLength(2)
    expect(textOf(messages.at(-1))).toBe('Ann Bob')
  })
})
