// What the tests of listen hubs share: hubs of their own, listeners that keep what they are told, and ways to look into a
// hub, put it to sleep, kill it and keep it from answering.

import { env } from 'cloudflare:workers'
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { onTestFinished } from 'vitest'
import type { Hubs } from '../../durable-objects/listen-port.ts'
import { limits } from '../../src/limits.ts'
import type { Topic } from '../../src/protocol/topic.ts'
import {
  definePrompt,
  defineResource,
  defineServer,
  defineTool,
  type Server,
  type ServerOptions,
} from '../../src/server/index.ts'
import { listMarks } from '../../src/server/list-marks.ts'
import type { HubFrame, Listening, ListenRefusal } from '../../src/server/listen-port.ts'
import { eventually, storedIn, type Stored } from '../sessions/support.ts'
import { modern, type Fetcher } from '../support/client.ts'
import { hubsOf, servers } from '../support/main.ts'

export { eventually, gate, later, NOTHING, withLimits } from '../sessions/support.ts'

export interface TestHub {
  readonly server: Server
  readonly hubs: Hubs
  /** The objects of its shards. */
  readonly ids: readonly string[]
  publish(...topics: Topic[]): Promise<void>
}

/** A server with these tools, and nothing else. */
export function serverOf(...tools: string[]): Server {
  return defineServer({ name: 'test', version: '1.0.0', tools: tools.map((name) => quiet(name)) })
}

export function quiet(name: string, description = name) {
  return defineTool(name, { description, handler: () => 'done' })
}

/** The hubs of a server, which nobody else publishes to. Before any session of it begins. */
export function hubOf(server: Server | Partial<ServerOptions> = {}): TestHub {
  const defined = 'info' in server ? server : defineServer({ name: 'test', version: '1.0.0', ...server })
  const hubs = hubsOf(defined)
  const ids = [...servers].flatMap(([id, of]) => (of === defined ? [id] : [])).slice(0, 4)
  return { server: defined, hubs, ids, publish: (...topics) => hubs.publish(env, topics) }
}

export function stubOf({ ids }: Pick<TestHub, 'ids'>, shard = 0) {
  return env.LISTEN_HUB.get(env.LISTEN_HUB.idFromString(ids[shard]!))
}

/** One socket to a hub, and what came on it. */
export interface Listener {
  readonly frames: HubFrame[]
  /** All it was told, in order. */
  readonly told: Topic[]
  /** The newest cursor. */
  readonly cursor: number
  /** How the socket closed. */
  readonly closed: { code: number } | undefined
  /** Waits until it was told something that it had not been told before. */
  next(): Promise<Topic[]>
  leave(): void
}

/** Asks for a socket. */
export function attach(hub: TestHub, topics: readonly Topic[], more: Partial<Listening> = {}) {
  const lists = listMarks(hub.server)
  return hub.hubs.attach(env, { shard: 0, owner: 'somebody', limit: 1_000, topics, lists, after: undefined, ...more })
}

/** Listens, and waits for the first frame. */
export async function listen(hub: TestHub, topics: readonly Topic[], more?: Partial<Listening>): Promise<Listener> {
  const socket = await attach(hub, topics, more)
  if (typeof socket === 'string') throw new Error(`The hub refused a listener: ${socket}`)
  const listener = hear(socket)
  await eventually(() => listener.frames.length > 0)
  return listener
}

function hear(socket: WebSocket): Listener {
  const frames: HubFrame[] = []
  let closed: { code: number } | undefined
  let heard = 1
  socket.addEventListener('message', ({ data }) => void frames.push(JSON.parse(data as string) as HubFrame))
  socket.addEventListener('close', ({ code }) => void (closed = { code }))
  socket.accept()
  return {
    frames,
    get told() {
      return frames.flatMap(({ topics = [] }) => topics)
    },
    get cursor() {
      return frames.at(-1)!.cursor
    },
    get closed() {
      return closed
    },
    async next() {
      await eventually(() => frames.length > heard)
      return frames[heard++]!.topics ?? []
    },
    leave: () => socket.close(1000, 'the listener left'),
  }
}

/** Why a hub takes no listener; undefined when it does. */
export async function refusalOf(
  hub: TestHub,
  topics: readonly Topic[],
  more?: Partial<Listening>,
): Promise<ListenRefusal | undefined> {
  const socket = await attach(hub, topics, more)
  if (typeof socket === 'string') return socket
  socket.accept()
  return undefined
}

/** How many listen to a shard, as it says itself to one that comes and leaves again. */
export async function countOf(hub: TestHub, shard = 0): Promise<number> {
  const probe = await listen(hub, [], { shard, owner: 'a probe' })
  probe.leave()
  return probe.frames[0]!.listeners! - 1
}

/** The object goes to sleep: memory is gone, sockets stay. Waits for what runs, timers too. */
export function hibernate(hub: TestHub, shard = 0): Promise<void> {
  return evictDurableObject(stubOf(hub, shard))
}

/** The object dies in the middle of whatever it does, with its sockets. What it had written is there. */
export async function crash(hub: TestHub, shard = 0): Promise<void> {
  let isDead = false
  await runInDurableObject(stubOf(hub, shard), async (_object, state) => {
    await state.storage.sync()
    // Once this call is answered: under one, the runtime would print the reason.
    setTimeout(() => {
      isDead = true
      state.abort('the test killed this hub')
    })
  })
  while (!isDead) await scheduler.wait(1)
}

/** The hub, and whoever else is named by id, are of another definition from now on, as after a deploy. */
export async function deploy(hub: TestHub, next: Server, ...ids: string[]): Promise<void> {
  Object.assign(hubsOf(next), hub.hubs)
  for (const id of [...hub.ids, ...ids]) servers.set(id, next)
  await crash(hub)
}

/** Rings the alarm, whenever it is set to. @returns false when there is none */
export function ring(hub: TestHub, shard = 0): Promise<boolean> {
  return runDurableObjectAlarm(stubOf(hub, shard))
}

/** One call of an object, on its way. */
interface ObjectCall {
  method: string
  args: unknown[]
  /** The name or id of the object. */
  of: string
  /** Makes the call. */
  go: () => unknown
}

/** What stands between a caller and objects: it lets calls through, later or never. */
export type Between = (call: ObjectCall) => unknown

/** The binding of some objects, with something in between. */
export function throughTo<T extends object>(namespace: T, between: Between): T {
  const stubFor = (stub: Record<string, (...args: unknown[]) => unknown>, of: string): object =>
    new Proxy(stub, {
      get:
        (target, method: string) =>
        (...args: unknown[]) =>
          between({ method, args, of, go: () => target[method]!(...args) }),
    })
  return new Proxy(namespace, {
    get: (target, name) => {
      const member = (Reflect.get(target, name, target) as (...args: unknown[]) => never).bind(target)
      const makesStub = name === 'get' || name === 'getByName'
      return makesStub ? (of: unknown) => stubFor(member(of), String(of)) : member
    },
  })
}

export function hubsThrough(between: Between): typeof env.LISTEN_HUB {
  return throughTo(env.LISTEN_HUB, between)
}

/** Has everybody call a hub through `between`, Workers, sessions and tasks, until the returned function is called. */
export function callsOfHub({ hubs }: TestHub, between: Between): () => void {
  let isBetween = true
  const through = (bindings: Cloudflare.Env): Cloudflare.Env => ({
    ...bindings,
    LISTEN_HUB: throughTo(bindings.LISTEN_HUB, (call) => (isBetween ? between(call) : call.go())),
  })
  const { publish, attach: connect, follow } = hubs
  Object.assign(hubs, {
    publish: (bindings, topics) => publish(through(bindings), topics),
    attach: (bindings, listening) => connect(through(bindings), listening),
    follow: (bindings, session, topics) => follow(through(bindings), session, topics),
  } satisfies Partial<Hubs>)
  return () => void (isBetween = false)
}

/** A hub cannot be reached, from anywhere, until the returned function is called. */
export function holdDown(hub: TestHub): () => void {
  return callsOfHub(hub, async () => {
    throw new Error('the test keeps this hub from being reached')
  })
}

/** Has a hub tell sessions through `between`, until the returned function is called or it dies. It slept before. */
export async function callsOfSessions(hub: TestHub, between: Between): Promise<() => void> {
  let isBetween = true
  const SESSION = throughTo(env.SESSION, (call) => (isBetween ? between(call) : call.go()))
  await hibernate(hub)
  await runInDurableObject(stubOf(hub), (object) => {
    const own = object as unknown as { env: Cloudflare.Env }
    own.env = { ...own.env, SESSION }
  })
  return () => void (isBetween = false)
}

/** Variables of every Worker and object until the test is over. */
export function withVars(vars: { LISTEN_SHARDS: string }): void {
  const { LISTEN_SHARDS } = env
  Object.assign(env, vars)
  onTestFinished(() => {
    if (LISTEN_SHARDS === undefined) delete (env as { LISTEN_SHARDS?: string }).LISTEN_SHARDS
    else Object.assign(env, { LISTEN_SHARDS })
  })
}

/** How long a hub notes that a session is to be told of something. */
export const FOLLOWED_MS = 1.5 * limits.sessionIdleMs

export function storedOf(hub: TestHub, shard = 0): Promise<Stored> {
  return runInDurableObject(stubOf(hub, shard), (_object, state) => storedIn(state))
}

/** One query in a hub. */
export function query(hub: TestHub, sql: string, shard = 0): Promise<Record<string, SqlStorageValue>[]> {
  return runInDurableObject(stubOf(hub, shard), (_object, { storage }) => storage.sql.exec(sql).toArray())
}

/** Counts what this instance of a hub writes from now on: rows as they are billed, and how often the alarm is set. */
export async function countWrites(hub: TestHub): Promise<() => { rows: number; alarms: number }> {
  let written = { rows: 0, alarms: 0 }
  await runInDurableObject(stubOf(hub), (_object, { storage }) => {
    const { sql } = storage
    const [exec, setAlarm] = [sql.exec.bind(sql), storage.setAlarm.bind(storage)]
    Object.assign(sql, {
      exec(text: string, ...bindings: SqlStorageValue[]) {
        const cursor = exec(text, ...bindings)
        written.rows += cursor.rowsWritten
        return cursor
      },
    })
    Object.assign(storage, {
      setAlarm(at: number) {
        written.alarms++
        return setAlarm(at)
      },
    })
  })
  return () => {
    const soFar = written
    written = { rows: 0, alarms: 0 }
    return soFar
  }
}

const notes = defineResource('test://notes', { name: 'notes', read: () => 'notes' })
const hello = definePrompt('hello', { description: 'hello', get: () => 'hello' })

/** A definition with all the lists, one of which can be another. */
export function definition(tool = 'a tool'): Server {
  return defineServer({
    name: 'test',
    version: '1.0.0',
    tools: [quiet('tool', tool)],
    prompts: [hello],
    resources: [notes],
  })
}

/** A stream of a client at a Worker. */
interface ClientStream {
  /** What the next message says: its URI or method, or that it is the end. */
  next(): Promise<string>
  cancel(): Promise<void>
}

const EVERYTHING = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['test://notes'],
}

/** A stream at a Worker that serves a `definition`, once it is acknowledged. */
export async function streamOf(
  fetcher: Fetcher,
  { headers = {}, notifications = EVERYTHING }: { headers?: Record<string, string>; notifications?: object } = {},
): Promise<ClientStream> {
  const stream = await modern(fetcher, { headers }).open('subscriptions/listen', { notifications })
  const next = async (): Promise<string> => {
    const { value } = await stream.messages.next()
    if (!value || value.result) return value ? 'the result' : 'the end'
    const uri = value.params?.['uri'] as string | undefined
    return uri ?? value.method!.replace('notifications/', '')
  }
  if ((await next()) !== 'subscriptions/acknowledged')
    throw new Error('The stream did not begin with its acknowledgement')
  return { next, cancel: () => stream.cancel() }
}

/** The timers that the code of this isolate sets until the test is over, while they run. */
export function watchTimers(): ReadonlySet<unknown> {
  const timers = new Set<unknown>()
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis
  const watched = {
    setTimeout(work: () => void, ms?: number) {
      const timer: unknown = setTimeout(() => {
        timers.delete(timer)
        work()
      }, ms)
      timers.add(timer)
      return timer
    },
    setInterval(work: () => void, ms?: number) {
      const timer = setInterval(work, ms)
      timers.add(timer)
      return timer
    },
    clearTimeout(timer: never) {
      timers.delete(timer)
      clearTimeout(timer)
    },
    clearInterval(timer: never) {
      timers.delete(timer)
      clearInterval(timer)
    },
  }
  Object.assign(globalThis, watched)
  onTestFinished(() => void Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval }))
  return timers
}

/** What was rejected without anybody looking, until the test is over. */
export function watchRejections(): readonly unknown[] {
  const unhandled: unknown[] = []
  const note = (event: PromiseRejectionEvent): void => void unhandled.push(event.reason)
  addEventListener('unhandledrejection', note)
  onTestFinished(() => removeEventListener('unhandledrejection', note))
  return unhandled
}
