// A client that goes away, over real TCP, behind wrangler dev and on bare workerd.
// @see basic/patterns/cancellation, Transport-Specific Cancellation

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { modern, type Client } from '../support/client.ts'
import { buildBundle, startWorkerd, startWrangler, type StartedServer } from '../support/server.mjs'

const CONFIG = 'test/e2e/wrangler.toml'
/** Half of the promise of two seconds is the second write that wrangler's proxy needs to notice. */
const NOTICED_MS = 2 * limits.runningKeepAliveMs + 500

type Calls = Record<string, { started: number; aborted?: number; cleanedUp?: number; finished?: number }>

async function becameOf(client: Client, name: string): Promise<Calls[string]> {
  const { result } = await client.call('seen')
  return (JSON.parse((result.content[0] as { text: string }).text) as Calls)[name]!
}

async function until(met: () => Promise<boolean>, ms: number): Promise<void> {
  for (const end = Date.now() + ms; !(await met()) && Date.now() < end;) await new Promise((go) => setTimeout(go, 100))
}

async function startBare(): Promise<StartedServer> {
  const bundleDir = await mkdtemp(join(tmpdir(), 'mcp-edge-e2e-'))
  await buildBundle({ config: CONFIG, outdir: bundleDir })
  const server = await startWorkerd({ bundleDir, config: CONFIG })
  const stop = async () => {
    await server.stop()
    await rm(bundleDir, { recursive: true, force: true })
  }
  return { ...server, stop }
}

describe.each([
  ['wrangler dev', () => startWrangler({ config: CONFIG })],
  ['workerd serve', startBare],
] as const)('behind %s', (_name, start) => {
  let server: StartedServer
  let client: Client
  beforeAll(async () => {
    server = await start()
    client = modern((request) => fetch(request), { url: server.url })
  })
  afterAll(() => server?.stop())

  test('a call whose answer is a stream is cancelled within two seconds of its end, and cleans up', async () => {
    const stream = await client.open('tools/call', {
      name: 'wait',
      arguments: { name: 'left', ms: 60_000, cleanUpMs: 300 },
    })
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    const left = Date.now()
    await stream.cancel()
    await until(async () => (await becameOf(client, 'left')).cleanedUp !== undefined, 5_000)
    const { aborted, cleanedUp, finished } = await becameOf(client, 'left')
    expect(aborted! - left).toBeLessThan(NOTICED_MS)
    expect(cleanedUp! - aborted!).toBeGreaterThanOrEqual(300)
    expect(finished).toBeUndefined()
  })

  test('a stream carries text whole, whatever it is cut into, and ends after the answer', async () => {
    const { notifications, result, log } = await client.call('chat', { times: 20 }, { progressToken: 'p' })
    expect(notifications).toHaveLength(20)
    expect(notifications[19]!.params).toMatchObject({ message: '👩‍👩‍👧‍👦 20 — ünïcödé' })
    expect(result.content).toEqual([{ type: 'text', text: '🎉' }])
    expect(log.ids).toEqual([])
  })

  test('a quiet call becomes a stream with comments while it runs', async () => {
    const { result, log, contentType } = await client.call('wait', { name: 'quiet', ms: 2_500 })
    expect(contentType).toBe('text/event-stream')
    expect(log.comments).toBeGreaterThanOrEqual(2)
    expect(result.content).toEqual([{ type: 'text', text: 'waited' }])
  })

  test('two calls with one id get their own answers', async () => {
    const calls = ['a', 'b', 'c'].map((name, i) =>
      client.request('tools/call', { name: 'chat', arguments: { times: 3 - i } }, { id: 1, progressToken: name }),
    )
    const counts = (await Promise.all(calls)).map(({ notifications }) => notifications.length)
    expect(counts).toEqual([3, 2, 1])
  })
})
