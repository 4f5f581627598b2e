// What a shard stores, what that costs, and when it goes.

import { env } from 'cloudflare:workers'
import { runInDurableObject } from 'cloudflare:test'
import { beforeEach, describe, expect, test } from 'vitest'
import { HubStore } from '../../durable-objects/hub-store.ts'
import { limits } from '../../src/limits.ts'
import { topicKey, type Topic } from '../../src/protocol/topic.ts'
import {
  countOf,
  countWrites,
  crash,
  eventually,
  FOLLOWED_MS,
  hubOf,
  later,
  listen,
  NOTHING,
  ring,
  storedOf,
  stubOf,
  withLimits,
  type TestHub,
} from './support.ts'

const NOW = 1_800_000_000_000
const MINUTE = 60_000

let hub: TestHub
beforeEach(() => (hub = hubOf()))

/** A store of its own, over the storage of a hub that does nothing else. */
function withStore<T>(use: (store: HubStore, storage: DurableObjectStorage) => T): Promise<T> {
  return runInDurableObject(stubOf(hub), (_object, { storage }) => use(new HubStore(storage), storage))
}

const keys = (...topics: Topic[]): number[] => topics.map((topic) => topicKey(topic))

describe('a hub stores', () => {
  test('nothing when it was only woken', async () => {
    await ring(hub)
    await stubOf(hub).publish(0, ['tools'])
    await runInDurableObject(stubOf(hub), (object) => object.alarm())
    expect(await storedOf(hub)).toEqual(NOTHING)
  })

  test('one row for each thing that changed, the lists it knows, and when to delete them', async () => {
    await hub.publish('tools', 'resource test://a')
    await hub.publish('tools')
    const { rows, alarm } = await storedOf(hub)
    expect(rows).toEqual({ change: 2, follower: 0, setting: 1 })
    expect(alarm! - Date.now()).toBeGreaterThan(limits.hubReplayMs - MINUTE)
    expect(alarm! - Date.now()).toBeLessThanOrEqual(limits.hubReplayMs)
  })

  test('one row for a change, whatever the number of listeners, and sets no alarm where one is set', async () => {
    for (let i = 0; i < 5; i++) await listen(hub, ['tools'])
    await hub.publish('prompts')
    const written = await countWrites(hub)
    await hub.publish('tools')
    expect(written()).toEqual({ rows: 1, alarms: 0 })
    await hub.publish('tools')
    expect(written()).toEqual({ rows: 1, alarms: 0 })
    await hub.publish('tools', 'prompts', 'resources')
    expect(written()).toEqual({ rows: 3, alarms: 0 })
    await crash(hub)
    const afterwards = await countWrites(hub)
    await hub.publish('tools')
    expect(afterwards()).toEqual({ rows: 1, alarms: 0 })
  })

  test('changes until they are forgotten, and then nothing, also while somebody listens', async () => {
    const listener = await listen(hub, ['tools'])
    await hub.publish('tools')
    later(limits.hubReplayMs / 2)
    await hub.publish('prompts')
    later(limits.hubReplayMs / 2 + MINUTE)
    await ring(hub)
    const { rows, alarm } = await storedOf(hub)
    expect([rows['change'], alarm! > Date.now()]).toEqual([1, true])
    later(limits.hubReplayMs / 2)
    await ring(hub)
    expect(await storedOf(hub)).toEqual(NOTHING)
    const told = listener.frames.length
    await hub.publish('tools')
    await eventually(() => listener.frames.length > told)
    expect((await storedOf(hub)).rows).toEqual({ change: 1, follower: 0, setting: 1 })
  })

  test('nothing of what waits to be delivered once it is too old: its alarm delivers it before', async () => {
    withLimits({ hubWindowMs: 60_000 })
    const listener = await listen(hub, ['tools', 'prompts'])
    await hub.publish('tools')
    await listener.next()
    await hub.publish('prompts')
    later(limits.hubReplayMs + MINUTE)
    await ring(hub)
    expect(await listener.next()).toEqual(['prompts'])
    expect(await storedOf(hub)).toEqual(NOTHING)
  })

  test('nothing for good after somebody listened, and nothing changed', async () => {
    await listen(hub, ['tools'])
    expect((await storedOf(hub)).rows).toEqual({ change: 0, follower: 0, setting: 1 })
    later(limits.hubReplayMs + MINUTE)
    await ring(hub)
    expect(await storedOf(hub)).toEqual(NOTHING)
    expect(await countOf(hub)).toBe(1)
  })

  test('an alarm again when the one before was lost', async () => {
    await hub.publish('tools')
    await runInDurableObject(stubOf(hub), (_object, { storage }) => storage.deleteAlarm())
    await crash(hub)
    await hub.publish('tools')
    expect((await storedOf(hub)).alarm).not.toBeNull()
  })

  test('who follows until that expires, and an alarm for it', async () => {
    await hub.hubs.follow(env, 'a session', ['tools', 'prompts'])
    expect((await storedOf(hub)).rows).toEqual({ change: 0, follower: 2, setting: 1 })
    later(1.5 * limits.sessionIdleMs - MINUTE)
    await ring(hub)
    expect((await storedOf(hub)).rows).toEqual({ change: 0, follower: 2, setting: 1 })
    later(2 * MINUTE)
    await ring(hub)
    expect(await storedOf(hub)).toEqual(NOTHING)
  })
})

describe('HubStore', () => {
  test('gives each change a number of its own, which grows with time', async () => {
    await withStore((store) => {
      const turns = [NOW, NOW, NOW - 5, NOW + 1].map((now) => {
        store.changed('tools', now)
        return store.turn(now)
      })
      expect(turns[0]).toBe(NOW * 1_000)
      expect(turns).toEqual([...new Set(turns)].toSorted((a, b) => a - b))
    })
  })

  test('tells what changed after a cursor, and nothing of before', async () => {
    await withStore((store) => {
      store.changed('tools', NOW)
      const between = store.turn(NOW)
      store.changed('prompts', NOW)
      store.changed('resource test://a', NOW)
      const all = keys('tools', 'prompts', 'resource test://a')
      expect(store.changedAfter(between - 1, all, NOW)).toEqual(['tools', 'prompts', 'resource test://a'])
      expect(store.changedAfter(between, all, NOW)).toEqual(['prompts', 'resource test://a'])
      expect(store.changedAfter(between, keys('tools'), NOW)).toEqual([])
      expect(store.changedAfter(store.turn(NOW), all, NOW)).toEqual([])
    })
  })

  test('forgets the oldest tenth over limits.hubChanges, and says that it did', async () => {
    withLimits({ hubChanges: 20 })
    await withStore((store, storage) => {
      const turns = Array.from({ length: 21 }, (_, i) => {
        store.changed(`resource test://${i}`, NOW)
        return store.turn(NOW)
      })
      const left = storage.sql.exec<{ topic: string }>('select topic from change order by turn').toArray()
      expect(left.map(({ topic }) => topic)).toEqual(Array.from({ length: 18 }, (_, i) => `resource test://${i + 3}`))
      for (const known of [store, new HubStore(storage)]) {
        expect(known.changedAfter(turns[1]!, keys('resource test://2'), NOW)).toBeUndefined()
        expect(known.changedAfter(turns[2]!, keys('resource test://2', 'resource test://3'), NOW)).toEqual([
          'resource test://3',
        ])
      }
    })
  })

  test('says that it does not know what a thing was that had the number of another', async () => {
    await withStore((store, storage) => {
      const other = NOW * 1_000
      store.set('a setting', 'so that there are tables')
      storage.sql.exec('insert into change values (?, ?, ?)', topicKey('tools'), other, 'resource test://like-tools')
      const known = new HubStore(storage)
      expect(known.changedAfter(other - 1, keys('tools'), NOW)).toEqual(['resource test://like-tools'])
      known.changed('tools', NOW + 1)
      expect(known.changedAfter(other - 1, keys('tools'), NOW + 1)).toBeUndefined()
      expect(known.changedAfter(other, keys('tools'), NOW + 1)).toEqual(['tools'])
    })
  })

  test('prunes what is older than limits.hubReplayMs, and says when the next will be', async () => {
    await withStore((store) => {
      store.changed('tools', NOW)
      store.changed('prompts', NOW + 10)
      expect(store.prune(NOW + limits.hubReplayMs - 1)).toBe(NOW + limits.hubReplayMs)
      expect(store.prune(NOW + limits.hubReplayMs)).toBe(NOW + limits.hubReplayMs + 10)
      expect(store.prune(NOW + limits.hubReplayMs + 10)).toBeUndefined()
    })
  })

  /** As the hub notes a change that is delivered. */
  const changed = (store: HubStore, topic: Topic): void => {
    store.changed(topic, NOW)
    store.markDue(topic, false)
  }

  const due = (store: HubStore): [string, Topic[]][] =>
    store.due('').map((one) => [one.session, one.due.map(({ topic }) => topic)])

  test('has a follower told of what changes, oldest first, until it was told', async () => {
    await withStore((store) => {
      store.follow('a', ['tools', 'prompts'], NOW)
      store.follow('b', ['prompts'], NOW)
      expect([store.hasDue, due(store)]).toEqual([false, []])
      changed(store, 'prompts')
      changed(store, 'tools')
      changed(store, 'resources')
      expect([store.hasDue, due(store)]).toEqual([
        true,
        [
          ['a', ['prompts', 'tools']],
          ['b', ['prompts']],
        ],
      ])
      for (const { session, due: all } of store.due('')) for (const one of all) store.told(session, one, 'follow')
      expect([store.hasDue, due(store)]).toEqual([false, []])
      changed(store, 'tools')
      expect(due(store)).toEqual([['a', ['tools']]])
    })
  })

  test('tells no more to a follower that waits until it follows again, and drops one that leaves', async () => {
    await withStore((store, storage) => {
      store.follow('waits', ['tools'], NOW)
      store.follow('leaves', ['tools'], NOW)
      const tell = (): void => {
        for (const { session, due: all } of store.due(''))
          for (const one of all) store.told(session, one, session === 'waits' ? 'wait' : 'leave')
      }
      changed(store, 'tools')
      tell()
      changed(store, 'tools')
      expect([store.hasDue, due(store)]).toEqual([false, []])
      expect(storage.sql.exec('select session from follower').toArray()).toEqual([{ session: 'waits' }])
      store.follow('waits', ['tools'], NOW)
      expect(due(store)).toEqual([])
      changed(store, 'tools')
      expect(due(store)).toEqual([['waits', ['tools']]])
    })
  })

  test('keeps due what changed while it was being told', async () => {
    await withStore((store) => {
      store.follow('a', ['tools'], NOW)
      changed(store, 'tools')
      const { session, due: all } = store.due('')[0]!
      changed(store, 'tools')
      for (const following of ['wait', 'leave', 'follow'] as const) store.told(session, all[0]!, following)
      expect(due(store)).toEqual([['a', ['tools']]])
    })
  })

  test('keeps due what changes after a follower came back, also when the clock steps back', async () => {
    await withStore((store) => {
      store.follow('a', ['tools'], NOW)
      changed(store, 'tools')
      store.follow('a', ['tools'], NOW)
      const told = store.due('')[0]!
      store.changed('tools', NOW - 5_000)
      store.markDue('tools', false)
      store.told('a', told.due[0]!, 'follow')
      expect(store.hasDue).toBe(true)
    })
  })

  test('writes no row for a follower that is due already, until the change is delivered', async () => {
    await withStore((store) => {
      store.follow('a', ['tools'], NOW)
      changed(store, 'tools')
      const before = store.due('')
      store.changed('tools', NOW + 1)
      store.markDue('tools', true)
      expect(store.due('')).toEqual(before)
      store.markDue('tools', false)
      expect(store.due('')).not.toEqual(before)
    })
  })

  test('gives limits.hubSessions sessions at a time, each with all it is to be told', async () => {
    withLimits({ hubSessions: 2 })
    await withStore((store) => {
      for (const session of ['c', 'a', 'e', 'b', 'd']) store.follow(session, ['tools', 'prompts'], NOW)
      changed(store, 'tools')
      changed(store, 'prompts')
      const seen: string[][] = []
      for (let batch = store.due(''); batch.length > 0; batch = store.due(batch.at(-1)!.session)) {
        expect(batch.map((one) => one.due.length)).toEqual(batch.map(() => 2))
        seen.push(batch.map(({ session }) => session))
      }
      expect(seen).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    })
  })

  test('writes nothing for a follower that is noted already, until its time runs short', async () => {
    await withStore((store, { sql }) => {
      const noted = () => sql.exec('select distinct expires_at as at from follower').toArray()
      // It has to outlive what the session keeps, whenever that is noted.
      const shortAt = NOW + FOLLOWED_MS - limits.sessionIdleMs
      store.follow('a', ['tools', 'prompts'], NOW)
      store.follow('a', ['tools', 'prompts'], shortAt)
      expect(noted()).toEqual([{ at: NOW + FOLLOWED_MS }])
      store.follow('a', ['tools', 'prompts'], shortAt + 1)
      expect(noted()).toEqual([{ at: shortAt + 1 + FOLLOWED_MS }])
    })
  })
})
