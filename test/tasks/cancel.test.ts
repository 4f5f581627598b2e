// Cancelling a modern task: at once, whatever it does, and nothing its handler still does is kept.
// @see ext-tasks, Task Cancellation

import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { describe, expect, test, vi } from 'vitest'
import { TASK_PROTOCOL, type TaskCall } from '../../src/server/task-port.ts'
import type { CallContext } from '../../src/server/index.ts'
import { servers } from '../support/main.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  CAPABILITIES,
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

/** What each handler saw of its signal, by the request that made its task. */
const seen = new Map<string, unknown>()
const untilAborted = async (ctx: CallContext): Promise<void> => {
  while (!ctx.signal.aborted) await scheduler.wait(2)
  seen.set(ctx.requestId, ctx.signal.reason)
}

/** Goes on after it was cancelled, and tries everything. */
const stubborn = taskTool('stubborn', async (ctx) => {
  const { requestId: id } = ctx
  await ctx.step('before', () => happened(`${id} before`))
  ctx.progress(1, 2, 'begun')
  await ctx.step('while', async () => {
    await happened(`${id} while`)
    await untilAborted(ctx)
  })
  return 'never'
})
const busy = (name: string, end: () => string) =>
  taskTool(name, async (ctx) => {
    const { requestId: id } = ctx
    ctx.progress(1, 2, 'begun')
    await untilAborted(ctx)
    ctx.progress(2, 2, 'late')
    ctx.log('info', 'late')
    void ctx.step('late', () => happened(`${id} late`))
    void ctx.sleep(1)
    void ctx.elicit('late', { message: 'Late?', schema: z.object({}) })
    seen.set(`${id} over`, true)
    return end()
  })
const returning = busy('returning', () => 'late')
const throwing = busy('throwing', () => {
  throw new TypeError('late')
})
const deaf = taskTool('deaf', async (ctx) => {
  seen.set(`${ctx.requestId} entered`, true)
  while (!mayEnd) await scheduler.wait(2)
  seen.set(`${ctx.requestId} over`, true)
  return 'late'
})
const sleeping = taskTool('sleeping', async (ctx) => {
  await happened(`${ctx.requestId} entered`)
  await ctx.sleep(60_000)
  await happened(`${ctx.requestId} woken`)
  return 'slept'
})
const asking = taskTool('asking', async (ctx) => {
  await happened(`${ctx.requestId} entered`)
  await ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) })
  await happened(`${ctx.requestId} answered`)
  return 'answered'
})
const quick = taskTool('quick', () => 'done')
let mayEnd = false
const fetcher = serve({ tools: [stubborn, returning, throwing, deaf, sleeping, asking, quick] })
const client = taskClient(fetcher)

const cancel = (taskId: string) => client.result('tasks/cancel', { taskId })

async function expectCancelled(taskId: string): Promise<void> {
  const task = await client.task(taskId)
  expect(task).toMatchObject({ status: 'cancelled', statusMessage: 'The client cancelled the task.' })
  for (const member of ['result', 'error', 'inputRequests']) expect(task).not.toHaveProperty(member)
}

describe('a task can be cancelled', () => {
  test('while a step runs, whose signal aborts and whose result is dropped', async () => {
    const { taskId } = await client.callTask('stubborn')
    const { requestId } = await recordOf(taskId)
    await eventually(async () => (await timesOf(`${requestId} while`)) === 1)
    const { _meta, ...ack } = await cancel(taskId)
    expect(ack).toEqual({ resultType: 'complete' })
    await expectCancelled(taskId)
    await eventually(() => seen.has(requestId))
    expect(seen.get(requestId)).toMatchObject({ name: 'AbortError', message: 'the client cancelled the task' })
    await scheduler.wait(20)
    expect(await keysOf(taskId, 'step:')).toEqual(['before'])
    await ring(taskId)
    await expectCancelled(taskId)
    expect(await keysOf(taskId, 'outcome:')).toEqual([])
    expect(await timesOf(`${requestId} before`)).toBe(1)
  })

  test.for(['returning', 'throwing'])(
    'and what its handler does afterwards is not heard, neither by the client nor in the log: %s',
    async (name) => {
      const printed = (['log', 'error'] as const).map((level) => vi.spyOn(console, level).mockImplementation(() => {}))
      const { taskId } = await client.callTask(name)
      await eventually(async () => (await client.task(taskId)).statusMessage === 'begun')
      const { requestId } = await recordOf(taskId)
      await cancel(taskId)
      const stored = await storedOf(taskId)
      await eventually(() => seen.has(`${requestId} over`))
      await scheduler.wait(20)
      await expectCancelled(taskId)
      expect(await storedOf(taskId)).toEqual(stored)
      expect(await timesOf(`${requestId} late`)).toBe(0)
      const lines = printed.flatMap(({ mock }) => mock.calls.map(String))
      expect(lines.filter((line) => line.includes('late'))).toEqual([])
      vi.restoreAllMocks()
    },
  )

  test('also when its handler looks at no signal', async () => {
    mayEnd = false
    const { taskId } = await client.callTask('deaf')
    const { requestId } = await recordOf(taskId)
    await eventually(() => seen.has(`${requestId} entered`))
    await cancel(taskId)
    const stored = await storedOf(taskId)
    mayEnd = true
    await eventually(() => seen.has(`${requestId} over`))
    await scheduler.wait(20)
    await expectCancelled(taskId)
    expect(await storedOf(taskId)).toEqual(stored)
  })

  for (const mode of ['awake', 'asleep'] as const) {
    test(`while it sleeps, its object being ${mode}`, async () => {
      const { taskId } = await client.callTask('sleeping')
      const { requestId } = await recordOf(taskId)
      await parked(taskId)
      if (mode === 'asleep') await hibernate(taskId)
      await cancel(taskId)
      await expectCancelled(taskId)
      later(61_000)
      await ring(taskId)
      await ring(taskId)
      await scheduler.wait(20)
      expect(await timesOf(`${requestId} entered`)).toBe(1)
      expect(await timesOf(`${requestId} woken`)).toBe(0)
      await expectCancelled(taskId)
    })

    test(`while it asks, its object being ${mode}`, async () => {
      const { taskId } = await client.callTask('asking')
      const { requestId } = await recordOf(taskId)
      await client.reached(taskId, 'input_required')
      await parked(taskId)
      if (mode === 'asleep') await hibernate(taskId)
      await cancel(taskId)
      await expectCancelled(taskId)
      await update(client, taskId, { name: accept({ name: 'Ada' }) })
      await ring(taskId)
      await scheduler.wait(20)
      expect(await timesOf(`${requestId} entered`)).toBe(1)
      expect(await timesOf(`${requestId} answered`)).toBe(0)
      await expectCancelled(taskId)
    })
  }

  test('before it begins, and then it never does', async () => {
    const taskId = env.TASK.newUniqueId().toString()
    servers.set(taskId, servers.get((await client.callTask('quick')).taskId)!)
    const call: TaskCall = {
      protocol: TASK_PROTOCOL,
      form: 'extension',
      version: '2026-07-28',
      params: { name: 'sleeping' },
      requestId: 'request-before',
      client: { capabilities: CAPABILITIES as object },
      auth: { principal: 'anonymous' },
      ttlMs: 60_000,
      pollIntervalMs: 100,
    }
    await stubOf(taskId).create(call)
    await cancel(taskId)
    await expectCancelled(taskId)
    await stubOf(taskId).start()
    await ring(taskId)
    await scheduler.wait(20)
    expect(await timesOf('request-before entered')).toBe(0)
    await expectCancelled(taskId)
  })
})

test('a task at its end is acknowledged as well, and stays what it is', async () => {
  const { taskId } = await client.callTask('quick')
  const task = await client.settled(taskId)
  const { _meta, ...ack } = await cancel(taskId)
  expect(ack).toEqual({ resultType: 'complete' })
  expect(await client.task(taskId)).toEqual(task)
})

test('cancelling again is acknowledged again, and changes nothing', async () => {
  const { taskId } = await client.callTask('sleeping')
  await cancel(taskId)
  const task = await client.task(taskId)
  await cancel(taskId)
  expect(await client.task(taskId)).toEqual(task)
})

test('the notification about requests never touches a task', async () => {
  const exchange = await client.request('tools/call', { name: 'sleeping' })
  const taskId = exchange.result?.taskId as string
  const before = await client.reached(taskId, 'working')
  await parked(taskId)
  for (const requestId of [exchange.sent.id!, taskId]) {
    await client.notify('notifications/cancelled', { requestId })
    await client.notify('notifications/cancelled', { requestId, taskId }, { unchecked: true })
  }
  await scheduler.wait(10)
  expect(await client.task(taskId)).toEqual(before)
})
