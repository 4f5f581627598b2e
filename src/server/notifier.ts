// `Notifier`: how code outside handlers says that something changed.

import type { Topic } from '../protocol/topic.ts'
import { isUri } from './define-resource.ts'

/**
 * Tells clients that something changed, on every revision and in every isolate. Each resolves when that is stored, so that
 * whoever listens is told, and rejects when it could not be.
 */
export interface Notifier {
  /** What `resources/read` returns for this URI is another now. @throws {TypeError} for what is no absolute URI */
  resourceUpdated(uri: string): Promise<void>
  /** `resources/list` or `resources/templates/list` has other entries now. */
  resourcesListChanged(): Promise<void>
  toolsListChanged(): Promise<void>
  promptsListChanged(): Promise<void>
}

/** A notifier over whatever takes topics. */
export function createNotifier(publish: (topic: Topic) => Promise<void>): Notifier {
  return {
    resourceUpdated: async (uri) => publish(resourceTopic(uri)),
    resourcesListChanged: () => publish('resources'),
    toolsListChanged: () => publish('tools'),
    promptsListChanged: () => publish('prompts'),
  }
}

/** @throws {TypeError} for what is no absolute URI: nobody could be subscribed to it */
export function resourceTopic(uri: string): Topic {
  if (typeof uri === 'string' && isUri(uri)) return `resource ${uri}`
  throw new TypeError(`cannot notify of resource "${String(uri).slice(0, 100)}": a URI has a scheme and no spaces`)
}
