// Sessions whose hub cannot be reached: what needs it says 503 at once, the rest goes on, and nothing hangs.

import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineResource, defineServer, type Server } from '../../src/server/index.ts'
import { holdDown, hubOf, watchRejections, type TestHub } from '../durable-objects/support.ts'
import type { Fetcher } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { describeLegacy, eventually, ring, sessionOf, storageOf, tool, withLimits } from './support.ts'

const change = tool('change', (ctx) => {
  ctx.notify.resourceUpdated('test://a')
  return 'changed'
})
const a = defineResource('test://a', { name: 'a', read: () => 'a' })

let [server, hub, fetcher]: [Server, TestHub, Fetcher] = [] as never
beforeEach(() => {
  server = defineServer({ name: 'test', version: '1.0.0', tools: [change], resources: [a] })
  hub = hubOf(server)
  fetcher = serve(server)
})

describeLegacy('without a hub', (revision) => {
  test('the standalone stream gets 503, and opens once the hub is back', async () => {
    const session = await sessionOf(fetcher, revision)
    const back = holdDown(hub)
    expect(await session.get()).toMatchObject({ status: 503, json: { error: { code: -32603 } } })
    back()
    const get = await session.listen()
    await hub.publish('tools')
    await get.until(({ method }) => method === 'notifications/tools/list_changed')
    await get.cancel()
  })

  test('resources/subscribe gets 503, and unsubscribing and everything else goes on', async () => {
    const session = await sessionOf(fetcher, revision)
    const back = holdDown(hub)
    const params = { uri: 'test://a' }
    expect(await session.error('resources/subscribe', params)).toMatchObject({ status: 503, code: -32603 })
    await session.result('resources/unsubscribe', params)
    await session.result('tools/list')
    await session.result('ping')
    back()
    await session.result('resources/subscribe', params)
    const get = await session.listen()
    await session.call('change')
    await get.until(({ method }) => method === 'notifications/resources/updated')
    await get.cancel()
  })

  test('a call that changes something is answered all the same, and its change is told later', async () => {
    withLimits({ publishWaitMs: 50 })
    const unhandled = watchRejections()
    const session = await sessionOf(fetcher, revision)
    await session.result('resources/subscribe', { uri: 'test://a' })
    const get = await session.listen()
    const back = holdDown(hub)
    expect((await session.call('change')).result.content[0]!.text).toBe('changed')
    back()
    await get.until(({ method }) => method === 'notifications/resources/updated')
    await get.cancel()
    expect(unhandled).toEqual([])
  })
})

describe('without a hub for long', () => {
  test('a change is given up after limits.publishMs, and nothing is left that was not seen to', async () => {
    withLimits({ publishWaitMs: 10, publishMs: 50 })
    const unhandled = watchRejections()
    const session = await sessionOf(fetcher)
    holdDown(hub)
    expect((await session.call('change')).result.content[0]!.text).toBe('changed')
    await scheduler.wait(600)
    expect(unhandled).toEqual([])
  })

  test('a subscription that was refused is kept no longer than any other', async () => {
    const session = await sessionOf(fetcher)
    const back = holdDown(hub)
    await session.error('resources/subscribe', { uri: 'test://a' })
    const { rows, alarm } = await storageOf(session)
    expect(rows).toMatchObject({ subscription: 1 })
    expect(alarm! - Date.now()).toBeLessThanOrEqual(limits.sessionIdleMs)
    withLimits({ sessionIdleMs: 0 })
    await eventually(async () => (await ring(session), (await storageOf(session)).alarm === null))
    expect(await storageOf(session)).toEqual({ rows: {}, alarm: null })
    back()
  })
})
