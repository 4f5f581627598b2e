// The state machine of tasks: working ⇄ input_required → done | cancelled. Pure; what is final stays.
// Where a task lives and how it is spoken of is not known here. @see ext-tasks, Task Status; 2025-11-25 tasks, Lifecycle

import { limits } from '../limits.ts'
import { clip } from '../protocol/clip.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isObject } from '../protocol/json-rpc.ts'
import type { TaskOutcome, TaskState } from '../protocol/task.ts'
import type { TaskOptions } from './define-tool.ts'
import { isAnonymous, type Auth } from './ports.ts'

/** Characters of a status message. Hosts show it in one line, models read it. */
export const STATUS_CHARS = 500

export function isFinal({ phase }: TaskState): boolean {
  return phase === 'done' || phase === 'cancelled'
}

/** A new task. Every task begins in `working`. */
export function created(now: number, ttlMs: number | null, pollIntervalMs: number): TaskState {
  const at = iso(now)
  return { phase: 'working', createdAt: at, updatedAt: at, ttlMs, pollIntervalMs }
}

/** When a task may be deleted, in ms since the epoch. */
export function expiryOf({ createdAt, ttlMs }: TaskState): number {
  return ttlMs === null ? Number.POSITIVE_INFINITY : Date.parse(createdAt) + ttlMs
}

/** The same task with something new to say, which does not move it. */
export function reported(state: TaskState, message: string, now: number): TaskState {
  return isFinal(state) || state.message === message ? state : { ...state, message, updatedAt: iso(now) }
}

/** A task whose asks changed: it waits for answers, or works again when there are none to wait for. */
export function waiting(state: TaskState, isAsking: boolean, now: number): TaskState {
  return isFinal(state) ? state : { ...state, phase: isAsking ? 'input_required' : 'working', updatedAt: iso(now) }
}

/** A task that came to its end. What went wrong is its last message; a success needs none. */
export function done(state: TaskState, outcome: TaskOutcome, now: number): TaskState {
  if (isFinal(state)) return state
  const { message: _, ...rest } = state
  const problem = problemOf(outcome)
  return { ...rest, phase: 'done', updatedAt: iso(now), ...(problem !== undefined && { message: problem }) }
}

export function cancelled(state: TaskState, now: number): TaskState {
  if (isFinal(state)) return state
  return { ...state, phase: 'cancelled', updatedAt: iso(now), message: 'The client cancelled the task.' }
}

/**
 * How long a task lives, in ms; null is until it is deleted by hand, which only its definition can say.
 * @param requested what the client asked for, where its revision lets it ask; capped, and never less than a second
 */
export function lifetime({ ttlMs }: TaskOptions, auth: Auth, requested?: number): number | null {
  const most = isAnonymous(auth) ? limits.anonymousTaskTtlMs : limits.taskTtlMs
  if (requested === undefined) return ttlMs === undefined ? limits.defaultTaskTtlMs : ttlMs
  const cap = ttlMs === null ? Number.MAX_SAFE_INTEGER : Math.max(most, ttlMs ?? 0)
  return Math.max(limits.minTaskTtlMs, Math.min(Math.ceil(requested), cap))
}

/** The answer for every id that is no task of the caller, whatever the reason. */
export function unknownTask(): ProtocolError {
  return new ProtocolError('InvalidParams', 'Invalid params: no such task')
}

function problemOf(outcome: TaskOutcome): string | undefined {
  if ('error' in outcome) return clip(String(outcome.error['message']), STATUS_CHARS)
  const { isError, content } = outcome.result
  if (isError !== true) return undefined
  const block = Array.isArray(content) ? content.find((each) => isObject(each) && each['type'] === 'text') : undefined
  return block && clip(String(block['text']), STATUS_CHARS)
}

function iso(now: number): string {
  return new Date(now).toISOString()
}
