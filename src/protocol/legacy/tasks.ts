// Tasks as 2025-11-25 has them in its core. @see 2025-11-25 basic/utilities/tasks

import { isObject, type JsonObject } from '../json-rpc.ts'
import { META } from '../meta.ts'
import type { TaskOutcome, TaskSnapshot, TaskState } from '../task.ts'

/** A task. A result with `isError` counts as a failure here. */
export function legacyTask(taskId: string, { state, outcome }: Pick<TaskSnapshot, 'state' | 'outcome'>): JsonObject {
  return {
    taskId,
    status: statusOf(state, outcome),
    ...(state.message !== undefined && { statusMessage: state.message }),
    createdAt: state.createdAt,
    lastUpdatedAt: state.updatedAt,
    ttl: state.ttlMs,
    pollInterval: state.pollIntervalMs,
  }
}

export function statusOf({ phase }: TaskState, outcome: TaskOutcome | undefined): string {
  if (phase !== 'done') return phase
  return outcome && 'result' in outcome && outcome.result['isError'] !== true ? 'completed' : 'failed'
}

/** A message's `params` or `result`, marked as belonging to a task. @see Associating Task-Related Messages */
export function relatedTo(taskId: string, value: JsonObject): JsonObject {
  const meta = isObject(value['_meta']) ? value['_meta'] : {}
  return { ...value, _meta: { ...meta, [META.relatedTask]: { taskId } } }
}
