// The session client against hand-made servers: what it must not let pass, and what it counts.

import { expect, it } from 'vitest'
import { legacySession } from '../client.ts'
import type { LegacyRevision, Session } from '../client.ts'
import { legacyTask, legacyToolResult, log, ofTask, progress, stream, success } from './fake-server.ts'
import type { JsonObject, Message } from './revisions.ts'

const hello = (protocolVersion: string): JsonObject => ({
  protocolVersion,
  capabilities: {},
  serverInfo: { name: 'fake', version: '1' },
})
const priming = 'id: 1\ndata: \n\n'
const ask = { jsonrpc: '2.0', id: 'q', method: 'roots/list' }

/** A session with a server that answers GET with `get` and calls with `call`. */
function session(
  answers: {
    get?: () => Response
    call?: (message: Message) => Response
    answered?: (message: Message) => unknown
    id?: string | null
  },
  revision: LegacyRevision = '2025-11-25',
): Promise<Session> {
  const headers = answers.id === null ? {} : { 'mcp-session-id': answers.id ?? 'abc' }
  return legacySession(async (request) => {
    if (request.method === 'GET') return answers.get!()
    const message = JSON.parse(await request.text()) as Message
    if (message.method === 'initialize') return Response.json(success(message, hello(revision)), { headers })
    if (message.method === undefined) answers.answered?.(message)
    return message.id === undefined || message.method === undefined
      ? new Response(null, { status: 202 })
      : answers.call!(message)
  }, revision)
}

it('a session client refuses an initialize without a session id', async () => {
  await expect(session({ id: null })).rejects.toThrow('initialize gave no session id')
})

it('a session client reads a priming event on 2025-11-25 and refuses it before', async () => {
  const get = () => stream(priming)
  expect(await (await (await session({ get })).listen()).next()).toEqual({ id: '1' })
  await expect((await (await session({ get }, '2025-06-18')).listen()).next()).rejects.toThrow('an event has no data')
})

it('a session client refuses a response on the standalone stream', async () => {
  const get = () => stream({ jsonrpc: '2.0', id: 1, result: {} })
  await expect((await (await session({ get })).listen()).next()).rejects.toThrow("the answer's id is not the request's")
})

it('a session client refuses an answer that is no stream', async () => {
  await expect((await session({ get: () => new Response('no', { status: 405 }) })).listen()).rejects.toThrow('405')
})

it('a session client judges a resumed stream by the request it came from', async () => {
  const call = (message: Message) => stream('id: 1\n', { jsonrpc: '2.0', id: message.id, result: { wrong: true } })
  const client = await session({ call })
  await expect((await client.callStream('a')).rest()).rejects.toThrow('the key is not in the schema')
})

it('a session client refuses an answer of the test that its schema refuses, and counts requests of the server', async ({
  task,
}) => {
  const call = (message: Message) => stream(ask, success(message, { content: [] }))
  const client = await session({ call })
  await expect(client.talk('a', undefined, () => ({ result: { roots: 'none' } }))).rejects.toThrow(
    'the test sent an answer',
  )
  const { asked } = await client.talk('a', undefined, () => ({ result: { roots: [] } }))
  expect(asked).toEqual([ask])
  expect(task.file.meta.wireCells).toContain('2025-11-25 roots/list request')
})

it('a session client takes the messages of tasks from the standalone stream, with tokens it cannot know', async () => {
  const status = { jsonrpc: '2.0', method: 'notifications/tasks/status', params: legacyTask }
  const get = () =>
    stream(ofTask(progress('p', 1)), ofTask(ask, 't2'), status, log('x'), ofTask(log('x')), ofTask(progress('p', 2)))
  expect(await (await (await session({ get })).listen()).rest()).toHaveLength(6)
})

it.each([
  ['progress that names no task', [progress('p', 1)], 'a token that no request of this answer'],
  ['progress of a task that repeats itself', [ofTask(progress('p', 1)), ofTask(progress('p', 1))], 'does not increase'],
  ['a task without an id', [ofTask(log('x'), null)], 'is not { taskId }'],
])('a session client refuses %s on the standalone stream', async (_, messages, because) => {
  const client = await session({ get: () => stream(...messages) })
  await expect((await client.listen()).rest()).rejects.toThrow(because)
})

it('a session client judges a resumed result of a task as such', async () => {
  const call = () => stream('id: 1\ndata:\n\n')
  const client = await session({ call, get: () => stream(log('x')) })
  const cut = await client.stream('tasks/result', { taskId: 't1' })
  await cut.rest()
  await expect((await client.resume(cut)).rest()).rejects.toThrow('related-task" is missing')
})

it('a session client answers what a task asks on the stream of its result, and names the task', async () => {
  const answers: Message[] = []
  const call = (message: Message) => stream(ofTask(ask), ofTask(success(message, legacyToolResult)))
  const client = await session({ call, answered: (message) => answers.push(message) })
  const { asked, result } = await client.talkTask('t1', () => ({ result: { roots: [] } }))
  expect(asked).toEqual([ofTask(ask)])
  expect(result.content).toEqual(legacyToolResult.content)
  expect(answers).toEqual([ofTask({ jsonrpc: '2.0', id: 'q', result: { roots: [] } })])
})
