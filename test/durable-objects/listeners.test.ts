// Who listens to a shard: counted while it is awake and after it slept, let go when it leaves, and refused over the caps.

import { runInDurableObject } from 'cloudflare:test'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { Topic } from '../../src/protocol/topic.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  attach,
  countOf,
  countWrites,
  crash,
  eventually,
  hibernate,
  hubOf,
  listen,
  refusalOf,
  serverOf,
  storedOf,
  stubOf,
  withLimits,
  type TestHub,
} from './support.ts'

let hub: TestHub
beforeEach(() => (hub = hubOf()))

const uris = (count: number, from = 0): Topic[] =>
  Array.from({ length: count }, (_, i) => `resource test://${from + i}` as const)

describe('a listener that leaves', () => {
  test('is counted no more', async () => {
    const [first, second] = [await listen(hub, ['tools']), await listen(hub, ['tools'])]
    expect(second.frames[0]).toMatchObject({ listeners: 2 })
    first.leave()
    await eventually(async () => (await countOf(hub)) === 1)
    second.leave()
    await eventually(async () => (await countOf(hub)) === 0)
  })

  test('is counted no more by a hub that slept since it came, whether it leaves before or after the hub is awake', async () => {
    const [first, second, third] = [
      await listen(hub, ['tools']),
      await listen(hub, ['tools']),
      await listen(hub, ['tools']),
    ]
    await hibernate(hub)
    first.leave()
    await eventually(async () => (await countOf(hub)) === 2)
    // The index was made after the sleep, of sockets that came before it.
    second.leave()
    await eventually(async () => (await countOf(hub)) === 1)
    await hub.publish('tools')
    await third.next()
    expect([first.told, second.told]).toEqual([[], []])
  })

  test('is not looked at any more when something changes', async () => {
    const [leaves, stays] = [await listen(hub, ['tools']), await listen(hub, ['tools'])]
    let looks = 0
    await runInDurableObject(stubOf(hub), (_object, state) => {
      for (const socket of state.getWebSockets()) {
        const get = (): number => (looks++, Reflect.get(WebSocket.prototype, 'readyState', socket) as number)
        Object.defineProperty(socket, 'readyState', { get })
      }
    })
    await hub.publish('tools')
    await stays.next()
    expect(looks).toBe(2)
    leaves.leave()
    await eventually(async () => (await countOf(hub)) === 1)
    looks = 0
    await hub.publish('tools')
    await stays.next()
    expect(looks).toBe(1)
  })

  test('makes room for one more of its owner, at once', async () => {
    const one = { owner: 'one', limit: 1 }
    const listener = await listen(hub, ['tools'], one)
    expect(await refusalOf(hub, ['tools'], one)).toBe('owner')
    listener.leave()
    await eventually(async () => (await refusalOf(hub, ['tools'], one)) === undefined)
    await hibernate(hub)
    expect(await refusalOf(hub, ['tools'], one)).toBe('owner')
  })

  test('because its connection broke is counted no more, nor twice when the close follows', async () => {
    const owner = { owner: 'one', limit: 2 }
    for (let i = 0; i < 2; i++) await listen(hub, ['tools'], owner)
    for (const ways of [['webSocketError'], ['webSocketError', 'webSocketClose']] as const) {
      await runInDurableObject(stubOf(hub), (object, state) => {
        // The first of them, which is at the end of its time either way.
        for (const way of ways) object[way](state.getWebSockets()[0]!)
      })
      await eventually(async () => (await countOf(hub)) === 1)
    }
    expect([await refusalOf(hub, [], owner), await refusalOf(hub, [], owner)]).toEqual([undefined, 'owner'])
  })

  test('leaves with its hub when that dies: who comes back is counted anew', async () => {
    const owner = { owner: 'one', limit: 2 }
    for (let i = 0; i < 2; i++) await listen(hub, ['tools'], owner)
    await crash(hub)
    expect(await countOf(hub)).toBe(0)
    for (let i = 0; i < 2; i++) await listen(hub, ['tools'], owner)
    expect(await refusalOf(hub, ['tools'], owner)).toBe('owner')
  })
})

describe('a hub takes', () => {
  test('so many listeners of one owner, and not one more, whoever the others are', async () => {
    const [one, another] = [
      { owner: 'one', limit: 3 },
      { owner: 'another', limit: 3 },
    ]
    for (let i = 0; i < 3; i++) await listen(hub, ['tools'], one)
    expect(await refusalOf(hub, ['tools'], one)).toBe('owner')
    expect(await refusalOf(hub, [], one)).toBe('owner')
    expect(await refusalOf(hub, ['tools'], another)).toBeUndefined()
    expect(await countOf(hub)).toBe(4)
  })

  test('limits.hubListeners, and not one more until one leaves', async () => {
    withLimits({ hubListeners: 2 })
    const first = await listen(hub, ['tools'], { owner: 'one' })
    await listen(hub, ['tools'], { owner: 'another' })
    expect(await refusalOf(hub, [], { owner: 'yet another' })).toBe('full')
    await hibernate(hub)
    expect(await refusalOf(hub, [], { owner: 'yet another' })).toBe('full')
    first.leave()
    await eventually(async () => (await refusalOf(hub, [])) === undefined)
  })

  test('limits.hubTopics of all listeners together, and not one more until one leaves', async () => {
    withLimits({ hubTopics: 5 })
    const first = await listen(hub, uris(3))
    await listen(hub, uris(2))
    expect(await refusalOf(hub, uris(1, 10))).toBe('full')
    expect(await refusalOf(hub, [])).toBeUndefined()
    await hibernate(hub)
    expect(await refusalOf(hub, uris(1, 10))).toBe('full')
    first.leave()
    await eventually(async () => (await refusalOf(hub, uris(3, 10))) === undefined)
    expect(await refusalOf(hub, uris(1, 20))).toBe('full')
  })

  test('limits.ownerTopics of the listeners of one owner together, so that others find room', async () => {
    withLimits({ ownerTopics: 5 })
    const [one, another] = [{ owner: 'one' }, { owner: 'another' }]
    const first = await listen(hub, uris(3), one)
    await listen(hub, uris(2), one)
    expect(await refusalOf(hub, uris(1), one)).toBe('owner')
    expect(await refusalOf(hub, [], one)).toBeUndefined()
    expect(await refusalOf(hub, uris(5), another)).toBeUndefined()
    expect(await refusalOf(hub, uris(6), { owner: 'a third' })).toBe('owner')
    await hibernate(hub)
    expect(await refusalOf(hub, uris(1), one)).toBe('owner')
    first.leave()
    await eventually(async () => (await refusalOf(hub, uris(3), one)) === undefined)
    expect(await refusalOf(hub, uris(1), one)).toBe('owner')
  })

  test('a filter as long as one may be, and still knows it after it slept', async () => {
    const most = [
      ...uris(limits.listenResources),
      ...Array.from({ length: limits.listenTasks }, (_, i) => `task ${'f'.repeat(60)}${1_000 + i}` as const),
      'tools',
      'prompts',
      'resources',
    ] as const
    const listener = await listen(hub, most)
    await hibernate(hub)
    await hub.publish(...most)
    expect((await listener.next()).toSorted()).toEqual(most.toSorted())
  })
})

test('a client that finds every place taken gets 503, and is told when to try again', async () => {
  withLimits({ hubListeners: 1 })
  const own = hubOf(serverOf('tool'))
  const client = modern(serve(own.server))
  const params = { notifications: { toolsListChanged: true } }
  await listen(own, ['tools'])
  expect(await client.error('subscriptions/listen', params)).toMatchObject({ status: 503, code: -32603 })
})

test('listeners store nothing: neither their coming, their waiting nor their leaving writes a row', async () => {
  // The first one has the lists noted, for the next deploy.
  await listen(hub, [])
  const [before, written] = [await storedOf(hub), await countWrites(hub)]
  const listeners = []
  for (let i = 0; i < 20; i++) listeners.push(await listen(hub, [...uris(20), 'tools']))
  for (const listener of listeners.slice(10)) listener.leave()
  await eventually(async () => (await countOf(hub)) === 11)
  expect(written()).toEqual({ rows: 0, alarms: 0 })
  await hibernate(hub)
  const afterwards = await countWrites(hub)
  await eventually(async () => (await countOf(hub)) === 11)
  for (const listener of listeners.slice(0, 10)) listener.leave()
  await eventually(async () => (await countOf(hub)) === 1)
  expect(afterwards()).toEqual({ rows: 0, alarms: 0 })
  expect(await storedOf(hub)).toEqual(before)
})

test('a listener that is refused leaves nothing behind', async () => {
  withLimits({ hubListeners: 0 })
  expect(await refusalOf(hub, ['tools'])).toBe('full')
  expect(await attach(hub, ['tools'], { shard: 1 })).toBe('moved')
  expect(await storedOf(hub, 1)).toEqual({ rows: {}, alarm: null })
})
