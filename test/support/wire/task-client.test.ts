// The shorthands for tasks: what they send, what they make of the answers, and how they give up.

import { expect, it } from 'vitest'
import { legacy, modern, TASKS } from '../client.ts'
import {
  failure,
  fakeServer,
  legacyTask,
  legacyToolResult,
  modernTask,
  ofTask,
  stamp,
  success,
  toolList,
  toolResult,
} from './fake-server.ts'
import type { JsonObject, Message } from './revisions.ts'

/** Answers `tasks/get` with one of these after the other, and goes on with the last. */
function modernServer(...states: JsonObject[]) {
  return fakeServer((message) => {
    if (message.method === 'tools/list') return success(message, toolList)
    if (message.method === 'tools/call') return success(message, { ...stamp, ...modernTask, resultType: 'task' })
    const state = states.length > 1 ? states.shift() : states[0]
    return success(message, { ...stamp, ...modernTask, resultType: 'complete', ...state })
  })
}

it('a modern client calls a tool that becomes a task, and reads the task by name', async ({ task: { file } }) => {
  const server = modernServer({})
  const client = modern(server, { capabilities: { elicitation: {}, ...TASKS } })
  const { taskId, ttlMs } = await client.callTask('echo', { a: 1 })
  expect({ taskId, ttlMs }).toEqual({ taskId: 't1', ttlMs: 60_000 })
  expect(await client.task(taskId)).toMatchObject({ status: 'working', pollIntervalMs: 500 })
  expect(server.requests.map(({ headers }) => headers.get('mcp-name'))).toEqual([null, 'echo', 't1'])
  const { params } = (await server.requests[1]!.json()) as Message
  expect(params).toEqual({ name: 'echo', arguments: { a: 1 }, _meta: expect.anything() })
  expect(file.meta.wireCells).toEqual(
    expect.arrayContaining(['2026-07-28 tools/call task', '2026-07-28 tasks/get result']),
  )
})

it('a client polls until a task has a status or has ended', async () => {
  const waiting = { status: 'input_required', inputRequests: { roots: { method: 'roots/list' } } }
  const completed = { status: 'completed', result: toolResult }
  const server = modernServer({}, {}, waiting, {}, completed)
  const client = modern(server, { capabilities: TASKS })
  expect((await client.reached('t1', 'input_required')).inputRequests).toEqual(waiting.inputRequests)
  expect((await client.settled('t1')).result?.content).toEqual(toolResult.content)
  await expect(client.reached('t1', 'cancelled')).rejects.toThrow('the task did not become cancelled but is completed')
  expect(server.requests).toHaveLength(6)
})

it('a client gives up on a task that stays as it is', async () => {
  const client = modern(modernServer({}), { capabilities: TASKS })
  await expect(client.settled('t1')).rejects.toThrow('did not become completed, failed, cancelled but is working')
}, 20_000)

it('a client says when a call did not become a task', async () => {
  const server = fakeServer((message) =>
    message.method === 'tools/list' ? success(message, toolList) : success(message, toolResult),
  )
  await expect(modern(server, { capabilities: TASKS }).callTask('a')).rejects.toThrow('did not become a task')
  const inline = fakeServer((message) => success(message, legacyToolResult))
  await expect(legacy(inline, '2025-11-25').callTask('a')).rejects.toThrow('tools/call did not become a task')
  const refusing = fakeServer((message) => failure(message, -32601))
  await expect(legacy(refusing, '2025-11-25').callTask('a')).rejects.toThrow('tools/call was answered with an error')
})

it('a legacy client asks for a task, with a lifetime or without, and for its result', async ({ task: { file } }) => {
  const server = fakeServer((message) => {
    if (message.method === 'tools/call') return success(message, { task: legacyTask })
    if (message.method === 'tasks/get') return success(message, { ...legacyTask, status: 'failed' })
    return ofTask(success(message, legacyToolResult))
  })
  const client = legacy(server, '2025-11-25')
  const { taskId, ttl } = await client.callTask('a', { b: 1 }, { ttl: 5, progressToken: 'p' })
  await client.callTask('a')
  expect({ taskId, ttl }).toEqual({ taskId: 't1', ttl: 60_000 })
  const sent = await Promise.all(server.requests.map(async (request) => ((await request.json()) as Message).params))
  expect(sent).toEqual([
    { name: 'a', arguments: { b: 1 }, task: { ttl: 5 }, _meta: { progressToken: 'p' } },
    { name: 'a', task: {} },
  ])
  expect((await client.settled(taskId)).status).toBe('failed')
  expect((await client.taskResult(taskId)).content).toEqual(legacyToolResult.content)
  expect(file.meta.wireCells).toEqual(
    expect.arrayContaining(['2025-11-25 tools/call task', '2025-11-25 tasks/result result']),
  )
})
