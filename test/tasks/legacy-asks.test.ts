// What a 2025-11-25 task asks its client: on the streams that wait for its result, answered by POST, the first answer wins.
// @see 2025-11-25 basic/utilities/tasks, Input Required Status; Result Retrieval; Associating Task-Related Messages

import * as z from 'zod'
import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { completeElicitation } from '../../durable-objects/ports.ts'
import type { TaskUpdate } from '../../src/server/task-port.ts'
import { limits } from '../../src/limits.ts'
import { AskError, type CallContext } from '../../src/server/index.ts'
import { RELATED_TASK, type Message, type SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { isAsk, query, stubOf as sessionStub, type OwnSession } from '../sessions/support.ts'
import {
  CANCELLED,
  isMethod,
  messagesOf,
  notificationsOf,
  related,
  STATUS,
  takenBack,
  taskSession,
  waitOn,
} from './legacy-support.ts'
import {
  accept,
  eventually,
  gate,
  keysOf,
  later,
  parked,
  ring,
  storedOf,
  taskTool,
  textOf,
  withLimits,
  type Gate,
} from './support.ts'

const Name = z.object({ name: z.string().min(2) })
const named = (name: string) => ({ result: accept({ name }) })

const askName = async (ctx: CallContext): Promise<string> => {
  const answer = await ctx.elicit('who', { message: 'Who?', schema: Name })
  return answer.action === 'accept' ? answer.content.name : answer.action
}
const form = taskTool('form', askName)
const sample = taskTool('sample', async (ctx) => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }]
  const params = { messages, maxTokens: 5 }
  const { content } = await ctx.inputRequest('model', { method: 'sampling/createMessage', params })
  return JSON.stringify(content)
})
const roots = taskTool('roots', async (ctx) => {
  const { roots: found } = await ctx.inputRequest('roots', { method: 'roots/list' })
  return found.map(({ uri }) => uri).join()
})
const link = taskTool('link', async (ctx) => {
  const { action, id } = await ctx.elicitUrl('page', { message: 'Go', url: (key) => `https://example.com/?key=${key}` })
  return `${action} ${id}`
})
const both = taskTool('both', async (ctx) => {
  const [first, second] = await Promise.all([
    ctx.elicit('a', { message: 'First?', schema: Name }),
    ctx.elicit('b', { message: 'Second?', schema: Name }),
  ])
  return `${first.content?.name ?? first.action} ${second.content?.name ?? second.action}`
})
const inTurn = taskTool('in_turn', async (ctx) => {
  const first = await ctx.elicit('a', { message: 'First?', schema: Name })
  const second = await ctx.elicit('b', { message: 'Second?', schema: Name })
  return `${first.content?.name} ${second.content?.name}`
})
const caught = taskTool('caught', async (ctx) => {
  try {
    return await askName(ctx)
  } catch (error) {
    return error instanceof AskError ? `AskError: ${error.message}` : 'another error'
  }
})
let go: Gate = gate()
const lateAsk = taskTool('late_ask', async (ctx) => {
  await go.opened
  return askName(ctx)
})
const HURRIED_MS = 60_000
let entries = 0
const hurried = taskTool(
  'hurried',
  (ctx) => {
    entries++
    return askName(ctx)
  },
  { askTtlMs: HURRIED_MS },
)
const impatient = taskTool(
  'impatient',
  async (ctx) => {
    entries++
    const asked = askName(ctx)
    const first = await Promise.race([asked, ctx.sleep(HURRIED_MS / 2).then(() => 'nobody')])
    return `${first} after ${entries}`
  },
  { askTtlMs: HURRIED_MS },
)

const plain = taskTool('plain', () => 'plain')

const tools = [plain, form, sample, roots, link, both, inTurn, caught, lateAsk, hurried, impatient]
const fetcher = serve({ tools })

/** A task that asks, a stream that waits for it, and the ask on it. */
async function asked(tool: string, session?: OwnSession) {
  const own = session ?? (await taskSession(fetcher))
  const { taskId } = await own.callTask(tool)
  const stream = await waitOn(own, taskId)
  const ask = await stream.until(isAsk)
  return { session: own, taskId, stream, ask }
}

const isFrom = (message: string) => (ask: Message) => isAsk(ask) && ask.params?.['message'] === message

describe('an ask', () => {
  test('reaches the client on the stream that waits for the result, and names its task', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('form')
    await session.reached(taskId, 'input_required')
    const { asked: seen, result } = await session.talkTask(taskId, () => named('Ann'))
    expect(seen).toEqual([
      {
        jsonrpc: '2.0',
        id: expect.any(String),
        method: 'elicitation/create',
        params: {
          mode: 'form',
          message: 'Who?',
          requestedSchema: {
            type: 'object',
            properties: { name: { type: 'string', minLength: 2 } },
            required: ['name'],
          },
          ...related(taskId),
        },
      },
    ])
    expect(result).toEqual({ content: [{ type: 'text', text: 'Ann' }], ...related(taskId) })
    expect(await session.task(taskId)).toMatchObject({ status: 'completed' })
  })

  test('is made on a stream that waited already', async () => {
    go = gate()
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('late_ask')
    const stream = await waitOn(session, taskId)
    await stream.next()
    go.open()
    const ask = await stream.until(isAsk)
    expect((await session.reply(ask.id, named('Ann'))).status).toBe(202)
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann')
  })

  test('is answered with 202 at once, and its task goes on; the answer need not name the task', async () => {
    const { session, taskId, stream, ask } = await asked('form')
    const { status, text } = await session.reply(ask.id, named('Ann'))
    expect([status, text]).toEqual([202, ''])
    await session.reached(taskId, 'completed')
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann')
  })

  test('may be declined or cancelled, which is a value', async () => {
    for (const action of ['decline', 'cancel']) {
      const { session, stream, ask } = await asked('form')
      await session.reply(ask.id, { result: { action } })
      expect(textOf((await stream.rest()).at(-1))).toBe(action)
    }
  })

  test('may be for a completion of the model', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('sample')
    const answer = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } }
    const { asked: seen, result } = await session.talkTask(taskId, () => ({ result: answer }))
    expect(seen.map(({ method, params }) => [method, params])).toEqual([
      [
        'sampling/createMessage',
        {
          messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
          maxTokens: 5,
          ...related(taskId),
        },
      ],
    ])
    expect(result.content[0]?.text).toBe('{"type":"text","text":"Hello"}')
  })

  test('may be for the roots, which takes no parameters', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('roots')
    const { asked: seen, result } = await session.talkTask(taskId, () => ({
      result: { roots: [{ uri: 'file:///a' }] },
    }))
    expect(seen.map(({ method, params }) => [method, params])).toEqual([['roots/list', related(taskId)]])
    expect(result.content[0]?.text).toBe('file:///a')
  })

  test('may be a link, whose id leads back to the session', async () => {
    const { session, taskId, stream, ask } = await asked('link')
    const elicitationId = ask.params?.['elicitationId'] as string
    expect(ask.params).toEqual({
      mode: 'url',
      message: 'Go',
      elicitationId,
      url: `https://example.com/?key=${elicitationId}`,
      ...related(taskId),
    })
    await completeElicitation(env, elicitationId)
    const told = await stream.until(isMethod('notifications/elicitation/complete'))
    expect(told.params).toEqual({ elicitationId })
    await session.reply(ask.id, { result: { action: 'accept' } })
    expect(textOf((await stream.rest()).at(-1))).toBe(`accept ${elicitationId}`)
  })

  test('keeps the id of its link when it is made again', async () => {
    const { session, taskId, stream, ask } = await asked('link')
    await stream.cancel()
    const again = await (await waitOn(session, taskId)).until(isAsk)
    expect(again.params).toEqual(ask.params)
    expect(again.id).not.toBe(ask.id)
  })

  test('is not made on an answer that is no stream, nor outside a session', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('form')
    await session.reached(taskId, 'input_required')
    const json = session.request('tasks/result', { taskId }, { accept: 'application/json' })
    const { asked: seen } = await session.talkTask(taskId, () => named('Ann'))
    expect(seen).toHaveLength(1)
    expect(await json).toMatchObject({ requests: [], result: { content: [{ text: 'Ann' }] } })
  })

  test('is not made on the standalone stream', async () => {
    const session = await taskSession(fetcher)
    const get = await session.listen()
    await get.next()
    const { taskId } = await session.callTask('form')
    await session.talkTask(taskId, () => named('Ann'))
    const { taskId: next } = await session.callTask('plain')
    await get.until(({ params }) => params?.['taskId'] === next && params['status'] === 'completed')
    expect(messagesOf(get).filter(isAsk)).toEqual([])
    await get.cancel()
  })
})

describe('two asks', () => {
  test('open at once are answered one by one, each its own', async () => {
    const { session, taskId, stream, ask } = await asked('both')
    const other = await stream.until(isAsk)
    const asks = new Map([ask, other].map((each) => [each.params?.['message'], each.id]))
    expect(asks.size).toBe(2)
    await session.reply(asks.get('Second?'), named('Bob'))
    await eventually(async () => (await openAsks(taskId)).length === 1)
    expect(await session.task(taskId)).toMatchObject({ status: 'input_required' })
    await session.reply(asks.get('First?'), named('Ann'))
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann Bob')
    expect(messagesOf(stream).filter(isAsk)).toHaveLength(2)
    expect(messagesOf(stream).filter(isMethod(CANCELLED))).toEqual([])
    // It was in this status all the time, so that is told once at most.
    const told = messagesOf(stream).filter(isMethod(STATUS))
    const statuses = told.map(({ params }) => params?.['status']).filter((status) => status !== 'input_required')
    expect([statuses, told.length - statuses.length <= 1]).toEqual([['working', 'completed'], true])
  })

  test('of which one is answered leave one for who waits later', async () => {
    const { session, taskId, stream } = await asked('both')
    const second = messagesOf(stream).find(isFrom('Second?')) ?? (await stream.until(isFrom('Second?')))
    await session.reply(second.id, named('Bob'))
    await eventually(async () => (await openAsks(taskId)).length === 1)
    await stream.cancel()
    const { asked: seen, result } = await session.talkTask(taskId, () => named('Ann'))
    expect(seen.map(({ params }) => params?.['message'])).toEqual(['First?'])
    expect(result.content[0]?.text).toBe('Ann Bob')
  })

  test('one after the other are made on one stream, and each is made once', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('in_turn')
    const {
      asked: seen,
      result,
      stream,
    } = await session.talkTask(taskId, ({ params }) => named(params?.['message'] === 'First?' ? 'Ann' : 'Bob'))
    expect(seen.map(({ params }) => params?.['message'])).toEqual(['First?', 'Second?'])
    expect(result.content[0]?.text).toBe('Ann Bob')
    expect(notificationsOf(stream)).toEqual([])
  })

  test('that cross an answer do not bring the answered one back', async () => {
    const { session, taskId, stream, ask } = await asked('both')
    const other = await stream.until(isAsk)
    // What the task told before it had the answer, and reaches the session after it.
    const stale = await staleNews(session, taskId)
    const object = sessionStub(session)
    const answering = object.answered({ kind: 'answer', id: ask.id as string, ...named('Ann') })
    const telling = object.taskChanged(stale)
    await Promise.all([answering, telling])
    await object.taskChanged(stale)
    await session.reply(other.id, named('Bob'))
    await stream.rest()
    expect(messagesOf(stream).filter(isAsk)).toEqual([ask, other])
    expect(messagesOf(stream).filter(isMethod(CANCELLED))).toEqual([])
  })
})

/** What the task would tell a session's only stream now. */
async function staleNews(session: OwnSession, taskId: string): Promise<TaskUpdate> {
  const [row] = await query(session, `select stream from call where state = 'running'`)
  const snapshot = await env.TASK.get(env.TASK.idFromString(taskId)).get({
    principal: 'anonymous',
    form: '2025-11-25',
  })
  return { protocol: 1, taskId, stream: row!['stream'] as number, snapshot: snapshot as never }
}

const openAsks = async (taskId: string): Promise<string[]> => {
  const { entries: stored } = await storedOf(taskId)
  return (await keysOf(taskId, 'ask:')).filter((key) => (stored[`ask:${key}`] as { isOpen: boolean }).isOpen)
}

describe('an ask nobody has answered', () => {
  test('is made again under a new id for whoever waits later, and any of them may answer', async () => {
    const { session, taskId, stream, ask } = await asked('form')
    await stream.cancel()
    const later = await waitOn(session, taskId)
    const again = await later.until(isAsk)
    expect(again.id).not.toBe(ask.id)
    expect([again.method, again.params]).toEqual([ask.method, ask.params])
    await session.reply(again.id, named('Ann'))
    expect(textOf((await later.rest()).at(-1))).toBe('Ann')
  })

  test('can be answered while nobody is connected', async () => {
    const { session, taskId, stream, ask } = await asked('form')
    await stream.cancel()
    expect((await session.reply(ask.id, named('Ann'))).status).toBe(202)
    expect((await session.taskResult(taskId)).content[0]?.text).toBe('Ann')
  })

  test('is cancelled by name and counts as cancelled when its time is over', async () => {
    const { session, taskId, stream, ask } = await asked('hurried')
    await parked(taskId)
    later(HURRIED_MS)
    await ring(taskId)
    const messages = await stream.rest()
    const back = messages.find(isMethod(CANCELLED))
    expect(back?.params).toMatchObject({ requestId: ask.id, ...related(taskId) })
    expect(textOf(messages.at(-1))).toBe('cancel')
    expect((await session.reply(ask.id, named('Ann'))).status).toBe(202)
  })

  test('waits as long as the task without a time of its own', async () => {
    const { session, taskId, stream, ask } = await asked('form')
    await parked(taskId)
    later(limits.askTtlMs + 60_000)
    await ring(taskId)
    await session.reply(ask.id, named('Ann'))
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann')
  })

  test('does not wake a task that was cancelled meanwhile', async () => {
    entries = 0
    const { session, taskId, stream } = await asked('hurried')
    await parked(taskId)
    await session.result('tasks/cancel', { taskId })
    await stream.rest()
    later(HURRIED_MS)
    await ring(taskId)
    await scheduler.wait(20)
    expect(entries).toBe(1)
    expect(await session.task(taskId)).toMatchObject({ status: 'cancelled' })
    expect(await session.error('tasks/result', { taskId })).toMatchObject({ code: -32603 })
  })

  test('does not run a task again that came to its end without it', async () => {
    entries = 0
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('impatient')
    await parked(taskId)
    later(HURRIED_MS / 2)
    await ring(taskId)
    const before = [await session.settled(taskId), await session.taskResult(taskId)]
    expect(before[1]).toMatchObject({ content: [{ text: 'nobody after 1' }] })
    later(HURRIED_MS)
    await ring(taskId)
    await scheduler.wait(20)
    expect(entries).toBe(1)
    expect([await session.task(taskId), await session.taskResult(taskId)]).toEqual(before)
  })

  test('is taken back by name when its task is cancelled', async () => {
    const { session, taskId, stream, ask } = await asked('form')
    await session.result('tasks/cancel', { taskId })
    const messages = await stream.rest()
    expect(messages.filter(isMethod(CANCELLED)).map(takenBack)).toEqual([ask.id])
    expect(messages.at(-1)?.error).toEqual({ code: -32603, message: 'Task was cancelled' })
    expect((await session.reply(ask.id, named('Ann'))).status).toBe(202)
    expect(await session.task(taskId)).toMatchObject({ status: 'cancelled' })
  })
})

describe.for([
  ['of the same session', async (session: OwnSession) => session],
  ['of another session of the same client', async () => taskSession(fetcher)],
] as const)('two streams that wait for one task, the second %s', ([, other]) => {
  async function two() {
    const { session, taskId, stream, ask } = await asked('form')
    const second = await other(session)
    const secondStream = await waitOn(second, taskId)
    const secondAsk = await secondStream.until(isAsk)
    return [
      { session, stream, ask, taskId },
      { session: second, stream: secondStream, ask: secondAsk, taskId },
    ] as const
  }

  test('are both asked, each under its own id', async () => {
    const [one, another] = await two()
    expect(one.ask.id).not.toBe(another.ask.id)
    expect(one.ask.params).toEqual(another.ask.params)
    expect(messagesOf(one.stream).filter(isMethod(CANCELLED))).toEqual([])
  })

  test.for([0, 1])('take the first answer, and the other ask is taken back: %i', async (first) => {
    const both = await two()
    const [winner, loser] = [both[first]!, both[1 - first]!]
    await winner.session.reply(winner.ask.id, named('Ann'))
    const back = await loser.stream.until(isMethod(CANCELLED))
    expect(back.params).toEqual({
      requestId: loser.ask.id,
      reason: expect.any(String),
      ...related(winner.taskId),
    })
    // Late and second answers are none.
    expect((await loser.session.reply(loser.ask.id, named('Bob'))).status).toBe(202)
    expect((await winner.session.reply(winner.ask.id, named('Eve'))).status).toBe(202)
    for (const { stream } of both) expect(textOf((await stream.rest()).at(-1))).toBe('Ann')
    expect(messagesOf(winner.stream).filter(isMethod(CANCELLED))).toEqual([])
    expect((await winner.session.taskResult(winner.taskId)).content[0]?.text).toBe('Ann')
  })

  test('take one of two answers given at the same time', async () => {
    const [one, another] = await two()
    const replies = await Promise.all([
      one.session.reply(one.ask.id, named('Ann')),
      another.session.reply(another.ask.id, named('Bob')),
    ])
    expect(replies.map(({ status }) => status)).toEqual([202, 202])
    const texts = await Promise.all([one, another].map(async ({ stream }) => textOf((await stream.rest()).at(-1))))
    expect(['Ann', 'Bob']).toContain(texts[0])
    expect(texts[1]).toBe(texts[0])
  })

  test('are both asked again after an answer that does not fit', async () => {
    const [one, another] = await two()
    await one.session.reply(one.ask.id, { result: accept({ name: 'A' }) })
    const [again, anew] = [await one.stream.until(isAsk), await another.stream.until(isAsk)]
    expect(new Set([one.ask.id, another.ask.id, again.id, anew.id]).size).toBe(4)
    expect(messagesOf(another.stream).filter(isMethod(CANCELLED)).map(takenBack)).toEqual([another.ask.id])
    expect(messagesOf(one.stream).filter(isMethod(CANCELLED))).toEqual([])
    await another.session.reply(anew.id, named('Bob'))
    for (const { stream } of [one, another]) expect(textOf((await stream.rest()).at(-1))).toBe('Bob')
  })
})

test('a client that cannot be asked is not, though it waits for the task of one that can', async () => {
  const { session, taskId, stream, ask } = await asked('both')
  const other = await stream.until(isAsk)
  const unable = await taskSession(fetcher, { capabilities: { sampling: {} } })
  const quiet = await waitOn(unable, taskId)
  await quiet.next()
  for (const { id } of [ask, other]) await session.reply(id, named('Ann'))
  expect(textOf((await quiet.rest()).at(-1))).toBe('Ann Ann')
  expect(messagesOf(quiet).filter(isAsk)).toEqual([])
  expect(messagesOf(quiet).filter(isMethod(CANCELLED))).toEqual([])
})

test('a client that shows forms only is not asked to open a link', async () => {
  const { session, taskId, stream, ask } = await asked('link')
  const unable = await taskSession(fetcher, { capabilities: { elicitation: { form: {} } } })
  const quiet = await waitOn(unable, taskId)
  await quiet.next()
  await session.reply(ask.id, { result: { action: 'decline' } })
  await stream.rest()
  expect(textOf((await quiet.rest()).at(-1))).toMatch(/^decline/)
  expect(messagesOf(quiet).filter(isAsk)).toEqual([])
})

test('streams of one session that are asked for at the same moment are all answered', async () => {
  const session = await taskSession(fetcher)
  const { taskId } = await session.callTask('form')
  await session.reached(taskId, 'input_required')
  const streams = await Promise.all([1, 2, 3].map(() => waitOn(session, taskId)))
  const first = await streams[0]!.until(isAsk)
  await session.reply(first.id, named('Ann'))
  const ends = await Promise.all(streams.map(async (stream: SessionStream) => textOf((await stream.rest()).at(-1))))
  expect(ends).toEqual(['Ann', 'Ann', 'Ann'])
})

describe('an answer', () => {
  test('that is an error rejects with an AskError, which the model reads unless it is caught', async () => {
    const error = { code: -32603, message: 'the user is out' }
    for (const [tool, text, isError] of [
      ['form', 'The client did not answer "who": the user is out', true],
      ['caught', 'AskError: The client did not answer "who": the user is out', undefined],
    ] as const) {
      const session = await taskSession(fetcher)
      const { taskId } = await session.callTask(tool)
      const { asked: seen, result } = await session.talkTask(taskId, () => ({ error }))
      expect(seen).toHaveLength(1)
      expect(result).toEqual({ content: [{ type: 'text', text }], ...(isError && { isError }), ...related(taskId) })
      expect((await session.task(taskId)).status).toBe(isError ? 'failed' : 'completed')
    }
  })

  test('that does not fit is asked for again under a new id, so often and not more', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('caught')
    const { asked: seen, result } = await session.talkTask(taskId, () => named('A'))
    expect(seen).toHaveLength(limits.askAttempts)
    expect(new Set(seen.map(({ id }) => id)).size).toBe(limits.askAttempts)
    expect(new Set(seen.map(({ params }) => JSON.stringify(params))).size).toBe(1)
    expect(result.content[0]?.text).toMatch(/^AskError: No answer to "who" fitted/)
  })

  test('that does not fit may be followed by one that does', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('form')
    const answers = ['A', 'B', 'Ann']
    const { asked: seen, result, stream } = await session.talkTask(taskId, () => named(answers.shift()!))
    expect([seen.length, result.content[0]?.text]).toEqual([3, 'Ann'])
    expect(messagesOf(stream).filter(isMethod(CANCELLED))).toEqual([])
  })

  test.for([
    ['another kind', { roots: [] }],
    ['a refusal as it is stored', { refused: 'by trick' }],
    ['an action there is not', { action: 'maybe' }],
  ] as const)('is asked for again when it is %s', async ([, result]) => {
    const { session, stream, ask } = await asked('form')
    await session.reply(ask.id, { result: result as never })
    const again = await stream.until(isAsk)
    expect(again.id).not.toBe(ask.id)
    await session.reply(again.id, named('Ann'))
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann')
  })

  test('counts once: late, second and unknown ones get 202 and change nothing', async () => {
    const { session, taskId, stream, ask } = await asked('in_turn')
    for (const id of ['unknown', 1, crypto.randomUUID()])
      expect((await session.reply(id, named('Eve'))).status).toBe(202)
    await session.reply(ask.id, named('Ann'))
    expect((await session.reply(ask.id, named('Eve'))).status).toBe(202)
    const second = await stream.until(isAsk)
    expect((await session.reply(ask.id, named('Eve'))).status).toBe(202)
    expect(await session.task(taskId)).toMatchObject({ status: 'input_required' })
    await session.reply(second.id, named('Bob'))
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann Bob')
    expect((await session.reply(second.id, named('Eve'))).status).toBe(202)
    expect((await session.taskResult(taskId)).content[0]?.text).toBe('Ann Bob')
  })

  test('of another session is not taken, whoever knows the id', async () => {
    const { session, taskId, stream, ask } = await asked('form')
    const other = await taskSession(fetcher)
    expect((await other.reply(ask.id, named('Eve'))).status).toBe(202)
    expect(await session.task(taskId)).toMatchObject({ status: 'input_required' })
    await session.reply(ask.id, named('Ann'))
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann')
  })

  test('names the task whatever it says itself', async () => {
    const { session, taskId, stream, ask } = await asked('form')
    const _meta = { [RELATED_TASK]: { taskId: 'f'.repeat(64) } }
    await session.reply(ask.id, { result: { ...accept({ name: 'Ann' }), _meta } })
    expect((await stream.rest()).at(-1)?.result).toEqual({
      content: [{ type: 'text', text: 'Ann' }],
      ...related(taskId),
    })
  })

  test('too large to be kept is none, and says so', async () => {
    const { session, stream, ask } = await asked('caught')
    const { status } = await session.reply(ask.id, named('x'.repeat(limits.eventBytes)))
    expect(status).toBe(202)
    expect(textOf((await stream.rest()).at(-1))).toBe(
      'AskError: The client did not answer "who": the answer is too large to be kept',
    )
  })
})

test('one task has so many asks open at once, and one more is a tool error', async () => {
  withLimits({ taskAsks: 1 })
  const session = await taskSession(fetcher)
  const { taskId } = await session.callTask('both')
  const { status, statusMessage } = await session.settled(taskId)
  expect([status, statusMessage]).toEqual(['failed', expect.stringContaining('1 asks of this task are open already')])
})
