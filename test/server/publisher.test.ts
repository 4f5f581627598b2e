// What one call says has changed: what travels together, how long an answer waits for it, and what becomes of a failure.

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { Topic } from '../../src/protocol/topic.ts'
import { Publisher } from '../../src/server/publisher.ts'
import { watchRejections, watchTimers } from '../durable-objects/support.ts'
import { gate, withLimits } from '../sessions/support.ts'

interface Published {
  publisher: Publisher
  /** What each call of `publish` was given. */
  published: Topic[][]
  kept: Promise<unknown>[]
  reported: unknown[]
}

function publisherOf(publish: (topics: readonly Topic[], call: number) => Promise<void>): Published {
  const [published, kept, reported]: [Topic[][], Promise<unknown>[], unknown[]] = [[], [], []]
  const publisher = new Publisher({
    publish: (topics) => publish(topics, published.push([...topics])),
    waitUntil: (work) => void kept.push(work),
    report: (error) => void reported.push(error),
  })
  return { publisher, published, kept, reported }
}

describe('Publisher', () => {
  test('takes what is said in one turn to the hubs together, each thing once', async () => {
    const { publisher, published } = publisherOf(async () => {})
    for (const topic of ['tools', 'prompts', 'tools', 'resource test://a'] as const) publisher.notify(topic)
    await publisher.settled()
    expect(published).toEqual([['tools', 'prompts', 'resource test://a']])
    publisher.notify('tools')
    await publisher.settled()
    expect(published.slice(1)).toEqual([['tools']])
  })

  test('keeps what is said meanwhile for the next time, and settles when that is stored too', async () => {
    const first = gate()
    const { publisher, published } = publisherOf((_topics, call) => (call === 1 ? first.opened : Promise.resolve()))
    publisher.notify('tools')
    await scheduler.wait(1)
    for (const topic of ['tools', 'prompts', 'tools'] as const) publisher.notify(topic)
    const settled = publisher.settled()
    await scheduler.wait(1)
    expect(published).toEqual([['tools']])
    first.open()
    await settled
    expect(published).toEqual([['tools'], ['tools', 'prompts']])
  })

  test('is settled at once when nothing was said, and keeps nothing', async () => {
    const { publisher, published, kept } = publisherOf(async () => {})
    await publisher.settled()
    expect([published, kept]).toEqual([[], []])
  })

  test('lets an answer wait for limits.publishWaitMs at most, and goes on behind it', async () => {
    withLimits({ publishWaitMs: 30 })
    const stored = gate()
    const { publisher, kept } = publisherOf(() => stored.opened)
    publisher.notify('tools')
    await publisher.settled()
    expect(kept).toHaveLength(1)
    let isDone = false
    void kept[0]!.then(() => (isDone = true))
    await scheduler.wait(1)
    expect(isDone).toBe(false)
    stored.open()
    await kept[0]
  })

  test('leaves no timer once it is settled, nor while nobody waits', async () => {
    const timers = watchTimers()
    const stored = gate()
    const { publisher, kept } = publisherOf(() => stored.opened)
    publisher.notify('tools')
    expect(timers.size).toBe(0)
    const settled = publisher.settled()
    expect(timers.size).toBe(1)
    stored.open()
    await settled
    await Promise.all(kept)
    expect(timers.size).toBe(0)
  })

  test('lets no answer wait longer than a client is patient', () => {
    expect(limits.publishWaitMs).toBeLessThanOrEqual(1_000)
  })

  test('reports what could not be stored, and rejects nothing', async () => {
    const unhandled = watchRejections()
    const { publisher, kept, reported } = publisherOf(async () => {
      throw new Error('no hub')
    })
    publisher.notify('tools')
    await publisher.settled()
    await Promise.all(kept)
    await scheduler.wait(10)
    expect(reported).toEqual([new Error('no hub')])
    expect(unhandled).toEqual([])
  })

  test('reports a failure that comes behind the answer as well', async () => {
    withLimits({ publishWaitMs: 10 })
    const unhandled = watchRejections()
    const { publisher, kept, reported } = publisherOf(async () => {
      await scheduler.wait(40)
      throw new Error('no hub')
    })
    publisher.notify('tools')
    await publisher.settled()
    expect(reported).toEqual([])
    await Promise.all(kept)
    await scheduler.wait(10)
    expect([reported, unhandled]).toEqual([[new Error('no hub')], []])
  })

  test('loses nothing that was said while something else failed', async () => {
    const { publisher, published, reported } = publisherOf(async (_topics, call) => {
      await scheduler.wait(5)
      if (call === 1) throw new Error('no hub')
    })
    publisher.notify('tools')
    await scheduler.wait(1)
    publisher.notify('prompts')
    await publisher.settled()
    expect(published).toEqual([['tools'], ['prompts']])
    expect(reported).toEqual([new Error('no hub')])
  })

  test('publishes again after a failure', async () => {
    const { publisher, published } = publisherOf(async (_topics, call) => {
      if (call === 1) throw new Error('no hub')
    })
    for (const topic of ['tools', 'prompts'] as const) {
      publisher.notify(topic)
      await publisher.settled()
    }
    expect(published).toEqual([['tools'], ['prompts']])
  })

  test('takes no failure of one that throws at once for an answer', async () => {
    const { publisher, reported } = publisherOf(() => {
      throw new TypeError('no binding')
    })
    publisher.notify('tools')
    await publisher.settled()
    expect(reported).toEqual([new TypeError('no binding')])
  })
})
