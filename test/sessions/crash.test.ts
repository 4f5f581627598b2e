// An object that dies under a call: what may be repeated is, the rest ends as interrupted, and nothing is said twice.
// @see 2025-11-25 basic/transports, Sending Messages 6

import { abortAllDurableObjects } from 'cloudflare:test'
import { describe, expect, test } from 'vitest'
import type { LegacyRevision, SessionStream } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  describeLegacy,
  eventually,
  isAsk,
  logsOf,
  NOTHING,
  query,
  ring,
  sessionOf,
  storageOf,
  textOf,
  tool,
  withLimits,
} from './support.ts'

const INTERRUPTED = 'The call was interrupted. It may have been carried out in part: check before you repeat it.'

/** Where the handler is in its call, and what lets it go on. */
const places = ['quiet', 'emitted', 'between', 'answered'] as const
type Place = (typeof places)[number]
let at: Place | undefined
let stopAt: Place | undefined
const steps = new Map<string, number>()
let entries = 0

/** Polls, so that nothing of one instance waits for anything of another. */
async function place(name: Place): Promise<void> {
  if (stopAt === name) at = name
  while (stopAt === name) await scheduler.wait(5)
}

const reached = (name: Place): Promise<void> => eventually(() => at === name)

const handler: Parameters<typeof tool>[1] = async (ctx) => {
  entries++
  await place('quiet')
  ctx.log('info', 'one')
  ctx.progress(1)
  await place('emitted')
  await ctx.step('a', () => void steps.set('a', (steps.get('a') ?? 0) + 1))
  await place('between')
  await ctx.step('b', () => void steps.set('b', (steps.get('b') ?? 0) + 1))
  if (ctx.client.can('roots')) await ctx.inputRequest('roots', { method: 'roots/list' })
  await place('answered')
  ctx.log('info', 'two')
  ctx.progress(2)
  return 'done'
}
const names = ['once', 'read_only', 'idempotent'] as const
const fetcher = serve({
  tools: [
    tool('once', handler),
    tool('read_only', handler, { annotations: { readOnlyHint: true } }),
    tool('idempotent', handler, { annotations: { idempotentHint: true } }),
  ],
})

async function start(name: string, stop: Place, revision?: LegacyRevision, capabilities = {}) {
  withLimits({ quietMs: 50 })
  at = undefined
  stopAt = stop
  entries = 0
  steps.clear()
  const session = await sessionOf(fetcher, revision, { capabilities })
  await session.result('logging/setLevel', { level: 'debug' })
  const stream = await session.callStream(name, undefined, { progressToken: 't' })
  return { session, stream }
}

const progressOf = (stream: SessionStream) =>
  stream.read.flatMap(({ message }) =>
    message?.method === 'notifications/progress' ? [message.params?.['progress']] : [],
  )

for (const where of ['quiet', 'emitted', 'between'] as const) {
  describeLegacy(`a crash while the call is at "${where}"`, (revision) => {
    test.for(names)('ends %s on the stream that was there', async (name) => {
      const { session, stream } = await start(name, where, revision)
      await reached(where)
      stopAt = undefined
      await abortAllDurableObjects()
      const messages = await stream.rest()
      if (name === 'once') {
        expect(textOf(messages.at(-1))).toBe(INTERRUPTED)
        expect(messages.at(-1)?.result?.['isError']).toBe(true)
        expect([entries, logsOf(messages)]).toEqual([1, where === 'quiet' ? [] : ['one']])
      } else {
        expect(textOf(messages.at(-1))).toBe('done')
        expect([entries, logsOf(messages), progressOf(stream)]).toEqual([2, ['one', 'two'], [1, 2]])
        expect([steps.get('a'), steps.get('b')]).toEqual([1, 1])
      }
      expect(await query(session, `select * from call where state = 'running'`)).toEqual([])
    })
  })
}

describe('a crash while nobody is connected', () => {
  test.for(names)('is found by the alarm, which ends %s; the end is replayed', async (name) => {
    const { session, stream } = await start(name, 'emitted')
    await stream.until(({ method }) => method === 'notifications/progress')
    await stream.cancel()
    stopAt = undefined
    await abortAllDurableObjects()
    expect(await ring(session)).toBe(true)
    await scheduler.wait(20)
    const again = await session.resume(stream)
    const messages = await again.rest()
    expect(textOf(messages.at(-1))).toBe(name === 'once' ? INTERRUPTED : 'done')
    expect(logsOf(messages)).toEqual(name === 'once' ? [] : ['two'])
  })

  test('and the alarm of a call that runs rings within the lease', async () => {
    const { session, stream } = await start('once', 'emitted')
    await reached('emitted')
    const { alarm } = await storageOf(session)
    expect(alarm! - Date.now()).toBeLessThanOrEqual(30_000)
    await stream.cancel()
  })
})

describe('a crash after the answer to an ask came', () => {
  test.for(names)('ends %s with each step done once', async (name) => {
    const { session, stream } = await start(name, 'answered', '2025-11-25', { roots: {} })
    const ask = await stream.until(isAsk)
    await session.reply(ask.id, { result: { roots: [] } })
    await reached('answered')
    stopAt = undefined
    await abortAllDurableObjects()
    const messages = await stream.rest()
    expect(textOf(messages.at(-1))).toBe(name === 'once' ? INTERRUPTED : 'done')
    expect(messages.filter(isAsk)).toHaveLength(1)
    expect([steps.get('a'), steps.get('b')]).toEqual([1, 1])
  })
})

test('a crash after the end leaves the final response to be replayed', async () => {
  const { session, stream } = await start('once', 'answered', '2025-11-25', {})
  stopAt = undefined
  await stream.cancel()
  const whole = await session.callStream('once', undefined, { progressToken: 't' })
  await whole.rest()
  await abortAllDurableObjects()
  const again = await session.resume(whole, whole.read[0]!.id!)
  expect(textOf((await again.rest()).at(-1))).toBe('done')
})

test('a crash under a call that is still quiet is told in JSON, and leaves nothing behind', async () => {
  withLimits({ quietMs: 5_000 })
  at = undefined
  stopAt = 'quiet'
  const session = await sessionOf(fetcher, '2025-11-25', { capabilities: {} })
  const call = session.call('once')
  await reached('quiet')
  stopAt = undefined
  await abortAllDurableObjects()
  const { result, contentType } = await call
  expect(contentType).toBe('application/json')
  expect(result).toEqual({ content: [{ type: 'text', text: INTERRUPTED }], isError: true })
  expect(await storageOf(session)).toEqual(NOTHING)
})

test('a call whose every entry kills its object is given up', async () => {
  withLimits({ callAttempts: 2 })
  const { session, stream } = await start('read_only', 'emitted')
  const reading = stream.rest()
  let isOver = false
  void reading.then(() => (isOver = true))
  for (let i = 0; i < 4 && !isOver; i++) {
    await eventually(() => isOver || at === 'emitted')
    at = undefined
    await abortAllDurableObjects()
  }
  expect(textOf((await reading).at(-1))).toBe(INTERRUPTED)
  expect(entries).toBe(3)
  expect(await query(session, `select * from call where state = 'running'`)).toEqual([])
})
