// A client that goes away: its handler is told, may clean up, and nothing more is sent.
// @see basic/transports/streamable-http, Cancellation; basic/patterns/cancellation

import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ports } from '../../durable-objects/ports.ts'
import { createApp } from '../../src/http/app.ts'
import { limits } from '../../src/limits.ts'
import { defineServer, defineTool } from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

/** What the handlers below have seen, in order. */
const seen: string[] = []
const seeing = (what: string): Promise<void> => vi.waitFor(() => expect(seen).toContain(what), { timeout: 4_000 })

const work = defineTool('work', {
  description: 'Works until it is cancelled, then cleans up.',
  inputSchema: z.object({ talks: z.boolean().default(false), cleanupMs: z.int().default(0) }),
  async handler({ talks, cleanupMs }, ctx) {
    seen.push('began')
    try {
      if (talks) ctx.progress(1)
      await aborted(ctx.signal)
      seen.push(`aborted: ${(ctx.signal.reason as Error).name}`)
      if (talks) ctx.progress(2)
      return 'never'
    } finally {
      await scheduler.wait(cleanupMs)
      seen.push('cleaned up')
    }
  },
})
const rethrow = defineTool('rethrow', {
  description: 'Throws what it was cancelled with.',
  async handler(_input, ctx) {
    ctx.progress(1)
    await aborted(ctx.signal)
    seen.push('threw')
    throw ctx.signal.reason
  },
})
const deaf = defineTool('deaf', {
  description: 'Does not look at the signal.',
  async handler() {
    seen.push('began')
    await scheduler.wait(900)
    seen.push('finished')
    return 'never'
  },
})
const flood = defineTool('flood', {
  description: 'Sends so many messages of 4 KiB, or stops when nobody listens.',
  inputSchema: z.object({ messages: z.int() }),
  async handler({ messages }, ctx) {
    for (let i = 0; i < messages && !ctx.signal.aborted; i++) {
      ctx.progress(i, undefined, 'x'.repeat(4_096))
      if (i % 8 === 0) await scheduler.wait(1)
    }
    if (ctx.signal.aborted) seen.push(`aborted: ${(ctx.signal.reason as Error).message}`)
    return 'sent'
  },
})
const fetcher = serve({ tools: [work, rethrow, deaf, flood] })
const client = modern(fetcher)

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

const { streamBacklogBytes } = limits
afterEach(() => {
  vi.restoreAllMocks()
  seen.length = 0
  limits.streamBacklogBytes = streamBacklogBytes
})

describe('a client that closes its stream', () => {
  test('cancels the handler, which may clean up', async () => {
    const stream = await client.open('tools/call', { name: 'work', arguments: { talks: true } }, { progressToken: 1 })
    await stream.messages.next()
    await stream.cancel()
    await seeing('cleaned up')
    expect(seen).toEqual(['began', 'aborted: AbortError', 'cleaned up'])
  })

  test('cancels a handler that has said nothing, once its answer has become a stream', async () => {
    const stream = await client.open('tools/call', { name: 'work' })
    await stream.cancel()
    await seeing('cleaned up')
  })

  test('is sent nothing more', async () => {
    const params = { name: 'work', arguments: { talks: true, cleanupMs: 50 } }
    const stream = await client.open('tools/call', params, { progressToken: 1 })
    await stream.messages.next()
    const before = stream.log.text
    await stream.cancel()
    await seeing('cleaned up')
    expect((await stream.messages.next()).done).toBe(true)
    expect(stream.log.text).toBe(before)
  })

  test('is no failure in the log, although its handler throws', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const stream = await client.open('tools/call', { name: 'rethrow' }, { progressToken: 1 })
    await stream.messages.next()
    await stream.cancel()
    await seeing('threw')
    await scheduler.wait(20)
    expect(log).not.toHaveBeenCalled()
  })

  test('keeps no timer busy', async () => {
    const timers = vi.spyOn(globalThis, 'setInterval')
    const cleared = vi.spyOn(globalThis, 'clearInterval')
    const stream = await client.open('tools/call', { name: 'work', arguments: { cleanupMs: 50 } })
    await stream.cancel()
    await seeing('cleaned up')
    expect(timers).toHaveBeenCalledTimes(1)
    expect(cleared.mock.calls).toContainEqual([timers.mock.results[0]!.value])
  })
})

describe('a client that aborts its request', () => {
  test('cancels the handler of a stream', async () => {
    const hangUp = new AbortController()
    const options = { progressToken: 1, signal: hangUp.signal }
    const stream = await client.open('tools/call', { name: 'work', arguments: { talks: true } }, options)
    await stream.messages.next()
    hangUp.abort()
    await seeing('cleaned up')
    expect(seen).toEqual(['began', 'aborted: AbortError', 'cleaned up'])
  })

  test.each(['application/json', 'application/json, text/event-stream'])(
    'cancels the handler of a quiet call that accepts %s',
    async (accept) => {
      const hangUp = new AbortController()
      const answer = client.request('tools/call', { name: 'work' }, { accept, signal: hangUp.signal })
      await seeing('began')
      hangUp.abort()
      await seeing('cleaned up')
      // Nobody waits for this answer; it only must not leave anything behind.
      await answer.catch(() => undefined)
    },
  )

  test('before its handler begins still lets it end', async () => {
    const hangUp = new AbortController()
    hangUp.abort()
    const request = client.request('tools/call', { name: 'work' }, { signal: hangUp.signal })
    await Promise.all([request.catch(() => undefined), seeing('cleaned up')])
    expect(seen).toEqual(['began', 'aborted: AbortError', 'cleaned up'])
  })

  test('starts no stream afterwards, although its handler goes on', async () => {
    const intervals = vi.spyOn(globalThis, 'setInterval')
    const hangUp = new AbortController()
    const answer = client.request('tools/call', { name: 'deaf' }, { signal: hangUp.signal })
    await seeing('began')
    hangUp.abort()
    const { contentType } = await answer
    await seeing('finished')
    expect(contentType).toBe('application/json')
    expect(intervals).not.toHaveBeenCalled()
  })
})

describe('a client that does not read', () => {
  const open = (messages: number): ReturnType<typeof client.open> => {
    limits.streamBacklogBytes = 200_000
    return client.open('tools/call', { name: 'flood', arguments: { messages } }, { progressToken: 1 })
  }

  test('is cut once limits.streamBacklogBytes have piled up, and its handler is cancelled', async () => {
    const stream = await open(1_000)
    await seeing('aborted: the client does not read')
    await expect(readAll(stream.messages)).rejects.toThrow(/does not read/)
  })

  test('is left alone below that, and gets everything once it reads', async () => {
    const stream = await open(40)
    await scheduler.wait(100)
    expect(await readAll(stream.messages)).toBe(41)
    expect(seen).toEqual([])
  })

  test('may fall a megabyte behind', () => {
    expect(streamBacklogBytes).toBe(1024 * 1024)
  })
})

test('a handler that is cancelled is kept alive for its clean-up, and no longer than limits.cancelGraceMs', async () => {
  const { cancelGraceMs } = limits
  limits.cancelGraceMs = 400
  const kept: Promise<unknown>[] = []
  const stubborn = defineTool('stubborn', { description: 'Never ends.', handler: () => new Promise<string>(() => {}) })
  const server = defineServer({ name: 'x', version: '1', tools: [work, stubborn] })
  const app = createApp({
    server,
    ...ports(server),
  })
  const context = {
    waitUntil: (promise: Promise<unknown>) => void kept.push(promise),
    passThroughOnException() {},
    props: {},
  }
  const one = modern((request) => app.fetch(request, { ...env, LOG: 'errors' }, context as unknown as ExecutionContext))
  try {
    for (const [name, least, most] of [
      ['work', 20, 300],
      ['stubborn', 400, 3_000],
    ] as const) {
      const params = { name, ...(name === 'work' && { arguments: { cleanupMs: 20 } }) }
      const stream = await one.open('tools/call', params)
      await stream.cancel()
      const left = Date.now()
      await Promise.all(kept.splice(0))
      expect(Date.now() - left).toBeGreaterThanOrEqual(least - 2)
      expect(Date.now() - left).toBeLessThan(most)
    }
  } finally {
    limits.cancelGraceMs = cancelGraceMs
  }
})

async function readAll(messages: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of messages) count++
  return count
}
