// Tasks as the extension `io.modelcontextprotocol/tasks` has them. @see ext-tasks, Tasks; Task Polling

import type { JsonObject } from '../json-rpc.ts'
import type { Implementation } from '../meta.ts'
import type { TaskSnapshot, TaskState } from '../task.ts'
import { completeResult } from './encode.ts'

/** The members every shape of a task has. */
export function taskFields(taskId: string, state: TaskState, status: string = state.phase): JsonObject {
  return {
    taskId,
    status,
    ...(state.message !== undefined && { statusMessage: state.message }),
    createdAt: state.createdAt,
    lastUpdatedAt: state.updatedAt,
    ttlMs: state.ttlMs,
    pollIntervalMs: state.pollIntervalMs,
  }
}

/** A task with what its status brings along: open asks, the result, or the error. A result with `isError` is a result. */
export function detailedTask(taskId: string, snapshot: TaskSnapshot, serverInfo: Implementation): JsonObject {
  const { state, asks, outcome } = snapshot
  if (outcome && 'error' in outcome) return { ...taskFields(taskId, state, 'failed'), error: outcome.error }
  if (outcome) {
    return { ...taskFields(taskId, state, 'completed'), result: completeResult(outcome.result, serverInfo) }
  }
  if (state.phase !== 'input_required') return taskFields(taskId, state)
  const inputRequests = asks.map(({ key, method, params }) => [key, { method, ...(params && { params }) }])
  return { ...taskFields(taskId, state), inputRequests: Object.fromEntries(inputRequests) }
}
