// What clients may watch, as one text each, and the notification that says it changed. @see server/tools, prompts,
// resources, List Changed Notification; server/resources, Subscriptions; ext-tasks, Status Notifications

import type { JsonObject } from './json-rpc.ts'

/** A list, one resource by its URI, or one task by its id. The texts travel between Workers and objects. */
export type Topic = ListTopic | `resource ${string}` | `task ${string}`

/** The lists a client may watch. */
export type ListTopic = 'tools' | 'prompts' | 'resources'

export const LIST_TOPICS: readonly ListTopic[] = ['tools', 'prompts', 'resources']

export function isListTopic(topic: Topic): topic is ListTopic {
  return (LIST_TOPICS as readonly string[]).includes(topic)
}

/** True for a task, whose notification only its object can make. */
export function isTaskTopic(topic: Topic): topic is `task ${string}` {
  return topic.startsWith('task ')
}

/** The URI or id of a topic that is about one thing. */
export function subjectOf(topic: Topic): string {
  return topic.slice(topic.indexOf(' ') + 1)
}

/** The notification that a list or a resource changed. A task's says more, which only its object knows. */
export function changeNotification(topic: ListTopic | `resource ${string}`): { method: string; params?: JsonObject } {
  return isListTopic(topic)
    ? { method: `notifications/${topic}/list_changed` }
    : { method: 'notifications/resources/updated', params: { uri: subjectOf(topic) } }
}

/**
 * A number for a topic, 53 bits: small where thousands are held. Two topics may share one, so who is told something
 * compares the text as well.
 */
export function topicKey(topic: string): number {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < topic.length; i++) {
    const code = topic.charCodeAt(i)
    high = Math.imul(high ^ code, 2_654_435_761)
    low = Math.imul(low ^ code, 1_597_334_677)
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0)
}
