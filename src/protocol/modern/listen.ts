// `subscriptions/listen`: its filter, and the messages of its stream. @see basic/patterns/subscriptions

import { ProtocolError } from '../errors.ts'
import { isObject, type JsonObject, type RequestId } from '../json-rpc.ts'
import { notificationMessage, resultMessage } from '../messages.ts'
import { META, type Implementation } from '../meta.ts'
import type { ListTopic } from '../topic.ts'
import { completeResult } from './encode.ts'

/** What a client asks to be told of, or what of it is agreed to. */
export interface ListenFilter {
  toolsListChanged?: true
  promptsListChanged?: true
  resourcesListChanged?: true
  /** URIs. */
  resourceSubscriptions?: string[]
  /** @see ext-tasks, Status Notifications */
  taskIds?: string[]
}

/** The member that asks for changes of a list. */
export const LIST_MEMBERS = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const satisfies { [list in ListTopic]: keyof ListenFilter }

/**
 * Reads `params.notifications`. Members this server does not know are left out, as it may.
 * @param caps how many URIs and ids one request may name
 * @throws {ProtocolError} InvalidParams naming the member
 */
export function parseFilter(params: JsonObject, caps: { resources: number; tasks: number }): ListenFilter {
  const asked = params['notifications']
  if (!isObject(asked)) throw invalid('params.notifications must be an object')
  const filter: ListenFilter = {}
  for (const member of Object.values(LIST_MEMBERS)) {
    const value = asked[member] ?? false
    if (typeof value !== 'boolean') throw invalid(`params.notifications.${member} must be a boolean`)
    if (value) filter[member] = true
  }
  const resources = stringsOf(asked, 'resourceSubscriptions', caps.resources)
  if (resources) filter.resourceSubscriptions = resources
  const taskIds = stringsOf(asked, 'taskIds', caps.tasks)
  if (taskIds) filter.taskIds = taskIds
  return filter
}

/** The distinct strings of a member, or undefined where it is not there. */
function stringsOf(asked: JsonObject, member: string, cap: number): string[] | undefined {
  const values = asked[member] ?? undefined
  if (values === undefined) return undefined
  const name = `params.notifications.${member}`
  if (!Array.isArray(values)) throw invalid(`${name} must be a list of strings`)
  if (values.length > cap) throw invalid(`${name} may hold ${cap} at most`)
  const stray = values.findIndex((value) => typeof value !== 'string')
  if (stray !== -1) throw invalid(`${name}[${stray}] must be a string`)
  return [...new Set(values as string[])]
}

/** The first message of a stream: what the server agreed to. */
export function acknowledgedMessage(id: RequestId, filter: ListenFilter): string {
  return taggedMessage(id, 'notifications/subscriptions/acknowledged', { notifications: filter as JsonObject })
}

/** A notification on the stream that the request `id` opened. */
export function taggedMessage(id: RequestId, method: string, params: JsonObject = {}): string {
  return notificationMessage(method, { ...params, _meta: { ...(params['_meta'] as JsonObject), ...tag(id) } })
}

/** The answer that ends a stream in good order. @see basic/patterns/subscriptions, Graceful Closure */
export function listenEndMessage(id: RequestId, serverInfo: Implementation): string {
  return resultMessage(id, JSON.stringify(completeResult({ _meta: tag(id) }, serverInfo)))
}

function tag(id: RequestId): JsonObject {
  return { [META.subscriptionId]: id }
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError('InvalidParams', `Invalid params: ${problem}`)
}
