// What a modern task says to the operator: its messages, its beginning and end, its failures; never which one it is.

import { beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import type { JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  as,
  byHeader,
  crash,
  eventually,
  hibernate,
  parked,
  recordOf,
  ring,
  storedOf,
  taskClient,
  taskTool,
  update,
  withLimits,
} from './support.ts'

let entries = 0
let mayGo = false

const tools = [
  taskTool('talking', async (ctx) => {
    entries++
    ctx.log('debug', { page: 1, at: new Date(0), none: undefined }, 'export')
    ctx.log('warning', 'twice')
    ctx.log('warning', 'twice')
    ctx.log('emergency', null)
    await ctx.elicit('go', { message: 'Go on?', schema: z.object({}) })
    ctx.log('info', `after entry ${entries}`)
    ctx.log('warning', 'twice')
    return 'done'
  }),
  taskTool('endless', async (ctx) => {
    for (let i = 0; i < 5; i++) ctx.log('info', i)
    return 'done'
  }),
  taskTool('broken', async (ctx) => {
    await ctx.step('first', () => 1)
    throw new TypeError('cannot do it')
  }),
  taskTool('refusing', () => ({ content: [{ type: 'text', text: 'no' }], isError: true })),
  taskTool('asking', async (ctx) => void (await ctx.elicit('go', { message: 'Go on?', schema: z.object({}) }))),
  taskTool('notifying', (ctx) => {
    const { notify } = ctx
    notify.resourceUpdated('note://1')
    notify.resourcesListChanged()
    notify.toolsListChanged()
    notify.promptsListChanged()
    ctx.waitUntil(Promise.resolve())
    return 'notified'
  }),
  taskTool('stuck', async (ctx) => {
    entries++
    ctx.log('info', 'stuck')
    while (!mayGo) await scheduler.wait(2)
    return 'through'
  }),
]

let lines: { level: string; text: string }[] = []
const events = (): JsonObject[] => lines.map(({ text }) => JSON.parse(text) as JsonObject)
const ofKind = (kind: string): JsonObject[] => events().filter(({ event }) => event === kind)
const said = (): unknown[] => ofKind('message').map(({ data }) => data)

beforeEach(() => {
  entries = 0
  mayGo = false
  lines = []
  for (const level of ['log', 'error', 'warn'] as const) {
    vi.spyOn(console, level).mockImplementation(
      (...args: unknown[]) => void lines.push({ level, text: args.join(' ') }),
    )
  }
})

const fetcher = serve({ tools }, { authenticate: byHeader })
const client = taskClient(fetcher)

async function ended(name: string): Promise<{ taskId: string; requestId: string }> {
  const { taskId } = await client.callTask(name)
  await client.settled(taskId)
  return { taskId, requestId: (await recordOf(taskId)).requestId }
}

describe('a message', () => {
  test('goes to the log, with the tool and the request', async () => {
    const { taskId } = await client.callTask('talking')
    await client.reached(taskId, 'input_required')
    const { requestId } = await recordOf(taskId)
    const about = { event: 'message', requestId, name: 'talking' }
    expect(ofKind('message')).toEqual([
      { ...about, level: 'debug', data: { page: 1, at: '1970-01-01T00:00:00.000Z' }, logger: 'export' },
      { ...about, level: 'warning', data: 'twice' },
      { ...about, level: 'warning', data: 'twice' },
      { ...about, level: 'emergency', data: null },
    ])
  })

  test.for(['hibernated', 'died'])(
    'is not repeated after its object %s, but one more of the same is said',
    async (how) => {
      const { taskId } = await client.callTask('talking')
      await client.reached(taskId, 'input_required')
      await parked(taskId)
      const before = said()
      if (how === 'hibernated') await hibernate(taskId)
      else await crash(taskId)
      await update(client, taskId, { go: { action: 'decline' } })
      await client.settled(taskId)
      expect(said()).toEqual([...before, 'after entry 2', 'twice'])
    },
  )

  test('is not repeated by a handler that is entered again and again', async () => {
    const { taskId } = await client.callTask('stuck')
    for (let i = 1; i <= 3; i++) {
      await eventually(() => entries === i)
      await crash(taskId)
      if (i === 3) mayGo = true
      await ring(taskId)
    }
    await client.settled(taskId)
    expect([entries, said()]).toEqual([4, ['stuck']])
  })

  test('is one of so many', async () => {
    withLimits({ logMessages: 3 })
    await ended('endless')
    expect(said()).toEqual([0, 1, 2])
  })

  test('is sent to no client, whatever level it asked for', async () => {
    const { result, notifications } = await client.request('tools/call', { name: 'endless' }, { logLevel: 'debug' })
    const taskId = result?.taskId as string
    await client.settled(taskId)
    const { notifications: later } = await client.request('tasks/get', { taskId }, { logLevel: 'debug' })
    expect([notifications, later]).toEqual([[], []])
  })
})

describe('the log says of a task', () => {
  test('that it was made and how it ended', async () => {
    const { requestId } = await ended('endless')
    const about = { event: 'task', requestId, name: 'endless', principal: 'anonymous', ms: expect.any(Number) }
    expect(ofKind('task')).toEqual([
      { ...about, status: 'created' },
      { ...about, status: 'completed' },
    ])
  })

  test.for([
    ['refusing', 'failed'],
    ['broken', 'failed'],
  ])('%s that it %s', async ([name, status]) => {
    await ended(name!)
    expect(ofKind('task').map((event) => event['status'])).toEqual(['created', status])
  })

  test('that it was cancelled, and whose it was', async () => {
    const own = taskClient(fetcher, as('ada'))
    const { taskId } = await own.callTask('asking')
    await own.result('tasks/cancel', { taskId })
    expect(ofKind('task')).toMatchObject([
      { status: 'created', principal: 'ada' },
      { status: 'cancelled', principal: 'ada' },
    ])
  })

  test('nothing more once it has ended, whatever is asked of it', async () => {
    const { taskId } = await ended('endless')
    await client.result('tasks/cancel', { taskId })
    await ring(taskId)
    expect(ofKind('task').map((event) => event['status'])).toEqual(['created', 'completed'])
  })

  test('what broke it, once, as an error', async () => {
    const { requestId, taskId } = await ended('broken')
    const failure = {
      event: 'failure',
      requestId,
      method: 'tools/call',
      name: 'broken',
      error: 'TypeError: cannot do it',
      stack: expect.any(String),
    }
    expect(ofKind('failure')).toEqual([failure])
    expect(lines.find(({ text }) => text.includes('"failure"'))?.level).toBe('error')
    const task = await client.task(taskId)
    expect(task.result?.content[0]?.text).toBe(`Internal error (request ${requestId})`)
  })

  test('never which one it is', async () => {
    const ids: string[] = []
    for (const name of ['broken', 'refusing', 'endless', 'notifying']) ids.push((await ended(name)).taskId)
    const { taskId } = await client.callTask('asking')
    await client.result('tasks/cancel', { taskId })
    await client.error('tasks/get', { taskId: 'f'.repeat(64) })
    const printed = lines.map(({ text }) => text).join('\n')
    expect(printed).toContain('"failure"')
    for (const id of [...ids, taskId]) expect(printed).not.toContain(id)
  })
})

test('telling clients that something changed does no harm', async () => {
  const { taskId } = await ended('notifying')
  expect((await client.task(taskId)).result?.content).toEqual([{ type: 'text', text: 'notified' }])
  expect(ofKind('failure')).toEqual([])
  expect(Object.keys((await storedOf(taskId)).entries).toSorted()).toEqual(['call:0000', 'outcome:0000', 'task'])
})
