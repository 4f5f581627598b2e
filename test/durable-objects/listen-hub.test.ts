// One shard: what is delivered to whom, also after it slept, died, was deployed anew, or has forgotten.
// @see basic/patterns/subscriptions

import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import type { Topic } from '../../src/protocol/topic.ts'
import { limits } from '../../src/limits.ts'
import { defineServer } from '../../src/server/index.ts'
import { listMarks } from '../../src/server/list-marks.ts'
import { servers } from '../support/main.ts'
import { serve } from '../support/serve.ts'
import {
  countOf,
  crash,
  definition,
  deploy,
  eventually,
  hibernate,
  holdDown,
  hubOf,
  later,
  listen,
  ring,
  serverOf,
  streamOf,
  storedOf,
  stubOf,
  watchTimers,
  withLimits,
  withVars,
} from './support.ts'

const LISTS: readonly Topic[] = ['tools', 'prompts', 'resources']

describe('a change', () => {
  test('reaches everybody who listens to it, and nobody else', async () => {
    const hub = hubOf()
    const [both, tools, other] = [
      await listen(hub, ['tools', 'resource test://a']),
      await listen(hub, ['tools']),
      await listen(hub, ['resource test://b', 'task 1']),
    ]
    await hub.publish('tools', 'resource test://a', 'resource test://c')
    expect([await both.next(), await tools.next()]).toEqual([['tools', 'resource test://a'], ['tools']])
    await hub.publish('task 1')
    expect(await other.next()).toEqual(['task 1'])
    expect([both.frames.length, tools.frames.length, other.frames.length]).toEqual([2, 2, 2])
  })

  test('moves the cursor of who is told', async () => {
    const hub = hubOf()
    const listener = await listen(hub, ['tools'])
    const before = listener.cursor
    await hub.publish('tools')
    await listener.next()
    expect(listener.cursor).toBeGreaterThan(before)
  })

  test('of before is nothing to a listener without a cursor', async () => {
    const hub = hubOf()
    await hub.publish('tools')
    const listener = await listen(hub, ['tools'])
    expect(listener.frames).toEqual([{ cursor: expect.any(Number), listeners: 1 }])
  })

  test('within limits.hubWindowMs of the last delivery waits for what else comes, each thing once', async () => {
    withLimits({ hubWindowMs: 1_000 })
    const hub = hubOf()
    const listener = await listen(hub, ['tools', 'prompts'])
    await hub.publish('tools')
    expect(await listener.next()).toEqual(['tools'])
    await hub.publish('prompts', 'tools')
    await hub.publish('prompts', 'tools')
    expect(listener.frames).toHaveLength(2)
    expect(await listener.next()).toEqual(['prompts', 'tools'])
    await scheduler.wait(50)
    expect(listener.frames).toHaveLength(3)
  })

  test('that waits is not told to who comes meanwhile, unless it happens again', async () => {
    withLimits({ hubWindowMs: 500 })
    const hub = hubOf()
    const first = await listen(hub, ['tools'])
    await hub.publish('tools')
    await first.next()
    await hub.publish('tools')
    const second = await listen(hub, ['tools', 'prompts'])
    await hub.publish('prompts')
    const third = await listen(hub, ['tools', 'prompts'])
    expect([await first.next(), await second.next()]).toEqual([['tools'], ['prompts']])
    await hub.publish('tools')
    expect([await first.next(), await second.next(), await third.next()]).toEqual([['tools'], ['tools'], ['tools']])
    expect([first, second, third].map(({ frames }) => frames.length)).toEqual([4, 3, 2])
  })
})

describe('a hub that slept', () => {
  test('delivers to the listeners it had before, each what it listens to', async () => {
    const hub = hubOf()
    const [tools, resource] = [await listen(hub, ['tools']), await listen(hub, ['resource test://a'])]
    for (const topic of ['tools', 'resource test://a'] as const) {
      await hibernate(hub)
      await hub.publish(topic)
    }
    expect([await tools.next(), await resource.next()]).toEqual([['tools'], ['resource test://a']])
    expect([tools.frames.length, resource.frames.length]).toEqual([2, 2])
    expect([tools.closed, resource.closed]).toEqual([undefined, undefined])
  })

  test('counts them, and takes more', async () => {
    const hub = hubOf()
    const owner = 'somebody with two'
    const first = await listen(hub, ['tools'], { owner })
    await hibernate(hub)
    const second = await listen(hub, ['tools'], { owner, limit: 2 })
    expect(second.frames[0]).toMatchObject({ listeners: 2 })
    await hub.publish('tools')
    expect([await first.next(), await second.next()]).toEqual([['tools'], ['tools']])
  })

  test('knows what changed before', async () => {
    const hub = hubOf()
    const listener = await listen(hub, ['tools', 'prompts'])
    await hub.publish('tools')
    await listener.next()
    listener.leave()
    await hub.publish('prompts')
    await hibernate(hub)
    const again = await listen(hub, ['tools', 'prompts'], { after: listener.cursor })
    expect(again.told).toEqual(['prompts'])
  })
})

describe('a hub that died', () => {
  test('closes its sockets abruptly, and tells who comes back what changed meanwhile: oldest first, each thing once', async () => {
    const hub = hubOf()
    const listener = await listen(hub, ['tools', 'prompts', 'resource test://a'])
    await hub.publish('tools')
    await listener.next()
    await crash(hub)
    await eventually(() => listener.closed)
    expect(listener.closed?.code).toBe(1006)
    for (const topic of ['prompts', 'resource test://a', 'prompts', 'resource test://b'] as const)
      await hub.publish(topic)
    const again = await listen(hub, ['tools', 'prompts', 'resource test://a'], { after: listener.cursor })
    expect(again.told).toEqual(['resource test://a', 'prompts'])
    const last = await listen(hub, ['tools', 'prompts', 'resource test://a'], { after: again.cursor })
    expect(last.told).toEqual([])
  })

  test('before it delivered what waited tells it to who comes back', async () => {
    withLimits({ hubWindowMs: 60_000 })
    const hub = hubOf()
    const listener = await listen(hub, ['tools', 'prompts'])
    await hub.publish('prompts')
    await listener.next()
    await hub.publish('tools')
    await crash(hub)
    expect(listener.told).toEqual(['prompts'])
    const again = await listen(hub, ['tools', 'prompts'], { after: listener.cursor })
    expect(again.told).toEqual(['tools'])
  })

  test('has the numbers of later changes go on above those of earlier ones', async () => {
    const hub = hubOf()
    const cursors: number[] = []
    for (let i = 0; i < 5; i++) {
      await hub.publish('tools', 'prompts', 'resources')
      cursors.push((await listen(hub, [])).cursor)
      await crash(hub)
    }
    expect(cursors).toEqual([...new Set(cursors)].toSorted((a, b) => a - b))
  })
})

describe('a client', () => {
  test('is told of what changed between the death of its hub and the return of its stream', async () => {
    const hub = hubOf(definition())
    const { next, cancel } = await streamOf(serve(hub.server))
    await crash(hub)
    await hub.publish('resource test://notes')
    expect(await next()).toBe('test://notes')
    await hub.publish('tools')
    expect(await next()).toBe('tools/list_changed')
    await cancel()
  })

  test('is told of a change that its hub died with, before it was delivered', async () => {
    withLimits({ hubWindowMs: 60_000 })
    const hub = hubOf(definition())
    const { next, cancel } = await streamOf(serve(hub.server))
    await hub.publish('tools')
    expect(await next()).toBe('tools/list_changed')
    await hub.publish('prompts')
    await crash(hub)
    expect(await next()).toBe('prompts/list_changed')
    await cancel()
  })

  test('is told of a change that was published while its hub could not be reached', async () => {
    const hub = hubOf(definition())
    const { next, cancel } = await streamOf(serve(hub.server))
    const back = holdDown(hub)
    await crash(hub)
    const publishing = hub.publish('tools')
    await scheduler.wait(300)
    back()
    await publishing
    expect(await next()).toBe('tools/list_changed')
    await cancel()
  })
})

describe('what is remembered', () => {
  const after = async (hub: ReturnType<typeof hubOf>, cursor: number, topics: readonly Topic[] = ['tools']) =>
    (await listen(hub, topics, { after: cursor })).frames[0]!

  test('is the newest limits.hubChanges things or fewer: who missed more may have missed everything', async () => {
    withLimits({ hubChanges: 10 })
    const hub = hubOf()
    const { cursor } = await listen(hub, [])
    const uris = Array.from({ length: 11 }, (_, i) => `resource test://${i}` as const)
    await hub.publish(...uris.slice(0, 10))
    expect(await after(hub, cursor, uris)).toMatchObject({ topics: uris.slice(0, 10) })
    const between = (await listen(hub, [])).cursor
    await hub.publish(uris[10]!)
    expect((await storedOf(hub)).rows['change']).toBeLessThanOrEqual(10)
    expect(await after(hub, cursor, uris)).toMatchObject({ isAll: true })
    expect(await after(hub, between, uris)).toMatchObject({ topics: [uris[10]] })
    await crash(hub)
    expect(await after(hub, cursor, uris)).toMatchObject({ isAll: true })
    expect(await after(hub, between, uris)).toMatchObject({ topics: [uris[10]] })
  })

  test('counts a thing that changes again once', async () => {
    withLimits({ hubChanges: 10 })
    const hub = hubOf()
    const { cursor } = await listen(hub, [])
    for (let i = 0; i < 30; i++) await hub.publish('tools', 'prompts')
    expect((await storedOf(hub)).rows['change']).toBe(2)
    expect(await after(hub, cursor, LISTS)).toMatchObject({ topics: ['tools', 'prompts'] })
  })

  test('is so for limits.hubReplayMs: who was away for longer may have missed everything', async () => {
    const hub = hubOf()
    const { cursor } = await listen(hub, [])
    await hub.publish('tools')
    // A cursor may be a minute older than it could be.
    later(limits.hubReplayMs - 120_000)
    expect(await after(hub, cursor)).toMatchObject({ topics: ['tools'] })
    later(120_001)
    expect(await after(hub, cursor)).toMatchObject({ isAll: true })
    await ring(hub)
    expect(await after(hub, cursor)).toMatchObject({ isAll: true })
  })

  test('is enough for a listener that was there all the time, however long ago the last change was', async () => {
    const hub = hubOf()
    await hub.publish('tools')
    later(limits.hubReplayMs - 1_000)
    const listener = await listen(hub, ['tools'])
    later(2_000)
    const [{ topics, isAll }] = [await after(hub, listener.cursor)]
    expect({ topics, isAll }).toEqual({})
  })

  test('is not what comes with a cursor from nowhere', async () => {
    const hub = hubOf()
    expect(await after(hub, 0)).toMatchObject({ isAll: true })
  })
})

describe('a deploy', () => {
  test('that changes a list tells every connected client, once and of that list only', async () => {
    const hub = hubOf(definition())
    const fetcher = serve(hub.server)
    const streams = [await streamOf(fetcher), await streamOf(fetcher)]
    await deploy(hub, definition('another description'))
    for (const { next } of streams) expect(await next()).toBe('tools/list_changed')
    await hub.publish('resource test://notes')
    for (const { next, cancel } of streams) {
      expect(await next()).toBe('test://notes')
      await cancel()
    }
  })

  test('that changes several tells of each, and not who did not ask', async () => {
    const hub = hubOf(definition())
    const fetcher = serve(hub.server)
    const all = await streamOf(fetcher)
    const some = await streamOf(fetcher, {
      notifications: { promptsListChanged: true, resourceSubscriptions: ['test://notes'] },
    })
    await deploy(hub, defineServer({ name: 'test', version: '1.0.0', prompts: [...hub.server.prompts.values()] }))
    expect([await all.next(), await all.next()].toSorted()).toEqual(['resources/list_changed', 'tools/list_changed'])
    await hub.publish('resource test://notes')
    for (const { next, cancel } of [all, some]) {
      expect(await next()).toBe('test://notes')
      await cancel()
    }
  })

  test('that changes no list says nothing, and writes nothing', async () => {
    const hub = hubOf(definition())
    const { next, cancel } = await streamOf(serve(hub.server))
    const before = await storedOf(hub)
    await deploy(hub, definition())
    await scheduler.wait(300)
    expect(await storedOf(hub)).toEqual(before)
    await hub.publish('resource test://notes')
    expect(await next()).toBe('test://notes')
    await cancel()
  })

  test('that has reached the Worker and not yet its hub, or the other way round, tells who listens', async () => {
    const hub = hubOf(definition())
    servers.set(hub.ids[0]!, definition('an older description'))
    const { next, cancel } = await streamOf(serve(hub.server))
    expect(await next()).toBe('tools/list_changed')
    await hub.publish('resource test://notes')
    expect(await next()).toBe('test://notes')
    await cancel()
  })

  test('is told also when the hub has forgotten everything: listeners bring their lists', async () => {
    const hub = hubOf(definition())
    const listener = await listen(hub, LISTS)
    later(limits.hubReplayMs + 1_000)
    await ring(hub)
    expect((await storedOf(hub)).rows).toEqual({})
    await deploy(hub, definition('another description'))
    const again = await listen(hub, LISTS, { after: listener.cursor, lists: listMarks(hub.server) })
    expect(again.frames[0]).toMatchObject({ isAll: true })
    const fresh = await listen(hub, LISTS, { lists: listMarks(hub.server) })
    expect(fresh.told).toEqual(['tools'])
  })

  test('is told to listeners of a Worker that a deploy before has left behind', async () => {
    const hub = hubOf(serverOf('one'))
    await deploy(hub, serverOf('two'))
    const listener = await listen(hub, LISTS, { lists: listMarks(hub.server) })
    expect(listener.told).toEqual(['tools'])
    const next = await listen(hub, LISTS, { lists: listMarks(serverOf('two')) })
    expect(next.told).toEqual([])
  })
})

describe('several shards', () => {
  /** Callers whose shards are all of them, in order. */
  const callers = (hub: ReturnType<typeof hubOf>, shards: number): Record<string, string>[] =>
    Array.from({ length: shards }, (_, wanted) => {
      const addresses = Array.from({ length: 256 }, (_one, n) => `192.0.2.${n}`)
      const address = addresses.find((one) => hub.hubs.shardOf(env, `address ${one}`) === wanted)
      return { 'cf-connecting-ip': address! }
    })

  test('each have their listeners, and a change reaches those of all', async () => {
    withVars({ LISTEN_SHARDS: '4' })
    const hub = hubOf(definition())
    const fetcher = serve(hub.server)
    const streams = []
    for (const headers of callers(hub, 4)) streams.push(await streamOf(fetcher, { headers }))
    for (let shard = 0; shard < 4; shard++) expect(await countOf(hub, shard)).toBe(1)
    await hub.publish('resource test://notes')
    for (const { next } of streams) expect(await next()).toBe('test://notes')
    await hub.publish('tools')
    for (const { next, cancel } of streams) {
      expect(await next()).toBe('tools/list_changed')
      await cancel()
    }
  })

  test('are one by default, and no more than there are', async () => {
    const hub = hubOf()
    const owners = Array.from({ length: 100 }, (_, n) => `owner ${n}`)
    const shards = (): Set<number> => new Set(owners.map((owner) => hub.hubs.shardOf(env, owner)))
    expect([...shards()]).toEqual([0])
    withVars({ LISTEN_SHARDS: '3' })
    expect([...shards()].toSorted()).toEqual([0, 1, 2])
    await hub.publish('tools')
    const stored = await Promise.all([0, 1, 2, 3].map((shard) => storedOf(hub, shard)))
    expect(stored.map(({ rows }) => rows['change'])).toEqual([1, 1, 1, undefined])
  })

  test('that are fewer after a deploy end the streams of those that are gone, in good order', async () => {
    withVars({ LISTEN_SHARDS: '2' })
    const hub = hubOf(definition())
    const fetcher = serve(hub.server)
    const [stays, moves] = callers(hub, 2) as [Record<string, string>, Record<string, string>]
    const [staying, moving] = [await streamOf(fetcher, { headers: stays }), await streamOf(fetcher, { headers: moves })]
    withVars({ LISTEN_SHARDS: '1' })
    for (const shard of [0, 1]) await crash(hub, shard)
    expect([await moving.next(), await moving.next()]).toEqual(['the result', 'the end'])
    const again = await streamOf(serve(hub.server), { headers: moves })
    await hub.publish('tools')
    for (const { next, cancel } of [staying, again]) {
      expect(await next()).toBe('tools/list_changed')
      await cancel()
    }
  })
})

describe('a hub of another version', () => {
  test('takes no changes, no sessions and no listeners', async () => {
    const hub = hubOf()
    const stub = stubOf(hub)
    expect([await stub.publish(2, ['tools']), await stub.follow(2, 'a session', ['tools'])]).toEqual([false, false])
    const lists = encodeURIComponent(JSON.stringify(listMarks(hub.server)))
    for (const protocol of ['2', '']) {
      const url = `http://hub/?protocol=${protocol}&shard=0&owner=o&limit=1&lists=${lists}`
      const { status, webSocket } = await stub.fetch(url, { headers: { upgrade: 'websocket' } })
      expect([status, webSocket]).toEqual([410, null])
    }
    expect(await storedOf(hub)).toEqual({ rows: {}, alarm: null })
    expect([await stub.publish(1, ['tools']), await stub.follow(1, 'a session', ['tools'])]).toEqual([true, true])
  })
})

test('a hub that has delivered everything has no timer, so that it can sleep', async () => {
  withLimits({ hubWindowMs: 1_000 })
  const hub = hubOf()
  const listener = await listen(hub, ['tools'])
  const timers = watchTimers()
  await hub.publish('tools')
  await listener.next()
  expect(timers.size).toBe(0)
  for (let i = 0; i < 3; i++) await hub.publish('tools')
  expect(timers.size).toBe(1)
  await listener.next()
  expect(timers.size).toBe(0)
  await hibernate(hub)
  await hub.publish('tools')
  await listener.next()
})
