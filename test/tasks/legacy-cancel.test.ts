// Cancelling a 2025-11-25 task, which is final at once; and what a session may have of waits.
// @see 2025-11-25 basic/utilities/tasks, Task Cancellation

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { ProtocolError, ToolError, type CallContext } from '../../src/server/index.ts'
import { legacy } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { hibernate as hibernateSession, isAsk, type OwnSession } from '../sessions/support.ts'
import {
  CANCELLED,
  describeCallers,
  isMethod,
  messagesOf,
  openStreams,
  sessionAs,
  takenBack,
  TASKS_REVISION,
  taskSession,
  waitOn,
} from './legacy-support.ts'
import {
  accept,
  byHeader,
  crash,
  eventually,
  gate,
  hibernate,
  later,
  parked,
  ring,
  storedOf,
  taskTool,
  textOf,
  withLimits,
  type Gate,
} from './support.ts'

let go: Gate = gate()
let seen: string[] = []
const begin = (): void => {
  go = gate()
  seen = []
}

/** Does not care that it was cancelled, and ends as it is told to. */
const stubborn = (name: string, end: () => unknown) =>
  taskTool(name, async (ctx) => {
    const mine = seen
    ctx.signal.addEventListener('abort', () => mine.push((ctx.signal.reason as Error).name))
    mine.push('entered')
    await go.opened
    await ctx.step('late step', () => void mine.push('step')).catch(() => undefined)
    return end()
  })
const completes = stubborn('completes', () => 'done')
const failsLate = stubborn('fails', () => {
  throw new ToolError('failed late')
})
const breaksLate = stubborn('breaks', () => {
  throw new ProtocolError(1234, 'broke late')
})
/** Does not even look whether it was. */
const endings = taskTool('endings', async () => {
  const mine = seen
  mine.push('entered')
  await go.opened
  mine.push('ended')
  return 'done'
})
const quick = taskTool('quick', () => 'quick')
const refuses = taskTool('refuses', () => {
  throw new ToolError('No')
})
const asks = taskTool('asks', async (ctx: CallContext) => {
  seen.push('entered')
  const { action } = await ctx.elicit('who', { message: 'Who?', schema: z.object({ name: z.string() }) })
  return action
})
const sleeps = taskTool('sleeps', async (ctx) => {
  seen.push('entered')
  await ctx.sleep(60_000)
  seen.push('woke')
  return 'slept'
})
const tools = [completes, failsLate, breaksLate, endings, quick, refuses, asks, sleeps]
const fetcher = serve({ tools }, { authenticate: byHeader })

const WAS_CANCELLED = { code: -32603, message: 'Task was cancelled' }

describeCallers('tasks/cancel', (open) => {
  test.for(['completes', 'fails', 'breaks', 'endings'])(
    'is final before it is answered, whatever the handler comes to later: %s',
    async (tool) => {
      begin()
      const client = await open(fetcher)
      const created = await client.callTask(tool)
      const { taskId } = created
      await eventually(() => seen.includes('entered'))
      const cancelled = await client.result('tasks/cancel', { taskId })
      expect(cancelled).toEqual({
        ...created,
        status: 'cancelled',
        statusMessage: expect.any(String),
        lastUpdatedAt: expect.any(String),
      })
      expect(cancelled.lastUpdatedAt! >= created.lastUpdatedAt).toBe(true)
      expect(await client.task(taskId)).toEqual(cancelled)
      expect(seen).toEqual(tool === 'endings' ? ['entered'] : ['entered', 'AbortError'])
      go.open()
      if (tool === 'endings') await eventually(() => seen.includes('ended'))
      await scheduler.wait(20)
      expect(await client.task(taskId)).toEqual(cancelled)
      expect(await client.error('tasks/result', { taskId })).toEqual({ status: 200, ...WAS_CANCELLED })
      expect(seen).not.toContain('step')
      expect(Object.keys((await storedOf(taskId)).entries).filter((key) => /^(outcome|step):/.test(key))).toEqual([])
    },
  )

  test('of a task that is over is -32602, and changes nothing', async () => {
    begin()
    const client = await open(fetcher)
    for (const [tool, status] of [
      ['quick', 'completed'],
      ['refuses', 'failed'],
      ['endings', 'cancelled'],
    ] as const) {
      const { taskId } = await client.callTask(tool)
      if (tool === 'endings') await client.result('tasks/cancel', { taskId })
      const before = await client.settled(taskId)
      expect(before.status).toBe(status)
      for (let i = 0; i < 2; i++)
        expect(await client.error('tasks/cancel', { taskId })).toEqual({
          status: 200,
          code: -32602,
          message: expect.stringContaining(status),
        })
      expect(await client.task(taskId)).toEqual(before)
    }
  })

  test('takes one of two at the same time', async () => {
    begin()
    const client = await open(fetcher)
    const { taskId } = await client.callTask('endings')
    const answers = await Promise.all([1, 2].map(() => client.request('tasks/cancel', { taskId })))
    expect(answers.map(({ result, error }) => result?.status ?? error?.code).toSorted()).toEqual([-32602, 'cancelled'])
    go.open()
  })

  test('of a task that sleeps is not undone when it would have woken', async () => {
    begin()
    const client = await open(fetcher)
    const { taskId } = await client.callTask('sleeps')
    await parked(taskId)
    await client.result('tasks/cancel', { taskId })
    later(60_000)
    await ring(taskId)
    await scheduler.wait(20)
    expect(seen).toEqual(['entered'])
    expect((await client.task(taskId)).status).toBe('cancelled')
  })

  test('holds after its object slept or died', async () => {
    begin()
    const client = await open(fetcher)
    const { taskId } = await client.callTask('sleeps')
    await parked(taskId)
    await client.result('tasks/cancel', { taskId })
    await hibernate(taskId)
    expect((await client.task(taskId)).status).toBe('cancelled')
    await crash(taskId)
    await ring(taskId)
    await scheduler.wait(20)
    expect(seen).toEqual(['entered'])
    expect(await client.error('tasks/result', { taskId })).toMatchObject(WAS_CANCELLED)
  })
})

describe('cancelling a task that is waited for', () => {
  test('ends every wait with the error', async () => {
    withLimits({ quietMs: 20 })
    begin()
    const [session, other] = [await taskSession(fetcher), await taskSession(fetcher)]
    const sessionless = legacy(fetcher, TASKS_REVISION)
    const { taskId } = await session.callTask('endings')
    const streams = [await waitOn(session, taskId), await waitOn(other, taskId)]
    await Promise.all(streams.map((stream) => stream.next()))
    const waits = [
      session.error('tasks/result', { taskId }, { accept: 'application/json' }),
      sessionless.error('tasks/result', { taskId }),
      sessionless.error('tasks/result', { taskId }, { accept: 'application/json' }),
    ]
    await scheduler.wait(50)
    expect((await other.result('tasks/cancel', { taskId })).status).toBe('cancelled')
    for (const stream of streams) expect((await stream.rest()).at(-1)?.error).toEqual(WAS_CANCELLED)
    for (const error of await Promise.all(waits)) expect(error).toMatchObject(WAS_CANCELLED)
    go.open()
  })

  test('takes its asks back, and hears no answer any more', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('asks')
    const stream = await waitOn(session, taskId)
    const ask = await stream.until(isAsk)
    await parked(taskId)
    await Promise.all([hibernate(taskId), hibernateSession(session)])
    await session.result('tasks/cancel', { taskId })
    await stream.until(isMethod(CANCELLED))
    expect((await session.reply(ask.id, { result: accept({ name: 'Ann' }) })).status).toBe(202)
    await stream.rest()
    expect(messagesOf(stream).filter(isMethod(CANCELLED)).map(takenBack)).toEqual([ask.id])
    await scheduler.wait(20)
    expect(seen).toEqual(['entered'])
    expect((await session.task(taskId)).status).toBe('cancelled')
  })

  test('or answering it at the same time comes to one of both', async () => {
    for (let i = 0; i < 3; i++) {
      begin()
      const session = await taskSession(fetcher)
      const { taskId } = await session.callTask('asks')
      const stream = await waitOn(session, taskId)
      const ask = await stream.until(isAsk)
      await Promise.all([
        session.reply(ask.id, { result: accept({ name: 'Ann' }) }),
        session.request('tasks/cancel', { taskId }),
      ])
      const { status } = await session.settled(taskId)
      const end = (await stream.rest()).at(-1)
      expect(status === 'cancelled' ? end?.error : textOf(end)).toEqual(
        status === 'cancelled' ? WAS_CANCELLED : 'accept',
      )
    }
  })

  test('makes room for another one of the same principal', async () => {
    withLimits({ principalTasks: 1 })
    begin()
    const session = await sessionAs(fetcher, 'somebody who cancels')
    const { taskId } = await session.callTask('endings')
    expect(await session.error('tools/call', { name: 'quick', task: {} })).toMatchObject({ status: 400, code: -32600 })
    await session.result('tasks/cancel', { taskId })
    await eventually(async () => (await session.request('tools/call', { name: 'quick', task: {} })).result)
    go.open()
  })
})

describe('the calls of a session', () => {
  const TOO_MANY = { status: 400, code: -32600, message: expect.stringContaining('too many calls') }

  test('are counted with its waits that take no stream', async () => {
    withLimits({ sessionCalls: 1 })
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('endings')
    const json = session.taskResult(taskId, { accept: 'application/json' })
    await scheduler.wait(20)
    expect(await session.error('tools/call', { name: 'quick' })).toEqual(TOO_MANY)
    const other = await taskSession(fetcher)
    expect((await other.task(taskId)).status).toBe('working')
    go.open()
    await json
    expect((await session.task(taskId)).status).toBe('completed')
  })

  test('are not counted with streams that wait, awake or after it slept', async () => {
    withLimits({ sessionCalls: 1 })
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('endings')
    const stream = await waitOn(session, taskId)
    await stream.next()
    expect((await session.task(taskId)).status).toBe('working')
    await hibernateSession(session)
    expect((await session.task(taskId)).status).toBe('working')
    go.open()
    await stream.rest()
  })

  test('are not counted with its tasks', async () => {
    withLimits({ sessionCalls: 1 })
    begin()
    const session = await taskSession(fetcher)
    const tasks = [await session.callTask('endings'), await session.callTask('endings')]
    for (const { taskId } of tasks) expect((await session.task(taskId)).status).toBe('working')
    go.open()
  })
})

describe('the streams of a session that wait', () => {
  const tasksOf = async (session: OwnSession, count: number): Promise<string[]> => {
    const tasks = await Promise.all(Array.from({ length: count }, () => session.callTask('endings')))
    return tasks.map(({ taskId }) => taskId)
  }

  test('are so many at most, and a further one is refused while all of them are read', async () => {
    withLimits({ sessionWaits: 2 })
    begin()
    const session = await taskSession(fetcher)
    const [first, second, third] = await tasksOf(session, 3)
    const streams = [await waitOn(session, first!), await waitOn(session, second!)]
    expect(await session.error('tasks/result', { taskId: third })).toMatchObject({ status: 400, code: -32600 })
    expect((await session.task(third!)).status).toBe('working')
    go.open()
    await Promise.all(streams.map((stream) => stream.rest()))
    expect((await session.taskResult(third!)).content).toBeDefined()
  })

  test('give way when their clients have left', async () => {
    withLimits({ sessionWaits: 2 })
    begin()
    const session = await taskSession(fetcher)
    const [first, second, third] = await tasksOf(session, 3)
    const left = await waitOn(session, first!)
    const stays = await waitOn(session, second!)
    await left.next()
    await left.cancel()
    await eventually(async () => (await openStreams(session)) === 1)
    const fresh = await waitOn(session, third!)
    go.open()
    for (const stream of [stays, fresh]) expect((await stream.rest()).at(-1)?.result).toBeDefined()
    // It is answered, for a client that comes back to it.
    const [end] = (await (await session.resume(left)).rest()).slice(-1)
    expect(end?.error).toMatchObject({ code: -32600, message: expect.stringContaining('too many streams') })
  })

  test('leave room for what ordinary calls ask', async () => {
    withLimits({ sessionAsks: 1 })
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('asks')
    const waiting = await waitOn(session, taskId)
    await waiting.until(isAsk)
    const calling = await session.callStream('asks')
    const { id } = await calling.until(isAsk)
    await session.reply(id, { result: { action: 'decline' } })
    expect((await calling.rest()).at(-1)?.result?.['content']).toEqual([{ type: 'text', text: 'decline' }])
  })

  test('of one task give way to newer ones, also when nobody saw their clients leave', async () => {
    withLimits({ sessionWaits: 2 })
    begin()
    const session = await taskSession(fetcher)
    const [taskId] = await tasksOf(session, 1)
    const streams = []
    for (let i = 0; i < 4; i++) {
      streams.push(await waitOn(session, taskId!))
      await streams[i]!.next()
    }
    go.open()
    const ends = await Promise.all(streams.map(async (stream) => (await stream.rest()).at(-1)?.error?.code))
    expect(ends).toEqual([-32600, -32600, undefined, undefined])
  })
})
