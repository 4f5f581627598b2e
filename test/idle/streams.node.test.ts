// Streams on which nothing happens, on bare workerd: their objects sleep meanwhile, and the Worker's keep-alive wakes
// none. Nothing here evicts an object; the runtime does, after ten seconds without work.
// IDLE_SECONDS says how long to wait: 120 for the whole proof, at least 20 so that eviction is due twice.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { legacySession, type Session, type SessionStream } from '../support/client.ts'
import { buildBundle, startWorkerd, type StartedServer } from '../support/server.mjs'

interface Counts {
  constructed: number
  entered: { [method: string]: number }
}

const CONFIG = 'test/idle/wrangler.toml'
const STREAMS = 100
/** Long enough for one keep-alive of the Worker, and twice the time in which an object is evicted. */
const IDLE_MS = Math.max(20, Number(process.env['IDLE_SECONDS'] ?? 27)) * 1_000
const REVISION = '2025-11-25'

let server: StartedServer
let bundleDir: string
const sessions: Session[] = []
const streams: SessionStream[] = []

beforeAll(async () => {
  bundleDir = await mkdtemp(join(tmpdir(), 'mcp-edge-idle-'))
  await buildBundle({ config: CONFIG, outdir: bundleDir })
  server = await startWorkerd({ bundleDir, config: CONFIG })
})

afterAll(async () => {
  await server?.kill()
  await rm(bundleDir, { recursive: true, force: true })
})

async function counts(): Promise<Counts[]> {
  return (await (await fetch(`${server.origin}/counts`)).json()) as Counts[]
}

const total = (all: Counts[]): Counts => {
  const entered: Counts['entered'] = {}
  for (const one of all) for (const [name, n] of Object.entries(one.entered)) entered[name] = (entered[name] ?? 0) + n
  return { constructed: all.reduce((sum, { constructed }) => sum + constructed, 0), entered }
}

const each = (n: number, constructed: number, entered: Counts['entered']): Counts[] =>
  Array.from({ length: n }, () => ({ constructed, entered }))

test(
  `${STREAMS} streams idle for ${IDLE_MS / 1_000} s: no object is entered, all are evicted, and an event reaches each`,
  async () => {
    for (let i = 0; i < STREAMS; i++) {
      const session = await legacySession((request) => fetch(request), REVISION, { url: server.url })
      sessions.push(session)
      streams.push(await session.listen())
    }
    // The priming event has come, so each socket is attached.
    for (const stream of streams) expect((await stream.next())?.message).toBeUndefined()
    const opened = await counts()
    expect(opened).toEqual(each(STREAMS, 1, { fetch: 1 }))

    await sleep(IDLE_MS)
    expect(await counts()).toEqual(opened)

    for (const session of sessions) await session.result('tools/call', { name: 'touch', arguments: {} })
    for (const stream of streams)
      expect((await stream.next())?.message?.method).toBe('notifications/tools/list_changed')
    // Each was constructed again, which nothing but its eviction explains; none was connected to a second time.
    expect(await counts()).toEqual(each(STREAMS, 2, { fetch: 1, request: 1 }))
    if (IDLE_MS > limits.idleKeepAliveMs) for (const { log } of streams) expect(log.comments).toBeGreaterThan(0)

    // What an object does when it is awake is seen: the second call finds it where the first left it.
    for (const session of sessions) await session.result('tools/call', { name: 'touch', arguments: {} })
    expect(total(await counts())).toEqual({
      constructed: 2 * STREAMS,
      entered: { fetch: STREAMS, request: 2 * STREAMS },
    })
    for (const stream of streams) await stream.cancel()
  },
  IDLE_MS + 60_000,
)
