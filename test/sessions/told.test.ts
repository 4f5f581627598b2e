// Sessions that are told of changes together: one that hangs, or cannot be reached, is no other's loss.

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { EventLog } from '../../durable-objects/event-log.ts'
import { limits } from '../../src/limits.ts'
import { defineResource, defineServer } from '../../src/server/index.ts'
import { callsOfHub, callsOfSessions, hubOf } from '../durable-objects/support.ts'
import { serve } from '../support/serve.ts'
import { eventually, gate, left, query, sessionOf, tool, withLimits } from './support.ts'

const resources = ['a', 'b'].map((name) => defineResource(`test://${name}`, { name, read: () => name }))
const server = defineServer({ name: 'test', version: '1.0.0', tools: [tool('t', () => 'x')], resources })
const hub = hubOf(server)
const fetcher = serve(server)
const isA = ({ params }: { params?: Record<string, unknown> }): boolean => params?.['uri'] === 'test://a'

/** A session that listens to one resource, and another one that only subscribed to another. */
async function pair() {
  const [good, bad] = [await sessionOf(fetcher), await sessionOf(fetcher)]
  await good.result('resources/subscribe', { uri: 'test://a' })
  await bad.result('resources/subscribe', { uri: 'test://b' })
  const get = await good.listen()
  await get.next()
  return { get, bad }
}

test('one that cannot be reached does not delay what comes meanwhile for others', async () => {
  withLimits({ hubWindowMs: 0 })
  const { get, bad } = await pair()
  const held = gate()
  let isCalled = false
  await callsOfSessions(hub, async (call) => {
    if (call.of !== bad.objectId) return call.go()
    isCalled = true
    await held.opened
    throw new Error('unreachable')
  })
  await hub.publish('resource test://b')
  await eventually(() => isCalled)
  await hub.publish('resource test://a')
  await scheduler.wait(50)
  held.open()
  await get.until(isA)
  await get.cancel()
})

test('one that hangs holds up the others for a while, and not for ever', { timeout: 15_000 }, async () => {
  withLimits({ hubWindowMs: 0 })
  const { get, bad } = await pair()
  const held = gate()
  await callsOfSessions(hub, async (call) => {
    if (call.of === bad.objectId) await held.opened
    return call.go()
  })
  await hub.publish('resource test://b')
  await scheduler.wait(50)
  await hub.publish('resource test://a')
  await get.until(isA)
  held.open()
  await get.cancel()
})

test('what comes while an older connection closes and a newer one is on its way is for the newer one', async () => {
  withLimits({ hubWindowMs: 0 })
  const session = await sessionOf(fetcher)
  await session.result('resources/subscribe', { uri: 'test://a' })
  const old = await session.listen()
  await old.next()
  const held = gate()
  let isAsked = false
  await callsOfHub(hub, async (call) => {
    if (call.method === 'follow') {
      isAsked = true
      await held.opened
    }
    return call.go()
  })
  const coming = session.listen()
  await eventually(() => isAsked)
  await old.cancel()
  await left(session)
  await hub.publish('resource test://a')
  await eventually(async () => (await query(session, 'select text from event')).length > 0)
  held.open()
  const get = await coming
  await get.until(isA)
  await get.cancel()
})

test('a list that changes all the time does not push out what a call came to', async () => {
  await runInDurableObject(env.SESSION.get(env.SESSION.newUniqueId()), (_object, { storage }) => {
    const log = new EventLog(storage)
    for (let i = 1; i < limits.sessionEvents; i++) log.append(0, `{"n":${i}}`)
    const stream = log.begin('{}', {})
    log.append(stream, '{"answer":1}')
    log.end(stream, 'finished', Date.now())
    log.append(0, '{"n":0}')
    expect(log.call(stream)).toBeDefined()
    expect(log.after(stream, 0)).toHaveLength(1)
    expect(log.after(0, 0).length).toBeLessThan(limits.sessionEvents)
  })
})
