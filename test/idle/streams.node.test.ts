// Streams on which nothing happens, on bare workerd, spread over two Workers: their objects sleep meanwhile, and the
// Workers' keep-alive wakes none. Nothing here evicts an object; the runtime does, after ten seconds without work.
// IDLE_SECONDS says how long to wait: 120 for the whole proof, at least 20 so that eviction is due twice.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { legacySession, modern, type ModernClient, type OpenStream, type SessionStream } from '../support/client.ts'
import { buildBundle, startWorkerd, type StartedServer } from '../support/server.mjs'

interface Counts {
  constructed: number
  entered: { [method: string]: number }
}

interface AllCounts {
  sessions: Counts[]
  hubs: Counts[]
}

type Place = 'first' | 'second'

const PLACES = ['first', 'second'] as const
/** Of each kind, in each Worker. */
const EACH = 50
const STREAMS = EACH * PLACES.length
/** Long enough for one keep-alive of the Worker, and twice the time in which an object is evicted. */
const IDLE_MS = Math.max(20, Number(process.env['IDLE_SECONDS'] ?? 27)) * 1_000

let server: StartedServer
let bundleDir: string

beforeAll(async () => {
  bundleDir = await mkdtemp(join(tmpdir(), 'mcp-edge-idle-'))
  await buildBundle({ config: 'test/idle/wrangler.toml', outdir: bundleDir })
  server = await startWorkerd({ bundleDir, configText: CONFIG })
})

afterAll(async () => {
  await server?.kill()
  await rm(bundleDir, { recursive: true, force: true })
})

const at = (place: Place): ModernClient => modern((request) => fetch(request), { url: `${server.origin}/${place}/mcp` })

/** An acknowledged stream of a listener. */
async function listen(place: Place): Promise<OpenStream> {
  const stream = await at(place).open('subscriptions/listen', { notifications: { toolsListChanged: true } })
  expect((await stream.messages.next()).value?.method).toBe('notifications/subscriptions/acknowledged')
  return stream
}

/** The standalone stream of a session. Its priming event has come, so its socket is attached. */
async function standalone(place: Place): Promise<SessionStream> {
  const url = `${server.origin}/${place}/mcp`
  const session = await legacySession((request) => fetch(request), '2025-11-25', { url })
  const stream = await session.listen()
  expect((await stream.next())?.message).toBeUndefined()
  return stream
}

async function counts(): Promise<AllCounts> {
  // The objects are in the isolate of the first.
  return (await (await fetch(`${server.origin}/first/counts`)).json()) as AllCounts
}

const each = (n: number, one: Counts): Counts[] => Array.from({ length: n }, () => one)

test(
  `${STREAMS} listeners and ${STREAMS} sessions idle for ${IDLE_MS / 1_000} s: no object is entered, all are evicted, and one change reaches each`,
  async () => {
    const listeners: OpenStream[] = []
    const sessions: SessionStream[] = []
    for (let i = 0; i < EACH; i++) {
      for (const place of PLACES) {
        listeners.push(await listen(place))
        sessions.push(await standalone(place))
      }
    }
    const changed = async (): Promise<void> => {
      for (const { messages } of listeners)
        expect((await messages.next()).value?.method).toBe('notifications/tools/list_changed')
      for (const stream of sessions)
        expect((await stream.next())?.message?.method).toBe('notifications/tools/list_changed')
    }
    const opened = await counts()
    expect(opened).toEqual({
      sessions: each(STREAMS, { constructed: 1, entered: { fetch: 1 } }),
      hubs: [{ constructed: 1, entered: { fetch: STREAMS, follow: STREAMS } }],
    })

    await sleep(IDLE_MS)
    expect(await counts()).toEqual(opened)

    await at('second').call('touch')
    await changed()
    // Each was constructed again, which nothing but its eviction explains; none was connected to a second time.
    expect(await counts()).toEqual({
      sessions: each(STREAMS, { constructed: 2, entered: { fetch: 1, changed: 1 } }),
      hubs: [{ constructed: 2, entered: { fetch: STREAMS, follow: STREAMS, publish: 1 } }],
    })
    if (IDLE_MS > limits.idleKeepAliveMs)
      for (const { log } of [...listeners, ...sessions]) expect(log.comments).toBeGreaterThan(0)

    // What an object does when it is awake is seen: the second change finds it where the first left it.
    await at('first').call('touch')
    await changed()
    expect(await counts()).toEqual({
      sessions: each(STREAMS, { constructed: 2, entered: { fetch: 1, changed: 2 } }),
      hubs: [{ constructed: 2, entered: { fetch: STREAMS, follow: STREAMS, publish: 2 } }],
    })
    for (const stream of [...listeners, ...sessions]) await stream.cancel()
  },
  IDLE_MS + 60_000,
)

/** Goes by the first part of the path. */
const FRONT = `export default {
  fetch(request, env) {
    const [, place = 'first', path = '/'] = /^\\/(first|second)(\\/.*)$/.exec(new URL(request.url).pathname) ?? []
    return env[place].fetch(new Request(new URL(path, request.url), request))
  },
}`

/** Two Workers of one bundle over the objects of the first, behind one that chooses. */
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ( name = "front", worker = .front ),
    ( name = "first", worker = .first ),
    ( name = "second", worker = .second ),
    ( name = "state", disk = ( writable = true ) ),
  ],
  sockets = [ ( name = "http", http = (), service = "front" ) ],
);

const front :Workerd.Worker = (
  modules = [ ( name = "front.js", esModule = ${JSON.stringify(FRONT)} ) ],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = [ "enable_request_signal" ],
  bindings = [ ( name = "first", service = "first" ), ( name = "second", service = "second" ) ],
);

const first :Workerd.Worker = (
  modules = [ ( name = "index.js", esModule = embed "worker.js" ) ],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = [ "enable_request_signal" ],
  durableObjectNamespaces = [ ${['KeyRingObject', 'SessionObject', 'ListenHubObject']
    .map((name) => `( className = "${name}", uniqueKey = "idle-${name}", enableSql = true )`)
    .join(', ')} ],
  durableObjectStorage = ( localDisk = "state" ),
  bindings = [
    ( name = "KEY_RING", durableObjectNamespace = "KeyRingObject" ),
    ( name = "SESSION", durableObjectNamespace = "SessionObject" ),
    ( name = "LISTEN_HUB", durableObjectNamespace = "ListenHubObject" ),
    ( name = "LOG", text = "errors" ),
  ],
);

const second :Workerd.Worker = (
  modules = [ ( name = "index.js", esModule = embed "worker.js" ) ],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = [ "enable_request_signal" ],
  bindings = [
    ( name = "KEY_RING", durableObjectNamespace = ( className = "KeyRingObject", serviceName = "first" ) ),
    ( name = "SESSION", durableObjectNamespace = ( className = "SessionObject", serviceName = "first" ) ),
    ( name = "LISTEN_HUB", durableObjectNamespace = ( className = "ListenHubObject", serviceName = "first" ) ),
    ( name = "LOG", text = "errors" ),
  ],
);
`
