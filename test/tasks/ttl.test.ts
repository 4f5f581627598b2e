// The end of a task's life: whatever it does, nothing of it is left, and its id is one that never was.

import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { legacy } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  as,
  byHeader,
  eventually,
  happened,
  hibernate,
  later,
  NOTHING,
  parked,
  recordOf,
  ring,
  storedOf,
  stubOf,
  taskClient,
  taskTool,
  timesOf,
  update,
} from './support.ts'

const MINUTE = 60_000
const ttl = { task: { ttlMs: MINUTE } }
const UNKNOWN = { status: 200, code: -32602, message: 'Invalid params: no such task' }

/** What handlers that work see of their end. */
const aborted = new Map<string, unknown>()
let mayGo = false

const fetcher = serve(
  {
    tools: [
      taskTool('quick', () => 'done', ttl),
      taskTool('default', () => 'done'),
      taskTool(
        'working',
        async (ctx) => {
          const { requestId: id } = ctx
          await ctx.step('before', () => 1)
          ctx.progress(1, 2, 'begun')
          while (!mayGo && !ctx.signal.aborted) await scheduler.wait(2)
          if (ctx.signal.aborted) aborted.set(id, ctx.signal.reason)
          void ctx.step('late', () => happened(`${id} late`))
          ctx.progress(2, 2, 'late')
          ctx.log('info', 'late')
          return 'late'
        },
        ttl,
      ),
      taskTool('asking', (ctx) => ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) }), ttl),
      taskTool(
        'asking_twice',
        async (ctx) => {
          await ctx.elicit('first', { message: 'First?', schema: z.object({}) })
          await ctx.elicit('second', { message: 'Second?', schema: z.object({}) })
        },
        ttl,
      ),
      taskTool('sleeping', (ctx) => ctx.sleep(100 * MINUTE), ttl),
      taskTool('eternal', () => 'done', { task: { ttlMs: null } }),
      taskTool(
        'eternally_asking',
        async (ctx) => (await ctx.elicit('name', { message: 'Who?', schema: z.object({}) })).action,
        { task: { ttlMs: null } },
      ),
      taskTool('eternally_sleeping', (ctx) => ctx.sleep(Number.MAX_SAFE_INTEGER), { task: { ttlMs: null } }),
      taskTool('nearly_eternal', () => 'done', { task: { ttlMs: Number.MAX_SAFE_INTEGER } }),
    ],
  },
  { authenticate: byHeader },
)
const client = taskClient(fetcher)

/** Lets a task's time run out. A handler that lives dies with its object, which fails its alarm. */
async function expire(taskId: string, ms = MINUTE): Promise<void> {
  later(ms)
  await ring(taskId).catch((error: unknown) => expect(String(error)).toContain('the task expired'))
}

async function expectGone(taskId: string): Promise<void> {
  expect(await storedOf(taskId)).toEqual(NOTHING)
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    const params = method === 'tasks/update' ? { taskId, inputResponses: {} } : { taskId }
    expect(await client.error(method, params), method).toEqual(UNKNOWN)
  }
  expect(await storedOf(taskId)).toEqual(NOTHING)
}

async function begun(name: string): Promise<{ taskId: string; requestId: string }> {
  const { taskId } = await client.callTask(name)
  return { taskId, requestId: (await recordOf(taskId)).requestId }
}

describe('when its time is over, a task is gone', () => {
  test('that is at its end', async () => {
    const { taskId } = await begun('quick')
    await client.settled(taskId)
    later(MINUTE - 1_000)
    await ring(taskId)
    expect(await client.task(taskId)).toMatchObject({ status: 'completed' })
    expect((await storedOf(taskId)).alarm).toBe(Date.parse((await client.task(taskId)).createdAt) + MINUTE)
    await expire(taskId, 1_001)
    await expectGone(taskId)
  })

  test.for(['working', 'asking', 'sleeping'])('that was cancelled while %s', async (name) => {
    mayGo = false
    const { taskId } = await begun(name)
    await client.result('tasks/cancel', { taskId })
    await expire(taskId)
    await expectGone(taskId)
  })

  test('that works, whose handler can write nothing afterwards', async () => {
    mayGo = false
    const { taskId, requestId } = await begun('working')
    await eventually(async () => (await client.task(taskId)).statusMessage === 'begun')
    await expire(taskId)
    await expectGone(taskId)
    mayGo = true
    await scheduler.wait(30)
    await expectGone(taskId)
    expect(await timesOf(`${requestId} late`)).toBe(0)
  })

  for (const mode of ['awake', 'asleep'] as const) {
    test.for(['asking', 'sleeping'])(`that is %s, its object being ${mode}`, async (name) => {
      const { taskId } = await begun(name)
      await parked(taskId)
      if (mode === 'asleep') await hibernate(taskId)
      await expire(taskId)
      await expectGone(taskId)
    })
  }

  test('that never began', async () => {
    mayGo = false
    const { taskId } = await begun('working')
    await abortAllDurableObjects()
    await expire(taskId)
    await expectGone(taskId)
  })

  test('also before its alarm has rung, but not a moment too early', async () => {
    const { taskId } = await begun('asking')
    await parked(taskId)
    later(MINUTE - 1_000)
    expect((await client.task(taskId)).status).toBe('input_required')
    later(1_000)
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const params = method === 'tasks/update' ? { taskId, inputResponses: { name: { action: 'cancel' } } } : { taskId }
      expect(await client.error(method, params), method).toEqual(UNKNOWN)
    }
    await expire(taskId, 0)
    await expectGone(taskId)
  })

  test('even if an answer comes at the same time', async () => {
    const { taskId } = await begun('asking')
    await parked(taskId)
    later(MINUTE)
    await Promise.allSettled([ring(taskId), update(client, taskId, { name: accept({ name: 'Ada' }) })])
    await ring(taskId).catch(() => {})
    await scheduler.wait(20)
    await expectGone(taskId)
  })

  test('even if an answer or a start comes while it is being deleted', async () => {
    const { taskId } = await begun('asking_twice')
    await parked(taskId)
    await hibernate(taskId)
    later(MINUTE)
    const owner = { principal: 'anonymous', form: 'extension' } as const
    await runInDurableObject(stubOf(taskId), async (object) => {
      const deleting = object.alarm!()
      object.answer(owner, { first: { action: 'decline' } })
      object.start()
      await deleting
    }).catch((error: unknown) => expect(String(error)).toContain('the task expired'))
    await scheduler.wait(30)
    await expectGone(taskId)
  })

  test('and alarms and starts that come late wake nothing', async () => {
    const { taskId } = await begun('quick')
    await client.settled(taskId)
    await expire(taskId)
    await abortAllDurableObjects()
    expect(await ring(taskId)).toBe(false)
    await expectGone(taskId)
  })
})

test('a task nobody said anything of lives for a day', async () => {
  const { taskId } = await begun('default')
  const task = await client.settled(taskId)
  expect(task.ttlMs).toBe(limits.defaultTaskTtlMs)
  await expire(taskId, limits.defaultTaskTtlMs - 1_000)
  expect(await client.task(taskId)).toEqual(task)
  await expire(taskId, 1_001)
  await expectGone(taskId)
})

describe('a task without end', () => {
  const YEARS = 100 * 365 * 24 * 60 * MINUTE

  test('is one by definition alone, and stays', async () => {
    const { taskId } = await begun('eternal')
    const task = await client.settled(taskId)
    expect(task.ttlMs).toBeNull()
    await ring(taskId)
    expect((await storedOf(taskId)).alarm).toBeNull()
    later(YEARS)
    await ring(taskId)
    await hibernate(taskId)
    expect(await client.task(taskId)).toEqual(task)
  })

  test('waits for its answer for ever, without an alarm', async () => {
    const { taskId } = await begun('eternally_asking')
    await parked(taskId)
    await ring(taskId)
    expect((await storedOf(taskId)).alarm).toBeNull()
    later(YEARS)
    await hibernate(taskId)
    await update(client, taskId, { name: { action: 'decline' } })
    expect((await client.settled(taskId)).result?.content[0]?.text).toBe('decline')
  })

  test.for(['eternally_sleeping', 'nearly_eternal'])(
    'or later than the platform keeps alarms is no fault: %s',
    async (name) => {
      const { taskId } = await begun(name)
      await (name === 'nearly_eternal' ? client.settled(taskId) : parked(taskId))
      const before = await client.task(taskId)
      await ring(taskId)
      await scheduler.wait(10)
      expect(await client.task(taskId)).toEqual(before)
    },
  )
})

describe('a lifetime that a client of 2025-11-25 asks for', () => {
  const asked = async (tool: string, ms: number, headers = {}) =>
    (await legacy(fetcher, '2025-11-25', { headers }).callTask(tool, undefined, { ttl: ms })).ttl

  test('is capped: less for those that are anonymous', async () => {
    expect(await asked('default', 90 * MINUTE)).toBe(90 * MINUTE)
    expect(await asked('default', limits.anonymousTaskTtlMs + 1)).toBe(limits.anonymousTaskTtlMs)
    expect(await asked('default', limits.taskTtlMs + 1, as('ada'))).toBe(limits.taskTtlMs)
    expect(await asked('default', 0)).toBe(limits.minTaskTtlMs)
  })

  test('is kept however long, where the tool sets no end', async () => {
    expect(await asked('eternal', 1_000 * limits.taskTtlMs)).toBe(1_000 * limits.taskTtlMs)
  })
})

test('the time of tasks is taken from the moment they were made', async () => {
  const { taskId } = await begun('asking')
  await parked(taskId)
  later(MINUTE / 2)
  await update(client, taskId, { nothing: { action: 'cancel' } })
  await ring(taskId)
  await expire(taskId, MINUTE / 2)
  await expectGone(taskId)
})

test('an object that never had a task stores nothing, whatever it is asked', async () => {
  await expectGone(env.TASK.newUniqueId().toString())
})
