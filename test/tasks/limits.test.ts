// Every cap on what one task, or one principal, may take: at it, and one over it.

import * as z from 'zod'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { runInDurableObject } from 'cloudflare:test'
import { limits } from '../../src/limits.ts'
import { defineTool, type CallContext } from '../../src/server/index.ts'
import type { JsonObject, ModernClient } from '../support/client.ts'
import { servers } from '../support/main.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  as,
  askOf,
  byHeader,
  eventually,
  hibernate,
  keysOf,
  later,
  NOTHING,
  parked,
  ring,
  storedOf,
  stubOf,
  taskClient,
  taskTool,
  update,
  withLimits,
} from './support.ts'

const Note = z.object({ note: z.string() })

/** What the tools below are told to do. */
let sizes: number[] = []
let asks = 0
let lines: string[] = []

beforeEach(() => {
  lines = []
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line))
})

/** Text whose JSON has so many bytes. */
const json = (bytes: number): string => 'x'.repeat(bytes - 2)

const step = (ctx: CallContext, i: number) => ctx.step(`step ${i}`, () => json(sizes[i]! - 2))
const note = (ctx: CallContext, key: string) => ctx.elicit(key, { message: key, schema: Note })

const echo = defineTool('echo', {
  description: 'Says how long its text is, also when it is entered again.',
  inputSchema: z.object({ text: z.string() }),
  task: { support: 'required' },
  async handler({ text }, ctx) {
    await note(ctx, 'go')
    return `${text.length} ${text.at(-1)}`
  },
})
const fetcher = serve(
  {
    tools: [
      echo,
      taskTool('steps', async (ctx) => {
        for (let i = 0; i < sizes.length; i++) await step(ctx, i)
        return 'all of them'
      }),
      taskTool('steps_around_an_ask', async (ctx) => {
        for (let i = 0; i < 3; i++) await step(ctx, i)
        await note(ctx, 'note')
        for (let i = 3; i < sizes.length; i++) await step(ctx, i)
        return 'all of them'
      }),
      taskTool('sleeps', async (ctx) => {
        for (let i = 0; i < sizes.length; i++) await ctx.sleep(0, `sleep ${i}`)
        return 'all of them'
      }),
      taskTool('careful', async (ctx) => {
        const failed: string[] = []
        for (let i = 0; i < sizes.length; i++) await step(ctx, i).catch(() => failed.push(`step ${i}`))
        return failed.join()
      }),
      taskTool('result', () => json(sizes[0]!)),
      taskTool('asks', async (ctx) => {
        const all = Array.from({ length: asks }, (_, i) => note(ctx, `ask ${i}`))
        const answers = await Promise.allSettled(all)
        return answers.map((each) => (each.status === 'fulfilled' ? each.value.action : String(each.reason))).join()
      }),
      taskTool('waits', async (ctx) => void (await note(ctx, 'note'))),
      taskTool('says_length', async (ctx) => {
        const [a, b] = await Promise.all([note(ctx, 'a'), note(ctx, 'b')])
        return `${a.content?.note.length} ${b.content?.note.length}`
      }),
      taskTool('short', async (ctx) => void (await note(ctx, 'note')), { task: { ttlMs: 60_000 } }),
    ],
  },
  { authenticate: byHeader },
)
const client = taskClient(fetcher)

const begin = async (name: string): Promise<string> => (await client.callTask(name)).taskId
const ended = async (name: string) => client.settled(await begin(name))
const textOf = async (taskId: string) => (await client.settled(taskId)).result?.content[0]?.text
const failureIn = (): string => lines.map((line) => (JSON.parse(line) as { error: string }).error).join()

describe('steps', () => {
  test.for(['steps', 'sleeps'])('and sleeps may be so many: %s', async (name) => {
    withLimits({ taskSteps: 3 })
    sizes = [10, 10, 10]
    expect((await ended(name)).result?.content[0]?.text).toBe('all of them')
    expect(lines).toEqual([])
    sizes = [10, 10, 10, 10]
    const taskId = await begin(name)
    expect(await textOf(taskId)).toMatch(/^Internal error/)
    expect(failureIn()).toContain(`${name.slice(0, -1)} 3' is over the 3 steps of a task`)
    expect(await keysOf(taskId, name === 'steps' ? 'step:' : 'sleep:')).toHaveLength(3)
  })

  test('may come to so many bytes each', async () => {
    withLimits({ eventBytes: 100 })
    sizes = [100]
    expect((await ended('steps')).result?.isError).toBeUndefined()
    sizes = [101]
    const taskId = await begin('steps')
    expect(await textOf(taskId)).toMatch(/^Internal error/)
    expect(failureIn()).toContain("the result of step 'step 0' has 101 bytes, and only 100 can be kept")
    expect(await keysOf(taskId, 'step:')).toEqual([])
  })

  test('may come to so many bytes together', async () => {
    withLimits({ taskStepBytes: 100 })
    sizes = [50, 50]
    expect((await ended('steps')).result?.isError).toBeUndefined()
    sizes = [50, 51]
    const taskId = await begin('steps')
    expect(await textOf(taskId)).toMatch(/^Internal error/)
    expect(failureIn()).toContain("the result of step 'step 1' has 51 bytes, and only 50 can be kept")
    expect(await keysOf(taskId, 'step:')).toEqual(['step 0'])
  })

  test.for<[string, Partial<typeof limits>]>([
    ['in number', { taskSteps: 4 }],
    ['in bytes', { taskStepBytes: 40 }],
  ])('are counted over all entries of the handler: %s', async ([, cap]) => {
    withLimits(cap)
    for (const [more, outcome] of [
      [1, 'all of them'],
      [2, expect.stringMatching(/^Internal error/)],
    ] as const) {
      sizes = Array.from({ length: 3 + more }, () => 10)
      const taskId = await begin('steps_around_an_ask')
      await parked(taskId)
      await hibernate(taskId)
      await update(client, taskId, { note: { action: 'decline' } })
      expect(await textOf(taskId)).toEqual(outcome)
      expect(await keysOf(taskId, 'step:')).toHaveLength(4)
    }
  })

  test('that came to more can be caught, and the task goes on', async () => {
    withLimits({ eventBytes: 100 })
    sizes = [10, 101, 10]
    const taskId = await begin('careful')
    expect(await textOf(taskId)).toBe('step 1')
    expect(await keysOf(taskId, 'step:')).toEqual(['step 0', 'step 2'])
  })

  test('that are as large as they may be are kept by the platform', async () => {
    sizes = [limits.eventBytes, limits.eventBytes]
    const taskId = await begin('steps')
    expect(await textOf(taskId)).toBe('all of them')
    const { entries } = await storedOf(taskId)
    expect((entries['step:step 1'] as Uint8Array).byteLength).toBe(limits.eventBytes)
  })
})

describe('a result', () => {
  test('may have so many bytes; a larger one is a failure that says so', async () => {
    const frame = JSON.stringify({ content: [{ type: 'text', text: '' }] }).length
    withLimits({ taskResultBytes: 1_000 })
    sizes = [1_000 - frame + 2]
    const fitting = await ended('result')
    expect(fitting.result?.isError).toBeUndefined()
    expect(JSON.stringify({ content: fitting.result!.content })).toHaveLength(1_000)
    sizes = [1_001 - frame + 2]
    const task = await ended('result')
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(task.result!.content).toEqual([
      { type: 'text', text: 'The result has 1001 bytes, and only 1000 can be kept: ask for less at once.' },
    ])
  })

  test('of 5 MB is kept in pieces', async () => {
    sizes = [5_000_000]
    const taskId = await begin('result')
    expect(await textOf(taskId)).toBe(json(5_000_000))
    expect(await keysOf(taskId, 'outcome:')).toEqual(['0000', '0001', '0002', '0003'])
    await hibernate(taskId)
    expect(await textOf(taskId)).toBe(json(5_000_000))
  })
})

test('arguments of 3 MB are kept in pieces, also in the middle of a character', async () => {
  for (const text of ['x'.repeat(3_000_000), `${'€'.repeat(999_999)}xx`]) {
    const { taskId } = await client.callTask('echo', { text })
    await client.reached(taskId, 'input_required')
    await parked(taskId)
    expect(await keysOf(taskId, 'call:')).toEqual(['0000', '0001', '0002'])
    await hibernate(taskId)
    await update(client, taskId, { go: accept({ note: 'on' }) })
    expect(await textOf(taskId)).toBe(`${text.length} x`)
  }
})

describe('open asks', () => {
  test('may be so many; one more is a failure the tool can read', async () => {
    withLimits({ taskAsks: 3 })
    asks = 4
    const taskId = await begin('asks')
    await parked(taskId)
    const keys = Object.keys((await client.task(taskId)).inputRequests!)
    expect(keys).toEqual(['ask 0', 'ask 1', 'ask 2'])
    await update(client, taskId, Object.fromEntries(keys.map((key) => [key, { action: 'decline' }])))
    const refused = 'ToolError: The user cannot be asked now: 3 asks of this task are open already'
    expect(await textOf(taskId)).toBe(`decline,decline,decline,${refused}`)
  })

  test('that were answered leave their place', async () => {
    withLimits({ taskAsks: 1 })
    const tool = taskTool('in_turn', async (ctx) => {
      for (const key of ['a', 'b', 'c']) await note(ctx, key)
      return 'asked'
    })
    const own = taskClient(serve({ tools: [tool] }))
    const { taskId } = await own.callTask('in_turn')
    for (const key of ['a', 'b', 'c']) {
      await eventually(async () => key in ((await own.task(taskId)).inputRequests ?? {}))
      await update(own, taskId, { [key]: { action: 'decline' } })
    }
    expect((await own.settled(taskId)).result?.content[0]?.text).toBe('asked')
  })
})

describe('an answer that is too large to keep', () => {
  /** An answer with so many bytes. */
  const sized = (bytes: number): JsonObject => {
    const frame = JSON.stringify(accept({ note: '' })).length
    return accept({ note: 'x'.repeat(bytes - frame) })
  }

  test.for(['awake', 'asleep'])('is refused by its key, and the question stays, the task being %s', async (mode) => {
    const taskId = await begin('says_length')
    await parked(taskId)
    if (mode === 'asleep') await hibernate(taskId)
    const before = await storedOf(taskId)
    const inputResponses = { a: accept({ note: 'fits' }), b: sized(limits.eventBytes + 1) }
    const error = await client.error('tasks/update', { taskId, inputResponses })
    expect(error).toMatchObject({ status: 200, code: -32602 })
    expect(error.message).toContain('"b"')
    expect(await storedOf(taskId)).toEqual(before)
    expect(Object.keys((await client.task(taskId)).inputRequests!)).toEqual(['a', 'b'])
    await update(client, taskId, { b: sized(limits.eventBytes) })
    await update(client, taskId, { a: accept({ note: 'fits' }) })
    expect(await textOf(taskId)).toMatch(/^4 1899\d{3}$/)
  })

  test('and to nothing that is asked is ignored', async () => {
    const taskId = await begin('waits')
    await parked(taskId)
    await update(client, taskId, { nothing: sized(limits.eventBytes + 1) })
    expect(await askOf(taskId, 'note')).toMatchObject({ isOpen: true })
  })

  test('is so with all that came before as well', async () => {
    withLimits({ taskStepBytes: 1_000 })
    const tool = taskTool('twice', async (ctx) => {
      await note(ctx, 'a')
      await note(ctx, 'b')
      return 'asked'
    })
    const own = taskClient(serve({ tools: [tool] }))
    const { taskId } = await own.callTask('twice')
    await own.reached(taskId, 'input_required')
    await update(own, taskId, { a: sized(600) })
    await eventually(async () => 'b' in ((await own.task(taskId)).inputRequests ?? {}))
    const error = await own.error('tasks/update', { taskId, inputResponses: { b: sized(401) } })
    expect(error.message).toContain('"b"')
    await update(own, taskId, { b: sized(400) })
    expect((await own.settled(taskId)).status).toBe('completed')
  })

  test('is so by its bytes as they are kept, of which the platform takes 2 MB', async () => {
    const taskId = await begin('waits')
    await parked(taskId)
    const size = () => runInDurableObject(stubOf(taskId), (_object, { storage }) => storage.sql.databaseSize)
    const before = await size()
    const wide = accept({ note: `${'x'.repeat(limits.eventBytes - 100)}€` })
    await client.request('tasks/update', { taskId, inputResponses: { note: wide } })
    expect((await size()) - before).toBeLessThan(2_000_000)
  })
})

describe('open tasks of a principal', () => {
  const of = (principal: string): ModernClient => taskClient(fetcher, as(principal))
  const TOO_MANY = { status: 400, code: -32600 }
  const tooMany = (own: ModernClient) => own.error('tools/call', { name: 'waits' })

  test('may be so many, and one more is refused without a trace', async () => {
    withLimits({ principalTasks: 2 })
    const own = of('ada')
    await own.callTask('waits')
    await own.callTask('waits')
    const error = await tooMany(own)
    expect(error).toMatchObject(TOO_MANY)
    expect(error.message).toContain('too many tasks')
    expect(await storedOf([...servers.keys()].at(-1)!)).toEqual(NOTHING)
  })

  test('are counted for each, and for nobody that is anonymous', async () => {
    withLimits({ principalTasks: 1 })
    await of('bob').callTask('waits')
    await of('eve').callTask('waits')
    for (let i = 0; i < 3; i++) await client.callTask('waits')
    expect(await tooMany(of('bob'))).toMatchObject(TOO_MANY)
    expect(await tooMany(of('eve'))).toMatchObject(TOO_MANY)
  })

  test('count no longer once they have ended, were cancelled or have expired', async () => {
    withLimits({ principalTasks: 1 })
    const own = of('fay')
    const first = await own.callTask('waits')
    await own.reached(first.taskId, 'input_required')
    await update(own, first.taskId, { note: { action: 'decline' } })
    await own.settled(first.taskId)
    await eventually(async () => (await own.request('tools/call', { name: 'waits' })).result !== undefined)
    const { taskId } = { taskId: [...servers.keys()].at(-1)! }
    expect(await tooMany(own)).toMatchObject(TOO_MANY)
    await own.result('tasks/cancel', { taskId })
    await eventually(async () => (await own.request('tools/call', { name: 'short' })).result !== undefined)
    expect(await tooMany(own)).toMatchObject(TOO_MANY)
    later(60_001)
    expect((await own.callTask('short')).status).toBe('working')
  })

  test('leave an ordinary call alone', async () => {
    withLimits({ principalTasks: 0 })
    const { result } = await taskClient(fetcher, as('gil')).request('tools/call', { name: 'echo', arguments: {} })
    expect(result).toMatchObject({ isError: true, resultType: 'complete' })
  })
})

test('every entry of a task that was refused, or is large, ends with it', async () => {
  sizes = [5_000_000]
  const taskId = await begin('result')
  await client.settled(taskId)
  later(limits.defaultTaskTtlMs + 1)
  await ring(taskId)
  expect(await storedOf(taskId)).toEqual(NOTHING)
})
