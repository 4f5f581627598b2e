// The answer to a POST in a session: JSON while it is quick and quiet, otherwise a stream.
// @see 2025-11-25 basic/transports, Sending Messages

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool } from '../../src/server/index.ts'
import { legacySession } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { describeLegacy, isAsk, logsOf, NOTHING, sessionOf, storageOf, textOf, tool, withLimits } from './support.ts'

const echo = defineTool('echo', {
  description: 'Echoes, after a while.',
  inputSchema: z.object({ text: z.string(), ms: z.int().default(0), log: z.boolean().default(false) }),
  async handler({ text, ms, log }, ctx) {
    if (log) ctx.log('info', text)
    if (ms > 0) await scheduler.wait(ms)
    if (log) ctx.progress(1)
    return text
  },
})
const poll = tool('poll', async () => (await scheduler.wait(60), 'polled'), { pollAfterMs: 0 })
const asks = tool('asks', async (ctx) => {
  await ctx.inputRequest('roots', { method: 'roots/list' })
  return 'asked'
})
const tools = [echo, poll, asks]
const fetcher = serve({ tools })

describeLegacy('a call in a session', (revision) => {
  const isPrimed = revision === '2025-11-25'

  test('that is quick and quiet is answered in JSON and stores nothing', async () => {
    const session = await sessionOf(fetcher, revision)
    const { contentType, result } = await session.call('echo', { text: 'a', ms: 5 })
    expect([contentType, result.content]).toEqual(['application/json', [{ type: 'text', text: 'a' }]])
    expect(await storageOf(session)).toEqual(NOTHING)
  })

  test('that emits is a stream at once, primed from 2025-11-25 on, with unique ids, which ends with the response', async () => {
    const session = await sessionOf(fetcher, revision)
    await session.result('logging/setLevel', { level: 'info' })
    const stream = await session.callStream('echo', { text: 'a', ms: 5, log: true }, { progressToken: 't' })
    const messages = await stream.rest()
    expect(stream.read[0]?.message === undefined).toBe(isPrimed)
    expect(logsOf(messages)).toEqual(['a'])
    expect(textOf(messages.at(-1))).toBe('a')
    const ids = stream.read.map(({ id }) => id)
    expect(new Set(ids).size).toBe(messages.length + (isPrimed ? 1 : 0))
    expect(stream.log.retries).toEqual([])
  })

  test('that is slow becomes a stream after quietMs', async () => {
    withLimits({ quietMs: 30 })
    const session = await sessionOf(fetcher, revision)
    const stream = await session.callStream('echo', { text: 'a', ms: 90 })
    expect(textOf((await stream.rest()).at(-1))).toBe('a')
    expect(stream.read).toHaveLength(isPrimed ? 2 : 1)
  })

  test('never becomes a stream for a client that takes only JSON', async () => {
    withLimits({ quietMs: 10 })
    const session = await sessionOf(fetcher, revision)
    await session.result('logging/setLevel', { level: 'debug' })
    const only = { accept: 'application/json', progressToken: 't' as const }
    const { contentType, notifications, result } = await session.call('echo', { text: 'a', ms: 60, log: true }, only)
    expect([contentType, notifications, result.content[0]?.text]).toEqual(['application/json', [], 'a'])
    expect((await session.call('asks', undefined, only)).result.isError).toBe(true)
    expect((await storageOf(session)).rows).toMatchObject({ call: 0, event: 0, ask: 0 })
  })

  test('is a stream even when it is quick for a client that takes only streams', async () => {
    const session = await sessionOf(fetcher, revision)
    const { contentType, result } = await session.call('echo', { text: 'a' }, { accept: 'text/event-stream' })
    expect([contentType, result.content[0]?.text]).toEqual(['text/event-stream', 'a'])
  })

  test('gets its own answer although another has the same id', async () => {
    const session = await sessionOf(fetcher, revision)
    await session.result('logging/setLevel', { level: 'debug' })
    const texts = ['a', 'b', 'c', 'd']
    const calls = texts.map((text, i) =>
      session.call('echo', { text, ms: 40 - 10 * i, log: i % 2 === 0 }, { id: 1, progressToken: `t${i}` }),
    )
    const answers = await Promise.all(calls)
    expect(answers.map(({ result }) => result.content[0]?.text)).toEqual(texts)
    expect(answers.map(({ notifications }) => logsOf(notifications as never))).toEqual([['a'], [], ['c'], []])
  })

  test('is never mixed with one of another session', async () => {
    const sessions = await Promise.all([1, 2, 3].map(() => legacySession(fetcher, revision)))
    for (const session of sessions) await session.result('logging/setLevel', { level: 'debug' })
    const answers = await Promise.all(
      sessions.map((session, i) => session.call('echo', { text: `s${i}`, ms: 10, log: true }, { id: 1 })),
    )
    for (const [i, { result, notifications }] of answers.entries())
      expect([result.content[0]?.text, logsOf(notifications as never)]).toEqual([`s${i}`, [`s${i}`]])
  })

  test('sends no log message before a level was set', async () => {
    const session = await sessionOf(fetcher, revision)
    const { contentType } = await session.call('echo', { text: 'a', log: true })
    expect(contentType).toBe('application/json')
  })

  test('is held on beyond its age while its client has no id to come back with', async () => {
    withLimits({ quietMs: 10, streamMaxAgeMs: 60 })
    const session = await sessionOf(fetcher, revision)
    const stream = await session.callStream('echo', { text: 'a', ms: 200 })
    const messages = await stream.rest()
    expect(messages.map(textOf)).toEqual(isPrimed ? [] : ['a'])
    expect(stream.log.retries).toEqual(isPrimed ? [String(limits.retryMs)] : [])
  })

  test('asks on its own stream, though no GET is open', async () => {
    const session = await sessionOf(fetcher, revision)
    const { asked, result } = await session.talk('asks', undefined, () => ({ result: { roots: [] } }))
    expect([asked.filter(isAsk).length, result.content[0]?.text]).toEqual([1, 'asked'])
  })
})

describe('priming', () => {
  test('is left out where the deployment says so', async () => {
    withLimits({ quietMs: 10 })
    const session = await sessionOf(serve({ tools }, { vars: { SSE_PRIMING: 'off' } }))
    const stream = await session.callStream('poll')
    await stream.rest()
    expect(stream.read).toHaveLength(1)
    expect(stream.log.retries).toEqual([])
    const get = await session.listen()
    await scheduler.wait(20)
    await get.cancel()
    expect(get.log.text).toBe('')
  })

  test('comes with retry when a tool sends its client away, which polls for the result', async () => {
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('poll')
    expect(await stream.rest()).toEqual([])
    expect(stream.read).toHaveLength(1)
    expect(stream.log.retries).toEqual([String(limits.retryMs)])
    const again = await session.resume(stream)
    expect(textOf((await again.rest()).at(-1))).toBe('polled')
  })

  test('does not come with a tool that sends its client away before 2025-11-25', async () => {
    const session = await sessionOf(fetcher, '2025-06-18')
    expect((await session.call('poll')).contentType).toBe('application/json')
  })
})

describe('a batch in a session', () => {
  const post = (session: { id: string }, body: unknown, accept = 'application/json') =>
    fetcher(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-session-id': session.id, accept },
        body: JSON.stringify(body),
      }),
    )
  const call = (id: number, text: string, ms = 0) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'echo', arguments: { text, ms } },
  })

  test('of 2025-03-26 gets all its answers, also with the header of another revision', async () => {
    const session = await legacySession(fetcher, '2025-03-26')
    const answer = await post(session, [
      call(1, 'a', 20),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      call(1, 'b'),
    ])
    const answers = (await answer.json()) as { result: { content: { text: string }[] } }[]
    expect(answers.map(({ result }) => result.content[0]?.text)).toEqual(['a', 'b'])
  })

  test('of answers gets 202', async () => {
    const session = await sessionOf(fetcher, '2025-03-26')
    const stream = await session.callStream('asks')
    const ask = await stream.until(isAsk)
    expect((await post(session, [{ jsonrpc: '2.0', id: ask.id, result: { roots: [] } }])).status).toBe(202)
    expect(textOf((await stream.rest()).at(-1))).toBe('asked')
  })

  test('of a later revision is refused', async () => {
    const session = await legacySession(fetcher, '2025-06-18')
    expect((await post(session, [call(1, 'a')])).status).toBe(400)
  })
})
