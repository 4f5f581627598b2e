// How a stream lives and ends: comments while nothing happens, the answer to its request when it is old, and everything
// freed at once when its client leaves or stops reading. A hub that drops it is found again.
// @see basic/patterns/subscriptions, Cancellation and Graceful Closure; basic/transports/streamable-http

import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineResourceTemplate, defineServer, type Server } from '../../src/server/index.ts'
import { modern, type Message } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { change, crash, eventually, listen, listenersOf, publish, sleep, withLimits } from './support.ts'

const server = (): Server =>
  defineServer({
    name: 'end',
    version: '1.0.0',
    tools: [change],
    resources: [defineResourceTemplate('test://{id}', { name: 'pages', read: ({ id }) => id })],
  })
const TOOLS = { toolsListChanged: true }
const everybodyLeft = (changing: Server) => eventually(async () => (await listenersOf(changing)) === 0)

/** The timers of a stream that run: one for its comments, and one for its age. */
function watchTimers(): Set<unknown> {
  const { setTimeout: timeout, setInterval: interval, clearTimeout: noTimeout, clearInterval: noInterval } = globalThis
  const timers = new Set<unknown>()
  const begun = (timer: unknown, isOfStream: boolean) => {
    if (isOfStream) timers.add(timer)
    return timer as never
  }
  const over = (timer: unknown, end: (timer: never) => void) => {
    timers.delete(timer)
    end(timer as never)
  }
  const { idleKeepAliveMs, streamMaxAgeMs } = limits
  const isAge = (ms = 0) => ms >= 0.9 * streamMaxAgeMs && ms <= 1.1 * streamMaxAgeMs
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((run, ms) => begun(timeout(run as () => void, ms), isAge(ms)))
  vi.spyOn(globalThis, 'setInterval').mockImplementation((run, ms) =>
    begun(interval(run as () => void, ms), ms === idleKeepAliveMs),
  )
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => over(timer, noTimeout))
  vi.spyOn(globalThis, 'clearInterval').mockImplementation((timer) => over(timer, noInterval))
  return timers
}

afterEach(() => void vi.restoreAllMocks())

describe('a stream that is old', () => {
  test('ends with the answer to its request, which says whose it is, and is closed then', async () => {
    withLimits({ streamMaxAgeMs: 30 })
    const changing = server()
    const stream = await listen(modern(serve(changing)), TOOLS, { id: 'old' })
    const rest: Message[] = []
    for await (const message of stream.messages) rest.push(message)
    const _meta = {
      'io.modelcontextprotocol/subscriptionId': 'old',
      'io.modelcontextprotocol/serverInfo': { name: 'end', version: '1.0.0' },
    }
    expect(rest).toEqual([{ jsonrpc: '2.0', id: 'old', result: { resultType: 'complete', _meta } }])
    expect(stream.log.text).not.toContain('notifications/cancelled')
    await everybodyLeft(changing)
  })

  test('ends a tenth before or after limits.streamMaxAgeMs, so that not all end at once', async () => {
    const ages: number[] = []
    const { setTimeout: real } = globalThis
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
      if (ms !== undefined && ms > limits.streamMaxAgeMs / 2) ages.push(ms / limits.streamMaxAgeMs)
      return real(run, ms)
    }) as typeof setTimeout)
    const client = modern(serve(server()))
    for (let i = 0; i < 10; i++) await listen(client, TOOLS)
    expect(ages).toHaveLength(10)
    expect(new Set(ages).size).toBeGreaterThan(1)
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(0.9)
    expect(Math.max(...ages)).toBeLessThanOrEqual(1.1)
  })
})

describe('a stream on which nothing happens', () => {
  test('is kept alive by comments, without the hub', async () => {
    withLimits({ idleKeepAliveMs: 10 })
    const changing = server()
    const stream = await listen(modern(serve(changing)), TOOLS)
    await sleep(changing)
    const next = stream.messages.next()
    await eventually(() => stream.comments >= 3)
    expect(stream.log.text.split('\n\n').slice(1, 3)).toEqual([': keep-alive', ': keep-alive'])
    await publish(changing, 'tools')
    expect((await next).value).toMatchObject({ method: 'notifications/tools/list_changed' })
  })

  test('carries no id, no retry and nothing of another kind', async () => {
    withLimits({ idleKeepAliveMs: 10, streamMaxAgeMs: 100 })
    const stream = await listen(modern(serve(server(), { vars: { RESUMABLE_LISTEN: 'on' } })), TOOLS)
    expect(await stream.told(1)).toEqual(['end'])
    expect([stream.log.ids, stream.log.retries]).toEqual([[], []])
    for (const line of stream.log.text.split('\n'))
      expect(line).toMatch(/^(event: message|data: \{.*\}|: keep-alive|)$/)
  })
})

describe('a client that leaves', () => {
  test('frees its place in the hub, whatever it was waiting for', async () => {
    const changing = server()
    const client = modern(serve(changing))
    const [idle, busy, other] = [await listen(client, TOOLS), await listen(client, TOOLS), await listen(client, TOOLS)]
    const pending = idle.messages.next()
    await publish(changing, 'tools')
    await busy.told(1)
    await idle.cancel()
    await busy.cancel()
    await eventually(async () => (await listenersOf(changing)) === 1)
    await pending
    await publish(changing, 'tools')
    expect(await other.told(2)).toEqual(['tools', 'tools'])
  })

  test('before it has read anything is noticed as well', async () => {
    const changing = server()
    const stream = await modern(serve(changing)).open('subscriptions/listen', { notifications: TOOLS })
    expect(await listenersOf(changing)).toBe(1)
    await stream.cancel()
    await everybodyLeft(changing)
  })

  test('is sent no comment any more, and leaves no timer behind', async () => {
    withLimits({ idleKeepAliveMs: 5 })
    const timers = watchTimers()
    const changing = server()
    const stream = await listen(modern(serve(changing)), TOOLS)
    const pending = stream.messages.next()
    await eventually(() => stream.comments > 0)
    expect(timers.size).toBe(2)
    await stream.cancel()
    await pending
    const { comments } = stream
    await scheduler.wait(30)
    expect([stream.comments, timers.size]).toEqual([comments, 0])
    await everybodyLeft(changing)
  })
})

describe('a client that does not read', () => {
  const uris = Array.from({ length: 300 }, (_, i) => `test://${i}${'x'.repeat(1_500)}`)
  const topics = uris.map((uri) => `resource ${uri}` as const)

  test('is cut off when it has read nothing for limits.streamStallMs, and frees its place', async () => {
    withLimits({ streamStallMs: 100 })
    const changing = server()
    const client = modern(serve(changing))
    const stream = await listen(client, { resourceSubscriptions: uris })
    const other = await listen(client, { resourceSubscriptions: uris.slice(0, 1) })
    await publish(changing, ...topics)
    await eventually(async () => (await listenersOf(changing)) === 1)
    await expect(stream.next()).rejects.toThrow()
    expect(await other.told(1)).toEqual(topics.slice(0, 1))
  })

  test('is told once of what changes again and again meanwhile', async () => {
    const changing = server()
    withLimits({ hubWindowMs: 0 })
    const stream = await listen(modern(serve(changing)), { ...TOOLS, resourceSubscriptions: uris })
    for (let i = 0; i < 20; i++) await publish(changing, ...topics)
    await publish(changing, 'tools')
    const told = [await stream.told(301)].flat()
    expect(told.length - new Set(told).size).toBeLessThan(told.length / 2)
    expect(await listenersOf(changing)).toBe(1)
  })

  test('is told everything it asked for, though that alone is more than waits for a reader', async () => {
    const changing = server()
    const long = Array.from({ length: 500 }, (_, i) => `test://${i}${'y'.repeat(1_900)}`)
    const stream = await listen(modern(serve(changing)), { resourceSubscriptions: long })
    for (let i = 0; i < 2; i++) {
      await publish(changing, ...long.map((uri) => `resource ${uri}` as const))
      expect(await stream.told(500)).toHaveLength(500)
    }
  })

  test('is not, while it is only slow', async () => {
    const changing = server()
    const stream = await listen(modern(serve(changing)), { resourceSubscriptions: uris })
    await publish(changing, ...topics)
    await scheduler.wait(50)
    expect(await stream.told(300)).toEqual(topics)
    expect(await listenersOf(changing)).toBe(1)
  })
})

describe('a stream whose hub dies', () => {
  test('is connected again and told what it has missed, and its client notices nothing', async () => {
    withLimits({ hubWindowMs: 0 })
    const changing = server()
    const filter = { ...TOOLS, resourceSubscriptions: ['test://a', 'test://b'] }
    const stream = await listen(modern(serve(changing)), filter)
    await publish(changing, 'tools')
    expect(await stream.told(1)).toEqual(['tools'])
    await crash(changing)
    await publish(changing, 'resource test://b', 'resource test://c')
    expect(await stream.told(1)).toEqual(['resource test://b'])
    await publish(changing, 'resource test://a')
    expect(await stream.told(1)).toEqual(['resource test://a'])
  })

  test('and cannot be found again ends with the answer to its request', async () => {
    withLimits({ listenAttempts: 2, reattachMs: 10 })
    let isThere = true
    const LISTEN_HUB = new Proxy(env.LISTEN_HUB, {
      get(namespace, name) {
        if (!isThere) throw new Error('no hub today')
        return (Reflect.get(namespace, name, namespace) as (...args: unknown[]) => object).bind(namespace)
      },
    })
    const changing = server()
    const stream = await listen(modern(serve(changing, { vars: { LISTEN_HUB } })), TOOLS)
    isThere = false
    await crash(changing)
    expect(await stream.told(1)).toEqual(['end'])
    expect(await stream.messages.next()).toMatchObject({ done: true })
  })

  test('is not connected again once its client has left', async () => {
    withLimits({ reattachMs: 10 })
    const changing = server()
    const stream = await listen(modern(serve(changing)), TOOLS)
    await crash(changing)
    await stream.cancel()
    await scheduler.wait(30)
    expect(await listenersOf(changing)).toBe(0)
  })
})
