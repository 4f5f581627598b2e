// Ending a session. @see 2025-11-25 basic/transports, Session Management 5

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { serve } from '../support/serve.ts'
import {
  describeLegacy,
  eventually,
  gate,
  isAsk,
  later,
  NOTHING,
  query,
  ring,
  sessionOf,
  storageOf,
  tool,
  withLimits,
} from './support.ts'

const aborted: string[] = []
let go = gate()
const runs = tool('runs', async (ctx) => {
  ctx.signal.addEventListener('abort', () => aborted.push((ctx.signal.reason as Error).message))
  ctx.progress(1)
  await go.opened
  ctx.progress(2)
  ctx.notify.toolsListChanged()
  return 'too late'
})
const asks = tool('asks', async (ctx) => {
  await ctx.inputRequest('roots', { method: 'roots/list' })
  return 'answered'
})
const waits = tool('waits', async (ctx) => {
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  await scheduler.wait(80)
  return 'too late'
})
const fetcher = serve({ tools: [runs, asks, waits] })

describeLegacy('DELETE', (revision) => {
  test('ends the session: every later use is 404 with a JSON-RPC error, a second DELETE too', async () => {
    const session = await sessionOf(fetcher, revision)
    expect(await session.end()).toMatchObject({ status: 204, text: '' })
    const gone = { error: { code: -32600, message: expect.stringContaining('Session not found') } }
    expect(await session.error('ping')).toMatchObject({ status: 404, code: -32600 })
    expect(await session.error('tools/call', { name: 'runs' })).toMatchObject({ status: 404 })
    for (const { status, json } of [
      await session.end(),
      await session.get(),
      await session.get({ 'last-event-id': 'x' }),
      await session.reply('x', { result: {} }),
      await session.cancel(1),
    ]) {
      expect([status === 404 || status === 400, json]).toEqual([
        true,
        { jsonrpc: '2.0', ...gone, error: expect.anything() },
      ])
    }
  })

  test('aborts what runs, ends every stream without a response, and keeps only that it ended', async () => {
    go = gate()
    aborted.length = 0
    const session = await sessionOf(fetcher, revision)
    await session.result('logging/setLevel', { level: 'debug' })
    const get = await session.listen()
    const running = await session.callStream('runs', undefined, { progressToken: 't' })
    const asking = await session.callStream('asks')
    await asking.until(isAsk)
    expect((await session.end()).status).toBe(204)
    expect(aborted).toEqual(['the session ended'])
    expect((await running.rest()).map(({ method }) => method)).toEqual(['notifications/progress'])
    expect((await asking.rest()).filter(({ result }) => result)).toEqual([])
    await get.rest()
    go.open()
    await scheduler.wait(20)
    const { rows, alarm } = await storageOf(session)
    const { setting, ...others } = rows
    expect([setting, Object.values(others)]).toEqual([3, [0, 0, 0, 0]])
    expect(Math.abs(alarm! - Date.now() - limits.sessionTtlMs)).toBeLessThan(60_000)
  })

  test('of a session that stored nothing leaves one row, which its alarm removes when the id expires', async () => {
    const session = await sessionOf(fetcher, revision)
    expect((await session.end()).status).toBe(204)
    expect((await storageOf(session)).alarm).not.toBeNull()
    later(limits.sessionTtlMs)
    await ring(session)
    expect(await storageOf(session)).toEqual(NOTHING)
    expect(await session.error('ping')).toMatchObject({ status: 404 })
  })
})

describe('the end of a session', () => {
  test('is told to one of two that ask for it at once', async () => {
    const session = await sessionOf(fetcher)
    const answers = await Promise.all([session.end(), session.end()])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 404])
  })

  test('gives a call that was still quiet an empty stream and writes nothing for it', async () => {
    withLimits({ quietMs: 40 })
    const session = await sessionOf(fetcher)
    const call = session.callStream('waits')
    await scheduler.wait(10)
    await session.end()
    expect(await (await call).rest()).toEqual([])
    await scheduler.wait(120)
    expect(await query(session, 'select * from call')).toEqual([])
  })

  test('keeps its alarm when it rings too early', async () => {
    const session = await sessionOf(fetcher)
    await session.end()
    await ring(session)
    expect((await storageOf(session)).alarm! - Date.now()).toBeGreaterThan(limits.sessionTtlMs - 60_000)
    expect(await session.error('ping')).toMatchObject({ status: 404 })
  })

  test('answers a GET with 405 where the deployment says so', async () => {
    const session = await sessionOf(serve({ tools: [runs] }, { vars: { DEAD_SESSION_GET: '405' } }))
    await session.end()
    const { status, headers } = await session.get()
    expect([status, headers.get('allow')]).toEqual([405, 'GET, POST, DELETE, OPTIONS'])
    expect(await session.error('ping')).toMatchObject({ status: 404 })
  })

  test('does not touch another session of the same client', async () => {
    const [a, b] = [await sessionOf(fetcher), await sessionOf(fetcher)]
    await a.end()
    expect(await b.result('ping')).toEqual({})
    await eventually(() => true)
  })
})
