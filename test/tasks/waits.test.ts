// A task that sleeps or waits for answers needs no memory: its object may be evicted, and an alarm or an answer enters the
// handler again, which finds everything as it was.

import * as z from 'zod'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineResourceTemplate, type CallContext } from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  crash,
  eventually,
  happened,
  hibernate,
  keysOf,
  later,
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
const DAY = 24 * 60 * MINUTE
const Name = z.object({ name: z.string() })

let entries = 0
/** What handlers are told to wait for, beside the task. */
let mayGo = false
let mayBegin = false
beforeEach(() => {
  entries = 0
  mayGo = mayBegin = false
})

async function besideStep(ctx: CallContext, ms: number): Promise<string> {
  entries++
  const worked = ctx.step('work', async () => {
    while (!mayGo) await scheduler.wait(2)
  })
  const slept = ctx.sleep(ms).then(() => ctx.progress(1, 1, 'slept'))
  await Promise.all([slept, worked])
  return 'both'
}

const fetcher = serve({
  tools: [
    taskTool('asking', async (ctx) => {
      entries++
      await ctx.step('before', () => happened(`${ctx.requestId} before`))
      const first = await ctx.elicit('first', { message: 'First?', schema: Name })
      await ctx.step('between', () => happened(`${ctx.requestId} between`))
      const second = await ctx.elicit('second', { message: 'Second?', schema: Name })
      await ctx.step('after', () => happened(`${ctx.requestId} after`))
      return `${first.content?.name} ${second.content?.name}`
    }),
    taskTool('sleeping', async (ctx) => {
      entries++
      await ctx.step('before', () => happened(`${ctx.requestId} before`))
      await ctx.sleep(MINUTE)
      await ctx.step('between', () => happened(`${ctx.requestId} between`))
      await ctx.sleep(MINUTE)
      await ctx.step('after', () => happened(`${ctx.requestId} after`))
      return 'slept'
    }),
    taskTool('keyed', async (ctx) => {
      entries++
      const slept: string[] = []
      const sleep = async (key: string, ms: number): Promise<void> => {
        await ctx.sleep(ms, key)
        slept.push(key)
      }
      await Promise.all([sleep('long', 2 * MINUTE), sleep('short', MINUTE)])
      return slept.join()
    }),
    taskTool('both', async (ctx) => {
      entries++
      const asked = async () => {
        const { content } = await ctx.elicit('name', { message: 'Who?', schema: Name })
        return ctx.step('answered', () => content?.name)
      }
      const [, name] = await Promise.all([ctx.sleep(MINUTE), asked()])
      return name
    }),
    taskTool('deadline', async (ctx) => {
      entries++
      const answer = ctx.elicit('name', { message: 'Who?', schema: Name })
      const first = await Promise.race([answer, ctx.sleep(MINUTE)])
      return first ? `answered ${first.content?.name}` : 'too late'
    }),
    taskTool('beside_a_step', (ctx) => besideStep(ctx, MINUTE)),
    taskTool('briefly_beside_a_step', (ctx) => besideStep(ctx, 5_000)),
    taskTool('goes_on_beside_a_sleep', async (ctx) => {
      entries++
      void ctx.sleep(DAY / 2)
      await ctx.step('first', () => happened(`${ctx.requestId} first`))
      while (!mayBegin) await scheduler.wait(2)
      await ctx.step('second', async () => {
        await happened(`${ctx.requestId} second`)
        while (!mayGo) await scheduler.wait(2)
      })
      return 'done'
    }),
    taskTool('no_time', async (ctx) => {
      await ctx.sleep(0)
      return 'at once'
    }),
    taskTool('same_key', async (ctx) => {
      await Promise.all([ctx.sleep(1, 'a'), ctx.sleep(1, 'a')])
    }),
    taskTool('below_zero', (ctx) => ctx.sleep(-1)),
    taskTool('no_number', (ctx) => ctx.sleep(Number.NaN)),
    taskTool('for_ever', (ctx) => ctx.sleep(Number.POSITIVE_INFINITY)),
  ],
})
const client = taskClient(fetcher)

async function begun(name: string) {
  const { taskId } = await client.callTask(name)
  await parked(taskId)
  return { taskId, requestId: (await recordOf(taskId)).requestId }
}

const times = (requestId: string) =>
  Promise.all(['before', 'between', 'after'].map((what) => timesOf(`${requestId} ${what}`)))

const endOf = async (taskId: string) => (await client.settled(taskId)).result?.content[0]?.text
const alarmOf = async (taskId: string) => (await storedOf(taskId)).alarm
const sleepOf = async (taskId: string, key: string) => (await storedOf(taskId)).entries[`sleep:${key}`] as number

const losses: [string, (taskId: string) => Promise<void>][] = [
  ['stays awake', async () => {}],
  ['hibernates', hibernate],
  ['dies', crash],
]

for (const [name, lose] of losses) {
  const entered = name === 'stays awake' ? 1 : 3

  describe(`a task whose object ${name} while it waits`, () => {
    test('for answers gets to its end, with every step done once', async () => {
      const { taskId, requestId } = await begun('asking')
      for (const key of ['first', 'second']) {
        await eventually(async () => Object.keys((await client.task(taskId)).inputRequests ?? {})[0] === key)
        await parked(taskId)
        await lose(taskId)
        expect((await client.task(taskId)).status).toBe('input_required')
        await update(client, taskId, { [key]: accept({ name: key }) })
      }
      expect(await endOf(taskId)).toBe('first second')
      expect(await times(requestId)).toEqual([1, 1, 1])
      expect(entries).toBe(entered)
    })

    test('for its sleeps gets to its end, with every step done once', async () => {
      const { taskId, requestId } = await begun('sleeping')
      for (const key of ['sleep#1', 'sleep#2']) {
        await eventually(async () => (await keysOf(taskId, 'sleep:')).includes(key))
        await parked(taskId)
        await lose(taskId)
        later(MINUTE - 1_000)
        await ring(taskId)
        expect(await client.task(taskId)).toMatchObject({ status: 'working' })
        expect((await recordOf(taskId)).isParked).toBe(true)
        expect(await alarmOf(taskId)).toBe(await sleepOf(taskId, key))
        later(2_000)
        await ring(taskId)
      }
      expect(await endOf(taskId)).toBe('slept')
      expect(await times(requestId)).toEqual([1, 1, 1])
      expect(entries).toBe(entered)
    })

    test('for an answer and a sleep waits for what is left of it', async () => {
      const { taskId } = await begun('both')
      const until = await sleepOf(taskId, 'sleep#1')
      await lose(taskId)
      later(MINUTE / 2)
      await update(client, taskId, { name: accept({ name: 'Ada' }) })
      await eventually(async () => (await keysOf(taskId, 'step:')).length === 1)
      await parked(taskId)
      expect(await sleepOf(taskId, 'sleep#1')).toBe(until)
      expect((await client.task(taskId)).status).toBe('working')
      await lose(taskId)
      later(MINUTE / 2 + 1)
      await ring(taskId)
      expect(await endOf(taskId)).toBe('Ada')
      expect(entries).toBe(entered)
    })

    test('for several sleeps wakes from each when it is over', async () => {
      const { taskId } = await begun('keyed')
      await lose(taskId)
      later(MINUTE + 1)
      await ring(taskId)
      await parked(taskId)
      expect(await alarmOf(taskId)).toBe(await sleepOf(taskId, 'long'))
      later(MINUTE)
      await ring(taskId)
      expect(await endOf(taskId)).toBe('short,long')
    })

    test.for(['answered', 'too late'])('for an answer, but not for ever: %s', async (how) => {
      const { taskId } = await begun('deadline')
      await lose(taskId)
      if (how === 'too late') {
        later(MINUTE + 1)
        await ring(taskId)
        expect(await endOf(taskId)).toBe('too late')
      } else {
        await update(client, taskId, { name: accept({ name: 'Ada' }) })
        expect(await endOf(taskId)).toBe('answered Ada')
      }
    })
  })
}

test('a start that comes late enters nothing that waits', async () => {
  for (const name of ['asking', 'sleeping']) {
    entries = 0
    const { taskId } = await begun(name)
    await stubOf(taskId).start()
    await hibernate(taskId)
    await stubOf(taskId).start()
    await scheduler.wait(20)
    expect(entries).toBe(1)
  }
})

test('a task that sleeps holds no lease: nothing wakes its object before', async () => {
  const { taskId } = await begun('sleeping')
  // The lease it was entered with rings once more.
  await ring(taskId)
  expect(await alarmOf(taskId)).toBe(await sleepOf(taskId, 'sleep#1'))
  expect(entries).toBe(1)
})

test('a sleep beside a step that takes longer is over in time', async () => {
  const { taskId } = await client.callTask('beside_a_step')
  await eventually(async () => (await keysOf(taskId, 'sleep:')).length === 1)
  later(MINUTE - limits.leaseMs / 2)
  await ring(taskId)
  expect(await alarmOf(taskId)).toBeLessThanOrEqual(await sleepOf(taskId, 'sleep#1'))
  later(limits.leaseMs / 2 + 1)
  await ring(taskId)
  await eventually(async () => (await client.task(taskId)).statusMessage === 'slept')
  mayGo = true
  expect(await endOf(taskId)).toBe('both')
  expect(entries).toBe(1)
})

test('a short sleep beside a step needs no lease to be over', async () => {
  const { taskId } = await client.callTask('briefly_beside_a_step')
  await eventually(async () => (await keysOf(taskId, 'sleep:')).length === 1)
  expect(await alarmOf(taskId)).toBe(await sleepOf(taskId, 'sleep#1'))
  mayGo = true
  later(5_001)
  await ring(taskId)
  expect(await endOf(taskId)).toBe('both')
})

test('a handler whose step runs beside a sleep is entered again after a crash, not when the sleep is over', async () => {
  const { taskId, requestId } = await begun('goes_on_beside_a_sleep')
  mayBegin = true
  await eventually(async () => (await timesOf(`${requestId} second`)) === 1)
  await crash(taskId)
  mayGo = true
  later(limits.leaseMs + 1)
  await ring(taskId)
  expect(await endOf(taskId)).toBe('done')
  expect([await timesOf(`${requestId} first`), await timesOf(`${requestId} second`)]).toEqual([1, 2])
  expect(entries).toBe(2)
})

test('a sleep of no time is none', async () => {
  const { taskId } = await client.callTask('no_time')
  expect(await endOf(taskId)).toBe('at once')
})

test.for(['same_key', 'below_zero', 'no_number', 'for_ever'])(
  'a sleep that is none breaks the tool: %s',
  async (name) => {
    const { taskId } = await client.callTask(name)
    const task = await client.settled(taskId)
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(task.result?.content[0]?.text).toMatch(/^Internal error/)
  },
)

test('in an ordinary call a sleep is waited for', async () => {
  const short = taskTool('short', async (ctx) => {
    let hasPassed = false
    setTimeout(() => (hasPassed = true), 1)
    await ctx.sleep(30)
    return String(hasPassed)
  })
  const { result } = await modern(serve({ tools: [short] })).call('short')
  expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'true' }] })
})

test('a callback that only looks things up may not sleep', async () => {
  const list = (ctx: object) => (ctx as CallContext).sleep(1).then(() => [])
  const page = defineResourceTemplate('page://{id}', { name: 'page', list, read: ({ id }) => id })
  expect(await modern(serve({ resources: [page] })).error('resources/list')).toMatchObject({ code: -32603 })
})

test('a task that waits is deleted when its time is over, asleep as it is', async () => {
  const { taskId } = await begun('asking')
  await hibernate(taskId)
  later(DAY + 1)
  await ring(taskId)
  expect(await storedOf(taskId)).toEqual({ entries: {}, alarm: null })
  expect(entries).toBe(1)
})
