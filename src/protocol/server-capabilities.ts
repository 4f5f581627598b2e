// What this server announces, derived from its definition. A family that is not announced answers -32601.
// @see server/tools, Capabilities and its siblings; server/utilities/logging; 2025-11-25 basic/utilities/tasks

import { isSince, type LegacyVersion } from './era.ts'
import type { JsonObject } from './json-rpc.ts'
import { RESUMABLE_LISTEN, TASKS_EXTENSION } from './meta.ts'
import type { Family } from './methods.ts'
import { LIST_TOPICS } from './topic.ts'

/** The capabilities of `server/discover`. @param isResumable true where a stream of `subscriptions/listen` can be resumed */
export function modernCapabilities(families: ReadonlySet<Family>, isResumable: boolean): JsonObject {
  const extensions = {
    ...(families.has('tasks') && { [TASKS_EXTENSION]: {} }),
    ...(isResumable && families.size > 0 && { [RESUMABLE_LISTEN]: {} }),
  }
  return {
    ...offered(families, true),
    ...(families.size > 0 && { logging: {} }),
    ...(Object.keys(extensions).length > 0 && { extensions }),
  }
}

/** What decides which capabilities a legacy client is told of. */
export interface LegacyAudience {
  version: LegacyVersion
  /** True if it gets a session, in which a level can be set and changes be watched. */
  hasSession: boolean
  /** True if it is known who is calling, so that their tasks can be told from others. */
  isIdentified: boolean
}

/** The capabilities of `initialize`. */
export function legacyCapabilities(
  families: ReadonlySet<Family>,
  { version, hasSession, isIdentified }: LegacyAudience,
): JsonObject {
  const capabilities = offered(families, hasSession)
  if (hasSession && families.size > 0) capabilities['logging'] = {}
  if (families.has('tasks') && isSince(version, '2025-11-25')) {
    capabilities['tasks'] = { ...(isIdentified && { list: {} }), cancel: {}, requests: { tools: { call: {} } } }
  }
  return capabilities
}

/** @param isTold true for a client that can be told of changes: a modern one anywhere, a legacy one in a session */
function offered(families: ReadonlySet<Family>, isTold: boolean): JsonObject {
  const capabilities: JsonObject = {}
  const settings = isTold ? { listChanged: true } : {}
  for (const family of LIST_TOPICS) if (families.has(family)) capabilities[family] = settings
  if (isTold && families.has('resources')) capabilities['resources'] = { subscribe: true, listChanged: true }
  if (families.has('completions')) capabilities['completions'] = {}
  return capabilities
}
