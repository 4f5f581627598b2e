// How a modern call becomes a task: stored before it is answered, run afterwards, and what is answered without one.
// @see ext-tasks, Task Creation

import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool, ProtocolError, ToolError } from '../../src/server/index.ts'
import { modern, TASKS, type Fetcher } from '../support/client.ts'
import { servers } from '../support/main.ts'
import { serve } from '../support/serve.ts'
import { accept, eventually, recordOf, ring, stubOf, storedOf, taskClient, taskTool } from './support.ts'

/** A tool, and what happened to it in order. */
function noted() {
  const order: string[] = []
  const tool = taskTool('noted', () => {
    order.push('entered')
    return 'done'
  })
  return { order, tool }
}
const own = taskTool('own', () => 'done', { task: { ttlMs: 5_000, pollIntervalMs: 50 } })
const strict = defineTool('strict', {
  description: 'Takes a number.',
  inputSchema: z.object({ n: z.number(), region: z.string().meta({ 'x-mcp-header': 'Region' }).optional() }),
  requires: ['elicitation.form'],
  task: { support: 'required' },
  handler: ({ n, region }) => `${n} ${region}`,
})
const fetcher = serve({ tools: [noted().tool, own, strict] })
const client = taskClient(fetcher)

/** The binding of tasks, with another way to start one. */
function startedBy(start: (taskId: string) => unknown): typeof env.TASK {
  const get = (id: DurableObjectId) =>
    new Proxy(stubOf(id.toString()), {
      get: (stub, method) => (method === 'start' ? () => start(id.toString()) : Reflect.get(stub, method, stub)),
    })
  return new Proxy(env.TASK, {
    get: (namespace, name) =>
      name === 'get' ? get : (Reflect.get(namespace, name, namespace) as () => unknown).bind(namespace),
  })
}

/** Runs `call`, which must make no task. */
async function withoutTask<T>(call: () => Promise<T>): Promise<T> {
  const before = servers.size
  const value = await call()
  expect(servers.size).toBe(before)
  return value
}

test('a new task works, and says how long it lives and how often to ask', async () => {
  const task = await client.callTask('noted')
  expect(task).toMatchObject({
    resultType: 'task',
    taskId: expect.stringMatching(/^[0-9a-f]{64}$/),
    status: 'working',
    ttlMs: limits.defaultTaskTtlMs,
    pollIntervalMs: limits.taskPollMs,
  })
  expect(task.lastUpdatedAt).toBe(task.createdAt)
  expect(task).not.toHaveProperty('statusMessage')
  expect(Math.abs(Date.parse(task.createdAt) - Date.now())).toBeLessThan(60_000)
})

test('what its tool says of that goes first', async () => {
  expect(await client.callTask('own')).toMatchObject({ ttlMs: 5_000, pollIntervalMs: 50 })
})

test('two calls are two tasks', async () => {
  const tasks = await Promise.all([1, 2, 3].map(() => client.callTask('noted')))
  expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(3)
})

test('a task is stored before its call is answered, and entered afterwards', async () => {
  const { order, tool } = noted()
  const TASK = startedBy((taskId) => {
    order.push('started')
    return stubOf(taskId).start()
  })
  const served = serve({ tools: [tool] }, { vars: { TASK } })
  let stored: unknown
  const watched: Fetcher = async (request) => {
    const response = await served(request)
    const { result } = (await response.clone().json()) as { result?: { taskId?: string } }
    if (result?.taskId === undefined) return response
    order.push('answered')
    stored = await storedOf(result.taskId)
    return response
  }
  const { taskId } = await taskClient(watched).callTask('noted')
  expect(stored).toMatchObject({ entries: { task: { form: 'extension', name: 'noted' }, 'call:0000': {} } })
  expect((await client.settled(taskId)).status).toBe('completed')
  expect(order).toEqual(['answered', 'started', 'entered'])
})

test('a task outlives a crash at the moment its answer arrives', async () => {
  const { taskId } = await client.callTask('noted')
  await abortAllDurableObjects()
  expect(await client.task(taskId)).toMatchObject({ taskId, status: expect.stringMatching('working|completed') })
  await ring(taskId)
  expect((await client.settled(taskId)).status).toBe('completed')
})

test('a task whose start is lost begins by itself', async () => {
  const { order, tool } = noted()
  const TASK = startedBy(() => Promise.reject(new Error('the network is down')))
  const { taskId } = await taskClient(serve({ tools: [tool] }, { vars: { TASK } })).callTask('noted')
  await scheduler.wait(30)
  expect(order).toEqual([])
  expect(await client.task(taskId)).toMatchObject({ status: 'working' })
  expect(await ring(taskId)).toBe(true)
  expect((await client.settled(taskId)).status).toBe('completed')
  expect(order).toEqual(['entered'])
})

describe('without a task are answered', () => {
  test('arguments that do not fit', async () => {
    const { result } = await withoutTask(() => client.call('strict', { n: 'one' }, { unchecked: true }))
    expect(result).toMatchObject({ resultType: 'complete', isError: true })
    expect(result.content[0]!.text).toContain('n')
  })

  test('a tool there is none of, and arguments that are no object', async () => {
    const unknown = await withoutTask(() => client.error('tools/call', { name: 'nobody' }))
    expect(unknown).toMatchObject({ code: -32602, message: 'Unknown tool: nobody' })
    const malformed = await withoutTask(() => client.error('tools/call', { name: 'strict', arguments: [] }))
    expect(malformed).toMatchObject({ code: -32602 })
  })

  test('a client that cannot be asked what the tool will ask', async () => {
    const mute = modern(fetcher, { capabilities: TASKS })
    const error = await withoutTask(() => mute.error('tools/call', { name: 'strict', arguments: { n: 1 } }))
    const data = { requiredCapabilities: { elicitation: { form: {} } } }
    expect(error).toMatchObject({ status: 400, code: -32021, data })
  })

  test('headers that do not repeat the arguments', async () => {
    const params = { name: 'strict', arguments: { n: 1, region: 'north' } }
    for (const headers of [{}, { 'mcp-param-region': 'south' }]) {
      const error = await withoutTask(() => client.error('tools/call', params, { headers }))
      expect(error).toMatchObject({ status: 400, code: -32020 })
    }
    const { taskId } = await client.callTask('strict', params.arguments)
    expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: '1 north' }])
  })
})

test('a task of a client that left before it was answered is cancelled, and never entered', async () => {
  const order: string[] = []
  const leaving = new AbortController()
  const slow = defineTool('slow', {
    description: 'Prepares until its client has left.',
    task: {
      support: 'required',
      async prepare(_input, ctx) {
        order.push('prepared')
        while (!ctx.signal.aborted) await scheduler.wait(1)
      },
    },
    handler: () => void order.push('entered'),
  })
  const leaver = taskClient(serve({ tools: [slow] }))
  const before = servers.size
  const call = leaver.callTask('slow', undefined, { signal: leaving.signal })
  const answered = call.catch(() => 'nothing')
  await eventually(() => order.includes('prepared'))
  leaving.abort()
  await eventually(() => servers.size > before)
  const taskId = [...servers.keys()].at(-1)!
  await eventually(async () => (await recordOf(taskId))?.state.phase === 'cancelled')
  await answered
  await ring(taskId)
  expect(order).toEqual(['prepared'])
})

describe('prepare', () => {
  const prepared = <P>(prepare: (ctx: never) => P | Promise<P>) =>
    defineTool('prepared', {
      description: 'Shows what was prepared.',
      task: { support: 'optional', prepare: (_input, ctx) => prepare(ctx as never) },
      handler: (_input, _ctx, value) => JSON.stringify([value]),
    })
  const textOfTask = async (tool: ReturnType<typeof prepared>): Promise<string | undefined> => {
    const own = taskClient(serve({ tools: [tool] }))
    const { taskId } = await own.callTask('prepared')
    return (await own.settled(taskId)).result?.content[0]?.text
  }

  const order: string[] = []
  const asking = defineTool('asking', {
    description: 'Asks before the task and inside it.',
    inputSchema: z.object({ greeting: z.string() }),
    task: {
      support: 'optional',
      async prepare({ greeting }, ctx) {
        order.push('prepared')
        const answer = await ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) })
        return { greeting, name: answer.content?.name ?? 'stranger' }
      },
    },
    handler(input, _ctx, { greeting, name }) {
      order.push('entered')
      return `${input.greeting} ${greeting} ${name}`
    },
  })
  const answers = { name: accept({ name: 'Ada' }) }

  test('asks the client before there is a task, whose handler gets what it came to', async () => {
    order.length = 0
    const own = taskClient(serve({ tools: [asking] }))
    const [args, before] = [{ greeting: 'Hello' }, servers.size]
    const round = await own.request('tools/call', { name: 'asking', arguments: args })
    expect(round.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { name: { method: 'elicitation/create' } },
    })
    expect(servers.size).toBe(before)
    const { rounds, result } = await own.answer('asking', args, { answers })
    expect(rounds).toHaveLength(1)
    expect(result).toMatchObject({ resultType: 'task', status: 'working' })
    expect(result).not.toHaveProperty('requestState')
    expect(result).not.toHaveProperty('inputRequests')
    const task = await own.settled(result.taskId!)
    expect(task.result?.content).toEqual([{ type: 'text', text: 'Hello Hello Ada' }])
    expect(order).toEqual(['prepared', 'prepared', 'prepared', 'entered'])
  })

  test('runs before the handler where the call becomes no task', async () => {
    order.length = 0
    const own = modern(serve({ tools: [asking] }), { capabilities: { elicitation: { form: {} } } })
    const { result } = await own.answer('asking', { greeting: 'Hi' }, { answers })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'Hi Hi Ada' }] })
    expect(order).toEqual(['prepared', 'prepared', 'entered'])
  })

  test('does not run again when the handler is entered again', async () => {
    let [prepares, entries] = [0, 0]
    const tool = defineTool('prepared', {
      description: 'Is entered twice.',
      task: { support: 'required', prepare: () => ++prepares },
      async handler(_input, _ctx, value) {
        if (++entries === 1) await new Promise(() => {})
        return `prepared ${value}`
      },
    })
    const own = taskClient(serve({ tools: [tool] }))
    const { taskId } = await own.callTask('prepared')
    await eventually(() => entries === 1)
    await abortAllDurableObjects()
    await ring(taskId)
    expect((await own.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'prepared 1' }])
    expect([prepares, entries]).toEqual([1, 2])
  })

  test.for<[string, unknown]>([
    ['[null]', undefined],
    ['[null]', null],
    ['[0]', 0],
    ['[""]', ''],
    ['[{"a":[1,{"b":"ü"}]}]', { a: [1, { b: 'ü' }], c: undefined }],
    ['["1970-01-01T00:00:00.000Z"]', new Date(0)],
  ])('hands over %s as JSON', async ([text, value]) => {
    expect(await textOfTask(prepared(() => value))).toBe(text)
  })

  test.for<[string, unknown]>([
    ['a function', () => {}],
    ['a symbol', Symbol('x')],
    ['a bigint', 1n],
  ])('may not come to %s', async ([, value]) => {
    const tool = prepared(() => value)
    const own = taskClient(serve({ tools: [tool] }))
    const { result } = await withoutTask(() => own.call('prepared'))
    expect(result).toMatchObject({ resultType: 'complete', isError: true })
    expect(result.content[0]!.text).toMatch(/^Internal error \(request [\w-]+\)$/)
  })

  test('may refuse: with ToolError for the model, with ProtocolError for the client', async () => {
    const refusing = (error: Error) =>
      taskClient(
        serve({
          tools: [
            prepared(() => {
              throw error
            }),
          ],
        }),
      )
    const closed = refusing(new ToolError('The shop is closed'))
    const { result } = await withoutTask(() => closed.call('prepared'))
    const text = [{ type: 'text', text: 'The shop is closed' }]
    expect(result).toMatchObject({ resultType: 'complete', isError: true, content: text })
    const none = refusing(new ProtocolError(7, 'No such shop', { shop: 1 }))
    const error = await withoutTask(() => none.error('tools/call', { name: 'prepared' }))
    expect(error).toMatchObject({ status: 200, code: 7, message: 'No such shop', data: { shop: 1 } })
    const failing = refusing(new TypeError('secret'))
    const broken = await withoutTask(() => failing.call('prepared'))
    expect(broken.result.content[0]!.text).toMatch(/^Internal error \(request [\w-]+\)$/)
  })

  test('may ask what the client cannot show, which refuses the call', async () => {
    const own = modern(serve({ tools: [asking] }), { capabilities: TASKS })
    const error = await withoutTask(() => own.error('tools/call', { name: 'asking', arguments: { greeting: 'Hi' } }))
    const data = { requiredCapabilities: { elicitation: { form: {} } } }
    expect(error).toMatchObject({ status: 400, code: -32021, data })
  })
})
