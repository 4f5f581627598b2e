// The quota of one caller: counted in one place, over in time, and forgotten then.

import { env } from 'cloudflare:workers'
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { describe, expect, test } from 'vitest'
import { quotaPort } from '../../durable-objects/quota-port.ts'
import { TAKE, type Taken } from '../../durable-objects/quota.ts'
import { digestOf } from '../../src/server/canonical.ts'
import { ProtocolError } from '../../src/server/index.ts'
import { later } from './support.ts'

const HOUR = 3_600_000
const quota = { calls: 3, windowMs: HOUR }
const quotas = quotaPort()

/** A caller of its own for each test, with a name as long as those of issuers. */
async function somebody() {
  const key = `principal user somewhere ${'long '.repeat(60)}${crypto.randomUUID()}`
  const stub = env.QUOTA_OBJECT.getByName(await digestOf(key))
  return {
    stub,
    take: (count = 1, { calls, windowMs } = quota) => quotas.take(env, key, { calls, windowMs }, count),
    /** What became of a call: left out when it may go on. */
    refusal: async (count = 1, use = quota): Promise<ProtocolError | undefined> => {
      try {
        return void (await quotas.take(env, key, use, count))
      } catch (error) {
        if (error instanceof ProtocolError) return error
        throw error
      }
    },
    stored: () =>
      runInDurableObject(stub, async (_object, { storage }) => ({
        entries: Object.fromEntries(await storage.list()),
        alarm: await storage.getAlarm(),
      })),
    ring: () => runDurableObjectAlarm(stub),
  }
}

/** A request to the object, as nobody but this Worker can make one. */
function raw(stub: DurableObjectStub, path: string, content: unknown, method = 'GET'): Promise<Response> {
  return stub.fetch(`https://quota${path}`, { method, headers: { [TAKE.argumentsHeader]: JSON.stringify(content) } })
}

describe('a quota', () => {
  test('lets so many calls through and refuses the next, which is told when it may come again', async () => {
    const { take, refusal } = await somebody()
    for (let i = 0; i < 3; i++) await take()
    later(HOUR / 2)
    const error = await refusal()
    expect(error).toMatchObject({ kind: 'TooManyRequests', headers: { retryAfterSeconds: expect.any(Number) } })
    expect(error?.headers.retryAfterSeconds).toBeGreaterThan(HOUR / 2000 - 5)
    expect(error?.headers.retryAfterSeconds).toBeLessThanOrEqual(HOUR / 2000)
    expect(error?.message).toMatch(/^Too many requests: the quota has 0 of 3 tool calls left until 20\d\d-/)
  })

  test('begins anew when its window is over, whether or not the alarm has rung', async () => {
    const { take, refusal } = await somebody()
    await take(3)
    later(HOUR - 1_000)
    expect(await refusal()).toBeDefined()
    later(1_000)
    await take(3)
    expect(await refusal()).toBeDefined()
  })

  test('counts calls that come at once one after the other', async () => {
    const { refusal } = await somebody()
    const refusals = await Promise.all(Array.from({ length: 10 }, () => refusal()))
    expect(refusals.filter((error) => error === undefined)).toHaveLength(3)
  })

  test('takes the calls of a batch all or none', async () => {
    const { take, refusal } = await somebody()
    await take(2)
    expect((await refusal(2))?.message).toContain('1 of 3 tool calls left')
    await take(1)
    expect((await refusal())?.message).toContain('0 of 3')
  })

  test('never lets a batch through that is larger than it, and stores nothing of it', async () => {
    const { refusal, stored } = await somebody()
    expect(await refusal(4)).toMatchObject({ kind: 'TooManyRequests' })
    expect(await stored()).toEqual({ entries: {}, alarm: null })
  })

  test('is each caller’s own', async () => {
    const [ada, bob] = [await somebody(), await somebody()]
    await ada.take(3)
    expect(await ada.refusal()).toBeDefined()
    await bob.take(3)
  })

  test('may be made larger or shorter while a window is open', async () => {
    const { take, refusal } = await somebody()
    await take(3)
    expect(await refusal()).toBeDefined()
    await take(1, { calls: 4, windowMs: HOUR })
    later(60_000)
    await take(4, { calls: 4, windowMs: 60_000 })
    expect(await refusal(1, { calls: 4, windowMs: 60_000 })).toBeDefined()
  })

  test('that was made longer says when the open window ends, which is as it was', async () => {
    const { take, refusal } = await somebody()
    await take(3)
    expect((await refusal(1, { calls: 3, windowMs: 24 * HOUR }))?.headers.retryAfterSeconds).toBeLessThanOrEqual(3_600)
    later(HOUR)
    await take(3, { calls: 3, windowMs: 24 * HOUR })
    later(HOUR)
    expect(await refusal(1, { calls: 3, windowMs: 24 * HOUR })).toBeDefined()
  })

  test('survives that its object sleeps', async () => {
    const { stub, take, refusal } = await somebody()
    await take(2)
    await evictDurableObject(stub)
    await take()
    expect(await refusal()).toBeDefined()
  })
})

describe('what is stored of a quota', () => {
  test('is one entry with numbers, and an alarm at the end of the window', async () => {
    const { take, stored } = await somebody()
    const before = Date.now()
    await take()
    await take()
    const { entries, alarm } = await stored()
    expect(entries).toEqual({ data: { beganAt: expect.any(Number), endsAt: alarm, taken: 2 } })
    expect(alarm).toBeGreaterThanOrEqual(before + HOUR)
    expect(alarm).toBeLessThanOrEqual(Date.now() + HOUR)
  })

  test('goes at the end of the window, also from memory', async () => {
    const { take, stored, ring } = await somebody()
    await take(3)
    later(HOUR)
    await ring()
    expect(await stored()).toEqual({ entries: {}, alarm: null })
    await take(3)
    const { entries, alarm } = await stored()
    expect(entries).toMatchObject({ data: { endsAt: alarm, taken: 3 } })
  })

  test('goes when the object slept until then', async () => {
    const { stub, take, stored, ring } = await somebody()
    await take()
    await evictDurableObject(stub)
    later(HOUR)
    await ring()
    expect(await stored()).toEqual({ entries: {}, alarm: null })
  })

  test('stays when an alarm comes too early, which is set again', async () => {
    const { stub, take, stored, ring } = await somebody()
    await take(2)
    await evictDurableObject(stub)
    const before = await stored()
    await ring()
    expect(await stored()).toEqual(before)
  })

  test('is not written again by a call that is refused', async () => {
    const { take, refusal, stored } = await somebody()
    await take(3)
    const before = await stored()
    await refusal()
    expect(await stored()).toEqual(before)
  })
})

describe('the object of a quota', () => {
  test.each([
    ['call a method of its base class', '/do/call/destroy', []],
    ['call its alarm', '/do/call/alarm', []],
    ['set what it has counted', '/do/set/taken', 0],
    ['read its state', '/do/get-prop/state', []],
    ['read what it has counted', '/do/get-prop/taken', []],
    ['take by another spelling', '/do/call/take/', [1, 3, HOUR]],
  ])('lets nobody %s', async (_what, path, content) => {
    const { stub, take, stored } = await somebody()
    await take(2)
    const before = await stored()
    const response = await raw(stub, path, content)
    expect([response.status, await response.text()]).toEqual([404, ''])
    expect(await stored()).toEqual(before)
  })

  test('takes by GET only', async () => {
    const { stub, stored } = await somebody()
    expect((await raw(stub, new URL(TAKE.url).pathname, [1, 3, HOUR], 'POST')).status).toBe(400)
    expect(await stored()).toEqual({ entries: {}, alarm: null })
  })

  test('answers what was taken', async () => {
    const { stub } = await somebody()
    const answer = await (await raw(stub, new URL(TAKE.url).pathname, [1, 3, HOUR])).json<Taken>()
    expect(answer).toEqual({ isOver: false, left: 2, resetsAt: expect.any(Number) })
  })

  test('has neither bindings nor secrets on its state', async () => {
    const { stub, take } = await somebody()
    await take()
    const held = await runInDurableObject(stub, (object) => {
      const { state } = object as unknown as { state: Record<string, unknown> }
      return { env: state['env'], names: Object.keys(state).filter((name) => name in env) }
    })
    expect(held).toEqual({ env: {}, names: [] })
  })

  test('that cannot store is 503, and the calls are not lost to the caller', async () => {
    const { stub, take, refusal } = await somebody()
    await take(2)
    await runInDurableObject(stub, (object) => {
      const { state } = object as unknown as { state: { storage: unknown } }
      const { storage } = state
      state.storage = { put: () => Promise.reject(new Error('the disk is full')) }
      return void setTimeout(() => (state.storage = storage), 50)
    })
    const error = await refusal()
    const cause = { message: "the quota's object failed: the disk is full" }
    expect(error).toMatchObject({ kind: 'Unavailable', message: 'The quota cannot be reached: try again', cause })
    await scheduler.wait(60)
    await evictDurableObject(stub)
    await take(1)
  })

  test('that cannot be reached is 503', async () => {
    const broken = { getByName: () => ({ fetch: () => Promise.reject(new Error('network connection lost')) }) }
    const bindings = { ...env, QUOTA_OBJECT: broken } as unknown as Cloudflare.Env
    await expect(quotas.take(bindings, 'somebody', quota, 1)).rejects.toMatchObject({
      kind: 'Unavailable',
      cause: { message: 'network connection lost' },
    })
  })
})
