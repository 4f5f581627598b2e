// How a tool call of 2025-11-25 becomes a task, and that whatever goes wrong in it afterwards is the task's failure.
// @see 2025-11-25 basic/utilities/tasks, Creating Tasks; Task Execution Errors

import * as z from 'zod'
import { expect, test } from 'vitest'
import { defineTool, ProtocolError, ToolError, type CallContext } from '../../src/server/index.ts'
import type { JsonObject, LegacyClient } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { describeCallers, related, taskSession } from './legacy-support.ts'
import { accept, eventually, gate, keysOf, taskTool } from './support.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const TASK = { support: 'optional' } as const

const quick = taskTool('quick', () => 'quick', { task: { pollIntervalMs: 250 } })
const announced = taskTool('announced', () => 'done', { task: { immediateResponse: 'It has begun.' } })

const Count = z.object({ count: z.number() })
const typed = defineTool('typed', {
  description: 'Wants a number.',
  inputSchema: Count,
  task: TASK,
  handler: ({ count }) => `${count}`,
})
const unfit = defineTool('unfit', {
  description: 'Returns what it did not say.',
  outputSchema: Count,
  task: TASK,
  handler: () => ({ count: 'many' }) as never,
})
const throws = (name: string, error: () => Error) =>
  taskTool(name, () => {
    throw error()
  })
const prepares = (name: string, error: () => Error) =>
  defineTool(name, {
    description: name,
    task: {
      ...TASK,
      prepare() {
        throw error()
      },
    },
    handler: () => 'the handler was entered',
  })
const asks = taskTool('asks', async (ctx: CallContext) => {
  const { action } = await ctx.elicit('who', { message: 'Who?', schema: z.object({ name: z.string() }) })
  return action
})
const failing = [
  typed,
  unfit,
  asks,
  throws('tool_error', () => new ToolError('Out of stock')),
  throws('a_throw', () => new Error('secret')),
  throws('own_code', () => new ProtocolError(1234, 'Own trouble', { detail: [1] })),
  throws('not_found', () => new ProtocolError('ResourceNotFound', 'Resource not found: x', { uri: 'x' })),
  prepares('prepare_refuses', () => new ToolError('Not today')),
  prepares('prepare_throws', () => new Error('secret')),
  prepares('prepare_protocol', () => new ProtocolError('InvalidParams', 'Invalid params: of prepare')),
  taskTool('long_story', () => {
    throw new ToolError('x'.repeat(10_000))
  }),
  taskTool('says_so', () => ({ content: [{ type: 'text', text: 'It failed' }], isError: true })),
  taskTool('says_nothing', () => ({ content: [], isError: true })),
]
const named = defineTool('named', {
  description: 'Asks before it begins.',
  task: {
    ...TASK,
    async prepare(_input, ctx) {
      const schema = z.object({ name: z.string() })
      return (await ctx.elicit('who', { message: 'Who?', schema })).content?.name ?? 'nobody'
    },
  },
  handler: (_input, _ctx, name) => `Hello, ${name}`,
})

const fetcher = serve({ tools: [quick, announced, named, ...failing] })

describeCallers('the answer to a call that becomes a task', (open) => {
  test('is a task that works, even if its handler is done at once', async () => {
    const client = await open(fetcher)
    const result = await client.result('tools/call', { name: 'quick', task: { ttl: 60_000 } })
    const { taskId, createdAt } = result.task!
    expect(result).toEqual({
      task: { taskId, status: 'working', createdAt, lastUpdatedAt: createdAt, ttl: 60_000, pollInterval: 250 },
      ...related(taskId),
    })
    expect(taskId).toMatch(/^[0-9a-f]{64}$/)
    expect(createdAt).toMatch(ISO)
    const after = await client.settled(taskId)
    expect(after).toMatchObject({ createdAt, status: 'completed' })
    expect(after.lastUpdatedAt).toMatch(ISO)
    expect(after.lastUpdatedAt >= createdAt).toBe(true)
  })

  test('says what the model may be told meanwhile, if the tool does', async () => {
    const client = await open(fetcher)
    const { _meta, task } = await client.result('tools/call', { name: 'announced', task: {} })
    expect(_meta).toEqual({
      ...related(task!.taskId)._meta,
      'io.modelcontextprotocol/model-immediate-response': 'It has begun.',
    })
  })

  test('is JSON, or a stream for who takes nothing else', async () => {
    const client = await open(fetcher)
    const answers = await Promise.all(
      ['application/json, text/event-stream', 'application/json', 'text/event-stream'].map((accept) =>
        client.request('tools/call', { name: 'quick', task: {} }, { accept }),
      ),
    )
    expect(answers.map(({ contentType, result }) => [contentType, result?.task?.status])).toEqual([
      ['application/json', 'working'],
      ['application/json', 'working'],
      ['text/event-stream', 'working'],
    ])
  })

  test('is another task each time, also for one request id', async () => {
    const client = await open(fetcher)
    const ids = await Promise.all([1, 2, 3].map(async () => (await client.callTask('quick', {}, { id: 1 })).taskId))
    expect(new Set(ids).size).toBe(3)
  })
})

/** The same answer apart from the number of the request. */
const anonymous = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer ?? null).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID'))

async function inline(client: LegacyClient, name: string, args: unknown): Promise<JsonObject> {
  const { result, error } = await client.request('tools/call', { name, arguments: args }, { unchecked: true })
  return anonymous({ result, error }) as JsonObject
}

describeCallers('what goes wrong in a call', (open) => {
  const cases: [name: string, args: unknown, statusMessage: unknown][] = [
    ['typed', {}, expect.stringContaining('Invalid arguments for typed')],
    ['typed', { count: 'many' }, expect.stringContaining('count')],
    ['typed', 'nonsense', 'Invalid params: params.arguments must be an object'],
    ['typed', [], 'Invalid params: params.arguments must be an object'],
    ['unfit', {}, expect.stringMatching(/^Internal error \(request [0-9a-f-]{36}\): the result does not fit/)],
    ['tool_error', {}, 'Out of stock'],
    ['a_throw', {}, expect.stringMatching(/^Internal error \(request [0-9a-f-]{36}\)$/)],
    ['own_code', {}, 'Own trouble'],
    ['not_found', {}, 'Resource not found: x'],
    ['prepare_refuses', {}, 'Not today'],
    ['prepare_throws', {}, expect.stringMatching(/^Internal error \(request [0-9a-f-]{36}\)$/)],
    ['prepare_protocol', {}, 'Invalid params: of prepare'],
    ['says_so', {}, 'It failed'],
    ['says_nothing', {}, undefined],
  ]

  test.for(cases)('is the failure of its task: %s %j', async ([name, args, statusMessage]) => {
    const client = await open(fetcher)
    const created = await client.result('tools/call', { name, arguments: args, task: {} }, { unchecked: true })
    const { taskId, status } = created.task!
    expect(status).toBe('working')
    const settled = await client.settled(taskId)
    expect(settled).toMatchObject({ status: 'failed' })
    expect(settled.statusMessage).toEqual(statusMessage)
    const { result, error } = await client.request('tasks/result', { taskId })
    const { _meta, ...rest } = result ?? {}
    if (result) expect({ _meta }).toEqual(related(taskId))
    expect(anonymous({ ...(result && { result: rest }), error })).toEqual(await inline(client, name, args))
    expect(result === undefined).toBe(error !== undefined)
  })

  test('is a message of bounded length', async () => {
    const client = await open(fetcher)
    const { taskId } = await client.callTask('long_story')
    const { statusMessage } = await client.settled(taskId)
    expect(statusMessage).toMatch(/^x+/)
    expect(statusMessage!.length).toBeLessThan(1_000)
    expect((await client.taskResult(taskId)).content[0]?.text).toHaveLength(10_000)
  })
})

test('a client that cannot be asked what the tool asks gets a failed task', async () => {
  const session = await taskSession(fetcher, { capabilities: {} })
  for (const name of ['asks', 'named']) {
    const { taskId } = await session.callTask(name)
    const { status, statusMessage } = await session.settled(taskId)
    expect([status, statusMessage]).toEqual(['failed', expect.stringContaining('elicitation.form')])
    expect((await session.taskResult(taskId)).isError).toBe(true)
    expect(await keysOf(taskId, 'ask:')).toEqual([])
  }
})

test('what prepares a call runs inside the task, and may ask there', async () => {
  const session = await taskSession(fetcher)
  const { taskId } = await session.callTask('named')
  await session.reached(taskId, 'input_required')
  const { asked, result } = await session.talkTask(taskId, () => ({ result: accept({ name: 'Ann' }) }))
  expect(asked.map(({ params }) => params?.['message'])).toEqual(['Who?'])
  expect(result).toEqual({ content: [{ type: 'text', text: 'Hello, Ann' }], ...related(taskId) })
})

test('what prepares a call does not keep the answer waiting', async () => {
  const go = gate()
  const slow = defineTool('slow', {
    description: 'Prepares for long.',
    task: { ...TASK, prepare: () => go.opened },
    handler: () => 'prepared',
  })
  const session = await taskSession(serve({ tools: [slow] }))
  const { taskId, status } = await session.callTask('slow')
  expect([status, (await session.task(taskId)).status]).toEqual(['working', 'working'])
  go.open()
  expect((await session.taskResult(taskId)).content).toEqual([{ type: 'text', text: 'prepared' }])
})

test('a task does not depend on the session or the request it was made in', async () => {
  const go = gate()
  let aborted: boolean | undefined
  const held = taskTool('held', async (ctx) => {
    await go.opened
    aborted = ctx.signal.aborted
    return 'done'
  })
  const session = await taskSession(serve({ tools: [held] }))
  const hangUp = new AbortController()
  const { taskId } = await session.callTask('held', {}, { signal: hangUp.signal, id: 'made-it' })
  hangUp.abort()
  await session.cancel('made-it')
  go.open()
  expect(await session.settled(taskId)).toMatchObject({ status: 'completed' })
  await eventually(() => aborted === false)
})
