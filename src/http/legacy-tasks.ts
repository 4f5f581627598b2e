// Tasks of 2025-11-25 clients: `params.task` on a tool call, and the methods about tasks.
// A session answers `tasks/result` itself where its client takes a stream: durable-objects/task-waits.ts.
// @see 2025-11-25 basic/utilities/tasks

import { isSince, type LegacyVersion } from '../protocol/era.ts'
import { ProtocolError, StoredError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { legacyResult } from '../protocol/legacy/encode.ts'
import { legacyTask, relatedTo, statusOf } from '../protocol/legacy/tasks.ts'
import { META } from '../protocol/meta.ts'
import { cursorParam, requestedTtl, stringParam } from '../protocol/params.ts'
import type { TaskSnapshot } from '../protocol/task.ts'
import type { Server } from '../server/define-server.ts'
import { isAnonymous, type Auth, type Call } from '../server/ports.ts'
import { findTool } from '../server/run.ts'
import { mayUse } from '../server/scopes.ts'
import type { TaskOwner, TaskPort } from '../server/task-port.ts'
import { isFinal, unknownTask } from '../server/tasks.ts'
import { toTask } from './tasks.ts'

/** True for a client that may know tasks: it named a revision that has them, and the server has some. */
export function knowsTasks(server: Server, version: LegacyVersion): boolean {
  return server.families.has('tasks') && isSince(version, '2025-11-25')
}

/** Whose task is asked for. */
export function ownerOf({ principal }: Auth): TaskOwner {
  return { principal, form: '2025-11-25' }
}

/**
 * Makes a task of a tool call, if its client wants that.
 * @param session the object of its session
 * @returns the result, or undefined for an ordinary call
 * @throws {ProtocolError} MethodNotFound where tool and client do not want the same @see Tool-Level Negotiation
 */
export async function createTask(
  tasks: TaskPort,
  server: Server,
  call: Call,
  session: string | undefined,
): Promise<JsonObject | undefined> {
  const tool = findTool(server, call.auth, call.params['name'])
  const isWanted = call.params['task'] !== undefined
  // What no tool has is found out where every call finds that out.
  if (!tool || (!isWanted && tool.task?.support !== 'required')) return undefined
  if (!isWanted) throw new ProtocolError('MethodNotFound', `Method not found: ${tool.name} runs as a task only`)
  if (!tool.task) throw new ProtocolError('MethodNotFound', `Method not found: ${tool.name} does not run as a task`)
  const ttlMs = requestedTtl(call.params)
  const { taskId, state } = await toTask(tasks, call, tool.task, { form: '2025-11-25', ttlMs, session })
  const { immediateResponse } = tool.task
  const meta = immediateResponse === undefined ? {} : { _meta: { [META.immediateResponse]: immediateResponse } }
  return relatedTo(taskId, { task: legacyTask(taskId, { state }), ...meta })
}

/** Answers the methods about tasks. @throws {ProtocolError} as every request */
export async function answerTaskMethod(
  tasks: TaskPort,
  server: Server,
  { method, params, auth, env, port }: Call,
): Promise<JsonObject> {
  const owner = ownerOf(auth)
  if (method === 'tasks/list') return listTasks(tasks, server, env, auth, cursorParam(params))
  const taskId = stringParam(params, 'taskId')
  switch (method) {
    case 'tasks/get': {
      const snapshot = await tasks.get(env, owner, taskId)
      if (!snapshot) throw unknownTask()
      return legacyTask(taskId, snapshot)
    }
    case 'tasks/cancel': {
      const cancelled = await tasks.cancel(env, owner, taskId)
      if (!cancelled) throw unknownTask()
      const { before, now } = cancelled
      if (!isFinal(before.state)) return legacyTask(taskId, now)
      const status = statusOf(before.state, before.outcome)
      throw new ProtocolError('InvalidParams', `Invalid params: the task cannot be cancelled, it is ${status} already`)
    }
    default: {
      const wait = { signal: port.signal(), emit: port.emit }
      const snapshot = await tasks.wait(env, owner, taskId, wait)
      if (!snapshot) throw unknownTask()
      return resultOf(taskId, snapshot)
    }
  }
}

async function listTasks(
  tasks: TaskPort,
  server: Server,
  env: Cloudflare.Env,
  auth: Auth,
  cursor: string | undefined,
): Promise<JsonObject> {
  // Nobody's tasks could be told from anybody's. @see Security Considerations, Task Isolation and Access Control
  if (isAnonymous(auth)) throw new ProtocolError('MethodNotFound', 'Method not found: tasks/list')
  const { tasks: found, nextCursor } = await tasks.list(env, ownerOf(auth), cursor)
  const shown = found.filter(({ snapshot }) => mayUse(server, auth, snapshot.scopes))
  return {
    tasks: shown.map(({ taskId, snapshot }) => legacyTask(taskId, snapshot)),
    ...(nextCursor !== undefined && { nextCursor }),
  }
}

/**
 * What the request of a task came to, exactly as it would have been answered.
 * @throws {ProtocolError} where that is an error, or the task was cancelled @see Result Retrieval
 */
export function resultOf(taskId: string, { outcome }: TaskSnapshot): JsonObject {
  if (!outcome) throw new ProtocolError('InternalError', 'Task was cancelled')
  if ('error' in outcome) throw new StoredError(outcome.error)
  return relatedTo(taskId, legacyResult('tools/call', outcome.result, '2025-11-25'))
}
