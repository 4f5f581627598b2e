// Reading a 2025-11-25 task, and waiting for what it comes to, in every way a client may listen.
// @see 2025-11-25 basic/utilities/tasks, Getting Tasks; Retrieving Task Results; Result Retrieval

import * as z from 'zod'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ProtocolError, ToolError, type CallContext } from '../../src/server/index.ts'
import { legacy, type LegacyTask, type RequestOptions } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { describeCallers, messagesOf, related, STATUS, TASKS_REVISION, taskSession, waitOn } from './legacy-support.ts'
import { eventually, gate, later, ring, storedOf, taskTool, textOf, withLimits, type Gate } from './support.ts'

let go: Gate = gate()
const held = taskTool('held', async (ctx) => {
  ctx.progress(1, 2, 'half of it')
  await go.opened
  return 'done'
})
const heldFailure = taskTool('held_failure', async () => {
  await go.opened
  throw new ToolError('Out of stock')
})
const heldError = taskTool('held_error', async () => {
  await go.opened
  throw new ProtocolError(1234, 'Own trouble', { detail: [1] })
})
const rich = taskTool('rich', () => ({
  content: [
    { type: 'text', text: 'found' },
    { type: 'image', data: 'AA==', mimeType: 'image/png' },
  ],
  structuredContent: { found: 1 },
}))
const asking = taskTool('asking', async (ctx: CallContext) => {
  const { action } = await ctx.elicit('who', { message: 'Who?', schema: z.object({ name: z.string() }) })
  return action
})
const fetcher = serve({ tools: [held, heldFailure, heldError, rich, asking] })

const shape = (task: LegacyTask, changed: Partial<LegacyTask> = {}) => ({
  taskId: task.taskId,
  status: 'working',
  createdAt: task.createdAt,
  lastUpdatedAt: expect.any(String),
  ttl: task.ttl,
  pollInterval: task.pollInterval,
  ...changed,
})

describeCallers('tasks/get', (open) => {
  test('tells of a task from its beginning to its end, and nothing besides', async () => {
    go = gate()
    const client = await open(fetcher)
    const task = await client.callTask('held')
    await eventually(async () => (await client.task(task.taskId)).statusMessage !== undefined)
    const working = await client.task(task.taskId)
    expect(working).toEqual(shape(task, { statusMessage: 'half of it' }))
    later(5_000)
    go.open()
    const settled = await client.settled(task.taskId)
    expect(settled).toEqual(shape(task, { status: 'completed' }))
    expect(Date.parse(settled.lastUpdatedAt) - Date.parse(working.lastUpdatedAt)).toBeGreaterThanOrEqual(5_000)
  })

  test('says what failed and what was cancelled', async () => {
    go = gate()
    const client = await open(fetcher)
    const tasks = await Promise.all(['held_failure', 'held_error', 'held'].map((name) => client.callTask(name)))
    await client.result('tasks/cancel', { taskId: tasks[2]!.taskId })
    go.open()
    const settled = await Promise.all(tasks.map(({ taskId }) => client.settled(taskId)))
    expect(settled).toEqual([
      shape(tasks[0]!, { status: 'failed', statusMessage: 'Out of stock' }),
      shape(tasks[1]!, { status: 'failed', statusMessage: 'Own trouble' }),
      shape(tasks[2]!, { status: 'cancelled', statusMessage: expect.any(String) }),
    ])
  })

  test('goes by its parameter, like tasks/result and tasks/cancel, whatever task the request says it is about', async () => {
    go = gate()
    const client = await open(fetcher)
    const [{ taskId }, { taskId: other }] = [await client.callTask('held'), await client.callTask('held')]
    const meta = related(other)._meta
    expect((await client.task(taskId, { meta })).taskId).toBe(taskId)
    expect(await client.result('tasks/cancel', { taskId }, { meta })).toMatchObject({ taskId, status: 'cancelled' })
    expect(await client.error('tasks/result', { taskId }, { meta })).toMatchObject({ message: 'Task was cancelled' })
    go.open()
    expect(await client.taskResult(other, { meta: related(taskId)._meta })).toMatchObject(related(other))
  })

  test('is no stream, though its client takes one', async () => {
    go = gate()
    const client = await open(fetcher)
    const { taskId } = await client.callTask('held')
    expect((await client.request('tasks/get', { taskId })).contentType).toBe('application/json')
    expect((await client.request('tasks/cancel', { taskId })).contentType).toBe('application/json')
    go.open()
  })

  test.for(['tasks/get', 'tasks/result', 'tasks/cancel'])('wants an id that is text: %s', async (method) => {
    const client = await open(fetcher)
    for (const params of [{}, { taskId: 1 }, { taskId: null }, { taskId: ['x'] }])
      expect(await client.error(method, params)).toEqual({
        status: 200,
        code: -32602,
        message: 'Invalid params: params.taskId must be a string',
      })
  })
})

test('tasks/get says that input is required, and not which', async () => {
  const session = await taskSession(fetcher)
  const task = await session.callTask('asking')
  await session.reached(task.taskId, 'input_required')
  expect(await session.task(task.taskId)).toEqual(shape(task, { status: 'input_required' }))
})

/** How a client may listen, and what it is then answered with. */
const WAYS: [title: string, options: RequestOptions, isStream: boolean][] = [
  ['both kinds of answers', {}, true],
  ['JSON only', { accept: 'application/json' }, false],
  ['streams only', { accept: 'text/event-stream' }, true],
]
const OUTCOMES: [tool: string, title: string][] = [
  ['held', 'completed'],
  ['held_failure', 'failed with a result'],
  ['held_error', 'failed with an error'],
  ['cancelled', 'cancelled'],
]

const resultOf = (tool: string, taskId: string) => {
  switch (tool) {
    case 'held':
      return { result: { content: [{ type: 'text', text: 'done' }], ...related(taskId) } }
    case 'held_failure':
      return { result: { content: [{ type: 'text', text: 'Out of stock' }], isError: true, ...related(taskId) } }
    case 'held_error':
      return { error: { code: 1234, message: 'Own trouble', data: { detail: [1] } } }
    default:
      return { error: { code: -32603, message: 'Task was cancelled' } }
  }
}

for (const [way, options, isStream] of WAYS) {
  describeCallers(`tasks/result for a client of ${way}`, (open) => {
    test.for(OUTCOMES)('of a task that is over: %s, %s', async ([tool]) => {
      go = gate()
      const client = await open(fetcher)
      const { taskId } = await client.callTask(tool === 'cancelled' ? 'held' : tool)
      if (tool === 'cancelled') await client.result('tasks/cancel', { taskId })
      go.open()
      await client.settled(taskId)
      for (let i = 0; i < 2; i++) {
        const { response, status, contentType } = await client.request('tasks/result', { taskId }, options)
        const { jsonrpc: _, id: _id, ...answer } = response
        expect([answer, status]).toEqual([resultOf(tool, taskId), 200])
        expect(contentType).toBe(options.accept === 'text/event-stream' ? 'text/event-stream' : 'application/json')
      }
    })

    test.for(OUTCOMES)('waits for a task that works: %s, %s', async ([tool]) => {
      withLimits({ quietMs: 20 })
      go = gate()
      const client = await open(fetcher)
      const { taskId } = await client.callTask(tool === 'cancelled' ? 'held' : tool)
      let isAnswered = false
      const waiting = client.request('tasks/result', { taskId }, options)
      void waiting.then(() => (isAnswered = true))
      await watched(taskId, isStream && 'id' in client)
      expect((await client.task(taskId)).status).toBe('working')
      expect(isAnswered).toBe(false)
      if (tool === 'cancelled') await client.result('tasks/cancel', { taskId })
      else go.open()
      const { response, contentType } = await waiting
      const { jsonrpc: _, id: _id, ...answer } = response
      expect(answer).toEqual(resultOf(tool, taskId))
      expect(contentType).toBe(isStream ? 'text/event-stream' : 'application/json')
    })

    test('gives everything the tool gave', async () => {
      const client = await open(fetcher)
      const { taskId } = await client.callTask('rich')
      await client.settled(taskId)
      const { result } = await client.request('tasks/result', { taskId }, options)
      const inline = await client.result('tools/call', { name: 'rich' })
      expect(result).toEqual({ ...inline, ...related(taskId) })
      expect(result?.structuredContent).toEqual({ found: 1 })
    })
  })
}

/** Waits until somebody waits for a task: a stream of a session is noted, others hold a socket. */
async function watched(taskId: string, isNoted: boolean): Promise<void> {
  if (isNoted)
    await eventually(async () =>
      Object.keys((await storedOf(taskId)).entries).some((key) => key.startsWith('watcher:')),
    )
  else await scheduler.wait(50)
}

describe('a wait', () => {
  test('begins with an id in a session, so that its client can come back', async () => {
    go = gate()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('held')
    const stream = await waitOn(session, taskId)
    expect(await stream.next()).toEqual({ id: expect.any(String) })
    go.open()
    const messages = await stream.rest()
    expect(textOf(messages.at(-1))).toBe('done')
  })

  test('is told of the end by a notification too, before it is answered', async () => {
    go = gate()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('held')
    const stream = await waitOn(session, taskId)
    go.open()
    await stream.rest()
    const methods = messagesOf(stream).map(({ method, result }) => method ?? Object.keys(result!).toSorted())
    expect(methods).toEqual([STATUS, ['_meta', 'content']])
  })

  test('in one session and without one can be had for the same task, as often as wanted', async () => {
    withLimits({ quietMs: 20 })
    go = gate()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('held')
    const other = await taskSession(fetcher)
    const sessionless = legacy(fetcher, TASKS_REVISION)
    const waits = [session, other, sessionless, sessionless].map((client) => client.taskResult(taskId))
    waits.push(session.taskResult(taskId, { accept: 'application/json' }))
    await scheduler.wait(50)
    go.open()
    for (const { content } of await Promise.all(waits)) expect(content).toEqual([{ type: 'text', text: 'done' }])
  })

  test('of a client that leaves does not end its task', async () => {
    withLimits({ quietMs: 20 })
    go = gate()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('held')
    await (await waitOn(session, taskId)).cancel()
    const sessionless = legacy(fetcher, TASKS_REVISION)
    for (const options of [{}, { accept: 'text/event-stream' }]) {
      const stream = await sessionless.open('tasks/result', { taskId }, options)
      await stream.cancel()
    }
    for (const client of [session, sessionless]) {
      const hangUp = new AbortController()
      const options = { accept: 'application/json', signal: hangUp.signal }
      // In a session nobody sees that its client left, and the answer comes all the same.
      void client.request('tasks/result', { taskId }, options).catch(() => undefined)
      await scheduler.wait(20)
      hangUp.abort()
    }
    expect((await session.task(taskId)).status).toBe('working')
    go.open()
    expect((await session.taskResult(taskId)).content).toEqual([{ type: 'text', text: 'done' }])
  })

  test('of a client that leaves is no failure of the server', async () => {
    const lines: string[] = []
    for (const level of ['log', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((text: string) => void lines.push(text))
    onTestFinished(() => void vi.restoreAllMocks())
    go = gate()
    const client = legacy(fetcher, TASKS_REVISION)
    const { taskId } = await client.callTask('held')
    const stream = await client.open('tasks/result', { taskId })
    await stream.cancel()
    const hangUp = new AbortController()
    const options = { accept: 'application/json', signal: hangUp.signal }
    const json = client.request('tasks/result', { taskId }, options).catch(() => undefined)
    await scheduler.wait(20)
    hangUp.abort()
    await json
    go.open()
    await client.settled(taskId)
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toContain('task')
    expect(lines.filter((line) => line.includes('"failure"'))).toEqual([])
  })

  test('for a task that expires ends like one for a task that never was', async () => {
    withLimits({ quietMs: 20 })
    go = gate()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('held', {}, { ttl: 60_000 })
    const sessionless = legacy(fetcher, TASKS_REVISION)
    const stream = await waitOn(session, taskId)
    const waits = [sessionless.error('tasks/result', { taskId }), session.error('tasks/result', { taskId })]
    waits.push(session.error('tasks/result', { taskId }, { accept: 'application/json' }))
    await scheduler.wait(50)
    later(60_000)
    await ring(taskId).catch(() => undefined)
    const wanted = { code: -32602, message: 'Invalid params: no such task' }
    expect((await stream.rest()).at(-1)?.error).toEqual(wanted)
    for (const error of await Promise.all(waits)) expect(error).toMatchObject(wanted)
    expect(await session.error('tasks/result', { taskId })).toMatchObject(wanted)
  })
})

test('a result too large for the log of a session is told whole to who waits, and instead of it to who comes back', async () => {
  withLimits({ eventBytes: 20_000 })
  go = gate()
  const large = taskTool('large', async () => {
    await go.opened
    return 'x'.repeat(30_000)
  })
  const session = await taskSession(serve({ tools: [large] }))
  const { taskId } = await session.callTask('large')
  const stream = await waitOn(session, taskId)
  await stream.next()
  const from = stream.lastEventId!
  go.open()
  expect(textOf((await stream.rest()).at(-1))).toHaveLength(30_000)
  const again = await session.resume(stream, from)
  expect((await again.rest()).at(-1)?.error).toMatchObject({
    code: -32603,
    message: expect.stringContaining('too large'),
  })
  expect(textOf((await session.request('tasks/result', { taskId })).response)).toHaveLength(30_000)
})

test('a result too large to be kept is a failure that says so', async () => {
  withLimits({ taskResultBytes: 1_000 })
  const large = taskTool('large', () => 'x'.repeat(2_000))
  const session = await taskSession(serve({ tools: [large] }))
  const { taskId } = await session.callTask('large')
  const { status, statusMessage } = await session.settled(taskId)
  expect([status, statusMessage]).toEqual(['failed', expect.stringContaining('only 1000 can be kept')])
  expect(await session.taskResult(taskId)).toMatchObject({ isError: true, content: [{ text: statusMessage }] })
})
