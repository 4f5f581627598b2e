// The standalone stream of a session. @see 2025-11-25 basic/transports, Listening for Messages; Multiple Connections

import { env } from 'cloudflare:workers'
import { abortAllDurableObjects } from 'cloudflare:test'
import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { definePrompt, defineResource, defineResourceTemplate, defineTool } from '../../src/server/index.ts'
import { throughTo, watchRejections } from '../durable-objects/support.ts'
import type { LegacyRevision, Message, SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  describeLegacy,
  eventually,
  gate,
  hibernate,
  left,
  NOTHING,
  query,
  ring,
  sessionOf,
  storageOf,
  textOf,
  tool,
  withLimits,
  type OwnSession,
} from './support.ts'

const change = defineTool('change', {
  description: 'Changes resources.',
  inputSchema: z.object({ uris: z.array(z.string()).default(['test://a']) }),
  handler({ uris }, ctx) {
    for (const uri of uris) ctx.notify.resourceUpdated(uri)
    return 'changed'
  },
})
const lists = tool('lists', (ctx) => {
  ctx.notify.toolsListChanged()
  ctx.notify.promptsListChanged()
  ctx.notify.resourcesListChanged()
  return 'changed'
})
const slow = tool('slow', async () => {
  await scheduler.wait(400)
  return 'slow'
})
const a = defineResource('test://a', { name: 'a', read: () => 'a' })
const b = defineResource('test://b', { name: 'b', read: () => 'b' })
const numbered = defineResourceTemplate('test://numbers/{n}', { name: 'numbered', read: ({ n }) => n })
const hello = definePrompt('hello', { description: 'hello', get: () => 'hello' })
const fetcher = serve({
  tools: [change, lists, slow],
  resources: [a, b, numbered],
  prompts: [hello],
})
const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => `test://numbers/${n}`)

/** A session that subscribed to some resources. */
async function watching(revision?: LegacyRevision, uris: readonly string[] = ['test://a']): Promise<OwnSession> {
  const session = await sessionOf(fetcher, revision)
  for (const uri of uris) await session.result('resources/subscribe', { uri })
  return session
}

const isUpdate = ({ method }: Message): boolean => method === 'notifications/resources/updated'
const updates = (stream: SessionStream) => stream.read.filter(({ message }) => message && isUpdate(message))
/** The number in the newest event that is kept. */
const lastNumber = async (session: OwnSession): Promise<number> => {
  const [newest] = await query(session, 'select text from event order by id desc limit 1')
  return Number(/numbers\/(\d+)/.exec(String(newest?.['text']))?.[1])
}
const read = async (stream: SessionStream, count: number) => {
  for (let i = 0; i < count; i++) await stream.until(isUpdate)
}

describeLegacy('the standalone stream', (revision) => {
  test('begins with an id from 2025-11-25 on, and stores nothing while nothing happens', async () => {
    const session = await sessionOf(fetcher, revision)
    const get = await session.listen()
    if (revision === '2025-11-25') expect(await get.next()).toEqual({ id: expect.any(String) })
    await get.cancel()
    expect(await storageOf(session)).toEqual(NOTHING)
  })

  test('brings updates of what was subscribed to, and of nothing else', async () => {
    const session = await watching(revision)
    const get = await session.listen()
    await session.call('change')
    expect((await get.until(isUpdate)).params).toEqual({ uri: 'test://a' })
    await session.result('resources/unsubscribe', { uri: 'test://a' })
    await session.result('resources/subscribe', { uri: 'test://b' })
    await session.call('change')
    await session.call('lists')
    const after = await get.until(({ method }) => method === 'notifications/resources/list_changed')
    expect(after.params).toBeUndefined()
    expect(updates(get)).toHaveLength(1)
    expect(get.read.flatMap(({ message }) => message?.method ?? [])).toEqual([
      'notifications/resources/updated',
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
    ])
    await get.cancel()
  })

  test('keeps what comes while the client is away, and brings each event once', async () => {
    const session = await watching(revision, ['test://a', 'test://b'])
    const first = await session.listen()
    await session.call('change')
    await first.until(isUpdate)
    await first.cancel()
    await left(session)
    for (const uri of ['test://a', 'test://b', 'test://a']) await session.call('change', { uris: [uri] })
    const second = await session.resume(first)
    await read(second, 2)
    await session.call('change')
    await second.until(isUpdate)
    const brought = updates(second).map(({ message }) => message?.params?.['uri'])
    expect([brought.slice(0, 2).toSorted(), brought[2]]).toEqual([['test://a', 'test://b'], 'test://a'])
    const ids = [...updates(first), ...updates(second)].map(({ id }) => id)
    expect([ids.length, new Set(ids).size]).toEqual([4, 4])
    await second.cancel()
  })

  test('feeds on after its object slept, and after it crashed', async () => {
    const session = await watching(revision)
    const get = await session.listen()
    await hibernate(session)
    await session.call('change')
    await get.until(isUpdate)
    await abortAllDurableObjects()
    await session.call('change')
    await get.until(isUpdate)
    await session.call('change')
    await get.until(isUpdate)
    expect(new Set(updates(get).map(({ id }) => id)).size).toBe(3)
    await get.cancel()
  })

  test('loses nothing of what comes while it is cut off from its object, also before its first event', async () => {
    const session = await watching(revision, numbers(3))
    const get = await session.listen()
    await scheduler.wait(10)
    await abortAllDurableObjects()
    await session.call('change', { uris: numbers(3) })
    await read(get, 3)
    await get.cancel()
    expect(updates(get)).toHaveLength(3)
  })

  test('is replaced by a newer one, and each event goes to one connection', async () => {
    const session = await watching(revision)
    const first = await session.listen()
    await session.call('change')
    await first.until(isUpdate)
    const second = await session.listen()
    expect(await first.next()).toBeUndefined()
    expect(first.log.retries).toEqual(revision === '2025-11-25' ? [String(limits.retryMs)] : [])
    await session.call('change')
    await second.until(isUpdate)
    expect([updates(first).length, updates(second).length]).toEqual([1, 1])
    await second.cancel()
  })
})

describe('a client that fights itself for the stream', () => {
  test('keeps its connections after some replacements, and the newest gets the events', async () => {
    withLimits({ streamReplacements: 2, streamConnections: 3 })
    const session = await watching()
    const streams = []
    for (let i = 0; i < 6; i++) streams.push(await session.listen())
    await session.call('change')
    await streams.at(-1)!.until(isUpdate)
    const ended = await Promise.all(
      streams
        .slice(0, -1)
        .map((stream) => Promise.race([stream.rest().then(() => true), scheduler.wait(100).then(() => false)])),
    )
    expect(ended).toEqual([true, true, true, false, false])
    for (const stream of streams) await stream.cancel()
    expect(streams.slice(0, -1).flatMap(updates)).toEqual([])
  })
})

describe('a standalone cursor', () => {
  test('beyond what ever was means from now on', async () => {
    const session = await watching()
    const first = await session.listen()
    await session.call('change')
    await first.until(isUpdate)
    await first.cancel()
    const beyond = first.lastEventId!.replace(/\d+$/, '99')
    const second = await session.listen({ lastEventId: beyond })
    await session.call('change')
    await read(second, 1)
    await second.cancel()
    expect(updates(second)).toHaveLength(1)
  })

  test('from before the oldest event that is kept brings all that is kept, then goes on', async () => {
    withLimits({ sessionEvents: 10 })
    const session = await watching('2025-11-25', ['test://a', ...numbers(30)])
    const first = await session.listen()
    await session.call('change')
    await first.until(isUpdate)
    await first.cancel()
    await left(session)
    await session.call('change', { uris: numbers(30) })
    await eventually(async () => (await lastNumber(session)) === 29)
    const [{ n }] = (await query(session, 'select count(*) as n from event')) as [{ n: number }]
    expect(n).toBeLessThanOrEqual(10)
    const second = await session.resume(first)
    await read(second, n)
    await session.call('change')
    await read(second, 1)
    await second.cancel()
  })

  test('from before everything was cleaned up loses nothing that came after', async () => {
    withLimits({ sessionIdleMs: 0 })
    const session = await watching()
    const first = await session.listen()
    await session.call('change')
    await first.until(isUpdate)
    await first.cancel()
    await eventually(async () => (await ring(session), (await storageOf(session)).alarm === null))
    expect(await storageOf(session)).toEqual(NOTHING)
    await session.result('resources/subscribe', { uri: 'test://a' })
    await session.call('change')
    const second = await session.resume(first)
    await second.until(isUpdate)
    expect(updates(second)[0]?.id).not.toBe(updates(first)[0]?.id)
    await second.cancel()
  })
})

describe('a held stream', () => {
  test('ends gracefully at its age, with retry, and goes on where it was', async () => {
    withLimits({ streamMaxAgeMs: 60 })
    const session = await watching()
    const get = await session.listen()
    expect(await get.rest()).toEqual([])
    expect(get.log.retries).toEqual([String(limits.retryMs)])
    withLimits({ streamMaxAgeMs: 60_000 })
    await session.call('change')
    const again = await session.resume(get)
    await again.until(isUpdate)
    await again.cancel()
  })

  test('of a call stays past its age while its client has no id to come back with', async () => {
    withLimits({ quietMs: 20, streamMaxAgeMs: 60 })
    const session = await sessionOf(fetcher, '2025-06-18')
    const messages = await (await session.callStream('slow')).rest()
    expect(messages.map(textOf)).toEqual(['slow'])
  })

  test('carries comments while nothing happens', async () => {
    withLimits({ idleKeepAliveMs: 20 })
    const session = await sessionOf(fetcher)
    const get = await session.listen()
    await get.next()
    const pending = get.next()
    await eventually(() => get.log.comments > 1)
    await get.cancel()
    await pending
  })
})

test('a client that leaves while its stream is being connected again leaves no connection behind, and no rejection', async () => {
  const unhandled = watchRejections()
  const slow = gate()
  let connects = 0
  const SESSION = throughTo(env.SESSION, async ({ method, go }) => {
    const response = await go()
    if (method === 'fetch' && ++connects > 1) await slow.opened
    return response
  })
  const session = await sessionOf(serve({ tools: [change] }, { vars: { SESSION } }))
  const get = await session.listen()
  await abortAllDurableObjects()
  await eventually(() => connects === 2)
  await get.cancel()
  slow.open()
  await left(session)
  await scheduler.wait(20)
  expect(unhandled).toEqual([])
})

test('a GET without text/event-stream gets 406', async () => {
  const session = await sessionOf(fetcher)
  expect((await session.get({ accept: 'application/json' })).status).toBe(406)
})

test('subscribing to what this server does not serve gets -32002', async () => {
  const session = await sessionOf(fetcher)
  expect(await session.error('resources/subscribe', { uri: 'test://none' })).toMatchObject({
    status: 200,
    code: -32002,
  })
  expect(await session.error('logging/setLevel', { level: 'loud' })).toMatchObject({ code: -32602 })
})

test('a HEAD is no GET: it opens no stream, and takes the place of none', async () => {
  const session = await watching()
  const stream = await session.listen()
  const headers = { 'mcp-session-id': session.id, accept: 'text/event-stream' }
  const response = await fetcher(new Request('http://localhost/mcp', { method: 'HEAD', headers }))
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE, OPTIONS'])
  await session.call('change')
  await read(stream, 1)
  expect(updates(stream)).toHaveLength(1)
})
