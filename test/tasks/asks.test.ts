// Asking from inside a modern task: what is outstanding, which answers count, and what happens without any.
// @see ext-tasks, Task Update Requests

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool, type CallContext } from '../../src/server/index.ts'
import { modern, TASKS, type JsonObject, type ModernTask } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  askOf,
  eventually,
  hibernate,
  keysOf,
  later,
  parked,
  ring,
  storedOf,
  taskClient,
  taskTool,
  update,
} from './support.ts'

const Name = z.object({ name: z.string().min(2) })
const nameOf = async (ctx: CallContext, key: string): Promise<string> => {
  const answer = await ctx.elicit(key, { message: `${key}?`, schema: Name })
  return answer.content?.name ?? answer.action
}

const tools = [
  taskTool('one', (ctx) => nameOf(ctx, 'name')),
  taskTool('two', async (ctx) => (await Promise.all([nameOf(ctx, 'first'), nameOf(ctx, 'second')])).join(' ')),
  taskTool('slow_second', async (ctx) => {
    const second = scheduler.wait(30).then(() => nameOf(ctx, 'second'))
    return (await Promise.all([nameOf(ctx, 'first'), second])).join(' ')
  }),
  taskTool('in_turn', async (ctx) => `${await nameOf(ctx, 'first')} ${await nameOf(ctx, 'second')}`),
  taskTool('roots', async (ctx) => {
    const { roots } = await ctx.inputRequest('roots', { method: 'roots/list' })
    return roots.map(({ uri }) => uri).join()
  }),
  taskTool('sampling', async (ctx) => {
    const content = { type: 'text', text: 'Hi' } as const
    const params = { messages: [{ role: 'user' as const, content }], maxTokens: 10 }
    return (await ctx.inputRequest('model', { method: 'sampling/createMessage', params })).model
  }),
  taskTool('link', async (ctx) => {
    const answer = await ctx.elicitUrl('pay', { message: 'Pay', url: (id) => `https://example.com/pay/${id}` })
    return `${answer.action} ${answer.id}`
  }),
  taskTool('racing', async (ctx) => {
    void nameOf(ctx, 'name')
    while (!mayEnd) await scheduler.wait(2)
    return 'without an answer'
  }),
  taskTool('in_step', (ctx) => ctx.step('step', () => nameOf(ctx, 'name'))),
  taskTool('same_key', async (ctx) => (await Promise.all([nameOf(ctx, 'name'), nameOf(ctx, 'name')])).join()),
  taskTool('impatient', (ctx) => nameOf(ctx, 'name'), { askTtlMs: 60_000 }),
  taskTool('impatient_roots', async (ctx) => String(await ctx.inputRequest('roots', { method: 'roots/list' })), {
    askTtlMs: 60_000,
  }),
  taskTool('impatient_two', async (ctx) => (await Promise.all([nameOf(ctx, 'a'), nameOf(ctx, 'b')])).join(' '), {
    askTtlMs: 60_000,
  }),
]
let mayEnd = false
const fetcher = serve({ tools })
const client = taskClient(fetcher)

/** A task of `name` that waits. */
async function asking(name: string): Promise<ModernTask> {
  const { taskId } = await client.callTask(name)
  return client.reached(taskId, 'input_required')
}

/** Answers that break their schema on purpose. */
const misfit = (taskId: string, inputResponses: JsonObject) =>
  client.request('tasks/update', { taskId, inputResponses }, { unchecked: true })

const keys = ({ inputRequests = {} }: ModernTask): string[] => Object.keys(inputRequests)
const textOf = ({ result }: ModernTask): string | undefined => result?.content[0]?.text
const endOf = async (taskId: string): Promise<string | undefined> => textOf(await client.settled(taskId))

describe('a task that asks', () => {
  test('is input_required, and says what it asks until it is answered', async () => {
    const task = await asking('one')
    expect(task).toMatchObject({ resultType: 'complete', status: 'input_required' })
    expect(task.inputRequests).toEqual({
      name: {
        method: 'elicitation/create',
        params: {
          mode: 'form',
          message: 'name?',
          requestedSchema: expect.objectContaining({ type: 'object', required: ['name'] }),
        },
      },
    })
    for (const member of ['result', 'error', 'requestState']) expect(task).not.toHaveProperty(member)
    expect(await client.task(task.taskId)).toEqual(task)
    const { _meta, ...rest } = await update(client, task.taskId, { name: accept({ name: 'Ada' }) })
    expect(rest).toEqual({ resultType: 'complete' })
    expect(await endOf(task.taskId)).toBe('Ada')
  })

  test('works again after its answer, and has no requests then', async () => {
    const { taskId } = await asking('in_turn')
    await update(client, taskId, { first: accept({ name: 'Ada' }) })
    await eventually(async () => keys(await client.task(taskId)).includes('second'))
    expect(keys(await client.task(taskId))).toEqual(['second'])
    await update(client, taskId, { second: accept({ name: 'Eve' }) })
    const task = await client.settled(taskId)
    expect(textOf(task)).toBe('Ada Eve')
    expect(task).not.toHaveProperty('inputRequests')
  })

  test('for roots', async () => {
    const task = await asking('roots')
    expect(task.inputRequests).toEqual({ roots: { method: 'roots/list' } })
    await update(client, task.taskId, { roots: { roots: [{ uri: 'file:///a' }] } })
    expect(await endOf(task.taskId)).toBe('file:///a')
  })

  test('for a model completion', async () => {
    const task = await asking('sampling')
    expect(task.inputRequests).toMatchObject({ model: { method: 'sampling/createMessage', params: { maxTokens: 10 } } })
    const content = { type: 'text', text: 'Hello' }
    await update(client, task.taskId, { model: { role: 'assistant', model: 'm-1', content } })
    expect(await endOf(task.taskId)).toBe('m-1')
  })

  test('to follow a link, which stays the same when it is entered again', async () => {
    const task = await asking('link')
    const { pay } = task.inputRequests!
    expect(pay!.params).toEqual({ mode: 'url', message: 'Pay', url: expect.stringMatching(/\/pay\/[0-9a-f-]{36}$/) })
    await parked(task.taskId)
    await hibernate(task.taskId)
    expect((await client.task(task.taskId)).inputRequests).toEqual({ pay })
    await update(client, task.taskId, { pay: { action: 'accept' } })
    expect(await endOf(task.taskId)).toBe(`accept ${pay!.params.url!.split('/').at(-1)}`)
  })

  test('and ends without waiting for the answer takes its question back', async () => {
    mayEnd = false
    const { taskId } = await asking('racing')
    mayEnd = true
    const task = await client.settled(taskId)
    expect(textOf(task)).toBe('without an answer')
    expect(task).not.toHaveProperty('inputRequests')
    await update(client, taskId, { name: accept({ name: 'Ada' }) })
    expect(await client.task(taskId)).toEqual(task)
  })
})

describe('two questions at once', () => {
  test('are both outstanding, oldest first', async () => {
    const task = await asking('two')
    await eventually(async () => keys(await client.task(task.taskId)).length === 2)
    expect(keys(await client.task(task.taskId))).toEqual(['first', 'second'])
  })

  test('may be answered together', async () => {
    const { taskId } = await asking('two')
    await parked(taskId)
    await update(client, taskId, { second: accept({ name: 'Eve' }), first: accept({ name: 'Ada' }) })
    expect(await endOf(taskId)).toBe('Ada Eve')
  })

  test.for(['awake', 'asleep'])('may be answered one by one, the task being %s', async (mode) => {
    const { taskId } = await asking('two')
    await parked(taskId)
    if (mode === 'asleep') await hibernate(taskId)
    await update(client, taskId, { second: accept({ name: 'Eve' }) })
    const task = await client.task(taskId)
    expect([task.status, keys(task)]).toEqual(['input_required', ['first']])
    if (mode === 'asleep') {
      await parked(taskId)
      await hibernate(taskId)
    }
    await update(client, taskId, { first: accept({ name: 'Ada' }) })
    expect(await endOf(taskId)).toBe('Ada Eve')
  })
})

test('an answer may come before the handler, entered again, has come to its question', async () => {
  const { taskId } = await asking('slow_second')
  await eventually(async () => keys(await client.task(taskId)).length === 2)
  await parked(taskId)
  await hibernate(taskId)
  await update(client, taskId, { first: accept({ name: 'Ada' }) })
  await update(client, taskId, { second: accept({ name: 'Eve' }) })
  expect(keys(await client.task(taskId))).toEqual([])
  expect(await endOf(taskId)).toBe('Ada Eve')
})

describe('of answers', () => {
  test('those to what was never asked, or not yet, are ignored', async () => {
    const { taskId } = await asking('in_turn')
    await update(client, taskId, { second: accept({ name: 'Early' }), nothing: accept({ name: 'Nobody' }) })
    expect(keys(await client.task(taskId))).toEqual(['first'])
    expect(await keysOf(taskId, 'ask:')).toEqual(['first'])
    await update(client, taskId, { first: accept({ name: 'Ada' }), toString: accept({ name: 'Nobody' }) })
    await eventually(async () => keys(await client.task(taskId)).includes('second'))
    await update(client, taskId, { second: accept({ name: 'Eve' }) })
    expect(await endOf(taskId)).toBe('Ada Eve')
  })

  test('the first one counts', async () => {
    const { taskId } = await asking('two')
    await parked(taskId)
    await update(client, taskId, { first: accept({ name: 'Ada' }) })
    await update(client, taskId, { first: accept({ name: 'Late' }) })
    await update(client, taskId, { first: accept({ name: 'Later' }), second: accept({ name: 'Eve' }) })
    await update(client, taskId, { second: accept({ name: 'Latest' }) })
    expect(await endOf(taskId)).toBe('Ada Eve')
  })

  test('none at all changes nothing', async () => {
    const task = await asking('one')
    await update(client, task.taskId, {})
    expect(await client.task(task.taskId)).toEqual(task)
  })

  test.for(['decline', 'cancel'])('%s is a value', async (action) => {
    const { taskId } = await asking('one')
    await update(client, taskId, { name: { action } })
    expect(await endOf(taskId)).toBe(action)
  })
})

describe('an answer that does not fit', () => {
  const misfits: [string, unknown][] = [
    ['another content', accept({ name: 'x' })],
    ['another action', { action: 'maybe' }],
    ['no object', 'Ada'],
    ['null', null],
    ['what looks like our own mark', { refused: 'the client is not ours' }],
    ['an error', { error: { code: -1, message: 'no' } }],
  ]
  for (const mode of ['awake', 'asleep'] as const) {
    test.for(misfits)(`is asked again under a new key, the task being ${mode}: %s`, async ([, answer]) => {
      const { taskId, inputRequests } = await asking('one')
      await parked(taskId)
      if (mode === 'asleep') await hibernate(taskId)
      await misfit(taskId, { name: answer as JsonObject })
      await eventually(async () => keys(await client.task(taskId)).length === 1)
      const again = await client.task(taskId)
      expect(keys(again)).toEqual(['name:2'])
      expect(again.inputRequests!['name:2']).toEqual(inputRequests!['name'])
      await update(client, taskId, { name: accept({ name: 'Ada' }) })
      expect(keys(await client.task(taskId))).toEqual(['name:2'])
      await update(client, taskId, { 'name:2': accept({ name: 'Eve' }) })
      expect(await endOf(taskId)).toBe('Eve')
    })
  }

  test('is asked again so often, with no key used twice, and then fails the tool', async () => {
    const { taskId } = await asking('one')
    const seen: string[] = []
    for (let i = 0; i < limits.askAttempts; i++) {
      await eventually(async () => keys(await client.task(taskId)).some((key) => !seen.includes(key)))
      const [key] = keys(await client.task(taskId))
      seen.push(key!)
      await parked(taskId)
      if (i % 2 === 1) await hibernate(taskId)
      await misfit(taskId, { [key!]: accept({ name: 'x' }) })
    }
    expect(seen).toEqual(['name', 'name:2', 'name:3'])
    const task = await client.settled(taskId)
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(textOf(task)).toContain('No answer to "name" fitted')
  })

  test.for(['awake', 'asleep'])('is asked again while another question stays, the task being %s', async (mode) => {
    const { taskId } = await asking('two')
    await parked(taskId)
    await misfit(taskId, { first: accept({ name: 'x' }) })
    await eventually(async () => keys(await client.task(taskId)).length === 2)
    expect(keys(await client.task(taskId)).toSorted()).toEqual(['first:2', 'second'])
    await parked(taskId)
    if (mode === 'asleep') await hibernate(taskId)
    await update(client, taskId, { second: accept({ name: 'Eve' }) })
    await parked(taskId)
    expect(keys(await client.task(taskId))).toEqual(['first:2'])
    await update(client, taskId, { 'first:2': accept({ name: 'Ada' }) })
    expect(await endOf(taskId)).toBe('Ada Eve')
  })
})

describe('what cannot be asked', () => {
  test.for([
    ['one', { elicitation: { form: {} } }],
    ['link', { elicitation: { url: {} } }],
    ['roots', { roots: {} }],
    ['sampling', { sampling: {} }],
  ] as const)('because the client did not declare it fails the task: %s', async ([name, requiredCapabilities]) => {
    const mute = modern(fetcher, { capabilities: TASKS })
    const { taskId } = await mute.callTask(name)
    const task = await mute.settled(taskId)
    expect(task).toMatchObject({ status: 'failed', error: { code: -32021, data: { requiredCapabilities } } })
    expect(task).not.toHaveProperty('inputRequests')
    const { status: _, ...inline } = await modern(fetcher).error('tools/call', { name })
    expect(task.error).toEqual(inline)
  })

  test('is decided by what the call declared, not by who asks for the task', async () => {
    const { taskId } = await modern(fetcher, { capabilities: { ...TASKS, elicitation: {} } }).callTask('one')
    const mute = modern(fetcher, { capabilities: TASKS })
    expect(keys(await mute.reached(taskId, 'input_required'))).toEqual(['name'])
    await update(mute, taskId, { name: accept({ name: 'Ada' }) })
    expect(textOf(await mute.settled(taskId))).toBe('Ada')
  })

  test.for(['in_step', 'same_key'])('because the tool is wrong breaks it: %s', async (name) => {
    const { taskId } = await client.callTask(name)
    const task = await client.settled(taskId)
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(textOf(task)).toMatch(/^Internal error/)
  })
})

describe('a question nobody answers', () => {
  test('waits as long as its task lives', async () => {
    const { taskId } = await asking('one')
    await parked(taskId)
    expect(await askOf(taskId, 'name')).not.toHaveProperty('expiresAt')
    await ring(taskId)
    const { alarm } = await storedOf(taskId)
    expect(alarm).toBe(Date.parse((await client.task(taskId)).createdAt) + limits.defaultTaskTtlMs)
    later(limits.defaultTaskTtlMs - 60_000)
    await ring(taskId)
    expect(keys(await client.task(taskId))).toEqual(['name'])
  })

  test.for(['awake', 'asleep'])('counts as cancelled after the time its tool sets, the task being %s', async (mode) => {
    const { taskId } = await asking('impatient')
    await parked(taskId)
    const { expiresAt } = await askOf(taskId, 'name')
    if (mode === 'asleep') await hibernate(taskId)
    later(59_000)
    await ring(taskId)
    expect((await client.task(taskId)).status).toBe('input_required')
    expect((await storedOf(taskId)).alarm).toBe(expiresAt)
    later(1_001)
    await ring(taskId)
    expect(await endOf(taskId)).toBe('cancel')
  })

  test('fails the tool where there is no such value', async () => {
    const { taskId } = await asking('impatient_roots')
    later(60_001)
    await ring(taskId)
    const task = await client.settled(taskId)
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } })
    expect(textOf(task)).toContain('The client did not answer "roots": timed out')
  })

  test('is not even that once its task was cancelled', async () => {
    const { taskId } = await asking('impatient')
    await parked(taskId)
    await client.result('tasks/cancel', { taskId })
    const { entries } = await storedOf(taskId)
    later(60_001)
    await ring(taskId)
    expect((await storedOf(taskId)).entries).toEqual(entries)
  })

  test('has its time from when it was asked, however often its handler is entered', async () => {
    const { taskId } = await asking('impatient_two')
    await parked(taskId)
    const before = await askOf(taskId, 'a')
    await hibernate(taskId)
    later(30_000)
    await update(client, taskId, { b: accept({ name: 'Eve' }) })
    await parked(taskId)
    expect(await askOf(taskId, 'a')).toEqual(before)
    later(30_001)
    await ring(taskId)
    expect(await endOf(taskId)).toBe('cancel Eve')
  })

  test('does not take the others with it', async () => {
    const { taskId } = await asking('impatient_two')
    await parked(taskId)
    await update(client, taskId, { b: accept({ name: 'Eve' }) })
    later(60_001)
    await ring(taskId)
    expect(await endOf(taskId)).toBe('cancel Eve')
  })

  test('and all of them may be over at once', async () => {
    const { taskId } = await asking('impatient_two')
    await parked(taskId)
    await hibernate(taskId)
    later(60_001)
    await ring(taskId)
    expect(await endOf(taskId)).toBe('cancel cancel')
  })
})

test('an ask of a client that never answers it twice is one request, whatever is polled', async () => {
  const { taskId } = await asking('one')
  await parked(taskId)
  const before = await storedOf(taskId)
  for (let i = 0; i < 3; i++) expect(keys(await client.task(taskId))).toEqual(['name'])
  expect(await storedOf(taskId)).toEqual(before)
})

test('a key of the handler that looks like a repeated one is still unique', async () => {
  const tool = defineTool('keys', {
    description: 'Uses keys that look like those of repeats.',
    task: { support: 'required' },
    handler: async (_, ctx) =>
      (await Promise.all(['a', 'a:2', '__proto__', '', 'toString'].map((key) => nameOf(ctx, key)))).join(' '),
  })
  const own = taskClient(serve({ tools: [tool] }))
  const { taskId } = await own.callTask('keys')
  await own.reached(taskId, 'input_required')
  await parked(taskId)
  const task = await own.task(taskId)
  expect(keys(task)).toEqual(['a', 'a:2:1', '__proto__', '', 'toString'])
  await update(own, taskId, {})
  expect(await own.task(taskId)).toEqual(task)
  const answers = keys(task).map((key) => [key, accept({ name: `<${key}>` })])
  await hibernate(taskId)
  await update(own, taskId, Object.fromEntries(answers))
  expect(textOf(await own.settled(taskId))).toBe('<a> <a:2:1> <__proto__> <> <toString>')
})
