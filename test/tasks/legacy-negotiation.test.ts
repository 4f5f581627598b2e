// Who gets a task of 2025-11-25: what the server says it has, what a tool wants, what the client asks for, and how long the
// task lives. @see 2025-11-25 basic/utilities/tasks, Capability Negotiation; Tool-Level Negotiation; TTL

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { definePrompt, defineResource, defineTool } from '../../src/server/index.ts'
import { LEGACY, legacy, type LegacyClient, type LegacyRevision } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { sessionOf } from '../sessions/support.ts'
import { describeCallers, sessionAs, taskSession } from './legacy-support.ts'
import { byHeader, recordOf, taskTool } from './support.ts'

const DAY_MS = 24 * 60 * 60 * 1000
let ran: string[] = []

const plain = defineTool('plain', {
  description: 'Never a task.',
  handler() {
    ran.push('plain')
    return 'plain'
  },
})
const noted = (name: string) => (ctx: { progress(progress: number): void }) => {
  ran.push(name)
  ctx.progress(1)
  ctx.progress(2)
  return name
}
const optional = taskTool('optional', noted('optional'))
const required = taskTool('required', noted('required'), { task: { support: 'required' } })
const brief = taskTool('brief', noted('brief'), { task: { ttlMs: 60_000, pollIntervalMs: 250 } })
const long = taskTool('long', noted('long'), { task: { ttlMs: 90 * DAY_MS } })
const endless = taskTool('endless', noted('endless'), { task: { ttlMs: null } })
const greeting = definePrompt('greeting', { description: 'Greets.', get: () => 'Hello' })
const note = defineResource('test://note', { name: 'note', read: () => 'note' })

const tools = [plain, optional, required, brief, long, endless]
const fetcher = serve({ tools, prompts: [greeting], resources: [note] }, { authenticate: byHeader })
const without = serve({ tools: [plain], prompts: [greeting], resources: [note] })

const METHODS = ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list', 'tasks/update'] as const
const UNKNOWN = '0'.repeat(64)

describe('what a server announces', () => {
  test('is tasks of tool calls that can be cancelled, and listed where the caller is known', async () => {
    const anonymous = await taskSession(fetcher)
    expect(anonymous.hello.capabilities['tasks']).toEqual({ cancel: {}, requests: { tools: { call: {} } } })
    const known = await sessionAs(fetcher, 'ann')
    expect(known.hello.capabilities['tasks']).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } })
  })

  test('is nothing on older revisions, and nothing of the extension on any', async () => {
    for (const revision of LEGACY) {
      const { hello } = await sessionOf(fetcher, revision)
      expect('tasks' in hello.capabilities).toBe(revision === '2025-11-25')
      expect(hello.capabilities).not.toHaveProperty('extensions')
    }
  })

  test('is nothing without a tool that runs as a task', async () => {
    const { hello } = await taskSession(without)
    expect(hello.capabilities).not.toHaveProperty('tasks')
  })

  test('says of each tool whether it runs as a task, on no older revision', async () => {
    const supportOf = async (client: LegacyClient) =>
      Object.fromEntries((await client.result('tools/list')).tools.map(({ name, execution }) => [name, execution]))
    expect(await supportOf(await taskSession(fetcher))).toEqual({
      plain: undefined,
      optional: { taskSupport: 'optional' },
      required: { taskSupport: 'required' },
      brief: { taskSupport: 'optional' },
      long: { taskSupport: 'optional' },
      endless: { taskSupport: 'optional' },
    })
    for (const revision of ['2025-06-18', '2025-03-26'] as const) {
      const found = await supportOf(await sessionOf(fetcher, revision))
      expect(new Set(Object.values(found))).toEqual(new Set([undefined]))
    }
  })
})

describeCallers('a tool call of 2025-11-25', (open) => {
  test('as a task of a tool that does not run as one is -32601, and nothing runs', async () => {
    const client = await open(fetcher)
    ran = []
    const error = await client.error('tools/call', { name: 'plain', task: {} })
    expect(error).toEqual({ status: 200, code: -32601, message: expect.stringContaining('plain') })
    expect(ran).toEqual([])
  })

  test('without a task of a tool that runs as one only is -32601, and nothing runs', async () => {
    const client = await open(fetcher)
    ran = []
    const error = await client.error('tools/call', { name: 'required' })
    expect(error).toEqual({ status: 200, code: -32601, message: expect.stringContaining('required') })
    expect(ran).toEqual([])
  })

  test('as a task runs every tool that may', async () => {
    const client = await open(fetcher)
    for (const name of ['optional', 'required']) {
      const { taskId } = await client.callTask(name)
      expect((await client.taskResult(taskId)).content).toEqual([{ type: 'text', text: name }])
    }
  })

  test('without a task runs an optional one inline, with its progress', async () => {
    const client = await open(fetcher)
    const { result, notifications } = await client.call('optional', {}, { progressToken: 'p' })
    expect(result.content).toEqual([{ type: 'text', text: 'optional' }])
    expect(notifications.map(({ params }) => params)).toEqual([
      { progressToken: 'p', progress: 1 },
      { progressToken: 'p', progress: 2 },
    ])
  })

  test('as a task of a tool there is none of gets the ordinary error', async () => {
    const client = await open(fetcher)
    const [asTask, inline] = [
      await client.error('tools/call', { name: 'none', task: {} }),
      await client.error('tools/call', { name: 'none' }),
    ]
    expect(asTask).toEqual(inline)
    expect(asTask).toMatchObject({ status: 200, code: -32602, message: 'Unknown tool: none' })
  })

  test('as a task of a name that is none gets the ordinary error', async () => {
    const client = await open(fetcher)
    for (const params of [{}, { name: 1 }, { name: null }])
      expect(await client.error('tools/call', { ...params, task: {} })).toEqual(
        await client.error('tools/call', params),
      )
  })

  test('ignores `task` on a server without such tools', async () => {
    const client = await open(without)
    for (const task of [{}, { ttl: -1 }, null]) {
      const { result } = await client.call('plain', {}, { unchecked: true })
      const asked = await client.result('tools/call', { name: 'plain', task }, { unchecked: true })
      expect(asked).toEqual(result)
    }
    for (const method of METHODS)
      expect(await client.error(method, { taskId: UNKNOWN })).toEqual({
        status: 200,
        code: -32601,
        message: `Method not found: ${method}`,
      })
  })

  test('ignores `task` on what is no tool call', async () => {
    const client = await open(fetcher)
    for (const task of [{}, { ttl: 1 }, 'nonsense']) {
      const prompt = await client.result('prompts/get', { name: 'greeting', task }, { unchecked: true })
      expect(prompt).toEqual(await client.result('prompts/get', { name: 'greeting' }))
      const read = await client.result('resources/read', { uri: 'test://note', task }, { unchecked: true })
      expect(read).toEqual(await client.result('resources/read', { uri: 'test://note' }))
    }
  })

  test.for([null, 1, 'task', true, [], [{}]])('with a `task` that is no object is -32602: %j', async (task) => {
    const client = await open(fetcher)
    ran = []
    const error = await client.error('tools/call', { name: 'optional', task })
    expect(error).toEqual({ status: 200, code: -32602, message: 'Invalid params: params.task must be an object' })
    expect(ran).toEqual([])
  })

  test.for(['"1000"', '-1', '-0.5', '1e999', 'true', '{}', '[1]'])(
    'with a `task.ttl` that is no time is -32602: %s',
    async (ttl) => {
      const client = await open(fetcher)
      ran = []
      const params = JSON.parse(`{"name":"optional","task":{"ttl":"TTL"}}`) as { task: object }
      const marked = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const { json, status } = await sendAs(client, marked.replace('"TTL"', ttl))
      expect(status).toBe(200)
      expect(json).toMatchObject({
        error: { code: -32602, message: 'Invalid params: params.task.ttl must be a number of milliseconds' },
      })
      expect(ran).toEqual([])
    },
  )

  test('has no method of the extension', async () => {
    const client = await open(fetcher)
    const params = { taskId: UNKNOWN, inputResponses: {} }
    expect(await client.error('tasks/update', params)).toMatchObject({ status: 200, code: -32601 })
  })
})

/** A body as it is, with the headers of a client: those of a session name it. */
function sendAs(client: LegacyClient & { id?: string }, body: string) {
  const session = client.id === undefined ? {} : { 'mcp-session-id': client.id }
  const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  return client.raw({ headers: { ...common, 'mcp-protocol-version': '2025-11-25', ...session }, body })
}

describe('revisions before 2025-11-25', () => {
  const callers: [string, LegacyRevision, () => Promise<LegacyClient>, string[]][] = [
    ['2025-06-18 in a session', '2025-06-18', () => sessionOf(fetcher, '2025-06-18'), []],
    ['2025-03-26 in a session', '2025-03-26', () => sessionOf(fetcher, '2025-03-26'), []],
    ['2025-06-18', '2025-06-18', async () => legacy(fetcher, '2025-06-18'), []],
    ['2025-03-26', '2025-03-26', async () => legacy(fetcher, '2025-03-26'), []],
    // What is not named counts as 2025-03-26, though it is answered with the fields of 2025-11-25.
    ['unnamed', '2025-11-25', async () => legacy(fetcher, '2025-11-25'), ['mcp-protocol-version']],
  ]

  describe.for(callers)('%s', ([, , open, omitHeaders]) => {
    test.for(['optional', 'required'])('runs %s inline with progress, whatever `task` says', async (name) => {
      const client = await open()
      for (const task of [undefined, {}, { ttl: 5_000 }, { ttl: -1 }, 'nonsense']) {
        const params = { name, ...(task !== undefined && { task }) }
        const options = { progressToken: 'p', omitHeaders, unchecked: true }
        const { result, notifications } = await client.request('tools/call', params, options)
        expect(result).toEqual({ content: [{ type: 'text', text: name }] })
        expect(notifications.map(({ params }) => params.progress)).toEqual([1, 2])
      }
    })

    test('has no tasks/get, tasks/result, tasks/cancel and tasks/list', async () => {
      const client = await open()
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list'])
        expect(await client.error(method, { taskId: UNKNOWN }, { omitHeaders })).toEqual({
          status: 200,
          code: -32601,
          message: `Method not found: ${method}`,
        })
    })
  })

  test('do not see a task of a later one', async () => {
    const { taskId } = await (await taskSession(fetcher)).callTask('optional')
    const older = await sessionOf(fetcher, '2025-06-18')
    expect(await older.error('tasks/get', { taskId })).toMatchObject({ code: -32601 })
  })
})

describe('a session', () => {
  test('of 2025-11-25 has tasks although its header is missing or names another revision', async () => {
    const session = await taskSession(fetcher)
    for (const options of [
      { omitHeaders: ['mcp-protocol-version'] },
      { headers: { 'mcp-protocol-version': '2025-06-18' } },
    ]) {
      const { taskId } = await session.callTask('required', {}, options)
      expect((await session.task(taskId, options)).taskId).toBe(taskId)
    }
  })

  test('of 2025-06-18 has none although its header names 2025-11-25', async () => {
    const session = await sessionOf(fetcher, '2025-06-18')
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    const { result } = await session.call('required', {}, { headers })
    expect(result.content).toEqual([{ type: 'text', text: 'required' }])
    expect(await session.error('tasks/get', { taskId: UNKNOWN }, { headers })).toMatchObject({ code: -32601 })
  })
})

test.for(LEGACY)('the extension, declared by a client of %s, makes no task', async (revision) => {
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const { headers } = await legacy(fetcher, revision).request('initialize', { capabilities }, { unchecked: true })
  const session = legacy(fetcher, revision, { headers: { 'mcp-session-id': headers.get('mcp-session-id')! } })
  const { result } = await session.call('optional')
  expect(result).toEqual({ content: [{ type: 'text', text: 'optional' }] })
})

describeCallers('the lifetime of a task', (open) => {
  const ttlOf = async (tool: string, ttl?: number, principal?: string): Promise<unknown> => {
    const headers = principal === undefined ? {} : { 'x-principal': principal }
    const client = await open(fetcher, { headers })
    const task = ttl === undefined ? {} : { ttl }
    const created = (await client.result('tools/call', { name: tool, task }, { unchecked: true })).task!
    const read = await client.task(created.taskId)
    expect(read.ttl).toBe(created.ttl)
    expect((await recordOf(created.taskId)).state.ttlMs).toBe(created.ttl)
    return created.ttl
  }

  test('is what was asked for, and shown', async () => {
    expect(await ttlOf('optional', 5_000)).toBe(5_000)
    expect(await ttlOf('brief', 5_000)).toBe(5_000)
    expect(await ttlOf('brief', 120_000)).toBe(120_000)
    expect(await ttlOf('endless', 5_000)).toBe(5_000)
  })

  test('is whole milliseconds', async () => {
    expect(await ttlOf('optional', 1_500.2)).toBe(1_501)
  })

  test('is a second at least', async () => {
    for (const ttl of [0, 1, 999, 0.1]) expect(await ttlOf('optional', ttl)).toBe(limits.minTaskTtlMs)
    expect(await ttlOf('endless', 0)).toBe(limits.minTaskTtlMs)
  })

  test('is what the tool says where nobody asks, else a day', async () => {
    expect(await ttlOf('optional')).toBe(DAY_MS)
    expect(await ttlOf('brief')).toBe(60_000)
    expect(await ttlOf('long')).toBe(90 * DAY_MS)
    expect(await ttlOf('endless')).toBe(null)
  })

  test('is at most two days for anonymous callers, and thirty for known ones', async () => {
    expect(await ttlOf('optional', 2 * DAY_MS)).toBe(2 * DAY_MS)
    expect(await ttlOf('optional', 2 * DAY_MS + 1)).toBe(limits.anonymousTaskTtlMs)
    expect(await ttlOf('brief', Number.MAX_SAFE_INTEGER)).toBe(limits.anonymousTaskTtlMs)
    expect(await ttlOf('optional', 30 * DAY_MS, 'ann')).toBe(30 * DAY_MS)
    expect(await ttlOf('optional', 30 * DAY_MS + 1, 'ann')).toBe(limits.taskTtlMs)
    expect(limits.anonymousTaskTtlMs).toBe(2 * DAY_MS)
    expect(limits.taskTtlMs).toBe(30 * DAY_MS)
  })

  test('is at most that of the tool, where that is more', async () => {
    expect(await ttlOf('long', 80 * DAY_MS)).toBe(80 * DAY_MS)
    expect(await ttlOf('long', 100 * DAY_MS)).toBe(90 * DAY_MS)
    expect(await ttlOf('long', 100 * DAY_MS, 'ann')).toBe(90 * DAY_MS)
    expect(await ttlOf('endless', 1_000 * DAY_MS)).toBe(1_000 * DAY_MS)
  })

  test('that is null counts as not asked for', async () => {
    const client = await open(fetcher)
    const { task } = await client.result('tools/call', { name: 'brief', task: { ttl: null } }, { unchecked: true })
    expect(task?.ttl).toBe(60_000)
  })
})

test('what a task does not finish is not waited for: the answer comes while it works', async () => {
  const session = await taskSession(serve({ tools: [taskTool('never', () => new Promise(() => {}))] }))
  const exchange = await session.request('tools/call', { name: 'never', task: {} })
  expect([exchange.contentType, exchange.result?.task?.status]).toEqual(['application/json', 'working'])
})
