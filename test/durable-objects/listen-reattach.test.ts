// The stream that a Worker holds while its hub comes and goes: found again without the client noticing, given up in good
// order, and let go at once when the client leaves. @see basic/patterns/subscriptions, Graceful Closure

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  countOf,
  crash,
  definition,
  eventually,
  gate,
  holdDown,
  hubOf,
  hubsThrough,
  listen,
  streamOf,
  watchRejections,
  watchTimers,
  withLimits,
  type Between,
} from './support.ts'

/** A socket of a hub that dies before it says anything. */
function stillborn(): Response {
  const { 0: webSocket, 1: other } = new WebSocketPair()
  other.accept()
  other.close(1011, 'the test killed this hub')
  return new Response(null, { status: 101, webSocket })
}

/** A Worker whose calls of its hub go through `call`. */
function workerOf(call: Between) {
  const hub = hubOf(definition())
  return { hub, fetcher: serve(hub.server, { vars: { LISTEN_HUB: hubsThrough(call) } }) }
}

describe('a stream whose hub died', () => {
  test('is found again, whether once or often, and misses nothing', async () => {
    const hub = hubOf(definition())
    const { next, cancel } = await streamOf(serve(hub.server))
    for (let i = 0; i < 3; i++) {
      await crash(hub)
      await hub.publish('resource test://notes')
      expect(await next()).toBe('test://notes')
    }
    expect(await countOf(hub)).toBe(1)
    await cancel()
  })

  test('ends with its result when limits.listenAttempts attempts found no hub', async () => {
    withLimits({ listenAttempts: 3, reattachMs: 5 })
    let [isUp, attempts] = [true, 0]
    const { hub, fetcher } = workerOf(async ({ go }) => {
      if (isUp) return go()
      attempts++
      throw new Error('the test keeps this hub from being reached')
    })
    const { next } = await streamOf(fetcher)
    isUp = false
    await crash(hub)
    expect([await next(), await next(), attempts]).toEqual(['the result', 'the end', 3])
  })

  test('counts as an attempt a hub that dies before it says anything', async () => {
    withLimits({ listenAttempts: 3, reattachMs: 5 })
    let [isUp, attempts] = [true, 0]
    const { hub, fetcher } = workerOf(({ go }) => (isUp ? go() : (attempts++, stillborn())))
    const { next } = await streamOf(fetcher)
    isUp = false
    await crash(hub)
    expect([await next(), await next(), attempts]).toEqual(['the result', 'the end', 3])
  })

  test('has all its attempts again once it was found', async () => {
    withLimits({ listenAttempts: 2, reattachMs: 5 })
    let failures = 0
    const { hub, fetcher } = workerOf(async ({ go }) => {
      if (failures-- > 0) throw new Error('the test keeps this hub from being reached')
      return go()
    })
    const { next, cancel } = await streamOf(fetcher)
    for (let i = 0; i < 3; i++) {
      failures = 1
      await crash(hub)
      await eventually(() => failures < 0)
      await hub.publish('tools')
      expect(await next()).toBe('tools/list_changed')
    }
    await cancel()
  })

  test('waits for limits.reattachMs at most before each attempt', async () => {
    withLimits({ reattachMs: 10 })
    let [isUp, attempts] = [true, 0]
    const { hub, fetcher } = workerOf(async ({ go }) => {
      if (isUp) return go()
      attempts++
      throw new Error('the test keeps this hub from being reached')
    })
    const { next } = await streamOf(fetcher)
    isUp = false
    await crash(hub)
    // With pauses that only double, so many attempts take minutes.
    expect([await next(), attempts]).toEqual(['the result', limits.listenAttempts])
  })

  test('is tried again while there is no place for it', async () => {
    withLimits({ reattachMs: 20 })
    let attempts = 0
    const { hub, fetcher } = workerOf(({ go }) => (attempts++, go()))
    const { next, cancel } = await streamOf(fetcher)
    withLimits({ hubListeners: 0 })
    await crash(hub)
    await eventually(() => attempts >= 3)
    withLimits({ hubListeners: 10 })
    await hub.publish('tools')
    expect(await next()).toBe('tools/list_changed')
    await cancel()
  })
})

describe('a client that leaves', () => {
  test('takes its place in the hub with it, and every timer', async () => {
    const hub = hubOf(definition())
    const fetcher = serve(hub.server)
    await listen(hub, ['tools'])
    const timers = watchTimers()
    const streams = [await streamOf(fetcher), await streamOf(fetcher), await streamOf(fetcher)]
    expect(await countOf(hub)).toBe(4)
    // Its comments, and its age.
    expect(timers.size).toBe(6)
    for (const { cancel } of streams) await cancel()
    await eventually(async () => (await countOf(hub)) === 1)
    expect(timers.size).toBe(0)
  })

  test('while its stream waits to look for its hub again is not brought back', async () => {
    const unhandled = watchRejections()
    withLimits({ reattachMs: 100 })
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.99)
    onTestFinished(() => random.mockRestore())
    let attempts = 0
    const { hub, fetcher } = workerOf(({ go }) => (attempts++, go()))
    const { cancel } = await streamOf(fetcher)
    random.mockClear()
    await crash(hub)
    await eventually(() => random.mock.calls.length > 0)
    await cancel()
    await scheduler.wait(150)
    expect([attempts, await countOf(hub), unhandled]).toEqual([1, 0, []])
  })

  test('while its stream is being found again leaves no listener behind, and no rejection', async () => {
    const unhandled = watchRejections()
    const slow = gate()
    let attempts = 0
    const { hub, fetcher } = workerOf(async ({ go }) => {
      const response = await go()
      if (++attempts > 1) await slow.opened
      return response
    })
    const { cancel } = await streamOf(fetcher)
    await crash(hub)
    await eventually(() => attempts === 2)
    await cancel()
    slow.open()
    await eventually(async () => (await countOf(hub)) === 0)
    await scheduler.wait(20)
    expect(unhandled).toEqual([])
  })
})

describe('a stream that cannot begin', () => {
  test('because its hub cannot be reached gets 503, and leaves nothing behind', async () => {
    const unhandled = watchRejections()
    const hub = hubOf(definition())
    const client = modern(serve(hub.server))
    const timers = watchTimers()
    const back = holdDown(hub)
    const params = { notifications: { toolsListChanged: true } }
    expect(await client.error('subscriptions/listen', params)).toMatchObject({ status: 503, code: -32603 })
    back()
    expect([timers.size, await countOf(hub), unhandled]).toEqual([0, 0, []])
  })

  test('because its hub dies before it says anything gets 503', async () => {
    const { fetcher } = workerOf(() => stillborn())
    const timers = watchTimers()
    const params = { notifications: { toolsListChanged: true } }
    expect(await modern(fetcher).error('subscriptions/listen', params)).toMatchObject({ status: 503, code: -32603 })
    expect(timers.size).toBe(0)
  })
})

test('a stream that has its age ends with its result, and leaves no timer and no listener', async () => {
  withLimits({ streamMaxAgeMs: 50 })
  const hub = hubOf(definition())
  const timers = watchTimers()
  const { next } = await streamOf(serve(hub.server))
  expect([await next(), await next()]).toEqual(['the result', 'the end'])
  expect(timers.size).toBe(0)
  await eventually(async () => (await countOf(hub)) === 0)
})
