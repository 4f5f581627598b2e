// Listening to tasks: whose they may be, that each says once what it is and then every time it changes, and that a task
// nobody listens to says nothing. @see ext-tasks, Status Notifications

import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { beforeEach, describe, expect, test } from 'vitest'
import { defineServer, ProtocolError, ToolError, type CallContext, type Server } from '../../src/server/index.ts'
import { legacy, type JsonObject, type Message, type ModernClient } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  accept,
  crash as crashTask,
  hibernate as hibernateTask,
  happened,
  later,
  parked,
  recordOf,
  ring,
  storedOf,
  taskClient,
  taskTool,
  timesOf,
  update,
} from '../tasks/support.ts'
import {
  as,
  byHeader,
  changesOf,
  eventually,
  listen,
  publish,
  subscriptionOf,
  withLimits,
  type Listening,
} from './support.ts'

const Answer = z.object({ name: z.string() })
const ask = (ctx: CallContext, key: string) => ctx.elicit(key, { message: `${key}?`, schema: Answer })
const HOUR = 3_600_000

const tools = [
  taskTool('quick', () => 'done'),
  taskTool('asking', async (ctx) => `Hello ${(await ask(ctx, 'name')).content?.name}`),
  taskTool('asking_twice', async (ctx) => `${(await ask(ctx, 'first')).action} ${(await ask(ctx, 'second')).action}`),
  taskTool('asking_both', async (ctx) => {
    const answers = await Promise.all([ask(ctx, 'first'), ask(ctx, 'second')])
    return answers.map(({ content }) => content?.name).join(' ')
  }),
  taskTool('refusing', async (ctx) => {
    await ask(ctx, 'name')
    throw new ToolError('Cannot greet')
  }),
  taskTool('failing', async (ctx) => {
    await ask(ctx, 'name')
    throw new ProtocolError(1001, 'Could not reserve: sold out', { seats: 0 })
  }),
  taskTool('sleeping', (ctx) => ctx.sleep(100 * HOUR)),
  taskTool('reporting', async (ctx) => {
    await ctx.sleep(HOUR)
    ctx.progress(1, 2, 'half of it')
    await ctx.sleep(100 * HOUR)
  }),
  taskTool('short', (ctx) => ctx.sleep(100 * HOUR), { task: { ttlMs: HOUR } }),
]
const TOOLS = { toolsListChanged: true }

let server: Server
let fetcher: ReturnType<typeof serve>
let client: ModernClient

beforeEach(() => {
  withLimits({ hubWindowMs: 0 })
  server = defineServer({ name: 'tasks', version: '1.0.0', tools })
  fetcher = serve(server, { authenticate: byHeader })
  client = taskClient(fetcher)
})

/** A task that waits for what it does first. */
async function open(name: string, by = client): Promise<string> {
  const { taskId } = await by.callTask(name)
  await parked(taskId)
  return taskId
}

/** Reads on to the first news of this status; what comes before are the states in between. */
async function until(stream: Listening, status: string, fits: (task: JsonObject) => boolean = () => true) {
  for (;;) {
    const message = await stream.next()
    expect(message.method).toBe('notifications/tasks')
    if (message.params?.['status'] === status && fits(message.params)) return message
  }
}

/** What `tasks/get` says, as a notification says it. */
async function asNews(taskId: string, by = client): Promise<JsonObject> {
  const { resultType: _type, _meta, ...task } = await by.task(taskId)
  return task
}

/** There is nothing more to read until something else changes. A task is read when it changed, which takes a moment. */
async function expectQuiet(stream: Listening): Promise<void> {
  await scheduler.wait(20)
  await publish(server, 'tools')
  expect(await stream.told(1)).toEqual(['tools'])
}

/** The tasks of the platform, with something before each is read for a stream. */
function tasksReadAfter(before: () => Promise<void>): Partial<Cloudflare.Env> {
  const TASK = new Proxy(env.TASK, {
    get(namespace, name) {
      const member = (Reflect.get(namespace, name, namespace) as (...args: unknown[]) => object).bind(namespace)
      if (name !== 'get') return member
      return (...args: unknown[]) => {
        const task = member(...args) as { [method in 'listen' | 'get']: (owner: object) => Promise<unknown> }
        const read = async (owner: object) => {
          await before()
          return task.get(owner)
        }
        return { get: read, listen: (owner: object) => task.listen(owner) }
      }
    },
  })
  return { TASK }
}

const newsOf = ({ params: { _meta, ...task } = {} }: Message): JsonObject => task
const answer = (name = 'Ada') => accept({ name })

describe('what is agreed to', () => {
  const NEVER_MADE = env.TASK.newUniqueId().toString()
  const strangers: [string, string][] = [
    ['one that was never made', NEVER_MADE],
    ['one made up', 'f'.repeat(64)],
    ['none at all', ''],
    ['no hex', 'a task of mine'],
    ['an object of another kind', env.SESSION.newUniqueId().toString()],
    ['a name', '__proto__'],
    ['one as long as a request allows', 'f'.repeat(4_000)],
  ]

  test('is every task of the caller, each once, in the order they were asked for', async () => {
    const ids = [await open('asking'), await open('sleeping'), await open('asking')]
    const stream = await listen(client, { taskIds: [ids[2], ids[0], ids[2], ids[1], ids[0]] })
    expect(stream.agreed).toEqual({ taskIds: [ids[2], ids[0], ids[1]] })
    const states = await stream.told(3)
    expect(states).toEqual([`task ${ids[2]} input_required`, `task ${ids[0]} input_required`, `task ${ids[1]} working`])
  })

  test.for(strangers)('leaves out %s, silently', async ([, stranger]) => {
    const own = await open('asking')
    const stream = await listen(client, { ...TOOLS, taskIds: [stranger, own] })
    expect(stream.agreed).toEqual({ ...TOOLS, taskIds: [own] })
    expect(await stream.told(1)).toEqual([`task ${own} input_required`])
    const none = await listen(client, { ...TOOLS, taskIds: [stranger] })
    expect(none.agreed).toEqual({ ...TOOLS, taskIds: [] })
    await expectQuiet(none)
  })

  test('leaves out what is of another principal, or of nobody, or of somebody', async () => {
    const ada = taskClient(fetcher, as('ada'))
    const eve = taskClient(fetcher, as('eve'))
    const taskIds = [await open('asking', ada), await open('asking', eve), await open('asking', client)]
    for (const [i, one] of [ada, eve, client].entries()) {
      const stream = await listen(one, { taskIds })
      expect(stream.agreed).toEqual({ taskIds: [taskIds[i]] })
    }
  })

  test('is a task of an anonymous caller for whoever has its id', async () => {
    const taskId = await open('asking')
    const other = taskClient(fetcher, { 'cf-connecting-ip': '192.0.2.7' })
    const stream = await listen(other, { taskIds: [taskId] })
    expect(stream.agreed).toEqual({ taskIds: [taskId] })
  })

  test('leaves out tasks of 2025-11-25', async () => {
    for (const headers of [as('ada'), {}]) {
      const { taskId } = await legacy(fetcher, '2025-11-25', { headers }).callTask('sleeping')
      const stream = await listen(taskClient(fetcher, headers), { taskIds: [taskId] })
      expect(stream.agreed).toEqual({ taskIds: [] })
    }
  })

  test('leaves out a task whose time is over', async () => {
    const taskId = await open('short')
    later(HOUR)
    const stream = await listen(client, { taskIds: [taskId] })
    expect(stream.agreed).toEqual({ taskIds: [] })
  })

  test('leaves no trace in what is not of the caller', async () => {
    const taskId = await open('asking', taskClient(fetcher, as('ada')))
    const before = await storedOf(taskId)
    await listen(taskClient(fetcher, as('eve')), { taskIds: [taskId, NEVER_MADE] })
    expect(await storedOf(taskId)).toEqual(before)
    expect((await storedOf(NEVER_MADE)).entries).toEqual({})
  })
})

describe('news of a task', () => {
  test('begin with what it is now, once, as tasks/get has it and with the name of the stream', async () => {
    const taskId = await open('asking')
    const stream = await listen(client, { ...TOOLS, taskIds: [taskId] }, { id: 'L' })
    const message = await stream.next()
    expect([message.method, subscriptionOf(message)]).toEqual(['notifications/tasks', 'L'])
    expect(newsOf(message)).toEqual(await asNews(taskId))
    expect(message.params).toMatchObject({
      status: 'input_required',
      inputRequests: { name: { method: 'elicitation/create', params: { message: 'name?' } } },
    })
    await expectQuiet(stream)
  })

  test('come with what it asks, every time it asks', async () => {
    const taskId = await open('asking_twice')
    const stream = await listen(client, { taskIds: [taskId] })
    expect(Object.keys((await stream.next()).params?.['inputRequests'] as JsonObject)).toEqual(['first'])
    await update(client, taskId, { first: answer() })
    const second = await until(
      stream,
      'input_required',
      ({ inputRequests }) => 'second' in (inputRequests as JsonObject),
    )
    expect(newsOf(second)).toEqual(await asNews(taskId))
    await update(client, taskId, { second: answer() })
    expect(newsOf(await until(stream, 'completed'))).toEqual(await asNews(taskId))
  })

  test('come when one of several asks is answered', async () => {
    const taskId = await open('asking_both')
    const stream = await listen(client, { taskIds: [taskId] })
    expect(Object.keys((await stream.next()).params?.['inputRequests'] as JsonObject)).toEqual(['first', 'second'])
    await update(client, taskId, { second: answer() })
    const one = await until(
      stream,
      'input_required',
      ({ inputRequests }) => !('second' in (inputRequests as JsonObject)),
    )
    expect(Object.keys(one.params?.['inputRequests'] as JsonObject)).toEqual(['first'])
  })

  test.for<[tool: string, status: string, details: JsonObject]>([
    ['asking', 'completed', { result: { resultType: 'complete', content: [{ type: 'text', text: 'Hello Ada' }] } }],
    ['refusing', 'completed', { result: { isError: true, content: [{ type: 'text', text: 'Cannot greet' }] } }],
    ['failing', 'failed', { error: { code: 1001, message: 'Could not reserve: sold out', data: { seats: 0 } } }],
  ])('come when it has ended, with all it came to: %s', async ([name, status, details]) => {
    const taskId = await open(name)
    const stream = await listen(client, { ...TOOLS, taskIds: [taskId] })
    await update(client, taskId, { name: answer() })
    const end = await until(stream, status)
    expect(newsOf(end)).toEqual(await asNews(taskId))
    expect(end.params).toMatchObject(details)
    await expectQuiet(stream)
  })

  test('come when it is cancelled, whether it works or waits', async () => {
    for (const name of ['sleeping', 'asking']) {
      const taskId = await open(name)
      const stream = await listen(client, { ...TOOLS, taskIds: [taskId] })
      await stream.next()
      await client.result('tasks/cancel', { taskId })
      expect(newsOf(await until(stream, 'cancelled'))).toEqual(await asNews(taskId))
      await expectQuiet(stream)
    }
  })

  test('come when it says how far it is, as its status and never as progress', async () => {
    const taskId = await open('reporting')
    const stream = await listen(client, { taskIds: [taskId] }, { progressToken: 'p', logLevel: 'debug' })
    expect((await stream.next()).params).not.toHaveProperty('statusMessage')
    later(HOUR)
    await ring(taskId)
    const message = await until(stream, 'working', ({ statusMessage }) => statusMessage === 'half of it')
    expect(newsOf(message)).toEqual(await asNews(taskId))
  })

  test('come to every stream that asked, and to no other', async () => {
    const [one, other] = [await open('asking'), await open('asking')]
    const both = await listen(client, { taskIds: [one, other] })
    const again = await listen(client, { ...TOOLS, taskIds: [one] })
    const alone = await listen(client, { ...TOOLS, taskIds: [other] })
    const none = await listen(client, TOOLS)
    expect(await alone.told(1)).toEqual([`task ${other} input_required`])
    await update(client, one, { name: answer() })
    for (const stream of [both, again]) await until(stream, 'completed', ({ taskId }) => taskId === one)
    await scheduler.wait(20)
    await publish(server, 'tools')
    expect([await alone.told(1), await none.told(1)]).toEqual([['tools'], ['tools']])
  })

  test('come to nobody else who knows its id', async () => {
    const ada = taskClient(fetcher, as('ada'))
    const taskId = await open('asking', ada)
    const own = await listen(ada, { taskIds: [taskId] })
    const others = [
      await listen(taskClient(fetcher, as('eve')), { ...TOOLS, taskIds: [taskId] }),
      await listen(client, { ...TOOLS, taskIds: [taskId] }),
    ]
    await update(ada, taskId, { name: answer() })
    await until(own, 'completed')
    for (const stream of others) await expectQuiet(stream)
  })

  test.for([
    ['slept', hibernateTask],
    ['died', crashTask],
  ] as const)('come also from one that has %s since', async ([, away]) => {
    const taskId = await open('asking')
    const stream = await listen(client, { taskIds: [taskId] })
    await stream.next()
    await away(taskId)
    await update(client, taskId, { name: answer() })
    await until(stream, 'completed')
  })

  test('come once when it ends while it is being read', async () => {
    let [reading, isHeld] = [0, false]
    const slow = serve(server, {
      vars: tasksReadAfter(async () => {
        reading++
        while (isHeld) await scheduler.wait(1)
      }),
      authenticate: byHeader,
    })
    const taskId = await open('asking_twice')
    const stream = await listen(taskClient(slow), { ...TOOLS, taskIds: [taskId] })
    await stream.next()
    isHeld = true
    await update(client, taskId, { first: answer() })
    await eventually(() => reading === 2)
    await client.reached(taskId, 'input_required')
    await update(client, taskId, { second: answer() })
    await client.settled(taskId)
    await publish(server, 'tools')
    expect(await stream.told(1)).toEqual(['tools'])
    isHeld = false
    expect(await stream.told(1)).toEqual([`task ${taskId} completed`])
    await expectQuiet(stream)
  })

  test('stop when its time is over', async () => {
    const taskId = await open('short')
    const stream = await listen(client, { ...TOOLS, taskIds: [taskId] })
    await stream.next()
    await hibernateTask(taskId)
    later(HOUR)
    await ring(taskId)
    await publish(server, `task ${taskId}`)
    await expectQuiet(stream)
  })
})

describe('a task that has ended', () => {
  test('says to who listens what it came to, and nothing more', async () => {
    const { taskId } = await client.callTask('quick')
    await client.settled(taskId)
    const stream = await listen(client, { ...TOOLS, taskIds: [taskId] })
    expect(stream.agreed).toEqual({ ...TOOLS, taskIds: [taskId] })
    expect(newsOf(await stream.next())).toEqual(await asNews(taskId))
    await client.result('tasks/cancel', { taskId })
    await publish(server, `task ${taskId}`)
    await expectQuiet(stream)
    expect((await recordOf(taskId)).isListened).toBeUndefined()
  })
})

describe('a task nobody listens to', () => {
  test('publishes nothing, whatever becomes of it', async () => {
    const taskId = await open('asking_twice')
    await update(client, taskId, { first: answer() })
    await client.reached(taskId, 'input_required')
    await update(client, taskId, { second: answer() })
    await client.settled(taskId)
    const cancelled = await open('sleeping')
    await client.result('tasks/cancel', { taskId: cancelled })
    await ring(taskId)
    expect(await changesOf(server)).toEqual([])
  })

  test('publishes from when somebody listens on, though that was not its owner it publishes nothing', async () => {
    const ada = taskClient(fetcher, as('ada'))
    const taskId = await open('asking', ada)
    await listen(client, { taskIds: [taskId] })
    const other = await open('asking', ada)
    const stream = await listen(ada, { taskIds: [other] })
    for (const id of [taskId, other]) await update(ada, id, { name: answer() })
    await until(stream, 'completed')
    await ada.settled(taskId)
    await eventually(async () => (await changesOf(server)).length > 0)
    expect(await changesOf(server)).toEqual([`task ${other}`])
  })

  test('is run no more often for being listened to', async () => {
    const what = `run ${crypto.randomUUID()}`
    const counting = defineServer({
      name: 'tasks',
      version: '1.0.0',
      tools: [
        taskTool('counting', async (ctx) => {
          await ctx.step('count', () => happened(what))
          await ask(ctx, 'name')
        }),
      ],
    })
    const one = taskClient(serve(counting))
    const taskId = await open('counting', one)
    const streams = [await listen(one, { taskIds: [taskId] }), await listen(one, { taskIds: [taskId] })]
    await update(one, taskId, { name: answer() })
    for (const stream of streams) await until(stream, 'completed')
    expect(await timesOf(what)).toBe(1)
  })
})
