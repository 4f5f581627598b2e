// What the tests of sessions share: a session whose object can be looked into, gates for handlers, and limits for a while.

import { env } from 'cloudflare:workers'
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { describe, onTestFinished, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool, type CallContext, type ToolAnnotations } from '../../src/server/index.ts'
import { LEGACY, legacySession } from '../support/client.ts'
import type { ClientOptions, Fetcher, JsonObject, LegacyRevision, Message, Session } from '../support/client.ts'
import { servers } from '../support/main.ts'

/** Everything a client of each revision can declare. */
export const CAPABILITIES: Record<LegacyRevision, JsonObject> = {
  '2025-03-26': { sampling: {}, roots: {} },
  '2025-06-18': { elicitation: {}, sampling: {}, roots: {} },
  '2025-11-25': { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} },
}

export interface OwnSession extends Session {
  /** The id of its object. */
  readonly objectId: string
}

/** A session of `fetcher`, which comes from `serve`. */
export async function sessionOf(
  fetcher: Fetcher,
  revision: LegacyRevision = '2025-11-25',
  options: ClientOptions = { capabilities: CAPABILITIES[revision] },
): Promise<OwnSession> {
  const session = await legacySession(fetcher, revision, options)
  return { ...session, objectId: [...servers.keys()].at(-1)! }
}

/** The same behaviour on the three revisions that have sessions. */
export function describeLegacy(
  title: string,
  body: (revision: LegacyRevision) => void,
  revisions: readonly LegacyRevision[] = LEGACY,
): void {
  for (const revision of revisions) describe(`${title} [${revision}]`, () => body(revision))
}

export function stubOf({ objectId }: { objectId: string }) {
  return env.SESSION.get(env.SESSION.idFromString(objectId))
}

export interface Stored {
  /** Rows of every table. An object that stores nothing has no tables. */
  rows: Record<string, number>
  alarm: number | null
}

/** What an object has in tables, and its alarm. Reading it writes nothing. */
export async function storedIn({ storage }: DurableObjectState): Promise<Stored> {
  const names = storage.sql
    .exec<{ name: string }>(
      `select name from sqlite_master where type = 'table' and name not glob 'sqlite_*' and name not glob '_cf_*'`,
    )
    .toArray()
  const count = (name: string): number => storage.sql.exec<{ n: number }>(`select count(*) as n from "${name}"`).one().n
  return {
    rows: Object.fromEntries(names.map(({ name }) => [name, count(name)])),
    alarm: await storage.getAlarm(),
  }
}

export function storageOf(session: { objectId: string }): Promise<Stored> {
  return runInDurableObject(stubOf(session), (_object, state) => storedIn(state))
}

export const NOTHING: Stored = { rows: {}, alarm: null }

/** One query in a session's object. */
export function query(session: { objectId: string }, sql: string): Promise<Record<string, SqlStorageValue>[]> {
  return runInDurableObject(stubOf(session), (_object, { storage }) => storage.sql.exec(sql).toArray())
}

/** The object goes to sleep: memory is gone, sockets stay. */
export function hibernate(session: { objectId: string }): Promise<void> {
  return evictDurableObject(stubOf(session))
}

export function ring(session: { objectId: string }): Promise<boolean> {
  return runDurableObjectAlarm(stubOf(session))
}

/** Waits until the object of a session knows that nobody is connected to it. */
export function left(session: { objectId: string }): Promise<void> {
  const isLeft = (): Promise<boolean> =>
    runInDurableObject(stubOf(session), (_object, state) =>
      state.getWebSockets().every(({ readyState }) => readyState !== WebSocket.OPEN),
    )
  return eventually(isLeft)
}

/** Other limits until the test is over. */
export function withLimits(changed: Partial<typeof limits>): void {
  const before = { ...limits }
  Object.assign(limits, changed)
  onTestFinished(() => void Object.assign(limits, before))
}

const now = Date.now
let aheadMs = 0

/** Moves the clock of tests and objects on, until the test is over. Alarms ring by `ring`. */
export function later(ms: number): void {
  aheadMs += ms
  vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs)
  onTestFinished(() => {
    aheadMs = 0
    vi.restoreAllMocks()
  })
}

/** A promise that the test settles. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

export function gate(): Gate {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

/** Waits until something is so. */
export async function eventually(holds: () => unknown, timeoutMs = 3_000): Promise<void> {
  for (const end = Date.now() + timeoutMs; !(await holds()); await scheduler.wait(5))
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs} ms for: ${holds.toString()}`)
}

/** A tool without arguments. */
export function tool(
  name: string,
  handler: (ctx: CallContext) => Promise<string> | string,
  more: { annotations?: ToolAnnotations; askTtlMs?: number; pollAfterMs?: number } = {},
) {
  return defineTool(name, { description: name, ...more, handler: (_input, ctx) => handler(ctx) })
}

export function textOf(message: Message | undefined): string {
  const content = message?.result?.['content'] as { text?: string }[] | undefined
  return content?.map(({ text }) => text).join('') ?? JSON.stringify(message?.error)
}

/** The data of log messages, in order. */
export function logsOf(messages: readonly Message[]): unknown[] {
  return messages.filter(({ method }) => method === 'notifications/message').map(({ params }) => params?.['data'])
}

export const accept = (content: object) => ({ result: { action: 'accept', content } })
export const isAsk = ({ id, method }: Message): boolean => id !== undefined && method !== undefined
