// What no schema says of tasks: which messages name their task in `_meta`, whom a task may be given to, and that a task
// that is read is the one that was asked for. Pure.
// @see 2025-11-25 utilities/tasks, Associating Task-Related Messages; the extension, Capability Negotiation

import type { SentRequest } from './judge.ts'
import { isObject, MODERN } from './revisions.ts'
import type { JsonObject, Message, Revision } from './revisions.ts'

/** Key of `_meta` in 2025-11-25, and there alone. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task'
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** What a handler causes. `notifications/elicitation/complete` has no `_meta`; a ping and changes are of no task. */
const OF_A_HANDLER = new Set([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
  'notifications/progress',
  'notifications/message',
  'notifications/cancelled',
])

/** Whether a modern request says that its client knows an extension. */
export function declares(params: JsonObject | undefined, extension: string): boolean {
  const meta = isObject(params?._meta) ? params._meta : {}
  const capabilities = meta['io.modelcontextprotocol/clientCapabilities']
  const extensions = isObject(capabilities) && isObject(capabilities.extensions) ? capabilities.extensions : {}
  return isObject(extensions[extension])
}

/** The request for the result of a task that these messages answer. */
export function resultRequest(requests: SentRequest[]): SentRequest | undefined {
  return requests.find(({ method }) => method === 'tasks/result')
}

/** What stands under the key in the message's own `_meta`. */
export function relatedTask({ params, result }: Message): unknown {
  const meta = (params ?? result)?._meta
  return isObject(meta) ? meta[RELATED_TASK] : undefined
}

/** Why a message names a task that it should not, or does not name the one it belongs to. */
export function misrelated(revision: Revision, message: Message, requests: SentRequest[]): string | undefined {
  const mark = relatedTask(message)
  const count = countMarks(message)
  if (revision !== '2025-11-25') return count > 0 ? `the revision has no "${RELATED_TASK}"` : undefined
  if (count > (mark === undefined ? 0 : 1)) return `"${RELATED_TASK}" does not belong inside a message`
  const rule = ruleOf(message, requests)
  if (mark === undefined) return rule === 'must' ? `"${RELATED_TASK}" is missing` : undefined
  if (rule === 'never') return `"${RELATED_TASK}" does not belong on this message`
  if (!isObject(mark) || typeof mark.taskId !== 'string' || Object.keys(mark).length > 1)
    return `"${RELATED_TASK}" is not { taskId }`
  const taskId = taskOf(message, requests)
  return taskId === undefined || taskId === mark.taskId
    ? undefined
    : `"${RELATED_TASK}" is of another task than ${JSON.stringify(taskId)}`
}

function ruleOf(message: Message, requests: SentRequest[]): 'must' | 'may' | 'never' {
  const { method, result, error } = message
  if (error !== undefined) return 'never' // an error has no `_meta`
  if (method === undefined) {
    if (requests.find(({ id }) => id === message.id)?.method === 'tasks/result') return 'must'
    return isObject(result?.task) ? 'may' : 'never'
  }
  if (method === 'notifications/tasks/status') return 'never'
  if (resultRequest(requests) !== undefined) return OF_A_HANDLER.has(method) ? 'must' : 'may'
  // the session's own stream brings what is of tasks and what is not; a call's stream is of the call
  return requests.length === 0 ? 'may' : 'never'
}

function taskOf({ method, result }: Message, requests: SentRequest[]): unknown {
  if (method === undefined && isObject(result?.task)) return result.task.taskId
  return resultRequest(requests)?.params?.taskId
}

function countMarks(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((count, item) => count + countMarks(item), 0)
  if (!isObject(value)) return 0
  const own = isObject(value._meta) && RELATED_TASK in value._meta ? 1 : 0
  return Object.values(value).reduce<number>((count, item) => count + countMarks(item), own)
}

/** Why a result about a task does not fit its request. */
export function misfitsRequest(
  revision: Revision,
  { method, params }: SentRequest,
  result: JsonObject,
): string | undefined {
  const isOfTasks = method.startsWith('tasks/') || result.resultType === 'task'
  if (revision === MODERN && isOfTasks && !declares(params, TASKS_EXTENSION))
    return `the request does not declare "${TASKS_EXTENSION}"`
  if (!('taskId' in result) || !method.startsWith('tasks/')) return undefined
  if (result.taskId !== params?.taskId) return `the task is not the one asked for: ${JSON.stringify(params?.taskId)}`
  return method === 'tasks/cancel' && result.status !== 'cancelled'
    ? `a cancelled task is still "${String(result.status)}"`
    : undefined
}
