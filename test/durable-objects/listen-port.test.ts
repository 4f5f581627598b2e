// How changes get to the hubs: when publishing is done, what it does while a hub cannot be reached, and the notifier for
// code outside handlers.

import { env } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import { listenPort } from '../../durable-objects/listen-port.ts'
import { notifier } from '../../durable-objects/ports.ts'
import type { Topic } from '../../src/protocol/topic.ts'
import { ListenHubObject } from '../support/main.ts'
import {
  crash,
  gate,
  holdDown,
  hubOf,
  hubsThrough,
  listen,
  storedOf,
  withLimits,
  withVars,
  type Between,
  type TestHub,
} from './support.ts'

/** The bindings of a Worker whose calls of hubs go through `call`. */
const through = (call: Between): Cloudflare.Env => ({ ...env, LISTEN_HUB: hubsThrough(call) })

const changesOf = async (hub: TestHub, shard: number): Promise<number> =>
  (await storedOf(hub, shard)).rows['change'] ?? 0

describe('publishing', () => {
  test('is done when every shard has stored it, and not before', async () => {
    withVars({ LISTEN_SHARDS: '3' })
    const hub = hubOf()
    const slow = gate()
    let calls = 0
    const slowly = through(async ({ go }) => {
      if (++calls === 2) await slow.opened
      return go()
    })
    let isDone = false
    const publishing = hub.hubs.publish(slowly, ['tools']).then(() => (isDone = true))
    await scheduler.wait(50)
    expect([calls, isDone]).toEqual([3, false])
    expect([await changesOf(hub, 0), await changesOf(hub, 1), await changesOf(hub, 2)]).toEqual([1, 0, 1])
    slow.open()
    await publishing
    expect(await changesOf(hub, 1)).toBe(1)
  })

  test('costs one call a shard, however much changed at once and whoever listens', async () => {
    withVars({ LISTEN_SHARDS: '2' })
    const hub = hubOf()
    for (let i = 0; i < 3; i++) await listen(hub, ['tools'])
    const calls: number[] = []
    const counted = through(({ args, go }) => {
      calls.push((args[1] as Topic[]).length)
      return go()
    })
    await hub.hubs.publish(counted, ['tools', 'prompts'])
    await hub.hubs.publish(
      counted,
      Array.from({ length: 1_500 }, (_, i) => `resource test://${i}` as const),
    )
    expect(calls.toSorted((a, b) => a - b)).toEqual([2, 2, 500, 500, 1_000, 1_000])
  })

  test('goes on while a hub cannot be reached, and is done once it can', async () => {
    const hub = hubOf()
    const back = holdDown(hub)
    const publishing = hub.publish('tools')
    await scheduler.wait(300)
    back()
    await publishing
    expect(await changesOf(hub, 0)).toBe(1)
  })

  test('survives the death of the hub in the middle of the call', async () => {
    const hub = hubOf()
    const { publish } = ListenHubObject.prototype
    let calls = 0
    const spy = vi.spyOn(ListenHubObject.prototype, 'publish').mockImplementation(function (this: unknown, ...args) {
      if (++calls === 1) (this as { ctx: DurableObjectState }).ctx.abort('the test killed this hub')
      return publish.apply(this as ListenHubObject, args)
    })
    await hub.publish('tools')
    spy.mockRestore()
    expect([calls, await changesOf(hub, 0)]).toEqual([2, 1])
  })

  test('is given up after limits.publishMs, with what was in the way', async () => {
    withLimits({ publishMs: 300 })
    const hub = hubOf()
    holdDown(hub)
    const begun = Date.now()
    await expect(hub.publish('tools')).rejects.toThrow('the test keeps this hub from being reached')
    expect(Date.now() - begun).toBeGreaterThanOrEqual(300)
  })

  test('is tried again while a hub is of another version, and then given up', async () => {
    withLimits({ publishMs: 600 })
    const hub = hubOf()
    let older = 2
    const mixed = through(({ args: [protocol, ...rest], go }) => {
      if (older-- <= 0) return go()
      return env.LISTEN_HUB.get(env.LISTEN_HUB.idFromString(hub.ids[0]!)).publish(
        (protocol as number) + 1,
        ...(rest as [Topic[]]),
      )
    })
    await hub.hubs.publish(mixed, ['tools'])
    expect(await changesOf(hub, 0)).toBe(1)
    older = Number.POSITIVE_INFINITY
    await expect(hub.hubs.publish(mixed, ['prompts'])).rejects.toThrow('of another version')
    expect(await changesOf(hub, 0)).toBe(1)
  })

  test('keeps nothing from a shard because another one cannot be reached', async () => {
    withLimits({ publishMs: 200 })
    const taken: number[] = []
    const stubs = (name: string) => ({
      async publish(_protocol: number, topics: readonly unknown[]) {
        if (name.endsWith('-1')) throw new Error('down')
        taken.push(topics.length)
        return true
      },
    })
    // A shard that is down for good cannot be had from the platform.
    const bindings = { ...env, LISTEN_SHARDS: '2', LISTEN_HUB: { getByName: stubs } } as unknown as Cloudflare.Env
    const topics = Array.from({ length: 2_500 }, (_, i) => `resource test://${i}` as const)
    await expect(listenPort('of a test').publish(bindings, topics)).rejects.toThrow('down')
    expect(taken).toEqual([1_000, 1_000, 500])
  })

  test('nothing calls nobody', async () => {
    const hub = hubOf()
    let calls = 0
    await hub.hubs.publish(
      through(({ go }) => (calls++, go())),
      [],
    )
    expect(calls).toBe(0)
  })
})

describe('a hub that cannot be reached', () => {
  test('takes no listener and no follower, which both learn at once', async () => {
    const hub = hubOf()
    holdDown(hub)
    await expect(listen(hub, ['tools'])).rejects.toThrow('the test keeps this hub from being reached')
    await expect(hub.hubs.follow(env, 'a session', ['tools'])).rejects.toThrow(
      'the test keeps this hub from being reached',
    )
  })

  test('because it just died is tried again', async () => {
    const hub = hubOf()
    await hub.publish('tools')
    await crash(hub)
    await hub.hubs.follow(env, 'a session', ['tools'])
    await crash(hub)
    expect((await listen(hub, ['tools'])).frames).toHaveLength(1)
  })
})

describe('notifier(env)', () => {
  test('tells who listens, in the words of the specification', async () => {
    const hub = hubOf()
    const listener = await listen(hub, ['tools', 'prompts', 'resources', 'resource test://a'])
    const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceUpdated } = notifier(env, hub.hubs)
    await toolsListChanged()
    await promptsListChanged()
    await resourcesListChanged()
    await resourceUpdated('test://a')
    while (listener.told.length < 4) await listener.next()
    expect(listener.told).toEqual(['tools', 'prompts', 'resources', 'resource test://a'])
  })

  test('rejects when it could not be stored, and for what is no URI', async () => {
    withLimits({ publishMs: 0 })
    const hub = hubOf()
    const { toolsListChanged, resourceUpdated } = notifier(env, hub.hubs)
    await expect(resourceUpdated('no uri')).rejects.toThrow(TypeError)
    expect(await storedOf(hub)).toEqual({ rows: {}, alarm: null })
    holdDown(hub)
    await expect(toolsListChanged()).rejects.toThrow('the test keeps this hub from being reached')
  })
})
