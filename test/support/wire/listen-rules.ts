// What no schema says of the stream of `subscriptions/listen`: it begins with the acknowledgement, every message names the
// request that opened it, and nothing comes that was not agreed to. Other streams carry no such name.
// @see basic/patterns/subscriptions; the tasks extension, Task Status Notifications

import type { SentRequest } from './judge.ts'
import { isObject } from './revisions.ts'
import type { Id, JsonObject, Message } from './revisions.ts'
import { declares, TASKS_EXTENSION } from './task-rules.ts'

/** Key of `_meta` on every message of such a stream. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'
export const LISTEN = 'subscriptions/listen'
/** Our extension that makes such a stream resumable. */
export const RESUMABLE_LISTEN = 'dev.mcp-edge/resumable-listen'
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** The members of a filter that ask for changes of a list, by the notification that is then sent. */
const LISTS: Record<string, string> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
}

/** The members that ask for changes of single things, with the parameter that names one. */
const THINGS: Record<string, { member: string; parameter: string }> = {
  'notifications/resources/updated': { member: 'resourceSubscriptions', parameter: 'uri' },
  'notifications/tasks': { member: 'taskIds', parameter: 'taskId' },
}

/** Whether a notification belongs on a stream of this kind at all. */
export function isOfListening(method: string): boolean {
  return method === ACKNOWLEDGED || method in LISTS || method in THINGS
}

export interface ListenRules {
  /** Why the next message does not fit the stream, if it does not. */
  misfit(message: Message): string | undefined
}

/** The rules of the stream that one request opened. */
export function createListenRules({ id, params }: SentRequest): ListenRules {
  const asked = filterOf(params)
  const ended = new Map<string, unknown>()
  let agreed: JsonObject | undefined

  /** What comes after the acknowledgement. */
  function misfitsAgreement({ method = '', params }: Message, agreed: JsonObject): string | undefined {
    const list = LISTS[method]
    if (list !== undefined) return agreed[list] === true ? undefined : `"${list}" was not agreed to`
    const thing = THINGS[method]
    if (thing === undefined) return undefined
    const subject = params?.[thing.parameter]
    if (!strings(agreed, thing.member).includes(subject as string))
      return `"${thing.member}" was not agreed to for ${JSON.stringify(subject)}`
    return method === 'notifications/tasks' ? revives(params as JsonObject) : undefined
  }

  /** A task that has come to its end stays as it is. */
  function revives({ taskId, status }: JsonObject): string | undefined {
    const last = ended.get(taskId as string)
    if (FINAL.has(status as string)) ended.set(taskId as string, last ?? status)
    return last === undefined || last === status ? undefined : `the task was "${last as string}" before`
  }

  return {
    misfit(message) {
      // an error has no `_meta`, and may come instead of the acknowledgement
      if (message.error !== undefined) return undefined
      const mark = subscriptionOf(message)
      if (mark !== id) return `"${SUBSCRIPTION_ID}" is not the id of the request: ${JSON.stringify(id)}`
      if (message.method === ACKNOWLEDGED) {
        if (agreed !== undefined) return 'the stream is acknowledged twice'
        agreed = filterOf(message.params)
        return misfitsWish(agreed, asked) ?? undeclared(agreed, params)
      }
      return agreed === undefined
        ? 'the stream does not begin with its acknowledgement'
        : misfitsAgreement(message, agreed)
    },
  }
}

/** Whether the events of a modern answer may have ids: only where its request declares what they are for. */
export function mayHaveIds(requests: SentRequest[]): boolean {
  return requests.some(({ method, params }) => method === LISTEN && declares(params, RESUMABLE_LISTEN))
}

/** Why a message that is not on the stream of a listener may not say that it is. */
export function misfitsOtherStream(message: Message): string | undefined {
  return subscriptionOf(message) === undefined ? undefined : `"${SUBSCRIPTION_ID}" does not belong on this stream`
}

/** Why more is agreed to than was asked for. What is not agreed to is left out, not denied. */
function misfitsWish(agreed: JsonObject, asked: JsonObject): string | undefined {
  for (const member of Object.values(LISTS)) {
    if (agreed[member] !== undefined && (agreed[member] !== true || asked[member] !== true))
      return `"${member}" is acknowledged and was not asked for, or is acknowledged with no`
  }
  for (const { member } of Object.values(THINGS)) {
    if (agreed[member] !== undefined && asked[member] === undefined)
      return `"${member}" is acknowledged and was not asked for`
    const wished = strings(asked, member)
    const named = strings(agreed, member)
    const stray = named.find((value, i) => !wished.includes(value) || named.indexOf(value) !== i)
    if (stray !== undefined) return `"${member}" names ${JSON.stringify(stray)} twice, or it was not asked for`
  }
  return undefined
}

function undeclared({ taskIds }: JsonObject, params: JsonObject | undefined): string | undefined {
  return taskIds === undefined || declares(params, TASKS_EXTENSION)
    ? undefined
    : `the request does not declare "${TASKS_EXTENSION}"`
}

const FINAL = new Set(['completed', 'failed', 'cancelled'])

function subscriptionOf({ params, result }: Message): Id | undefined {
  const meta = (params ?? result)?._meta
  return isObject(meta) ? (meta[SUBSCRIPTION_ID] as Id | undefined) : undefined
}

function filterOf(params: JsonObject | undefined): JsonObject {
  return isObject(params?.notifications) ? params.notifications : {}
}

function strings(filter: JsonObject, member: string): string[] {
  const value = filter[member]
  return Array.isArray(value) ? (value as string[]) : []
}
