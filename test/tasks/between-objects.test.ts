// What may happen between a session, its tasks and a principal while one of them waits for another.

import * as z from 'zod'
import { env } from 'cloudflare:workers'
import { listDurableObjectIds, runInDurableObject } from 'cloudflare:test'
import { expect, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { digestOf } from '../../src/server/canonical.ts'
import { isAsk, query, ring as ringSession, storageOf, stubOf as sessionStub } from '../sessions/support.ts'
import { serve } from '../support/serve.ts'
import { taskSession, unreachable, waitOn } from './legacy-support.ts'
import {
  accept,
  as,
  byHeader,
  eventually,
  hibernate,
  keysOf,
  later,
  parked,
  recordOf,
  ring,
  taskClient,
  taskTool,
  update,
} from './support.ts'

const Name = z.object({ name: z.string() })
const Person = z.object({ name: z.string(), age: z.number().optional() })
let ran = 0
let isNewVersion = false

const asksThenSleeps = taskTool('asks_then_sleeps', async (ctx) => {
  const { action } = await ctx.elicit('a', { message: 'a?', schema: Name })
  await ctx.sleep(3_600_000)
  return action
})
const counts = taskTool('counts', () => `${++ran}`)
const asksTwice = taskTool('asks_twice', async (ctx) => {
  const [a, b] = await Promise.all([
    ctx.elicit('a', { message: 'a?', schema: Name }),
    ctx.elicit('b', { message: 'b?', schema: isNewVersion ? Person : Name }),
  ])
  return `${a.action} ${b.action}`
})
const fetcher = serve({ tools: [asksThenSleeps, counts, asksTwice] }, { authenticate: byHeader })
const ANSWER = { result: accept({ name: 'Ann' }) }

const taskStub = (taskId: string) => env.TASK.get(env.TASK.idFromString(taskId))

/** A stream on which a task has asked. */
async function asked() {
  const session = await taskSession(fetcher)
  const { taskId } = await session.callTask('asks_then_sleeps')
  await parked(taskId)
  const stream = await waitOn(session, taskId)
  return { session, taskId, stream, ask: await stream.until(isAsk) }
}

/** Puts a method of a task's object in the place of its own. */
async function replaced(taskId: string, name: 'get' | 'answered', by: (own: () => unknown) => Promise<unknown>) {
  return runInDurableObject(taskStub(taskId), (object) => {
    const methods = Object.getPrototypeOf(object) as { [method: string]: (...args: unknown[]) => unknown }
    const own = methods[name]!
    return vi.spyOn(methods, name).mockImplementation(function (this: unknown, ...args) {
      return by(() => own.apply(this, args))
    })
  })
}

test('an ask of a later task is shown, although a stream of that number answered one before', async () => {
  const { session, taskId, stream, ask } = await asked()
  await session.reply(ask.id, ANSWER)
  await eventually(async () => (await recordOf(taskId)).state.phase === 'working')
  const [row] = await query(session, 'select call from call')
  await session.cancel((JSON.parse(String(row!['call'])) as { request: { id: string } }).request.id)
  await stream.rest()
  later(limits.streamGraceMs + 1)
  await ringSession(session)
  const next = await session.callTask('asks_then_sleeps')
  await parked(next.taskId)
  expect((await (await waitOn(session, next.taskId)).until(isAsk)).id).not.toBe(ask.id)
})

test('an ask stays answerable when its answer is lost while news crosses it', async () => {
  const { session, taskId, ask } = await asked()
  let isCalled = false
  let mayFail = false
  const spy = await replaced(taskId, 'answered', async () => {
    isCalled = true
    while (!mayFail) await scheduler.wait(2)
    throw new Error('lost')
  })
  const reply = session.reply(ask.id, ANSWER)
  await eventually(() => isCalled)
  const snapshot = (await taskStub(taskId).get({ principal: 'anonymous', form: '2025-11-25' })) as never
  await sessionStub(session).taskChanged({ protocol: 1, taskId, stream: 1, snapshot })
  mayFail = true
  expect((await reply).status).toBe(503)
  spy.mockRestore()
  await session.reply(ask.id, ANSWER)
  expect((await recordOf(taskId)).state.phase).toBe('working')
})

test('a session that ends while it looks for a task keeps nothing of it', async () => {
  const session = await taskSession(fetcher)
  const { taskId } = await session.callTask('asks_then_sleeps')
  await parked(taskId)
  let hasLooked = false
  let mayAnswer = false
  const spy = await replaced(taskId, 'get', async (own) => {
    hasLooked = true
    while (!mayAnswer) await scheduler.wait(2)
    return own()
  })
  const waiting = session.error('tasks/result', { taskId })
  await eventually(() => hasLooked)
  await session.end()
  mayAnswer = true
  expect((await waiting).status).toBe(404)
  spy.mockRestore()
  expect((await storageOf(session)).rows['call'] ?? 0).toBe(0)
})

test('a task forgets the streams of a session that have ended', async () => {
  const session = await taskSession(fetcher)
  const { taskId } = await session.callTask('asks_then_sleeps')
  await parked(taskId)
  for (let id = 1; id <= 5; id++) {
    const stream = await waitOn(session, taskId, { id })
    await stream.until(isAsk)
    await session.cancel(id)
    await stream.rest()
  }
  await (await waitOn(session, taskId)).until(isAsk)
  expect(await keysOf(taskId, 'watcher:')).toHaveLength(1)
})

test('answers to several asks are there together, also when one of them is another question now', async () => {
  isNewVersion = false
  const client = taskClient(fetcher)
  const { taskId } = await client.callTask('asks_twice')
  await parked(taskId)
  await hibernate(taskId)
  isNewVersion = true
  await update(client, taskId, { a: accept({ name: 'Ann' }), b: accept({ name: 'Bob' }) })
  await client.reached(taskId, 'input_required')
  expect(Object.keys((await client.task(taskId)).inputRequests!)).toEqual(['b:2'])
  await update(client, taskId, { 'b:2': accept({ name: 'Bob' }) })
  expect((await client.settled(taskId)).result?.content[0]?.text).toBe('accept accept')
})

test('a call that is answered with an error runs nothing', async () => {
  const before = new Set((await listDurableObjectIds(env.TASK)).map(String))
  const principal = env.PRINCIPAL.getByName(await digestOf('somebody'))
  await unreachable(principal as never, 'opened', async () => {
    const error = await taskClient(fetcher, as('somebody')).error('tools/call', { name: 'counts' })
    expect(error).toMatchObject({ status: 503, code: -32603 })
  })
  const made = (await listDurableObjectIds(env.TASK)).map(String).filter((id) => !before.has(id))
  for (const id of made) await ring(id)
  expect(ran).toBe(0)
})
