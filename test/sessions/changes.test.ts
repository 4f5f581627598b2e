// Sessions as subscribers of the hubs: who hears of a change, what is kept for a client that is away, and that neither
// moves, deaths nor races of objects lose one. @see 2025-11-25 server/resources, Subscriptions

import { env } from 'cloudflare:workers'
import { runInDurableObject } from 'cloudflare:test'
import * as z from 'zod'
import { beforeEach, describe, expect, test } from 'vitest'
import { notifier } from '../../durable-objects/ports.ts'
import { limits } from '../../src/limits.ts'
import { definePrompt, defineResource, defineServer, defineTool, type Server } from '../../src/server/index.ts'
import {
  callsOfHub,
  callsOfSessions,
  crash as crashHub,
  deploy as deployHub,
  FOLLOWED_MS,
  hibernate as hibernateHub,
  hubOf,
  listen as listenAtHub,
  query as queryHub,
  ring as ringHub,
  storedOf as storedOfHub,
  type TestHub,
} from '../durable-objects/support.ts'
import { modern, type Fetcher, type LegacyRevision, type Message, type SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { taskClient } from '../tasks/support.ts'
import {
  describeLegacy,
  eventually,
  gate,
  later,
  left,
  query,
  ring,
  sessionOf,
  stubOf,
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
const laterOn = defineTool('later', {
  description: 'Changes a resource some time after its handle was answered.',
  task: { support: 'optional' },
  async handler(_input, ctx) {
    await scheduler.wait(1)
    ctx.notify.resourceUpdated('test://a')
    return 'changed'
  },
})
const hello = definePrompt('hello', { description: 'hello', get: () => 'hello' })
const resources = ['a', 'b', 'c'].map((name) => defineResource(`test://${name}`, { name, read: () => name }))

const definition = (...more: ReturnType<typeof tool>[]): Server =>
  defineServer({ name: 'test', version: '1.0.0', tools: [change, laterOn, ...more], prompts: [hello], resources })

let [server, hub, fetcher]: [Server, TestHub, Fetcher] = [] as never
beforeEach(() => {
  server = definition()
  hub = hubOf(server)
  fetcher = serve(server)
})

const saidOf = ({ method, params }: Message): string =>
  (params?.['uri'] as string | undefined) ?? method!.replace('notifications/', '')

/** What a stream has said so far. */
const heardOn = (stream: SessionStream): string[] =>
  stream.read.flatMap(({ message }) => (message?.method ? [saidOf(message)] : []))

/** What a stream says next. */
const nextOn = async (stream: SessionStream): Promise<string> => saidOf(await stream.until(() => true))

async function watching(uris: readonly string[] = ['test://a'], revision?: LegacyRevision): Promise<OwnSession> {
  const session = await sessionOf(fetcher, revision)
  for (const uri of uris) await session.result('resources/subscribe', { uri })
  return session
}

/** A session whose client listened and went away. */
async function away(uris?: readonly string[]): Promise<{ session: OwnSession; before: SessionStream }> {
  const session = await watching(uris)
  const before = await session.listen()
  await before.next()
  await before.cancel()
  await left(session)
  return { session, before }
}

/** What the session keeps for its client. */
const keptOf = async (session: OwnSession): Promise<string[]> => {
  const rows = await query(session, 'select text from event order by id')
  return rows.map(({ text }) => saidOf(JSON.parse(String(text)) as Message))
}

/** What the hub has of a session: topics, and whether it waits to be told (a number), waits for its client (-1) or neither. */
const followed = async (session: OwnSession, of = hub): Promise<Record<string, 'due' | 'waits' | 'follows'>> => {
  const rows = await queryHub(
    of,
    `select topic, due from follower where session = '${session.objectId}' order by topic`,
  )
  const what = (due: unknown) => (due === null ? 'follows' : Number(due) > 0 ? 'due' : 'waits')
  return Object.fromEntries(rows.map(({ topic, due }) => [String(topic), what(due)]))
}

describeLegacy('a change reaches the client of a session', (revision) => {
  const sources: [string, () => Promise<unknown>][] = [
    ['a modern call', () => modern(fetcher).call('change')],
    ['another session', async () => (await sessionOf(fetcher)).call('change')],
    ['a task', () => taskClient(fetcher).callTask('later')],
    ['code outside handlers', () => notifier(env, hub.hubs).resourceUpdated('test://a')],
  ]
  test.for(sources)('made by %s, and is stored first', async ([, make]) => {
    const session = await watching(['test://a'], revision)
    const get = await session.listen()
    await make()
    expect(await nextOn(get)).toBe('test://a')
    expect(await keptOf(session)).toEqual(['test://a'])
    expect(get.read.at(-1)?.id).toBe(get.lastEventId)
    await get.cancel()
  })

  test('by a list it may show, and by no resource that it did not subscribe to', async () => {
    const session = await watching(['test://a'], revision)
    const get = await session.listen()
    await hub.publish('resource test://b', 'resource test://none', 'task 1')
    await hub.publish('tools', 'prompts', 'resources')
    for (let i = 0; i < 3; i++) await get.until(() => true)
    expect(heardOn(get)).toEqual(['tools/list_changed', 'prompts/list_changed', 'resources/list_changed'])
    await get.cancel()
  })

  test('of each session that watches, once', async () => {
    const sessions = [await watching(['test://a'], revision), await watching(['test://a', 'test://b'], revision)]
    const gets = await Promise.all(sessions.map((session) => session.listen()))
    await modern(fetcher).call('change', { uris: ['test://a', 'test://b', 'test://a'] })
    for (const [i, count] of [1, 2].entries()) for (let n = 0; n < count; n++) await gets[i]!.until(() => true)
    await modern(fetcher).call('change', { uris: ['test://a'] })
    for (const get of gets) await get.until(() => true)
    expect(gets.map((get) => heardOn(get).toSorted())).toEqual([
      ['test://a', 'test://a'],
      ['test://a', 'test://a', 'test://b'],
    ])
    for (const get of gets) await get.cancel()
  })
})

describe('a client that is away', () => {
  test('finds every change when it comes back, each thing once, and hears of the next at once', async () => {
    const { session, before } = await away(['test://a', 'test://b'])
    await hub.publish('resource test://a')
    await eventually(async () => (await keptOf(session)).length === 1)
    await hub.publish('resource test://b', 'resource test://a', 'tools')
    const get = await session.resume(before)
    for (let i = 0; i < 3; i++) await get.until(() => true)
    expect(heardOn(get).toSorted()).toEqual(['test://a', 'test://b', 'tools/list_changed'])
    await hub.publish('resource test://a')
    expect(await nextOn(get)).toBe('test://a')
    await get.cancel()
  })

  test('has its session called once for each thing until it comes back', async () => {
    const { session, before } = await away(['test://a', 'test://b'])
    let calls = 0
    await callsOfSessions(hub, ({ go }) => (calls++, go()))
    for (let i = 0; i < 3; i++) {
      await hub.publish('resource test://a')
      await eventually(async () => (await followed(session))['resource test://a'] === 'waits')
    }
    await hub.publish('resource test://b')
    await eventually(async () => (await followed(session))['resource test://b'] === 'waits')
    expect([calls, await keptOf(session)]).toEqual([2, ['test://a', 'test://b']])
    const get = await session.resume(before)
    expect(Object.values(await followed(session))).toEqual(Array.from({ length: 5 }, () => 'follows'))
    await hub.publish('resource test://a')
    for (let i = 0; i < 3; i++) await get.until(() => true)
    expect(calls).toBe(3)
    await get.cancel()
  })

  test('that only ever sent requests finds what changed since it subscribed', async () => {
    const session = await watching()
    await hub.publish('resource test://a')
    await eventually(async () => (await keptOf(session)).length > 0)
    const get = await session.listen()
    await hub.publish('resource test://a')
    expect(await nextOn(get)).toBe('test://a')
    await get.cancel()
  })

  test('costs its hub one row a thing, which goes when the session has been idle for too long', async () => {
    const { session } = await away()
    expect(await followed(session)).toEqual({
      prompts: 'follows',
      'resource test://a': 'follows',
      resources: 'follows',
      tools: 'follows',
    })
    later(FOLLOWED_MS + 60_000)
    await ringHub(hub)
    expect(await storedOfHub(hub)).toEqual({ rows: {}, alarm: null })
  })
})

describe('a session is followed no more', () => {
  /** A change of everything, once the hub has told it. */
  const changeAll = async (session: OwnSession): Promise<void> => {
    await hub.publish('tools', 'prompts', 'resources', 'resource test://a', 'resource test://b')
    await eventually(async () => !Object.values(await followed(session)).includes('due'))
  }

  test('for a resource from which it unsubscribed, after the next change of it', async () => {
    const session = await watching(['test://a', 'test://b'])
    const get = await session.listen()
    await session.result('resources/unsubscribe', { uri: 'test://a' })
    await changeAll(session)
    expect(Object.keys(await followed(session))).toEqual(['prompts', 'resource test://b', 'resources', 'tools'])
    for (let i = 0; i < 4; i++) await get.until(() => true)
    expect(heardOn(get)).not.toContain('test://a')
    await get.cancel()
  })

  test('at all once it was ended, and stores nothing of what comes then', async () => {
    const session = await watching()
    await session.end()
    await changeAll(session)
    expect(await followed(session)).toEqual({})
    expect(await query(session, 'select text from event')).toEqual([])
  })

  test('for its resources once it was idle for too long', async () => {
    const session = await watching()
    withLimits({ sessionIdleMs: 0 })
    await eventually(
      async () => (await ring(session), (await query(session, 'select 1 from sqlite_master')).length === 0),
    )
    withLimits({ sessionIdleMs: 86_400_000 })
    await changeAll(session)
    expect(Object.keys(await followed(session))).not.toContain('resource test://a')
  })
})

describe('a session that comes back while it is being told', () => {
  test('hears of the next change: what it said before it came back is over', async () => {
    const { session, before } = await away()
    const answered = gate()
    let calls = 0
    const open = await callsOfSessions(hub, async ({ go }) => {
      const answer = await go()
      if (++calls === 1) await answered.opened
      return answer
    })
    await hub.publish('resource test://a')
    await eventually(async () => (await keptOf(session)).length === 1)
    const get = await session.resume(before)
    answered.open()
    await scheduler.wait(20)
    open()
    await hub.publish('resource test://a')
    await hub.publish('resource test://a')
    for (let i = 0; i < 2; i++) expect(await nextOn(get)).toBe('test://a')
    expect((await followed(session))['resource test://a']).not.toBe('waits')
    await get.cancel()
  })

  /** The hub says late that it will tell a session of changes. */
  const slowToFollow = () => {
    const connected = gate()
    let isFollowed = false
    const back = callsOfHub(hub, async ({ method, go }) => {
      const answer = await go()
      if (method === 'follow') {
        isFollowed = true
        await connected.opened
      }
      return answer
    })
    return {
      followed: () => eventually(() => isFollowed),
      connect: () => (connected.open(), back()),
    }
  }

  test.for(['with a cursor', 'without one'])('misses nothing between the hub and its connection, %s', async (how) => {
    const { session, before } = await away()
    const slow = slowToFollow()
    const connecting = how === 'with a cursor' ? session.resume(before) : session.listen()
    await slow.followed()
    await hub.publish('resource test://a')
    await eventually(async () => (await keptOf(session)).length === 1)
    slow.connect()
    const get = await connecting
    expect(await nextOn(get)).toBe('test://a')
    await hub.publish('resource test://a')
    expect(await nextOn(get)).toBe('test://a')
    expect(heardOn(get)).toEqual(['test://a', 'test://a'])
    await get.cancel()
  })

  test('hears on a newer connection nothing that an older one was sent while it was on its way', async () => {
    const session = await watching()
    const older = await session.listen()
    const slow = slowToFollow()
    const connecting = session.listen()
    await slow.followed()
    await hub.publish('resource test://a')
    expect(await nextOn(older)).toBe('test://a')
    slow.connect()
    const newer = await connecting
    await hub.publish('tools')
    expect(await nextOn(newer)).toBe('tools/list_changed')
    expect([heardOn(older), heardOn(newer)]).toEqual([['test://a'], ['tools/list_changed']])
    await newer.cancel()
  })
})

test('a session that is ended while its hub is asked is not connected to, and keeps nothing', async () => {
  const session = await watching()
  const asked = gate()
  let isAsked = false
  callsOfHub(hub, async ({ go }) => {
    isAsked = true
    await asked.opened
    return go()
  })
  const connecting = session.get()
  await eventually(() => isAsked)
  expect((await session.end()).status).toBe(204)
  asked.open()
  expect((await connecting).status).toBe(404)
  expect(await query(session, 'select name from setting order by name')).toEqual([
    { name: 'ended' },
    { name: 'epoch' },
    { name: 'schema' },
  ])
})

test('a call of a session is answered when what it changed is stored, and not before', async () => {
  withLimits({ publishWaitMs: 60_000 })
  const stored = gate()
  callsOfHub(hub, async ({ go }) => {
    await stored.opened
    return go()
  })
  const session = await sessionOf(fetcher)
  let isAnswered = false
  const calling = session.call('change').then(() => (isAnswered = true))
  await scheduler.wait(50)
  expect([isAnswered, (await storedOfHub(hub)).rows]).toEqual([false, {}])
  stored.open()
  await calling
  expect((await storedOfHub(hub)).rows['change']).toBe(1)
})

describe('a session that cannot be reached', () => {
  test('is told when the alarm of the hub rings, and others meanwhile', async () => {
    const [one, other] = [await watching(), await watching()]
    const gets = [await one.listen(), await other.listen()]
    let tries = 0
    const back = await callsOfSessions(hub, ({ of, go }) => {
      if (of !== one.objectId) return go()
      tries++
      throw new Error('the test keeps this session from being reached')
    })
    await hub.publish('resource test://a')
    expect(await nextOn(gets[1]!)).toBe('test://a')
    await eventually(() => tries > 0)
    expect([(await followed(one))['resource test://a'], await keptOf(one).catch(() => [])]).toEqual(['due', []])
    const { alarm } = await storedOfHub(hub)
    expect(alarm! - Date.now()).toBeLessThanOrEqual(limits.leaseMs)
    back()
    await ringHub(hub)
    expect(await nextOn(gets[0]!)).toBe('test://a')
    expect(heardOn(gets[1]!)).toEqual(['test://a'])
    for (const get of gets) await get.cancel()
  })

  test('is told also when the hub died between the change and its telling', async () => {
    const session = await watching()
    const get = await session.listen()
    const never = gate()
    const back = await callsOfSessions(hub, () => never.opened)
    await hub.publish('resource test://a')
    await crashHub(hub)
    back()
    expect((await followed(session))['resource test://a']).toBe('due')
    expect((await storedOfHub(hub)).alarm! - Date.now()).toBeLessThanOrEqual(limits.leaseMs)
    await ringHub(hub)
    expect(await nextOn(get)).toBe('test://a')
    await get.cancel()
  })

  test('is told also when the hub died with the change still waiting for others', async () => {
    withLimits({ hubWindowMs: 60_000 })
    const session = await watching()
    const get = await session.listen()
    await hub.publish('resource test://none')
    await scheduler.wait(10)
    await hub.publish('resource test://a')
    await crashHub(hub)
    expect(await keptOf(session)).toEqual([])
    expect((await storedOfHub(hub)).alarm! - Date.now()).toBeLessThanOrEqual(limits.leaseMs)
    await ringHub(hub)
    expect(await nextOn(get)).toBe('test://a')
    await get.cancel()
  })

  test('because it is of another version is told once it is of this one', async () => {
    const session = await watching()
    const get = await session.listen()
    let calls = 0
    const back = await callsOfSessions(hub, ({ args: [protocol, topics], of }) => {
      calls++
      return stubOf({ objectId: of }).changed((protocol as number) + 1, topics as never)
    })
    await hub.publish('resource test://a')
    await eventually(() => calls > 0)
    await scheduler.wait(20)
    expect((await followed(session))['resource test://a']).toBe('due')
    back()
    await ringHub(hub)
    expect(await nextOn(get)).toBe('test://a')
    await get.cancel()
  })

  test('keeps others waiting for one alarm at most, however many of its like there are', async () => {
    withLimits({ hubSessions: 1 })
    const sessions = [await watching(), await watching()].toSorted((x, y) => (x.objectId < y.objectId ? -1 : 1))
    const [unreachable, other] = sessions as [OwnSession, OwnSession]
    let tries = 0
    const between = ({ of, go }: { of: string; go: () => unknown }): unknown => {
      if (of !== unreachable.objectId) return go()
      tries++
      throw new Error('the test keeps this session from being reached')
    }
    await callsOfSessions(hub, between)
    await hub.publish('resource test://a')
    await eventually(() => tries > 0)
    // A hub with nothing to do sleeps long before its alarm rings.
    await callsOfSessions(hub, between)
    await ringHub(hub)
    await eventually(async () => (await keptOf(other)).length === 1)
    expect((await followed(unreachable))['resource test://a']).toBe('due')
  })

  test('does not keep its hub from sleeping', async () => {
    const session = await watching()
    const back = await callsOfSessions(hub, () => {
      throw new Error('the test keeps this session from being reached')
    })
    await hub.publish('resource test://a')
    await hibernateHub(hub)
    back()
    await ringHub(hub)
    await eventually(async () => (await keptOf(session)).length === 1)
  })
})

test('a hub tells all its sessions, limits.hubSessions of them at a time', async () => {
  withLimits({ hubSessions: 3 })
  const sessions = []
  for (let i = 0; i < 10; i++) sessions.push(await watching(['test://a', 'test://b']))
  let [under, most] = [0, 0]
  await callsOfSessions(hub, async ({ go }) => {
    most = Math.max(most, ++under)
    await scheduler.wait(5)
    const answer = await go()
    under--
    return answer
  })
  await hub.publish('resource test://a')
  for (const session of sessions) await eventually(async () => (await keptOf(session)).length === 1)
  expect(most).toBe(3)
  await hub.publish('resource test://a', 'resource test://b')
  for (const session of sessions) await eventually(async () => (await keptOf(session)).includes('test://b'))
})

describe('a deploy that changes a list', () => {
  /** The hub and a session are of another definition when they come back. */
  const deploy = async (next: Server, session: OwnSession): Promise<void> => {
    await deployHub(hub, next, session.objectId)
    let isDead = false
    await runInDurableObject(stubOf(session), (_object, state) => {
      setTimeout(() => {
        isDead = true
        state.abort('the test killed this session')
      })
    })
    while (!isDead) await scheduler.wait(1)
  }

  test('is told on the standalone stream, which follows its object to the new version', async () => {
    const session = await watching()
    const get = await session.listen()
    await deploy(definition(tool('new', () => 'new')), session)
    expect(await nextOn(get)).toBe('tools/list_changed')
    await hub.publish('resource test://a')
    await get.until((message) => saidOf(message) === 'test://a')
    // Twice to who comes back while it is being told.
    expect([...new Set(heardOn(get))]).toEqual(['tools/list_changed', 'test://a'])
    await get.cancel()
  })

  test('is found by a client that was away', async () => {
    const { session, before } = await away()
    await deploy(definition(tool('new', () => 'new')), session)
    const get = await session.resume(before)
    expect(await nextOn(get)).toBe('tools/list_changed')
    await get.cancel()
  })

  test('is kept for it as soon as anybody comes to the hub, such as a listener', async () => {
    const { session } = await away()
    const next = definition(tool('new', () => 'new'))
    await deploy(next, session)
    await listenAtHub({ ...hub, server: next }, ['prompts'])
    await eventually(async () => (await keptOf(session)).length > 0)
    expect(await keptOf(session)).toEqual(['tools/list_changed'])
  })

  test('and no other says nothing', async () => {
    const session = await watching()
    const get = await session.listen()
    await deploy(definition(), session)
    await hub.publish('resource test://a')
    expect(await nextOn(get)).toBe('test://a')
    expect(heardOn(get)).toEqual(['test://a'])
    await get.cancel()
  })
})
