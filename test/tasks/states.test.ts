// What a modern task says of itself from its start to its end. @see ext-tasks, Task Status; Task Polling

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { defineTool, ProtocolError, ToolError } from '../../src/server/index.ts'
import { modern, RELATED_TASK, type ModernTask } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { eventually, keysOf, ring, storedOf, taskClient, taskTool } from './support.ts'

const INFO = { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1.0.0' } }

/** Where handlers are told to go on. */
let mayGo = new Set<string>()

/** Polls, so that nothing of one object waits for anything of another. */
async function until(name: string): Promise<void> {
  while (!mayGo.has(name)) await scheduler.wait(2)
}

const structured = defineTool('structured', {
  description: 'Comes to a value.',
  outputSchema: z.object({ sum: z.number() }),
  task: { support: 'optional' },
  handler: () => ({ sum: 3 }),
})
const misfit = defineTool('misfit', {
  description: 'Comes to another value than it said.',
  outputSchema: z.object({ sum: z.number().max(2) }),
  task: { support: 'optional' },
  handler: () => ({ sum: 3 }),
})
const throwing = (name: string, error: unknown) =>
  taskTool(name, () => {
    throw error
  })
const tools = [
  structured,
  misfit,
  taskTool('text', () => 'fine'),
  taskTool('failing', () => ({ content: [{ type: 'text', text: 'no' }], isError: true })),
  throwing('refusing', new ToolError('The shop is closed')),
  throwing('protocol', new ProtocolError('InvalidParams', 'No such shop', { shop: [1] })),
  throwing('own_code', new ProtocolError(7, 'Out of stock')),
  throwing('broken', new TypeError('secret')),
  throwing('thrown', 'secret'),
  taskTool('no_json', () => ({ content: [{ type: 'text', text: '1' }], structuredContent: { n: 1n } })),
  taskTool('malformed', () => ({ content: [{ type: 'nonsense' }] })),
  taskTool('untidy', (ctx) => {
    const rest = async (): Promise<void> => {
      await until('end')
      ctx.progress(1, 1, 'late')
      void ctx.step('late', () => 'late')
      void ctx.sleep(60_000)
      void ctx.elicit('late ask', { message: 'Late?', schema: z.object({}) })
      mayGo.add('over')
    }
    void rest()
    return 'done'
  }),
  taskTool('steady', async (ctx) => {
    ctx.progress(1, 4, 'first page')
    await until('second')
    ctx.progress(2, 4)
    await until('third')
    ctx.progress(3)
    await until('fourth')
    ctx.progress(3, 4, 'not more than before')
    ctx.progress(2, 4, 'less than before')
    ctx.progress(Number.NaN, 4, 'no number')
    await until('fifth')
    ctx.progress(4, 4, 'x'.repeat(10_000))
    await until('end')
    return 'done'
  }),
]
const fetcher = serve({ tools })
const client = taskClient(fetcher)

/** The task a call of `name` ended as. */
async function ended(name: string): Promise<ModernTask> {
  return client.settled((await client.callTask(name)).taskId)
}

describe('progress becomes the status message', () => {
  test('of a task that works; of one that succeeded there is none', async () => {
    mayGo = new Set()
    const { taskId, createdAt } = await client.callTask('steady')
    const says = async (message: string): Promise<ModernTask> => {
      await eventually(async () => (await client.task(taskId)).statusMessage === message)
      return client.task(taskId)
    }
    const first = await says('first page')
    expect(first).toMatchObject({ resultType: 'complete', taskId, status: 'working', createdAt })
    for (const member of ['result', 'error', 'inputRequests', 'requestState']) expect(first).not.toHaveProperty(member)
    mayGo.add('second')
    const second = await says('2 of 4')
    expect(Date.parse(second.lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(first.lastUpdatedAt))
    expect(second.createdAt).toBe(createdAt)
    mayGo.add('third')
    await says('3')
    mayGo.add('fourth')
    await scheduler.wait(20)
    expect((await client.task(taskId)).statusMessage).toBe('3')
    mayGo.add('fifth')
    await eventually(async () => (await client.task(taskId)).statusMessage!.startsWith('xxx'))
    expect((await client.task(taskId)).statusMessage!.length).toBeLessThan(1_000)
    mayGo.add('end')
    const task = await client.settled(taskId)
    expect(task).toMatchObject({ status: 'completed', createdAt })
    expect(task).not.toHaveProperty('statusMessage')
  })

  test('and is sent to nobody, not even with a token', async () => {
    mayGo = new Set()
    const { result, notifications } = await client.request('tools/call', { name: 'steady' }, { progressToken: 'token' })
    expect([result?.resultType, notifications]).toEqual(['task', []])
    mayGo = new Set(['second', 'third', 'fourth', 'fifth', 'end'])
    const last = await client.settled(result?.taskId as string)
    expect(last.status).toBe('completed')
    expect(JSON.stringify(last)).not.toContain('token')
  })
})

describe('a task is completed', () => {
  test('with the very result that an ordinary call would have had', async () => {
    for (const name of ['text', 'structured', 'failing', 'refusing', 'misfit']) {
      const task = await ended(name)
      expect(task, name).toMatchObject({ resultType: 'complete', status: 'completed' })
      expect(task, name).not.toHaveProperty('error')
      const { result } = await modern(fetcher).call(name)
      const unnumbered = (value: unknown) => JSON.stringify(value).replace(/request [\w-]+/, 'request')
      expect(unnumbered(task.result), name).toEqual(unnumbered(result))
    }
  })

  test('with the marks of a result, and none that says which task it is of', async () => {
    const task = await ended('structured')
    expect(task.result).toEqual({
      content: [{ type: 'text', text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
      resultType: 'complete',
      _meta: INFO,
    })
    expect(task._meta).toEqual(INFO)
    expect(JSON.stringify(task)).not.toContain(RELATED_TASK)
  })

  test.for([
    ['failing', 'no'],
    ['refusing', 'The shop is closed'],
  ] as const)('also when its result is an error: %s', async ([name, text]) => {
    const task = await ended(name)
    expect(task).toMatchObject({ status: 'completed', result: { isError: true }, statusMessage: text })
    expect(task.result!.content).toEqual([{ type: 'text', text }])
  })

  test.for(['broken', 'thrown', 'malformed'])('also when it breaks, which is not explained: %s', async (name) => {
    const task = await ended(name)
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(task.result!.content[0]!.text).toMatch(/^Internal error \(request [\w-]+\)$/)
    expect(JSON.stringify(task)).not.toContain('secret')
  })
})

describe('a task has failed', () => {
  test.for([
    ['protocol', { code: -32602, message: 'No such shop', data: { shop: [1] } }],
    ['own_code', { code: 7, message: 'Out of stock' }],
  ] as const)('with the very error that an ordinary call would have had: %s', async ([name, error]) => {
    const task = await ended(name)
    expect(task).toMatchObject({ resultType: 'complete', status: 'failed', statusMessage: error.message })
    expect(task.error).toEqual(error)
    expect(task).not.toHaveProperty('result')
    const { status: _, ...inline } = await modern(fetcher).error('tools/call', { name })
    expect(task.error).toEqual(inline)
  })

  test('when its result is no JSON', async () => {
    const task = await ended('no_json')
    expect(task).toMatchObject({ status: 'failed', error: { code: -32603 } })
    expect(task.error!.message).toMatch(/^Internal error/)
  })
})

test('what is at its end stays there, whatever rings or is sent', async () => {
  const task = await ended('text')
  expect(
    await client.result('tasks/update', { taskId: task.taskId, inputResponses: { a: { action: 'cancel' } } }),
  ).toEqual({
    resultType: 'complete',
    _meta: INFO,
  })
  await client.result('tasks/cancel', { taskId: task.taskId })
  await ring(task.taskId)
  expect(await client.task(task.taskId)).toEqual(task)
  expect(await keysOf(task.taskId, 'outcome:')).toEqual(['0000'])
})

test('what a handler left running when it returned changes nothing', async () => {
  mayGo = new Set()
  const { taskId } = await ended('untidy')
  const before = await storedOf(taskId)
  mayGo.add('end')
  await until('over')
  await scheduler.wait(20)
  expect(await storedOf(taskId)).toEqual(before)
})
