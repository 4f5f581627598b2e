// A task whose object dies under it: the alarm enters its handler again, which goes on from the last finished step.
// Effects are counted outside the task.

import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineServer, type CallContext } from '../../src/server/index.ts'
import { servers } from '../support/main.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  crash,
  eventually,
  happened,
  keysOf,
  parked,
  recordOf,
  ring,
  storedOf,
  stubOf,
  taskClient,
  taskTool,
  timesOf,
  update,
  withLimits,
} from './support.ts'

/** Where a handler stops until its object dies, and whether it has come there. */
let stopAt: string | undefined
let isThere = false
/** Handlers entered and still running; objects that died took theirs with them. */
let entries = 0

beforeEach(() => {
  stopAt = undefined
  isThere = false
  entries = 0
})

/** Polls, so that nothing of one instance waits for anything of another. */
async function place(name: string): Promise<void> {
  if (stopAt === name) isThere = true
  while (stopAt === name) await scheduler.wait(2)
}

const STEPS = [1, 2, 3, 4, 5]

const five = taskTool('five', async (ctx) => {
  entries++
  await place('before 1')
  let sum = 0
  for (const i of STEPS) {
    sum += await ctx.step(`step ${i}`, async () => {
      await place(`begun ${i}`)
      const times = await happened(`${ctx.requestId} step ${i}`)
      await place(`done ${i}`)
      return times
    })
    await place(`after ${i}`)
  }
  return `sum ${sum}`
})
const stuck = taskTool('stuck', async () => {
  entries++
  await place('entered')
  return 'through'
})
/** Gets one step, or one report, further with every entry. */
const getsOn = (how: string) => async (ctx: CallContext) => {
  entries++
  if (how === 'step') for (let i = 1; i <= entries; i++) await ctx.step(`step ${i}`, () => i)
  else if (how === 'progress') ctx.progress(entries, 10)
  else if (how === 'same progress') ctx.progress(1, 10, `entry ${entries}`)
  else if (how === 'log') ctx.log('info', `entry ${entries}`)
  await place('entered')
  return 'through'
}
const asking = taskTool('asking', async (ctx) => {
  entries++
  await ctx.step('before', () => happened(`${ctx.requestId} before`))
  const answer = await ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) })
  await place('answered')
  await ctx.step('after', () => happened(`${ctx.requestId} after`))
  return answer.content?.name
})
const fetcher = serve({
  tools: [
    five,
    stuck,
    asking,
    taskTool('step', getsOn('step')),
    taskTool('progress', getsOn('progress')),
    taskTool('log', getsOn('log')),
    taskTool('same_progress', getsOn('same progress')),
  ],
})
const client = taskClient(fetcher)

/** A task of `name` whose handler has come to `where`. */
async function stoppedAt(where: string, name = 'five'): Promise<{ taskId: string; requestId: string }> {
  stopAt = where
  const { taskId } = await client.callTask(name)
  await eventually(() => isThere)
  const { requestId } = await recordOf(taskId)
  return { taskId, requestId }
}

/** What kills the object: alone, with all that was written, or with all others at once. */
const deaths: [string, (taskId: string) => Promise<void>][] = [
  ['its own', crash],
  ['everything', () => abortAllDurableObjects()],
]

const times = (requestId: string): Promise<number[]> => Promise.all(STEPS.map((i) => timesOf(`${requestId} step ${i}`)))

for (const [death, kill] of deaths) {
  describe(`a crash of ${death}`, () => {
    test.for(['before 1', ...STEPS.map((i) => `after ${i}`), ...STEPS.map((i) => `begun ${i}`)])(
      '%s repeats no step that was finished',
      async (where) => {
        const { taskId, requestId } = await stoppedAt(where)
        await kill(taskId)
        stopAt = undefined
        expect(await client.task(taskId)).toMatchObject({ status: 'working' })
        expect(entries).toBe(1)
        expect(await ring(taskId)).toBe(true)
        const task = await client.settled(taskId)
        expect(task).toMatchObject({ status: 'completed', result: { content: [{ text: 'sum 5' }] } })
        expect(await times(requestId)).toEqual([1, 1, 1, 1, 1])
        expect(entries).toBe(2)
      },
    )

    test.for(STEPS)('in step %i after its effect repeats that one alone', async (i) => {
      const { taskId, requestId } = await stoppedAt(`done ${i}`)
      await kill(taskId)
      stopAt = undefined
      await ring(taskId)
      expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'sum 6' }])
      expect(await times(requestId)).toEqual(STEPS.map((each) => (each === i ? 2 : 1)))
    })

    test('after the end changes nothing', async () => {
      const { taskId } = await client.callTask('five')
      const task = await client.settled(taskId)
      await kill(taskId)
      expect(await client.task(taskId)).toEqual(task)
      await ring(taskId)
      expect(await client.task(taskId)).toEqual(task)
      expect(entries).toBe(1)
    })

    test('after an answer came does not ask again', async () => {
      stopAt = 'answered'
      const { taskId } = await client.callTask('asking')
      const { requestId } = await recordOf(taskId)
      await client.reached(taskId, 'input_required')
      await update(client, taskId, { name: accept({ name: 'Ada' }) })
      await eventually(() => isThere)
      await kill(taskId)
      stopAt = undefined
      await ring(taskId)
      expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'Ada' }])
      expect(await keysOf(taskId, 'ask:')).toEqual(['name'])
      expect([await timesOf(`${requestId} before`), await timesOf(`${requestId} after`)]).toEqual([1, 1])
    })

    test('while it waits loses no question, and enters nothing before there is an answer', async () => {
      const { taskId } = await client.callTask('asking')
      const task = await client.reached(taskId, 'input_required')
      await parked(taskId)
      await kill(taskId)
      await ring(taskId)
      expect(await client.task(taskId)).toEqual(task)
      expect(entries).toBe(1)
      await update(client, taskId, { name: accept({ name: 'Ada' }) })
      expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'Ada' }])
      expect(entries).toBe(2)
    })
  })
}

test('a crash after every single step still gets to the end', async () => {
  const { taskId, requestId } = await stoppedAt('before 1')
  for (const where of [...STEPS.map((i) => `after ${i}`), undefined]) {
    await crash(taskId)
    isThere = false
    stopAt = where
    await ring(taskId)
    if (where !== undefined) await eventually(() => isThere)
  }
  expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'sum 5' }])
  expect(await times(requestId)).toEqual([1, 1, 1, 1, 1])
  expect(entries).toBe(7)
})

test('the alarm rings by itself after at most the lease', async () => {
  withLimits({ leaseMs: 50 })
  const { taskId, requestId } = await stoppedAt('after 3')
  await crash(taskId)
  stopAt = undefined
  expect((await client.settled(taskId)).status).toBe('completed')
  expect(await times(requestId)).toEqual([1, 1, 1, 1, 1])
  expect(entries).toBe(2)
})

describe('no handler is entered while another is alive', () => {
  test('whoever rings, starts or asks', async () => {
    const { taskId } = await stoppedAt('after 2')
    for (let i = 0; i < 3; i++) {
      expect(await ring(taskId)).toBe(true)
      await stubOf(taskId).start()
      await client.task(taskId)
    }
    await scheduler.wait(20)
    expect(entries).toBe(1)
    stopAt = undefined
    expect((await client.settled(taskId)).status).toBe('completed')
    expect(entries).toBe(1)
  })

  test('nor twice after a crash', async () => {
    const { taskId } = await stoppedAt('before 1')
    await crash(taskId)
    isThere = false
    await Promise.all([ring(taskId), stubOf(taskId).start(), stubOf(taskId).start()])
    await ring(taskId)
    await eventually(() => isThere)
    await scheduler.wait(20)
    expect(entries).toBe(2)
    stopAt = undefined
    expect((await client.settled(taskId)).status).toBe('completed')
    expect(entries).toBe(2)
  })

  test('nor when it is made again', async () => {
    const { taskId } = await stoppedAt('before 1')
    const { entries: before } = await storedOf(taskId)
    const call = JSON.parse(new TextDecoder().decode(before['call:0000'] as Uint8Array)) as never
    expect(await stubOf(taskId).create(call)).toEqual((await recordOf(taskId)).state)
    await stubOf(taskId).start()
    expect((await storedOf(taskId)).entries).toEqual(before)
    stopAt = undefined
    expect((await client.settled(taskId)).status).toBe('completed')
    expect(entries).toBe(1)
  })
})

test('the lease of a run that lives is renewed, so that its crash is found later as well', async () => {
  const { taskId } = await stoppedAt('after 2')
  const first = (await storedOf(taskId)).alarm!
  expect(first - Date.now()).toBeLessThanOrEqual(limits.leaseMs)
  await scheduler.wait(20)
  expect(await ring(taskId)).toBe(true)
  const second = (await storedOf(taskId)).alarm!
  expect(second).toBeGreaterThan(first)
  expect(second - Date.now()).toBeLessThanOrEqual(limits.leaseMs)
  await crash(taskId)
  stopAt = undefined
  expect(await ring(taskId)).toBe(true)
  expect((await client.settled(taskId)).status).toBe('completed')
})

describe('a handler that kills its object every time', () => {
  /** Lets the object die in entry after entry. @returns true when there was nothing left to die */
  async function dies(taskId: string, often: number): Promise<boolean> {
    for (let i = 0; i < often; i++) {
      await eventually(async () => isThere || (await client.task(taskId)).status !== 'working')
      if (!isThere) return true
      isThere = false
      await crash(taskId)
      await ring(taskId)
    }
    return false
  }

  test('is given up, with an error that says so', async () => {
    stopAt = 'entered'
    const { taskId } = await client.callTask('stuck')
    expect(await dies(taskId, limits.taskAttempts - 1)).toBe(false)
    await eventually(() => isThere)
    expect((await client.task(taskId)).status).toBe('working')
    expect(await dies(taskId, 2)).toBe(true)
    expect(entries).toBe(limits.taskAttempts)
    const task = await client.task(taskId)
    const message = 'The task was given up: it was interrupted 5 times without getting on'
    expect(task).toMatchObject({ status: 'failed', error: { code: -32603, message } })
    expect(task.statusMessage).toBe(message)
    stopAt = undefined
    await ring(taskId)
    await stubOf(taskId).start()
    await scheduler.wait(20)
    expect(entries).toBe(limits.taskAttempts)
  })

  test.for(['step', 'progress'])('but gets on in between is not: %s', async (name) => {
    withLimits({ taskAttempts: 2 })
    stopAt = 'entered'
    const { taskId } = await client.callTask(name)
    expect(await dies(taskId, 6)).toBe(false)
    stopAt = undefined
    expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'through' }])
    expect(entries).toBe(7)
  })

  // A report counts once, so that one has an entry more.
  test.for([
    ['log', 2],
    ['same_progress', 3],
  ] as const)('and only says so has not got on: %s', async ([name, often]) => {
    withLimits({ taskAttempts: 2 })
    stopAt = 'entered'
    const { taskId } = await client.callTask(name)
    expect(await dies(taskId, 6)).toBe(true)
    expect(entries).toBe(often)
    expect((await client.task(taskId)).status).toBe('failed')
  })
})

test('an end that could not be stored is come to again', async () => {
  const { taskId } = await stoppedAt('after 5')
  await runInDurableObject(stubOf(taskId), (_object, { storage: { kv } }) => {
    const put = kv.put.bind(kv)
    const failing = vi.spyOn(kv, 'put').mockImplementation((key, value) => {
      if (!key.startsWith('outcome:')) return put(key, value)
      failing.mockRestore()
      throw new Error('the disk is full')
    })
  })
  stopAt = undefined
  await scheduler.wait(30)
  expect((await client.task(taskId)).status).toBe('working')
  await ring(taskId)
  expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'sum 5' }])
})

test('a task whose tool was taken away by a deploy fails', async () => {
  const { taskId } = await stoppedAt('after 2')
  servers.set(taskId, defineServer({ name: 'test', version: '2.0.0', tools: [stuck] }))
  await crash(taskId)
  await ring(taskId)
  const error = { code: -32602, message: 'Unknown tool: five' }
  expect(await client.settled(taskId)).toMatchObject({ status: 'failed', error })
})

test('an alarm of an object that has no task does nothing', async () => {
  const taskId = env.TASK.newUniqueId().toString()
  await stubOf(taskId).start()
  await runInDurableObject(stubOf(taskId), (object) => object.alarm?.())
  expect(await storedOf(taskId)).toEqual({ entries: {}, alarm: null })
})
