// Cancelling, which a client does by name and from any connection. @see 2025-11-25 basic/utilities/cancellation

import { describe, expect, test } from 'vitest'
import { serve } from '../support/serve.ts'
import {
  describeLegacy,
  eventually,
  gate,
  hibernate,
  isAsk,
  NOTHING,
  query,
  ring,
  sessionOf,
  storageOf,
  textOf,
  tool,
  withLimits,
} from './support.ts'

const reasons: unknown[] = []
let go = gate()

/** Runs until it is aborted or let go. */
async function waits(signal: AbortSignal): Promise<string> {
  const aborted = new Promise<string>((resolve) => {
    signal.addEventListener('abort', () => {
      reasons.push((signal.reason as Error).message)
      resolve('aborted')
    })
  })
  return Promise.race([aborted, go.opened.then(() => 'went on')])
}
const loud = tool('loud', (ctx) => {
  ctx.progress(1)
  return waits(ctx.signal)
})
const quiet = tool('quiet', (ctx) => waits(ctx.signal))
const deaf = tool('deaf', async (ctx) => {
  ctx.progress(1)
  await scheduler.wait(60)
  ctx.progress(2)
  ctx.notify.toolsListChanged()
  return 'too late'
})
const asks = tool('asks', async (ctx) => {
  await ctx.inputRequest('roots', { method: 'roots/list' })
  return 'answered'
})
const fetcher = serve({ tools: [loud, quiet, deaf, asks] })
const progress = { progressToken: 't' }

describeLegacy('notifications/cancelled', (revision) => {
  test('aborts the handler of a stream from another connection; the stream ends without a response', async () => {
    reasons.length = 0
    const session = await sessionOf(fetcher, revision)
    const stream = await session.callStream('loud', undefined, { id: 'mine', ...progress })
    expect((await session.cancel('mine', 'changed my mind')).status).toBe(202)
    const messages = await stream.rest()
    expect(messages.map(({ method }) => method)).toEqual(['notifications/progress'])
    expect(reasons).toEqual(['changed my mind'])
    expect((await session.get({ 'last-event-id': stream.lastEventId! })).status).toBe(405)
  })

  test('turns a pending JSON answer into a stream that ends empty, and leaves nothing behind', async () => {
    withLimits({ quietMs: 80 })
    reasons.length = 0
    const session = await sessionOf(fetcher, revision)
    const call = session.stream('tools/call', { name: 'quiet' }, { id: 7 })
    await eventually(async () => (await session.cancel(7), reasons.length > 0))
    expect(await (await call).rest()).toEqual([])
    await scheduler.wait(120)
    expect(await storageOf(session)).toEqual(NOTHING)
  })

  test('of a call that waits for an answer ends it, and a late answer is ignored', async () => {
    const session = await sessionOf(fetcher, revision)
    const stream = await session.callStream('asks', undefined, { id: 'a' })
    const ask = await stream.until(isAsk)
    await session.cancel('a')
    expect((await stream.rest()).filter(({ result }) => result)).toEqual([])
    expect((await session.reply(ask.id, { result: { roots: [] } })).status).toBe(202)
    expect(await query(session, 'select count(*) as n from ask')).toEqual([{ n: 0 }])
  })

  test('of a call that waits while its object sleeps ends it', async () => {
    const session = await sessionOf(fetcher, revision)
    const stream = await session.callStream('asks', undefined, { id: 'a' })
    await stream.until(isAsk)
    await hibernate(session)
    await session.cancel('a')
    expect((await stream.rest()).filter(({ result }) => result)).toEqual([])
    expect(await query(session, 'select state from call')).toEqual([{ state: 'cancelled' }])
  })
})

describe('a cancellation', () => {
  test.for([
    ['an unknown id', 'other'],
    ['the same id of another type', '5'],
    ['no id', undefined],
    ['an id that is no id', { a: 1 }],
  ] as const)('with %s is ignored', async ([, requestId]) => {
    go = gate()
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('loud', undefined, { id: 5, ...progress })
    const { status } = await session.notify('notifications/cancelled', requestId === undefined ? {} : { requestId })
    expect(status).toBe(202)
    go.open()
    expect(textOf((await stream.rest()).at(-1))).toBe('went on')
  })

  test('of an id that two running calls share is ignored', async () => {
    go = gate()
    const session = await sessionOf(fetcher)
    const streams = await Promise.all([1, 2].map(() => session.callStream('loud', undefined, { id: 1, ...progress })))
    await session.cancel(1)
    go.open()
    for (const stream of streams) expect(textOf((await stream.rest()).at(-1))).toBe('went on')
  })

  test('in another session does not reach this one', async () => {
    go = gate()
    const [session, other] = [await sessionOf(fetcher), await sessionOf(fetcher)]
    const stream = await session.callStream('loud', undefined, { id: 1, ...progress })
    await other.cancel(1)
    go.open()
    expect(textOf((await stream.rest()).at(-1))).toBe('went on')
  })

  test('of a call that is over changes nothing', async () => {
    go = gate()
    go.open()
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('loud', undefined, { id: 1, ...progress })
    await stream.rest()
    expect((await session.cancel(1)).status).toBe(202)
    const again = await session.resume(stream, stream.read[0]!.id!)
    expect(textOf((await again.rest()).at(-1))).toBe('went on')
  })

  test('silences a handler that does not listen to it', async () => {
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('deaf', undefined, { id: 1, ...progress })
    await session.cancel(1)
    await stream.rest()
    await scheduler.wait(100)
    const again = await session.resume(stream, stream.read[0]!.id!)
    expect((await again.rest()).map(({ method }) => method)).toEqual(['notifications/progress'])
  })

  test('is not what a lost connection means', async () => {
    go = gate()
    reasons.length = 0
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('loud', undefined, { id: 1, ...progress })
    await stream.next()
    await stream.next()
    await stream.cancel()
    await scheduler.wait(30)
    expect(reasons).toEqual([])
    go.open()
    expect(textOf((await (await session.resume(stream)).rest()).at(-1))).toBe('went on')
  })

  test('of initialize does nothing', async () => {
    const session = await sessionOf(fetcher)
    expect((await session.cancel('initialize')).status).toBe(202)
    expect((await session.notify('notifications/cancelled', { requestId: 1 })).status).toBe(202)
    expect((await session.request('ping')).result).toEqual({})
  })

  test('in a batch leaves the cancelled request out of the answers', async () => {
    go = gate()
    reasons.length = 0
    const session = await sessionOf(fetcher, '2025-03-26')
    const headers = { 'content-type': 'application/json', 'mcp-session-id': session.id, accept: 'application/json' }
    const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
    const body = JSON.stringify([call(1, 'quiet'), { jsonrpc: '2.0', id: 2, method: 'ping' }])
    const answer = fetcher(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
    await eventually(async () => (await session.cancel(1), reasons.length > 0))
    expect(await (await answer).json()).toEqual([{ jsonrpc: '2.0', id: 2, result: {} }])
  })
})

test('a cancelled call is forgotten after the grace', async () => {
  withLimits({ streamGraceMs: 0 })
  const session = await sessionOf(fetcher)
  const stream = await session.callStream('loud', undefined, { id: 1, ...progress })
  await session.cancel(1)
  await stream.rest()
  await ring(session)
  expect(await storageOf(session)).toEqual(NOTHING)
})
