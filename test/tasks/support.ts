// What the tests of tasks share: tools that run as tasks, clients that take them, what a task stores, and ways to put its
// object to sleep, wake it and kill it.

import { env } from 'cloudflare:workers'
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import type { StoredTaskAsk, TaskRecord } from '../../durable-objects/task-store.ts'
import type { Authenticate } from '../../src/http/app.ts'
import { defineTool, type CallContext, type Tool } from '../../src/server/index.ts'
import { ANONYMOUS } from '../../src/server/ports.ts'
import { modern, TASKS, type Fetcher, type JsonObject, type ModernClient } from '../support/client.ts'
import { eventually } from '../sessions/support.ts'

export { eventually, gate, later, textOf, withLimits, type Gate } from '../sessions/support.ts'

/**
 * A tool without arguments that may run as a task; `more` goes over what it is defined with.
 *
 * Handlers run inside the task's object. Wait for what they do with `eventually`: a promise that a handler settles would
 * wake the test inside that object, and `crash` would then kill the test as well.
 */
export function taskTool(
  name: string,
  handler: (ctx: CallContext) => unknown,
  { task = {}, ...more }: { task?: object; askTtlMs?: number; [option: string]: unknown } = {},
): Tool {
  return defineTool(name, {
    description: name,
    ...more,
    task: { support: 'optional', ...task },
    handler: (_input, ctx) => handler(ctx) as string,
  })
}

/** Everything a modern client can declare, tasks among it. */
export const CAPABILITIES: JsonObject = {
  ...TASKS,
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
}

/** A modern client that takes tasks and can be asked anything. */
export function taskClient(fetcher: Fetcher, headers: Record<string, string> = {}): ModernClient {
  return modern(fetcher, { capabilities: CAPABILITIES, headers })
}

/** For `serve`: the principal is what `x-principal` says; without it the caller is anonymous. */
export const byHeader: Authenticate = ({ headers }) => {
  const principal = headers.get('x-principal')
  return principal === null ? ANONYMOUS : { principal }
}

/** The headers of a client that is `principal`. */
export const as = (principal: string) => ({ 'x-principal': principal })

/** `tasks/update`. */
export async function update(client: ModernClient, taskId: string, inputResponses: JsonObject): Promise<JsonObject> {
  return client.result('tasks/update', { taskId, inputResponses })
}

export const accept = (content: object) => ({ action: 'accept', content })

export function stubOf(taskId: string) {
  return env.TASK.get(env.TASK.idFromString(taskId))
}

export interface Stored {
  /** Every entry of the task's object, by key. Values that are bytes stay bytes. */
  entries: Record<string, unknown>
  alarm: number | null
}

/** What the object of a task stores. Reading it writes nothing. */
export function storedOf(taskId: string): Promise<Stored> {
  return runInDurableObject(stubOf(taskId), async (_object, { storage }) => ({
    entries: Object.fromEntries(storage.kv.list()),
    alarm: await storage.getAlarm(),
  }))
}

/** An object that stores nothing. */
export const NOTHING: Stored = { entries: {}, alarm: null }

/** The entry `task`. */
export async function recordOf(taskId: string): Promise<TaskRecord> {
  return (await storedOf(taskId)).entries['task'] as TaskRecord
}

/** The names of the entries that begin with `prefix`, without it. */
export async function keysOf(taskId: string, prefix: 'step:' | 'sleep:' | 'ask:' | 'call:' | 'watcher:' | 'outcome:') {
  const { entries } = await storedOf(taskId)
  return Object.keys(entries).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []))
}

export async function askOf(taskId: string, key: string): Promise<StoredTaskAsk> {
  return (await storedOf(taskId)).entries[`ask:${key}`] as StoredTaskAsk
}

/** Waits until the handler only waits for answers and sleeps. */
export function parked(taskId: string): Promise<void> {
  return eventually(async () => (await recordOf(taskId)).isParked)
}

/** The object goes to sleep and its memory is gone, sockets stay. Waits for a handler that works, so use it for one that waits. */
export function hibernate(taskId: string): Promise<void> {
  return evictDurableObject(stubOf(taskId))
}

/** Rings the alarm, whenever it is set to. @returns false when there is none */
export function ring(taskId: string): Promise<boolean> {
  return runDurableObjectAlarm(stubOf(taskId))
}

/** The object dies in the middle of whatever it does. What it had written is there, as after a crash of its machine. */
export async function crash(taskId: string): Promise<void> {
  let isDead = false
  await runInDurableObject(stubOf(taskId), async (_object, state) => {
    await state.storage.sync()
    // Once this call is answered: under one, the runtime would print the reason.
    setTimeout(() => {
      isDead = true
      state.abort('the test killed this object')
    })
  })
  while (!isDead) await scheduler.wait(1)
}

/**
 * Counts what handlers did, in an object of its own: what was counted stays so, whatever becomes of the task.
 * @returns how often it has happened
 */
export function happened(what: string): Promise<number> {
  return runInDurableObject(env.PRINCIPAL.getByName('the world outside'), (_object, { storage }) => {
    const count = (storage.kv.get<number>(what) ?? 0) + 1
    storage.kv.put(what, count)
    return count
  })
}

/** How often it has happened. */
export function timesOf(what: string): Promise<number> {
  return runInDurableObject(
    env.PRINCIPAL.getByName('the world outside'),
    (_object, { storage }) => storage.kv.get<number>(what) ?? 0,
  )
}
