// Waits for a 2025-11-25 task outlive what they depend on: connections that are cut, objects that sleep or die, sessions that
// end. @see 2025-11-25 basic/transports, Resumability and Redelivery; basic/utilities/tasks, Result Retrieval

import * as z from 'zod'
import { runInDurableObject } from 'cloudflare:test'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { CallContext } from '../../src/server/index.ts'
import { legacy, type Message, type SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  hibernate as hibernateSession,
  isAsk,
  NOTHING,
  query,
  ring as ringSession,
  storageOf,
  stubOf,
  type OwnSession,
} from '../sessions/support.ts'
import {
  CANCELLED,
  crashSession,
  isMethod,
  messagesOf,
  PROGRESS,
  related,
  STATUS,
  takenBack,
  TASKS_REVISION,
  taskSession,
  unreachable,
  waitOn,
} from './legacy-support.ts'
import {
  accept,
  crash,
  eventually,
  gate,
  hibernate,
  later,
  parked,
  recordOf,
  ring,
  storedOf,
  stubOf as taskStub,
  taskTool,
  textOf,
  withLimits,
  type Gate,
} from './support.ts'

const Name = z.object({ name: z.string().min(2) })
const named = (name: string) => ({ result: accept({ name }) })

const askName = async (ctx: CallContext): Promise<string> => {
  const answer = await ctx.elicit('who', { message: 'Who?', schema: Name })
  return answer.content?.name ?? answer.action
}
/** Handlers poll it, so that nothing of one instance waits for anything of another. */
let isHeld = false
let entered = 0
const held = async (): Promise<void> => {
  entered++
  while (isHeld) await scheduler.wait(5)
}

const form = taskTool('form', askName)
const both = taskTool('both', async (ctx) => {
  const [first, second] = await Promise.all([
    ctx.elicit('a', { message: 'First?', schema: Name }),
    ctx.elicit('b', { message: 'Second?', schema: Name }),
  ])
  return `${first.content?.name} ${second.content?.name}`
})
const talkative = taskTool('talkative', async (ctx) => {
  ctx.progress(1)
  const name = await askName(ctx)
  ctx.progress(2)
  return name
})
const working = taskTool('working', async () => {
  await held()
  return 'done'
})
const worksOn = taskTool('works_on', async (ctx) => {
  const name = await askName(ctx)
  await held()
  return name
})
const BURST = 3
const burst = taskTool('burst', async (ctx) => {
  await held()
  for (let i = 1; i <= BURST; i++) ctx.progress(i)
  return 'done'
})
const DAY_MS = 24 * 60 * 60 * 1000
const sleeper = taskTool('sleeper', async (ctx) => {
  await ctx.sleep(DAY_MS / 2)
  return 'slept'
})

const fetcher = serve({ tools: [both, burst, form, talkative, working, worksOn, sleeper] })

async function waiting(tool: string, options = {}) {
  const session = await taskSession(fetcher)
  const { taskId } = await session.callTask(tool, {}, { progressToken: 'p' })
  const stream = await waitOn(session, taskId, options)
  return { session, taskId, stream }
}

async function asked(tool = 'form') {
  const { session, taskId, stream } = await waiting(tool)
  await parked(taskId)
  const ask = await stream.until(isAsk)
  return { session, taskId, stream, ask }
}

const endOf = async (stream: SessionStream): Promise<string> => textOf((await stream.rest()).at(-1))

/** All events of connections of one stream, each once. An id alone at the beginning only says where it goes on. */
function transcript(...parts: SessionStream[]): Message[] {
  return parts.flatMap(messagesOf)
}

describe('a wait that is cut', () => {
  test('after every event in turn brings each event once in the end', async () => {
    const { session, taskId, stream } = await waiting('talkative')
    const parts = [stream]
    for (;;) {
      const part = parts.at(-1)!
      const event = await part.next()
      if (event === undefined) throw new Error('the stream ended early')
      const { message } = event
      if (message?.result !== undefined) break
      if (message === undefined && parts.length > 1) continue
      await part.cancel()
      if (message && isAsk(message)) await session.reply(message.id, named('Ann'))
      parts.push(await session.resume(part))
    }
    const messages = transcript(...parts)
    for (const p of parts)
      console.log(
        p.read.map(
          ({ id, message }) =>
            id +
            ' ' +
            (message?.method ?? JSON.stringify(message?.result)) +
            ' ' +
            (message?.params?.['progress'] ?? message?.params?.['status']),
        ),
      )
    console.log((await query(session, 'select * from event')).map((e) => e['id'] + String(e['text']).slice(0, 150)))
    expect(messages.filter(isAsk)).toHaveLength(1)
    expect(messages.filter(isMethod(PROGRESS)).map(({ params }) => params?.['progress'])).toEqual([1, 2])
    expect(messages.filter(({ result }) => result !== undefined)).toEqual([
      {
        jsonrpc: '2.0',
        id: expect.anything(),
        result: { content: [{ type: 'text', text: 'Ann' }], ...related(taskId) },
      },
    ])
    const ids = parts.flatMap(({ read }) => read.flatMap(({ id, message }) => (message ? [id] : [])))
    expect(new Set(ids).size).toBe(messages.length)
    expect(await session.get({ 'last-event-id': parts.at(-1)!.lastEventId! })).toMatchObject({ status: 405 })
  })

  test('before it is asked brings the ask when its client comes back', async () => {
    const { session, taskId, stream } = await waiting('form')
    await stream.next()
    await stream.cancel()
    await parked(taskId)
    const again = await session.resume(stream, stream.read[0]!.id)
    const ask = await again.until(isAsk)
    await session.reply(ask.id, named('Ann'))
    expect(await endOf(again)).toBe('Ann')
    expect(messagesOf(again).filter(isAsk)).toHaveLength(1)
  })

  test('while it asks keeps the ask under its id', async () => {
    const { session, stream, ask } = await asked()
    const before = stream.read.at(-2)!.id
    await stream.cancel()
    const again = await session.resume(stream, before)
    expect(await again.until(isAsk)).toEqual(ask)
    await session.reply(ask.id, named('Ann'))
    expect(await endOf(again)).toBe('Ann')
  })

  test('and answered meanwhile brings the result and no ask', async () => {
    const { session, taskId, stream, ask } = await asked()
    await stream.cancel()
    await session.reply(ask.id, named('Ann'))
    await session.settled(taskId)
    const again = await session.resume(stream)
    expect(await endOf(again)).toBe('Ann')
    expect(messagesOf(again).filter((message) => isAsk(message) || message.method === CANCELLED)).toEqual([])
  })

  test('and answered elsewhere meanwhile brings the ask back, and the result', async () => {
    const { session, taskId, stream, ask } = await asked()
    await stream.cancel()
    const other = await taskSession(fetcher)
    await other.talkTask(taskId, () => named('Ann'))
    const again = await session.resume(stream)
    const messages = await again.rest()
    expect(messages.filter(isMethod(CANCELLED)).map(takenBack)).toEqual([ask.id])
    expect(textOf(messages.at(-1))).toBe('Ann')
  })

  test('while its task works is told of the end, which came while nobody was connected', async () => {
    isHeld = true
    const { session, taskId, stream } = await waiting('working')
    await stream.next()
    await stream.cancel()
    expect(await session.task(taskId)).toMatchObject({ status: 'working' })
    isHeld = false
    await session.settled(taskId)
    const again = await session.resume(stream)
    expect(await endOf(again)).toBe('done')
  })

  test('brings what was said before the end before the end, although it comes late', async () => {
    isHeld = true
    const { session, taskId, stream } = await waiting('burst')
    await stream.next()
    await stream.cancel()
    const late = await lateWords(session)
    isHeld = false
    await session.settled(taskId)
    const again = await session.resume(stream)
    await again.next()
    await scheduler.wait(50)
    late.open()
    const said = (await again.rest()).map(({ method, params }) => params?.['progress'] ?? method ?? 'result')
    expect(said).toEqual([...Array.from({ length: BURST }, (_, i) => i + 1), STATUS, 'result'])
  })

  test('never cancels its task, however often', async () => {
    isHeld = true
    const { session, taskId, stream } = await waiting('working')
    await stream.cancel()
    for (let i = 0; i < 5; i++) await (await waitOn(session, taskId)).cancel()
    expect(await session.task(taskId)).toMatchObject({ status: 'working' })
    isHeld = false
    expect((await session.taskResult(taskId)).content[0]?.text).toBe('done')
  })
})

const statesOf = async (session: OwnSession): Promise<unknown[]> =>
  (await query(session, 'select state from call order by stream')).map(({ state }) => state)

/** What tasks tell a session meanwhile does not get there. */
async function silenced(session: OwnSession, during: () => Promise<void>): Promise<void> {
  const spy = await runInDurableObject(stubOf(session), (object) => {
    const { inner } = object as unknown as { inner: { taskChanged(): boolean } }
    return vi.spyOn(inner, 'taskChanged').mockImplementation(() => {
      throw new Error('the session cannot be reached')
    })
  })
  try {
    await during()
  } finally {
    spy.mockRestore()
  }
}

/** What a task says meanwhile gets there when the gate is opened. */
async function lateWords(session: OwnSession): Promise<Gate> {
  const words = gate()
  await runInDurableObject(stubOf(session), (object) => {
    type Listener = { inner: Listener; taskSaid(...said: unknown[]): unknown }
    const listener = Object.getPrototypeOf(object) as Listener
    const { taskSaid } = listener
    vi.spyOn(listener, 'taskSaid').mockImplementation(async function (this: Listener, ...said) {
      await words.opened
      return taskSaid.apply(this, said)
    })
  })
  onTestFinished(() => void vi.restoreAllMocks())
  return words
}

/** Waits until the session has noticed that nobody reads its streams. */
const unread = (session: OwnSession): Promise<void> =>
  eventually(async () => {
    await scheduler.wait(20)
    return session.id !== ''
  })

describe('a wait that its client has left', () => {
  test('is there for a client that comes back, although another was asked for meanwhile', async () => {
    const { session, taskId, stream } = await asked()
    await stream.cancel()
    await unread(session)
    const second = await waitOn(session, taskId)
    const ask = await second.until(isAsk)
    expect(await statesOf(session)).toEqual(['running', 'running'])
    await session.reply(ask.id, named('Ann'))
    expect(await endOf(second)).toBe('Ann')
    expect(await endOf(await session.resume(stream))).toBe('Ann')
  })

  test('for another task stays', async () => {
    const { session, stream } = await asked()
    const { taskId: other } = await session.callTask('form')
    await stream.cancel()
    await unread(session)
    const second = await waitOn(session, other)
    await second.until(isAsk)
    expect(await statesOf(session)).toEqual(['running', 'running'])
  })

  test('does not take the place of another for ever', async () => {
    withLimits({ sessionWaits: 3 })
    const { session, taskId, stream } = await asked()
    await stream.cancel()
    for (let i = 0; i < 6; i++) {
      await unread(session)
      const again = await waitOn(session, taskId)
      await again.until(isAsk)
      await again.cancel()
    }
    await unread(session)
    const { result } = await session.talkTask(taskId, () => named('Ann'))
    expect(result.content[0]?.text).toBe('Ann')
  })
})

describe('a wait over sleeping objects', () => {
  const sleeps: [string, (session: OwnSession, taskId: string) => Promise<unknown>][] = [
    ['the session', (session) => hibernateSession(session)],
    ['the task', (_session, taskId) => hibernate(taskId)],
    ['both', (session, taskId) => Promise.all([hibernateSession(session), hibernate(taskId)])],
  ]
  test.for(sleeps)('goes on with the answer: %s', async ([, sleep]) => {
    const { session, taskId, stream, ask } = await asked()
    await sleep(session, taskId)
    expect((await session.reply(ask.id, named('Ann'))).status).toBe(202)
    expect(await endOf(stream)).toBe('Ann')
    expect(messagesOf(stream).filter(isAsk)).toHaveLength(1)
  })

  test.for(sleeps)('goes on after a sleep: %s', async ([, sleep]) => {
    const { session, taskId, stream } = await waiting('sleeper')
    await parked(taskId)
    await stream.next()
    await sleep(session, taskId)
    later(DAY_MS / 2)
    await ring(taskId)
    expect(await endOf(stream)).toBe('slept')
  })

  test.for(sleeps)('is asked again after an answer that does not fit: %s', async ([, sleep]) => {
    const { session, taskId, stream, ask } = await asked()
    await sleep(session, taskId)
    await session.reply(ask.id, named('A'))
    const again = await stream.until(isAsk)
    expect(again.id).not.toBe(ask.id)
    await parked(taskId)
    await sleep(session, taskId)
    await session.reply(again.id, named('Ann'))
    expect(await endOf(stream)).toBe('Ann')
  })
})

describe('a wait over objects that die', () => {
  const deaths: [string, (session: OwnSession, taskId: string) => Promise<unknown>][] = [
    ['the session', (session) => crashSession(session)],
    ['the task', (_session, taskId) => crash(taskId)],
    ['both', async (session, taskId) => [await crashSession(session), await crash(taskId)]],
  ]

  test.for(deaths)('goes on with the answer: %s', async ([, kill]) => {
    const { session, taskId, stream, ask } = await asked()
    await kill(session, taskId)
    expect((await session.reply(ask.id, named('Ann'))).status).toBe(202)
    expect(await endOf(stream)).toBe('Ann')
    expect(messagesOf(stream).filter(isAsk)).toHaveLength(1)
    expect(messagesOf(stream).filter(({ result }) => result !== undefined)).toHaveLength(1)
  })

  test.for(deaths)('goes on when the alarm has entered the handler again: %s', async ([, kill]) => {
    isHeld = true
    entered = 0
    const { session, taskId, stream } = await waiting('working')
    await eventually(() => entered === 1)
    await kill(session, taskId)
    isHeld = false
    await ring(taskId)
    expect(await endOf(stream)).toBe('done')
  })

  test.for(deaths)('goes on when they die after the answer: %s', async ([, kill]) => {
    isHeld = true
    entered = 0
    const { session, taskId, stream, ask } = await asked('works_on')
    await session.reply(ask.id, named('Ann'))
    await eventually(() => entered === 1)
    await kill(session, taskId)
    isHeld = false
    await ring(taskId)
    expect(await endOf(stream)).toBe('Ann')
    expect(messagesOf(stream).filter(isAsk)).toHaveLength(1)
  })

  test.for(deaths)('is found by a client that was not connected: %s', async ([, kill]) => {
    const { session, taskId, stream, ask } = await asked()
    await stream.cancel()
    await kill(session, taskId)
    await session.reply(ask.id, named('Ann'))
    const again = await session.resume(stream)
    expect(await endOf(again)).toBe('Ann')
  })

  test('is told by the alarm what could not be told before', async () => {
    const { session, taskId, stream, ask } = await asked()
    await silenced(session, async () => {
      await session.reply(ask.id, named('Ann'))
      await session.settled(taskId)
      await eventually(async () => (await recordOf(taskId)).isUntold)
      const { alarm } = await storedOf(taskId)
      expect(alarm! - Date.now()).toBeLessThanOrEqual(limits.leaseMs)
    })
    expect(await statesOf(session)).toEqual(['running'])
    await ring(taskId)
    expect(await endOf(stream)).toBe('Ann')
    await eventually(async () => !(await recordOf(taskId)).isUntold)
  })

  test('is told what could not be told before when its client comes back', async () => {
    const { session, taskId, stream, ask } = await asked()
    await stream.cancel()
    await silenced(session, async () => {
      await session.reply(ask.id, named('Ann'))
      await session.settled(taskId)
      await eventually(async () => (await recordOf(taskId)).isUntold)
    })
    const again = await session.resume(stream)
    expect(await endOf(again)).toBe('Ann')
  })

  test('is refused for now where its task cannot be reached, and leaves nothing that waits', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('form')
    await parked(taskId)
    await unreachable(taskStub(taskId), 'watch', async () => {
      expect(await session.error('tasks/result', { taskId })).toMatchObject({ status: 503, code: -32603 })
    })
    expect(await statesOf(session)).toEqual(['cancelled'])
    const { result } = await session.talkTask(taskId, () => named('Ann'))
    expect(result.content[0]?.text).toBe('Ann')
  })

  test('can be answered again where an answer did not reach its task', async () => {
    const { session, taskId, stream, ask } = await asked('both')
    const other = await stream.until(isAsk)
    await unreachable(taskStub(taskId), 'answered', async () => {
      expect((await session.reply(ask.id, named('Ann'))).status).toBeGreaterThanOrEqual(400)
    })
    await session.reply(other.id, named('Bob'))
    await eventually(async () => Object.hasOwn((await storedOf(taskId)).entries, 'answer:b'))
    await scheduler.wait(20)
    expect((await session.reply(ask.id, named('Ann'))).status).toBe(202)
    expect(await endOf(stream)).toBe('Ann Bob')
    expect(messagesOf(stream).filter(isAsk)).toHaveLength(2)
  })

  test('in a session that cannot be reached does not keep those of others waiting', async () => {
    const sessions = [await taskSession(fetcher), await taskSession(fetcher)]
    const { taskId } = await sessions[0]!.callTask('form')
    for (const [lost, other] of [sessions, sessions.toReversed()] as [OwnSession, OwnSession][]) {
      const streams = [await waitOn(lost, taskId), await waitOn(other, taskId)] as const
      const asks = [await streams[0].until(isAsk), await streams[1].until(isAsk)]
      await silenced(lost, async () => {
        await other.reply(asks[1]!.id, named('A'))
        const again = await streams[1].until(isAsk)
        expect(again.id).not.toBe(asks[1]!.id)
      })
      for (const stream of streams) await stream.cancel()
    }
  })

  test('without a session connects again', async () => {
    withLimits({ quietMs: 20 })
    for (const accept of ['application/json', 'text/event-stream']) {
      isHeld = true
      entered = 0
      const client = legacy(fetcher, TASKS_REVISION)
      const { taskId } = await client.callTask('working')
      const result = client.taskResult(taskId, { accept })
      await eventually(() => entered === 1)
      await scheduler.wait(40)
      await crash(taskId)
      isHeld = false
      await ring(taskId)
      expect((await result).content[0]?.text).toBe('done')
    }
  })

  test('that takes no stream begins anew when its session dies', async () => {
    isHeld = true
    entered = 0
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('working')
    const result = session.taskResult(taskId, { accept: 'application/json' })
    await eventually(() => entered === 1)
    await scheduler.wait(40)
    await crashSession(session)
    isHeld = false
    expect((await result).content[0]?.text).toBe('done')
  })
})

describe('a session that waits', () => {
  test('does not ring every half minute', async () => {
    const { session, stream } = await asked()
    for (let i = 0; i < 2; i++) {
      const { alarm } = await storageOf(session)
      expect(alarm! - Date.now()).toBeGreaterThan(limits.sessionIdleMs / 2)
      await ringSession(session)
    }
    await hibernateSession(session)
    await ringSession(session)
    const { alarm } = await storageOf(session)
    expect(alarm! - Date.now()).toBeGreaterThan(limits.sessionIdleMs / 2)
    await stream.cancel()
  })

  test('does not ring every half minute while its task works either', async () => {
    isHeld = true
    const { session, stream } = await waiting('working')
    await stream.next()
    await ringSession(session)
    const { alarm } = await storageOf(session)
    expect(alarm! - Date.now()).toBeGreaterThan(limits.sessionIdleMs / 2)
    isHeld = false
    expect(await endOf(stream)).toBe('done')
  })

  test('keeps its waits however long it is idle while its client is connected', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('form', {}, { ttl: 2 * limits.sessionIdleMs })
    const stream = await waitOn(session, taskId)
    const ask = await stream.until(isAsk)
    await parked(taskId)
    later(limits.sessionIdleMs * 1.5)
    await ringSession(session)
    expect(await statesOf(session)).toEqual(['running'])
    await session.reply(ask.id, named('Ann'))
    expect(await endOf(stream)).toBe('Ann')
  })

  test('keeps a wait on which nothing has been said', async () => {
    isHeld = true
    const session = await taskSession(serve({ tools: [working] }, { vars: { SSE_PRIMING: 'off' } }))
    const { taskId } = await session.callTask('working')
    const stream = await waitOn(session, taskId)
    await ringSession(session)
    expect(await storageOf(session)).toMatchObject({ rows: { call: 1, event: 0 } })
    isHeld = false
    expect(await endOf(stream)).toBe('done')
  })

  test('forgets them when it is idle and nobody is connected; the task goes on', async () => {
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('form', {}, { ttl: 2 * limits.sessionIdleMs })
    const stream = await waitOn(session, taskId)
    await stream.until(isAsk)
    await parked(taskId)
    await stream.cancel()
    await unread(session)
    later(limits.sessionIdleMs * 1.5)
    await ringSession(session)
    expect(await storageOf(session)).toEqual(NOTHING)
    expect(await session.get({ 'last-event-id': stream.lastEventId! })).toMatchObject({ status: 405 })
    const { asked: seen, result } = await session.talkTask(taskId, () => named('Ann'))
    expect([seen.length, result.content[0]?.text]).toEqual([1, 'Ann'])
  })

  test('keeps nothing of a wait once its grace is over', async () => {
    const { session, stream, ask } = await asked()
    await session.reply(ask.id, named('Ann'))
    await stream.rest()
    later(limits.streamGraceMs)
    await ringSession(session)
    expect(await storageOf(session)).toEqual(NOTHING)
  })
})

describe('notifications/cancelled', () => {
  test('with the id of a wait ends that wait and nothing else', async () => {
    const { session, taskId, stream } = await waiting('form', { id: 7 })
    const first = await stream.until(isAsk)
    const second = await waitOn(session, taskId, { id: '7' })
    const ask = await second.until(isAsk)
    expect((await session.cancel(7)).status).toBe(202)
    const messages = await stream.rest()
    expect(messages.filter(({ result, error }) => result ?? error)).toEqual([])
    expect(await session.task(taskId)).toMatchObject({ status: 'input_required' })
    // What was asked there cannot be answered any more.
    await session.reply(first.id, named('Eve'))
    expect(await session.task(taskId)).toMatchObject({ status: 'input_required' })
    await session.reply(ask.id, named('Ann'))
    expect(await endOf(second)).toBe('Ann')
    expect(await session.get({ 'last-event-id': stream.lastEventId! })).toMatchObject({ status: 405 })
  })

  test('with the id of a wait ends it after its session slept as well', async () => {
    const { session, taskId, stream } = await waiting('form', { id: 'wait' })
    await stream.until(isAsk)
    await parked(taskId)
    await hibernateSession(session)
    await session.cancel('wait')
    const messages = await stream.rest()
    expect(messages.filter(({ result, error }) => result ?? error)).toEqual([])
    expect(await session.task(taskId)).toMatchObject({ status: 'input_required' })
  })

  test('with the id of a wait that takes no stream ends it without a response', async () => {
    isHeld = true
    entered = 0
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('working')
    await eventually(() => entered === 1)
    const answer = session
      .request('tasks/result', { taskId }, { accept: 'application/json', id: 'wait' })
      .then(({ response }) => response)
      .catch((error: Error) => error.message)
    await scheduler.wait(40)
    await session.cancel('wait')
    expect(await answer).toContain('the stream ended without a response')
    expect(await session.task(taskId)).toMatchObject({ status: 'working' })
    isHeld = false
    expect((await session.taskResult(taskId)).content[0]?.text).toBe('done')
  })

  test('with the id of the call that made the task does nothing', async () => {
    isHeld = true
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('working', {}, { id: 'made-it' })
    const stream = await waitOn(session, taskId)
    await stream.next()
    expect((await session.cancel('made-it')).status).toBe(202)
    expect(await session.task(taskId)).toMatchObject({ status: 'working' })
    isHeld = false
    expect(await endOf(stream)).toBe('done')
  })

  test('of another session does nothing', async () => {
    const { session, taskId, stream } = await waiting('form', { id: 'wait' })
    const ask = await stream.until(isAsk)
    await (await taskSession(fetcher)).cancel('wait')
    await session.reply(ask.id, named('Ann'))
    expect(await endOf(stream)).toBe('Ann')
    expect(await session.task(taskId)).toMatchObject({ status: 'completed' })
  })
})

describe('the end of a session', () => {
  const watchersOf = async (taskId: string): Promise<string[]> =>
    Object.keys((await storedOf(taskId)).entries).filter((key) => key.startsWith('watcher:'))

  test('ends its waits, and the task goes on for others', async () => {
    const { session, taskId, stream, ask } = await asked()
    expect((await session.end()).status).toBe(204)
    const messages = await stream.rest()
    expect(messages.filter(({ result, error }) => result ?? error)).toEqual([])
    expect((await session.reply(ask.id, named('Eve'))).status).toBe(404)
    const other = await taskSession(fetcher)
    expect(await other.task(taskId)).toMatchObject({ status: 'input_required' })
    const { asked: seen, result } = await other.talkTask(taskId, () => named('Ann'))
    expect([seen.length, result.content[0]?.text]).toEqual([1, 'Ann'])
    await eventually(async () => (await watchersOf(taskId)).length === 0)
    expect(await storageOf(session)).toMatchObject({ rows: { call: 0, event: 0, ask: 0 } })
  })

  test('ends a wait that takes no stream', async () => {
    isHeld = true
    entered = 0
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('working')
    await eventually(() => entered === 1)
    const answer = session
      .request('tasks/result', { taskId }, { accept: 'application/json' })
      .then(({ response }) => response)
      .catch((error: Error) => error.message)
    await scheduler.wait(40)
    await session.end()
    expect(await answer).toContain('the stream ended without a response')
    isHeld = false
    const other = await taskSession(fetcher)
    expect((await other.taskResult(taskId)).content[0]?.text).toBe('done')
  })

  test('leaves a task that nobody waits for alone', async () => {
    isHeld = true
    const session = await taskSession(fetcher)
    const { taskId } = await session.callTask('working', {}, { progressToken: 'p' })
    await session.end()
    expect((await recordOf(taskId)).state.phase).toBe('working')
    isHeld = false
    const other = legacy(fetcher, TASKS_REVISION)
    expect((await other.taskResult(taskId)).content[0]?.text).toBe('done')
    expect(await storageOf(session)).toMatchObject({ rows: { call: 0, event: 0 } })
  })
})
