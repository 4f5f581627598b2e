// What tasks tell of changes: those their handlers make, and, once somebody listens, their own. Neither a hub that cannot
// be reached nor the death of the task's object loses one. @see ext-tasks, Status Notifications

import { beforeEach, describe, expect, test } from 'vitest'
import type { Topic } from '../../src/protocol/topic.ts'
import { defineResource, defineServer, type Server } from '../../src/server/index.ts'
import { ANONYMOUS } from '../../src/server/ports.ts'
import {
  callsOfHub,
  holdDown,
  hubOf,
  listen as listenAtHub,
  query,
  storedOf as storedOfHub,
  watchRejections,
  watchTimers,
  type TestHub,
} from '../durable-objects/support.ts'
import type { Fetcher, ModernClient, SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { sessionOf } from '../sessions/support.ts'
import { taskSession } from './legacy-support.ts'
import {
  crash,
  eventually,
  parked,
  recordOf,
  ring,
  stubOf,
  taskClient,
  taskTool,
  update,
  withLimits,
} from './support.ts'

/** Where the handler `stops` waits until it dies with its object, and how often it was entered. */
let mayGoOn = true
let entries = 0

const changes = taskTool('changes', async (ctx) => {
  // After its handle was answered.
  await scheduler.wait(1)
  ctx.notify.resourceUpdated('test://a')
  return 'changed'
})
const stops = taskTool('stops', async (ctx) => {
  entries++
  ctx.notify.resourceUpdated('test://a')
  while (!mayGoOn) await scheduler.wait(2)
  return 'stopped'
})
const asks = taskTool('asks', async (ctx) => {
  await ctx.inputRequest('roots', { method: 'roots/list' })
  return 'asked'
})
const counts = taskTool('counts', async (ctx) => {
  while (!mayGoOn) await scheduler.wait(2)
  for (let i = 1; i <= 20; i++) ctx.progress(i)
  await ctx.sleep(60_000)
  return 'counted'
})
const a = defineResource('test://a', { name: 'a', read: () => 'a' })

let [server, hub, fetcher, client]: [Server, TestHub, Fetcher, ModernClient] = [] as never
beforeEach(() => {
  mayGoOn = true
  entries = 0
  server = defineServer({ name: 'test', version: '1.0.0', tools: [changes, stops, asks, counts], resources: [a] })
  hub = hubOf(server)
  fetcher = serve(server)
  client = taskClient(fetcher)
})

const OWNER = { principal: ANONYMOUS.principal, form: 'extension' } as const

/** What is published, in order. */
function watchPublished(): Topic[] {
  const published: Topic[] = []
  callsOfHub(hub, ({ method, args, go }) => {
    if (method === 'publish') published.push(...(args[1] as Topic[]))
    return go()
  })
  return published
}

const isStored = async (topic: Topic): Promise<boolean> => {
  if (!('change' in (await storedOfHub(hub)).rows)) return false
  return (await query(hub, `select 1 from change where topic = '${topic}'`)).length > 0
}

const updatedOn = async (get: SessionStream): Promise<unknown> =>
  (await get.until(({ method }) => method === 'notifications/resources/updated')).params

describe('a change that a task makes', () => {
  test('reaches who listens, the session the task is of, and every other', async () => {
    const listener = await listenAtHub(hub, ['resource test://a'])
    const sessions = [await taskSession(fetcher), await sessionOf(fetcher, '2025-03-26')]
    for (const session of sessions) await session.result('resources/subscribe', { uri: 'test://a' })
    const gets = [await sessions[0]!.listen(), await sessions[1]!.listen()]
    await sessions[0]!.callTask('changes')
    for (const get of gets) expect(await updatedOn(get)).toEqual({ uri: 'test://a' })
    expect(await listener.next()).toEqual(['resource test://a'])
    await client.callTask('changes')
    for (const get of gets) expect(await updatedOn(get)).toEqual({ uri: 'test://a' })
    expect(await listener.next()).toEqual(['resource test://a'])
    for (const get of gets) await get.cancel()
  })

  test('is stored before the task is at its end', async () => {
    withLimits({ publishWaitMs: 60_000 })
    let isSlow = true
    callsOfHub(hub, async ({ go }) => {
      while (isSlow) await scheduler.wait(2)
      return go()
    })
    const { taskId } = await client.callTask('changes')
    await scheduler.wait(50)
    expect((await recordOf(taskId)).state.phase).toBe('working')
    isSlow = false
    expect((await client.settled(taskId)).status).toBe('completed')
    expect(await isStored('resource test://a')).toBe(true)
  })

  test('keeps it from its end for limits.publishWaitMs at most, and is told later', async () => {
    withLimits({ publishWaitMs: 30 })
    const unhandled = watchRejections()
    const back = holdDown(hub)
    const { taskId } = await client.callTask('changes')
    expect((await client.settled(taskId)).status).toBe('completed')
    expect(await isStored('resource test://a')).toBe(false)
    back()
    await eventually(() => isStored('resource test://a'))
    expect(unhandled).toEqual([])
  })

  test('is said again by a handler that is entered again, since it may have been lost with its object', async () => {
    mayGoOn = false
    const back = holdDown(hub)
    const { taskId } = await client.callTask('stops')
    await eventually(() => entries === 1)
    await crash(taskId)
    back()
    mayGoOn = true
    await ring(taskId)
    expect((await client.settled(taskId)).status).toBe('completed')
    expect([entries, await isStored('resource test://a')]).toEqual([2, true])
  })
})

describe('what a task becomes', () => {
  test('is published to nobody as long as nobody listened', async () => {
    withLimits({ hubWindowMs: 10 })
    const published = watchPublished()
    await parked((await client.callTask('counts')).taskId)
    const { taskId } = await client.callTask('asks')
    await client.reached(taskId, 'input_required')
    await update(client, taskId, { roots: { roots: [] } as never })
    await client.settled(taskId)
    await scheduler.wait(50)
    expect(published).toEqual([])
  })

  test('is published at every change once somebody listened, and no more at its end', async () => {
    const published = watchPublished()
    const { taskId } = await client.callTask('asks')
    await client.reached(taskId, 'input_required')
    expect(await stubOf(taskId).listen(OWNER)).toBe(true)
    await scheduler.wait(20)
    expect(published).toEqual([])
    await update(client, taskId, { roots: { roots: [] } as never })
    await client.settled(taskId)
    await eventually(async () => !(await recordOf(taskId)).isUntold)
    expect(new Set(published)).toEqual(new Set([`task ${taskId}`]))
    const { length } = published
    await stubOf(taskId).listen(OWNER)
    await ring(taskId)
    expect(published).toHaveLength(length)
  })

  test('is not noted for who is not its owner', async () => {
    const { taskId } = await client.callTask('asks')
    await parked(taskId)
    expect(await stubOf(taskId).listen({ principal: 'another', form: 'extension' })).toBe(false)
    expect(await stubOf(taskId).listen({ ...OWNER, form: '2025-11-25' })).toBe(false)
    expect((await recordOf(taskId)).isListened).toBeUndefined()
  })

  test('is told by its alarm when its hub could not be reached', async () => {
    withLimits({ publishMs: 0 })
    const { taskId } = await client.callTask('asks')
    await client.reached(taskId, 'input_required')
    await stubOf(taskId).listen(OWNER)
    const listener = await listenAtHub(hub, [`task ${taskId}`])
    const back = holdDown(hub)
    await update(client, taskId, { roots: { roots: [] } as never })
    await client.settled(taskId)
    expect((await recordOf(taskId)).isUntold).toBe(true)
    back()
    await ring(taskId)
    expect(await listener.next()).toEqual([`task ${taskId}`])
    await eventually(async () => !(await recordOf(taskId)).isUntold)
  })

  test('is told also when its object died before it could say so', async () => {
    const { taskId } = await client.callTask('asks')
    await client.reached(taskId, 'input_required')
    await stubOf(taskId).listen(OWNER)
    const listener = await listenAtHub(hub, [`task ${taskId}`])
    const back = holdDown(hub)
    await update(client, taskId, { roots: { roots: [] } as never })
    await client.settled(taskId)
    await crash(taskId)
    back()
    expect((await recordOf(taskId)).isUntold).toBe(true)
    await ring(taskId)
    expect(await listener.next()).toEqual([`task ${taskId}`])
  })

  test('is published for its progress once in limits.hubWindowMs, after which no timer is left', async () => {
    withLimits({ hubWindowMs: 40 })
    mayGoOn = false
    const published = watchPublished()
    const { taskId } = await client.callTask('counts')
    await stubOf(taskId).listen(OWNER)
    const timers = watchTimers()
    mayGoOn = true
    await parked(taskId)
    await eventually(() => published.length > 0)
    await scheduler.wait(100)
    expect([published, timers.size]).toEqual([[`task ${taskId}`], 0])
  })

  test('that no hub ever takes is reported, and rejects nothing', async () => {
    withLimits({ publishMs: 0, hubWindowMs: 10 })
    const unhandled = watchRejections()
    mayGoOn = false
    const { taskId } = await client.callTask('counts')
    await stubOf(taskId).listen(OWNER)
    holdDown(hub)
    mayGoOn = true
    await parked(taskId)
    await scheduler.wait(60)
    await client.result('tasks/cancel', { taskId })
    await scheduler.wait(20)
    expect(unhandled).toEqual([])
  })
})
