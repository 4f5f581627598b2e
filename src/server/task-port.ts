// What passes between a request and the object its task lives in. HTTP uses the port, Durable Objects implement it.

import type { ProtocolVersion } from '../protocol/era.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { ProgressToken } from '../protocol/meta.ts'
import type { TaskForm, TaskSnapshot, TaskState } from '../protocol/task.ts'
import type { Auth, Client, Trace } from './ports.ts'

/** Raised when what passes between objects changes. What does not know a number refuses, and is asked again later. */
export const TASK_PROTOCOL = 1

/** Who asks for a task, and in which form. A task is known only to its owner, in the form it was made in. */
export interface TaskOwner {
  principal: string
  form: TaskForm
}

/** A call that becomes a task: all that is needed to run its handler wherever the task lives. */
export interface TaskCall {
  protocol: typeof TASK_PROTOCOL
  form: TaskForm
  version: ProtocolVersion
  /** `name` and `arguments` of the tool. */
  params: JsonObject
  requestId: string
  client: Client
  auth: Auth
  trace?: Trace
  progressToken?: ProgressToken
  /** The object of the session it was made in, which is told of what happens. */
  session?: string
  /** What the tool's `prepare` came to, when it ran before. */
  prepared?: { value: unknown }
  ttlMs: number | null
  pollIntervalMs: number
}

/** A task just made. */
export interface CreatedTask {
  taskId: string
  state: TaskState
}

/** What a session is told of a task that one of its streams waits for. Without a snapshot there is no such task. */
export interface TaskUpdate {
  protocol: typeof TASK_PROTOCOL
  taskId: string
  stream: number
  snapshot?: TaskSnapshot
}

/** One page of a principal's tasks. */
export interface TaskPage {
  tasks: { taskId: string; snapshot: TaskSnapshot }[]
  nextCursor?: string
}

/** What one who waits for a task wants to know. */
export interface TaskWait {
  signal: AbortSignal
  /** A notification of the task. */
  emit(method: string, params: JsonObject): void
}

/**
 * Where tasks live. Ids that are unknown, malformed, expired or another's give undefined, all alike.
 * Every method rejects with `Unavailable` when the object cannot be reached.
 */
export interface TaskPort {
  /** Makes a task, which is stored when this resolves. It does not run yet. @throws {ProtocolError} over the limit */
  create(env: Cloudflare.Env, call: TaskCall): Promise<CreatedTask>
  /** Lets a task run whose maker has been answered. Otherwise it begins by itself a little later. */
  start(env: Cloudflare.Env, taskId: string): Promise<void>
  get(env: Cloudflare.Env, owner: TaskOwner, taskId: string): Promise<TaskSnapshot | undefined>
  /** What a token must be good for that asks about a task. */
  scopesOf(env: Cloudflare.Env, owner: TaskOwner, taskId: string): Promise<readonly string[] | undefined>
  /** Says that somebody wants to be told of a task: from now on it publishes its changes. @returns false if it is not theirs */
  listen(env: Cloudflare.Env, owner: TaskOwner, taskId: string): Promise<boolean>
  /**
   * Gives answers to open asks; keys that are none are ignored.
   * @returns false for a task that is not theirs @throws {ProtocolError} for an answer too large to keep
   */
  answer(env: Cloudflare.Env, owner: TaskOwner, taskId: string, responses: JsonObject): Promise<boolean>
  /** Cancels a task that is not at its end. @returns what it was before, and is now */
  cancel(
    env: Cloudflare.Env,
    owner: TaskOwner,
    taskId: string,
  ): Promise<{ before: TaskSnapshot; now: TaskSnapshot } | undefined>
  /** The tasks of an identified principal. @throws {ProtocolError} InvalidParams for a cursor that is none */
  list(env: Cloudflare.Env, owner: TaskOwner, cursor: string | undefined): Promise<TaskPage>
  /** Resolves when the task is at its end. */
  wait(env: Cloudflare.Env, owner: TaskOwner, taskId: string, wait: TaskWait): Promise<TaskSnapshot | undefined>
}
