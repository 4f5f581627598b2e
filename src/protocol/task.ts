// A task as it is stored: one state for both wire forms, which render it in `modern/tasks.ts` and `legacy/tasks.ts`.

import type { JsonObject } from './json-rpc.ts'

/** How a task is spoken of: by the extension of modern revisions, or by the core of 2025-11-25. It never changes. */
export type TaskForm = 'extension' | '2025-11-25'

/** What the request came to: its result, also one with `isError`, or a JSON-RPC error. */
export type TaskOutcome = { result: JsonObject } | { error: JsonObject }

/** A question that waits for its answer, under a key that is unique in the life of the task. */
export interface TaskAsk {
  key: string
  method: string
  params?: JsonObject
  /** The id of a link, which only 2025-11-25 puts on the wire. */
  elicitationId?: string
}

/** What can be told of a task. Times are ISO 8601. */
export interface TaskState {
  /** `done` has an outcome. Which status that is depends on the form. */
  phase: 'working' | 'input_required' | 'done' | 'cancelled'
  message?: string
  createdAt: string
  updatedAt: string
  /** From `createdAt`; null lives until it is deleted by hand. */
  ttlMs: number | null
  pollIntervalMs: number
}

/** A task with what its phase brings along. */
export interface TaskSnapshot {
  state: TaskState
  /** The open asks, oldest first. */
  asks: TaskAsk[]
  outcome?: TaskOutcome
  /** What a token must be good for that asks about it. */
  scopes: readonly string[]
}
