// How a tool call becomes a task, the same for both forms.

import { limits } from '../limits.ts'
import type { TaskForm } from '../protocol/task.ts'
import type { TaskOptions } from '../server/define-tool.ts'
import { lasting, type Call } from '../server/ports.ts'
import { TASK_PROTOCOL, type CreatedTask, type TaskPort } from '../server/task-port.ts'
import { lifetime } from '../server/tasks.ts'

/** What one form adds to a call that becomes a task. */
export interface TaskRequest {
  form: TaskForm
  /** The lifetime the client asked for, in ms. */
  ttlMs?: number | undefined
  prepared?: { value: unknown }
  session?: string | undefined
}

/** Makes a task of a call. It begins to run when the client has been answered. */
export async function toTask(
  tasks: TaskPort,
  call: Call,
  options: TaskOptions,
  { form, ttlMs, prepared, session }: TaskRequest,
): Promise<CreatedTask> {
  const { version, requestId, client, auth, env, trace, progressToken, params, port } = call
  const signal = port.signal()
  const made = await tasks.create(env, {
    protocol: TASK_PROTOCOL,
    form,
    version,
    params: { name: params['name'], arguments: params['arguments'] },
    requestId,
    client,
    auth: lasting(auth),
    ...(trace && { trace }),
    ...(progressToken !== undefined && { progressToken }),
    ...(session !== undefined && { session }),
    ...(prepared && { prepared: { value: toJson(prepared.value) } }),
    ttlMs: lifetime(options, auth, ttlMs),
    pollIntervalMs: options.pollIntervalMs ?? limits.taskPollMs,
  })
  port.waitUntil(begin(tasks, call, made.taskId, form, signal))
  return made
}

/** @throws {TypeError} for what is no JSON */
function toJson(value: unknown): unknown {
  if (value === undefined) return undefined
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError('cannot make a task: what its prepare returned is not JSON')
  return JSON.parse(text)
}

/** Nobody could ever ask for a task whose client left before it was told the id, so that one is cancelled. */
async function begin(
  tasks: TaskPort,
  { env, auth, port }: Call,
  taskId: string,
  form: TaskForm,
  signal: AbortSignal,
): Promise<void> {
  // By then the answer has been handed over.
  await scheduler.wait(0)
  try {
    if (signal.aborted) await tasks.cancel(env, { principal: auth.principal, form }, taskId)
    else await tasks.start(env, taskId)
  } catch (error) {
    // It begins by itself later.
    port.report(error)
  }
}
