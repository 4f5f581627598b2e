// Tasks of tools that need scopes: every request about one does, too. What a token may not do changes nothing.
// @see basic/authorization, Scope Challenge Handling

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bearer, dumpOf, legacyPost, modernPost, statusOf, whole } from '../isolation/support.ts'
import { sessionOf } from '../sessions/support.ts'
import { eventually, parked, recordOf, stubOf, withLimits } from '../tasks/support.ts'
import { legacy, modern, TASKS, type Fetcher } from '../support/client.ts'
import { createScopeRealm, DEFINITIONS, expectRefused, ran, type ScopeRealm } from './support.ts'

const CAPABILITIES = { ...TASKS, elicitation: { form: {} } }
const ANSWER = { name: { action: 'accept', content: { name: 'Ann' } } }

let realm: ScopeRealm
let fetcher: Fetcher
let ada: Record<string, string>
let lesser: Record<string, string>
beforeAll(async () => {
  realm = await createScopeRealm()
  fetcher = realm.serve()
  ada = await realm.ada('notes:write')
  lesser = await realm.ada('notes:read other')
})
beforeEach(() => {
  ran.length = 0
})

type Headers = Record<string, string>
type Sent = (method: string, taskId: string, headers: Headers) => Promise<Response>
type Make = (tool: string) => Promise<string>

const modernSent: Sent = async (method, taskId, headers) => {
  const params = { taskId, ...(method === 'tasks/update' && { inputResponses: ANSWER }) }
  return fetcher(modernPost(method, params, headers, CAPABILITIES))
}
const legacySent: Sent = async (method, taskId, headers) =>
  fetcher(legacyPost({ jsonrpc: '2.0', id: 'same', method, params: { taskId } }, headers))

/** Sends in sessions: one for each token, as hosts have them. */
const inSession: Sent = async (method, taskId, headers) => {
  const { id } = await sessionOf(fetcher, '2025-11-25', { headers })
  return legacySent(method, taskId, { ...headers, 'mcp-session-id': id })
}

const forms: [string, string[], Make, Sent][] = [
  [
    'of the extension',
    ['tasks/get', 'tasks/update', 'tasks/cancel'],
    async (tool) => (await modern(fetcher, { capabilities: CAPABILITIES, headers: ada }).callTask(tool)).taskId,
    modernSent,
  ],
  [
    'of 2025-11-25',
    ['tasks/get', 'tasks/cancel', 'tasks/result'],
    async (tool) => (await legacy(fetcher, '2025-11-25', { headers: ada }).callTask(tool)).taskId,
    legacySent,
  ],
  [
    'of 2025-11-25 in a session',
    ['tasks/get', 'tasks/cancel', 'tasks/result'],
    async (tool) => {
      const session = await sessionOf(fetcher, '2025-11-25', { headers: ada, capabilities: { elicitation: {} } })
      return (await session.callTask(tool)).taskId
    },
    inSession,
  ],
]

const doneOf = (taskId: string) => eventually(async () => (await recordOf(taskId)).state.phase === 'done')

describe.each(forms)('a task %s', (form, methods, make, send) => {
  test.each(methods)('is refused to a token that has lost the scope: %s', async (method) => {
    const taskId = await make('quick_job')
    await doneOf(taskId)
    ran.length = 0
    const before = await dumpOf(stubOf(taskId))
    await expectRefused(await send(method, taskId, lesser), 'notes:write notes:read')
    await expectRefused(await send(method, taskId, await realm.ada('')), 'notes:write')
    expect(await dumpOf(stubOf(taskId))).toBe(before)
  })

  test('goes on when it is refused, and is what it was', async () => {
    // Only a client that can be asked has one that waits.
    const isAsking = form !== 'of 2025-11-25'
    const taskId = await make(isAsking ? 'job' : 'quick_job')
    await (isAsking ? parked(taskId) : doneOf(taskId))
    ran.length = 0
    const before = await dumpOf(stubOf(taskId))
    for (const method of methods) await expectRefused(await send(method, taskId, lesser), 'notes:write notes:read')
    expect(await dumpOf(stubOf(taskId))).toBe(before)
    const answer = await whole(await send('tasks/get', taskId, ada))
    expect(statusOf(answer)).toBe(200)
    expect(answer).toContain(isAsking ? 'input_required' : 'completed')
  })

  test('of somebody else is unknown, not refused', async () => {
    const taskId = await make('quick_job')
    const token = await realm.issuer.mint({ sub: 'bob', scope: '' })
    for (const method of methods) {
      const answer = await whole(await send(method, taskId, { authorization: `Bearer ${token}` }))
      expect(answer).toContain('no such task')
    }
  })

  test('of a tool that needs no scope needs none', async () => {
    const taskId = await make('open_job')
    await doneOf(taskId)
    for (const method of methods.filter((each) => each !== 'tasks/cancel'))
      expect(statusOf(await whole(await send(method, taskId, lesser)))).toBe(200)
  })
})

describe.each([
  ['without a session', async (headers: Headers) => legacy(fetcher, '2025-11-25', { headers })],
  ['in a session', async (headers: Headers) => sessionOf(fetcher, '2025-11-25', { headers })],
])('tasks/list %s', (_, open) => {
  test('leaves out what a token may not know of, on every page', async () => {
    withLimits({ tasksPage: 1 })
    const sub = `ada-${crypto.randomUUID()}`
    const client = async (scope: string) => open(bearer(await realm.issuer.mint({ sub, scope })))
    const whole = await client('notes:write')
    const tools = ['quick_job', 'open_job', 'quick_job', 'open_job']
    const ids: string[] = []
    for (const tool of tools) ids.push((await whole.callTask(tool)).taskId)
    for (const id of ids) await doneOf(id)
    const pagesOf = async (of: Awaited<ReturnType<typeof client>>) => {
      const pages: string[][] = []
      for (let cursor: string | undefined; ;) {
        const page = await of.result('tasks/list', cursor === undefined ? {} : { cursor })
        pages.push(page.tasks.map(({ taskId }) => taskId))
        cursor = page.nextCursor
        if (cursor === undefined) return pages
      }
    }
    expect(await pagesOf(whole)).toEqual(ids.map((id) => [id]))
    expect(await pagesOf(await client('notes:read'))).toEqual(ids.map((id, i) => (i % 2 ? [id] : [])))
    expect((await pagesOf(await client(''))).flat()).toEqual([ids[1], ids[3]])
  })
})

test('making one is refused before it is prepared', async () => {
  const call = { name: 'job', arguments: {} }
  await expectRefused(await fetcher(modernPost('tools/call', call, lesser, CAPABILITIES)), 'notes:write notes:read')
  const old = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...call, task: {} } }
  await expectRefused(await fetcher(legacyPost(old, lesser)), 'notes:write notes:read')
})

test('a task runs on without a token', async () => {
  const client = modern(fetcher, { capabilities: CAPABILITIES, headers: ada })
  const { taskId } = await client.callTask('job')
  await client.reached(taskId, 'input_required')
  await client.result('tasks/update', { taskId, inputResponses: ANSWER })
  expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'Ann' }])
  expect(ran).toEqual(['prepare', 'job'])
})

test('a stream of subscriptions/listen about one is refused, and its task does not learn of it', async () => {
  const client = modern(fetcher, { capabilities: CAPABILITIES, headers: ada })
  const { taskId } = await client.callTask('job')
  await parked(taskId)
  ran.length = 0
  const before = await dumpOf(stubOf(taskId))
  const listen = (headers: Headers) =>
    fetcher(modernPost('subscriptions/listen', { notifications: { taskIds: [taskId] } }, headers, CAPABILITIES))
  await expectRefused(await listen(lesser), 'notes:write notes:read')
  expect(await dumpOf(stubOf(taskId))).toBe(before)
  const response = await listen(ada)
  expect(response.status).toBe(200)
  await response.body!.cancel()
})

test('a stream that waits for a result is refused in its session', async () => {
  const session = await sessionOf(fetcher, '2025-11-25', { headers: ada, capabilities: { elicitation: {} } })
  const { taskId } = await session.callTask('job')
  await parked(taskId)
  ran.length = 0
  const before = await dumpOf(stubOf(taskId))
  const waiting = { jsonrpc: '2.0', id: 1, method: 'tasks/result', params: { taskId } }
  const response = await fetcher(legacyPost(waiting, { ...lesser, 'mcp-session-id': session.id }))
  await expectRefused(response, 'notes:write notes:read')
  expect(await dumpOf(stubOf(taskId))).toBe(before)
})

test('a server whose tools need none refuses no task', async () => {
  const open = realm.serve({ tools: DEFINITIONS.tools.filter(({ name }) => name.startsWith('open')) })
  const client = modern(open, { capabilities: CAPABILITIES, headers: lesser })
  const { taskId } = await client.callTask('open_job')
  expect((await client.settled(taskId)).status).toBe('completed')
})
