// What a 2025-11-25 task says while it runs: progress, log messages, its status, and changes of resources; and where each goes.
// @see 2025-11-25 basic/utilities/tasks, Task Progress Notifications; Task Notifications; Associating Task-Related Messages

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { defineResource, type CallContext } from '../../src/server/index.ts'
import { legacy, type Message, type SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { isAsk, logsOf, NOTHING, storageOf } from '../sessions/support.ts'
import {
  isMethod,
  messagesOf,
  openStreams,
  PROGRESS,
  related,
  STATUS,
  TASKS_REVISION,
  taskSession,
  waitOn,
} from './legacy-support.ts'
import { accept, eventually, gate, hibernate, parked, taskTool, withLimits, type Gate } from './support.ts'

let gates: Gate[] = []
const begin = (): void => void (gates = [gate(), gate()])
const open = (n: number): void => gates[n]!.open()

/** Says something before and after each gate. */
const talks = taskTool('talks', async (ctx) => {
  await gates[0]!.opened
  ctx.progress(1, 3, 'one')
  ctx.log('debug', 'quietly')
  ctx.log('error', 'loudly', 'talker')
  await gates[1]!.opened
  ctx.progress(2, 3)
  ctx.log('error', 'again')
  return 'said'
})
const goesOn = taskTool('goes_on', async (ctx) => {
  ctx.progress(1)
  await gates[0]!.opened
  ctx.progress(2)
  ctx.log('error', 'after the end')
  ended = true
  return 'late'
})
let ended = false
const slips = taskTool('slips', (ctx) => {
  setTimeout(() => {
    ctx.progress(2)
    ctx.log('error', 'after the end')
    ended = true
  }, 20)
  ctx.progress(1)
  return 'done'
})
const replays = taskTool('replays', async (ctx: CallContext) => {
  ctx.progress(1)
  ctx.log('info', 'before')
  const { action } = await ctx.elicit('who', { message: 'Who?', schema: z.object({ name: z.string() }) })
  ctx.progress(2)
  ctx.log('info', 'after')
  return action
})
const changes = taskTool('changes', (ctx) => {
  ctx.notify.resourceUpdated('test://a')
  ctx.notify.resourceUpdated('test://b')
  ctx.notify.resourcesListChanged()
  return 'changed'
})
const resources = ['a', 'b'].map((name) => defineResource(`test://${name}`, { name, read: () => name }))
const fetcher = serve({ tools: [talks, goesOn, slips, replays, changes], resources })

const LOG = 'notifications/message'
const progressOf = (stream: SessionStream) => messagesOf(stream).filter(isMethod(PROGRESS))
const isStatus = (wanted: string, taskId?: string) => (message: Message) =>
  message.method === STATUS &&
  message.params?.['status'] === wanted &&
  (taskId === undefined || message.params['taskId'] === taskId)

describe('progress', () => {
  test.for(['p', 7, 0])(
    'goes where the result is waited for, under the token of the call: %j',
    async (progressToken) => {
      begin()
      const session = await taskSession(fetcher)
      const get = await session.listen()
      await get.next()
      const { taskId } = await session.callTask('talks', {}, { progressToken })
      const stream = await waitOn(session, taskId)
      await stream.next()
      open(0)
      open(1)
      await stream.rest()
      expect(progressOf(stream).map(({ params }) => params)).toEqual([
        { progressToken, progress: 1, total: 3, message: 'one', ...related(taskId) },
        { progressToken, progress: 2, total: 3, ...related(taskId) },
      ])
      await get.cancel()
      expect(messagesOf(get)).toEqual([])
    },
  )

  test('goes to the standalone stream where nobody waits, and to the wait once there is one', async () => {
    begin()
    const session = await taskSession(fetcher)
    const get = await session.listen()
    await get.next()
    const { taskId } = await session.callTask('talks', {}, { progressToken: 'p' })
    open(0)
    const first = await get.until(isMethod(PROGRESS))
    expect(first.params).toEqual({ progressToken: 'p', progress: 1, total: 3, message: 'one', ...related(taskId) })
    const stream = await waitOn(session, taskId)
    await stream.next()
    open(1)
    await stream.rest()
    expect(progressOf(stream).map(({ params }) => params?.['progress'])).toEqual([2])
    await get.cancel()
    expect(progressOf(get)).toHaveLength(1)
  })

  test('goes to the newest of several waits, and not to those of another session', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('talks', {}, { progressToken: 'p' })
    const older = await waitOn(session, taskId)
    await older.next()
    const newest = await waitOn(session, taskId)
    await newest.next()
    const foreign = await waitOn(await taskSession(fetcher), taskId)
    await foreign.next()
    open(0)
    open(1)
    await Promise.all([older.rest(), newest.rest(), foreign.rest()])
    expect([older, newest, foreign].map((stream) => progressOf(stream).length)).toEqual([0, 2, 0])
    expect([older, newest, foreign].map((stream) => messagesOf(stream).at(-1)?.result?.['content'])).toEqual(
      Array.from({ length: 3 }, () => [{ type: 'text', text: 'said' }]),
    )
  })

  test('goes to the newest wait that is not left', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('talks', {}, { progressToken: 'p' })
    const stays = await waitOn(session, taskId)
    await stays.next()
    const left = await waitOn(session, taskId)
    await left.next()
    await left.cancel()
    await eventually(async () => (await openStreams(session)) === 1)
    open(0)
    open(1)
    await stays.rest()
    expect(progressOf(stays)).toHaveLength(2)
  })

  test('that nobody listens for is dropped, and the status keeps it', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('talks', {}, { progressToken: 'p' })
    open(0)
    await eventually(async () => (await session.task(taskId)).statusMessage === 'one')
    expect(await storageOf(session)).toEqual(NOTHING)
    open(1)
    await session.settled(taskId)
    expect(await storageOf(session)).toEqual(NOTHING)
  })

  test('without a token is in the status alone', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('talks')
    const stream = await waitOn(session, taskId)
    await stream.next()
    open(0)
    await eventually(async () => (await session.task(taskId)).statusMessage === 'one')
    open(1)
    await stream.rest()
    expect(progressOf(stream)).toEqual([])
  })

  test('without words is in the status as numbers', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('goes_on')
    await eventually(async () => (await session.task(taskId)).statusMessage === '1')
    open(0)
    await session.settled(taskId)
    expect(await session.task(taskId)).not.toHaveProperty('statusMessage')
  })

  test('ends with the task, whatever its handler still says', async () => {
    begin()
    ended = false
    const session = await taskSession(fetcher)
    const get = await session.listen()
    await get.next()
    await session.result('logging/setLevel', { level: 'debug' })
    const { taskId } = await session.callTask('slips', {}, { progressToken: 'p' })
    await get.until(isStatus('completed', taskId))
    const before = await session.task(taskId)
    await eventually(() => ended)
    await marked(session, get)
    const after = messagesOf(get).slice(messagesOf(get).findIndex(isStatus('completed', taskId)) + 1)
    expect(after.filter((message) => JSON.stringify(message).includes(taskId))).toEqual([])
    expect(await session.task(taskId)).toEqual(before)
    await get.cancel()
  })

  test('ends with its cancellation, whatever its handler still says', async () => {
    begin()
    ended = false
    const session = await taskSession(fetcher)
    const get = await session.listen()
    await get.next()
    await session.result('logging/setLevel', { level: 'debug' })
    const { taskId } = await session.callTask('goes_on', {}, { progressToken: 'p' })
    await get.until(isMethod(PROGRESS))
    const cancelled = await session.result('tasks/cancel', { taskId })
    open(0)
    await eventually(() => ended)
    await marked(session, get)
    const own = messagesOf(get).filter((message) => JSON.stringify(message).includes(taskId))
    expect(own.map(({ method, params }) => [method, params?.['progress'] ?? params?.['status']])).toEqual([
      [PROGRESS, 1],
      [STATUS, 'cancelled'],
    ])
    expect(await session.task(taskId)).toEqual(cancelled)
    await get.cancel()
  })

  test('and messages are said once, though the handler is entered again', async () => {
    const session = await taskSession(fetcher)
    await session.result('logging/setLevel', { level: 'debug' })
    const { taskId } = await session.callTask('replays', {}, { progressToken: 'p' })
    const stream = await waitOn(session, taskId)
    const ask = await stream.until(isAsk)
    await parked(taskId)
    await hibernate(taskId)
    await session.reply(ask.id, { result: accept({ name: 'Ann' }) })
    const messages = await stream.rest()
    const said = [...progressOf(stream).map(({ params }) => params?.['progress']), ...logsOf(messages)]
    expect(said.filter((each) => each === 2 || each === 'after')).toEqual([2, 'after'])
    expect(said.filter((each) => each === 1 || each === 'before').length).toBeLessThanOrEqual(2)
  })

  test('reaches who waits without a session as well', async () => {
    withLimits({ quietMs: 20 })
    begin()
    const client = legacy(fetcher, TASKS_REVISION)
    const { taskId } = await client.callTask('talks', {}, { progressToken: 'p' })
    const waiting = client.request('tasks/result', { taskId })
    await scheduler.wait(50)
    open(0)
    open(1)
    const { notifications } = await waiting
    expect(notifications.filter(({ method }) => method === PROGRESS).map(({ params }) => params)).toEqual([
      { progressToken: 'p', progress: 1, total: 3, message: 'one', ...related(taskId) },
      { progressToken: 'p', progress: 2, total: 3, ...related(taskId) },
    ])
  })
})

/** Something that comes after everything before it on the standalone stream. */
async function marked(session: Awaited<ReturnType<typeof taskSession>>, get: SessionStream): Promise<void> {
  await scheduler.wait(30)
  const { taskId } = await session.callTask('changes')
  await get.until(isStatus('completed', taskId))
}

describe('a log message', () => {
  test('goes where progress goes, from the level of the session on, and names its task', async () => {
    for (const [level, wanted] of [
      ['debug', ['quietly', 'loudly', 'again']],
      ['error', ['loudly', 'again']],
      ['critical', []],
    ] as const) {
      begin()
      const session = await taskSession(fetcher)
      await session.result('logging/setLevel', { level })
      const { taskId } = await session.callTask('talks')
      const stream = await waitOn(session, taskId)
      await stream.next()
      open(0)
      open(1)
      const messages = await stream.rest()
      expect(logsOf(messages)).toEqual(wanted)
      for (const { params } of messages.filter(isMethod(LOG))) expect(params).toMatchObject(related(taskId))
      if (level === 'error')
        expect(messages.find(isMethod(LOG))?.params).toEqual({
          level: 'error',
          logger: 'talker',
          data: 'loudly',
          ...related(taskId),
        })
    }
  })

  test('goes to the standalone stream where nobody waits', async () => {
    begin()
    const session = await taskSession(fetcher)
    await session.result('logging/setLevel', { level: 'error' })
    const get = await session.listen()
    await get.next()
    const { taskId } = await session.callTask('talks')
    open(0)
    expect((await get.until(isMethod(LOG))).params).toMatchObject({ data: 'loudly', ...related(taskId) })
    open(1)
    await get.until(isStatus('completed', taskId))
    expect(logsOf(messagesOf(get))).toEqual(['loudly', 'again'])
    await get.cancel()
  })

  test('of a level that was set while the task ran counts from then on', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('talks')
    const stream = await waitOn(session, taskId)
    await stream.next()
    open(0)
    await eventually(async () => (await session.task(taskId)).statusMessage === 'one')
    await scheduler.wait(20)
    await session.result('logging/setLevel', { level: 'debug' })
    open(1)
    expect(logsOf(await stream.rest())).toEqual(['again'])
  })

  test('goes nowhere in a session that has set no level', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('talks')
    const stream = await waitOn(session, taskId)
    await stream.next()
    open(0)
    open(1)
    expect(logsOf(await stream.rest())).toEqual([])
  })

  test('goes nowhere without a session, where no level can be set', async () => {
    withLimits({ quietMs: 20 })
    begin()
    const client = legacy(fetcher, TASKS_REVISION)
    const { taskId } = await client.callTask('talks')
    const waiting = client.request('tasks/result', { taskId })
    await scheduler.wait(50)
    open(0)
    open(1)
    const { notifications } = await waiting
    expect(notifications.filter(({ method }) => method === LOG)).toEqual([])
  })

  test('goes to nobody who waits without a session for the task of one, whatever its level', async () => {
    withLimits({ quietMs: 20 })
    begin()
    const session = await taskSession(fetcher)
    await session.result('logging/setLevel', { level: 'critical' })
    const { taskId } = await session.callTask('talks')
    const waiting = legacy(fetcher, TASKS_REVISION).request('tasks/result', { taskId })
    await scheduler.wait(50)
    open(0)
    open(1)
    const { notifications } = await waiting
    expect(notifications.filter(({ method }) => method === LOG)).toEqual([])
  })
})

describe('the status', () => {
  test('is told at each change, with the whole task and no mark', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('replays')
    const { stream } = await session.talkTask(taskId, () => ({ result: accept({ name: 'Ann' }) }))
    const told = messagesOf(stream).filter(isMethod(STATUS))
    // The first may be told before anybody waits.
    const statuses = told.map(({ params }) => params?.['status'])
    expect(statuses.slice(-2)).toEqual(['working', 'completed'])
    expect(told.at(-1)?.params).toEqual(await session.task(taskId))
  })

  test('is told on the standalone stream where nobody waits', async () => {
    const session = await taskSession(fetcher)
    const get = await session.listen()
    await get.next()
    const { taskId } = await session.callTask('replays')
    const asking = await get.until(isMethod(STATUS))
    expect(asking.params).toEqual(await session.task(taskId))
    expect(asking.params?.['status']).toBe('input_required')
    await session.result('tasks/cancel', { taskId })
    expect((await get.until(isMethod(STATUS))).params).toEqual(await session.task(taskId))
    await get.cancel()
  })

  test('of what only says something new is not told', async () => {
    begin()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('talks')
    const stream = await waitOn(session, taskId)
    await stream.next()
    open(0)
    open(1)
    const messages = await stream.rest()
    expect(messages.filter(isMethod(STATUS)).map(({ params }) => params?.['status'])).toEqual(['completed'])
  })

  test('of a task is not told to another session', async () => {
    const session = await taskSession(fetcher)
    const other = await taskSession(fetcher)
    const get = await other.listen()
    await get.next()
    const { taskId } = await session.callTask('changes')
    await session.settled(taskId)
    const { taskId: own } = await other.callTask('changes')
    await get.until(isStatus('completed', own))
    expect(JSON.stringify(messagesOf(get))).not.toContain(taskId)
    await get.cancel()
  })
})

describe('a change that a task makes', () => {
  test('reaches the session it was made in, if that watches it', async () => {
    const [session, other] = [await taskSession(fetcher), await taskSession(fetcher)]
    for (const each of [session, other]) await each.result('resources/subscribe', { uri: 'test://a' })
    const [get, foreign] = [await session.listen(), await other.listen()]
    await get.next()
    await foreign.next()
    const { taskId } = await session.callTask('changes')
    // What changed comes from the hub, how the task ended from the task: in whichever order.
    for (let i = 0; i < 3; i++) await get.until(() => true)
    const told = messagesOf(get).toSorted((a, b) => ((a.method ?? '') < (b.method ?? '') ? -1 : 1))
    expect(told.map(({ method }) => method)).toEqual([
      'notifications/resources/list_changed',
      'notifications/resources/updated',
      STATUS,
    ])
    expect(told[1]?.params).toEqual({ uri: 'test://a' })
    expect(told[2]?.params).toMatchObject({ taskId, status: 'completed' })
    await other.call('changes')
    await foreign.until(isMethod('notifications/resources/list_changed'))
    expect(messagesOf(foreign)).toHaveLength(2)
    await Promise.all([get.cancel(), foreign.cancel()])
  })

  test('without a session reaches nobody and does no harm', async () => {
    const client = legacy(fetcher, TASKS_REVISION)
    const { taskId } = await client.callTask('changes')
    expect((await client.taskResult(taskId)).content).toEqual([{ type: 'text', text: 'changed' }])
  })
})
