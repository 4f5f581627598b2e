// What a client does with tasks: has one made, reads it, and waits until it gets somewhere. Same calls for both forms.

import type { RequestOptions } from './envelope.ts'
import type { AnyTask, LegacyTask, ModernTask, ResultOf, TaskStatus } from './results.ts'
import { MODERN } from './revisions.ts'
import type { JsonObject, Revision } from './revisions.ts'
import { TASKS_EXTENSION } from './task-rules.ts'
import { WireViolation } from './violation.ts'

/** The client capabilities of a modern client that takes tasks: `modern(fetcher, { capabilities: TASKS })`. */
export const TASKS: { extensions: JsonObject } = { extensions: { [TASKS_EXTENSION]: {} } }

export interface CallTaskOptions extends RequestOptions {
  /** How long the task is asked to live; legacy only. */
  ttl?: number
}

export interface TaskMethods<Task extends AnyTask = AnyTask> {
  /**
   * Calls a tool and gives the task that it becomes; throws when the answer is anything else. A legacy client asks for
   * one, a modern one has to have declared `TASKS`.
   */
  callTask(tool: string, args?: JsonObject, options?: CallTaskOptions): Promise<Task>
  /** `tasks/get`. */
  task(taskId: string, options?: RequestOptions): Promise<Task>
  /** Polls until the task has this status; throws when it ends with another, or in a few seconds. */
  reached(taskId: string, status: TaskStatus, options?: RequestOptions): Promise<Task>
  /** Polls until the task is completed, failed or cancelled; throws after a few seconds. */
  settled(taskId: string, options?: RequestOptions): Promise<Task>
}

export interface LegacyTaskMethods extends TaskMethods<LegacyTask> {
  /** `tasks/result`, which waits for the end; throws when that is an error. */
  taskResult(taskId: string, options?: RequestOptions): Promise<ResultOf<'tasks/result'>>
}

/** What it needs of the client. */
interface Requests {
  call(tool: string, args: JsonObject | undefined, options: RequestOptions, more: JsonObject): Promise<JsonObject>
  result<M extends string>(method: M, params: JsonObject, options?: RequestOptions): Promise<ResultOf<M>>
}

/** The pause is short and the server's `pollIntervalMs` is not kept, and tries are counted: tests move the clock. */
const PAUSE_MS = 10
const TRIES = 300

const TERMINAL: readonly string[] = ['completed', 'failed', 'cancelled']

export function taskMethods(revision: Revision, { call, result }: Requests): TaskMethods<ModernTask & LegacyTask> {
  const task = async (taskId: string, options?: RequestOptions) =>
    (await result('tasks/get', { taskId }, options)) as ModernTask & LegacyTask

  async function poll(taskId: string, wanted: readonly string[], options?: RequestOptions) {
    let last: AnyTask | undefined
    for (let i = 0; i < TRIES; i++) {
      const now = await task(taskId, options)
      if (wanted.includes(now.status)) return now
      last = now
      if (TERMINAL.includes(now.status)) break
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    throw new WireViolation(revision, `the task did not become ${wanted.join(', ')} but is ${last?.status}`, last)
  }

  return {
    task,
    async callTask(tool, args, { ttl, ...options } = {}) {
      const params = revision === MODERN ? {} : { task: ttl === undefined ? {} : { ttl } }
      const answer = await call(tool, args, options, params)
      const created = revision === MODERN ? answer.resultType === 'task' && answer : answer.task
      if (typeof created !== 'object') throw new WireViolation(revision, 'tools/call did not become a task', answer)
      return created as ModernTask & LegacyTask
    },
    reached: (taskId, status, options) => poll(taskId, [status], options),
    settled: (taskId, options) => poll(taskId, TERMINAL, options),
    ...(revision !== MODERN && {
      taskResult: (taskId: string, options?: RequestOptions) => result('tasks/result', { taskId }, options),
    }),
  }
}
