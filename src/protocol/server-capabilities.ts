// What this server announces, derived from its definition. A family that is not announced answers -32601.
// @see server/tools, Capabilities and its siblings; server/utilities/logging; 2025-11-25 basic/utilities/tasks

import { isSince, type LegacyVersion } from './era.ts'
import type { JsonObject } from './json-rpc.ts'
import { TASKS_EXTENSION } from './meta.ts'
import type { Family } from './methods.ts'

/** The capabilities of `server/discover`. */
export function modernCapabilities(families: ReadonlySet<Family>): JsonObject {
  return {
    ...offered(families, {}),
    ...(families.size > 0 && { logging: {} }),
    ...(families.has('tasks') && { extensions: { [TASKS_EXTENSION]: {} } }),
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
  const capabilities = offered(families, hasSession ? { listChanged: true } : {})
  if (hasSession && families.has('resources')) capabilities['resources'] = { subscribe: true, listChanged: true }
  if (hasSession && families.size > 0) capabilities['logging'] = {}
  if (families.has('tasks') && isSince(version, '2025-11-25')) {
    capabilities['tasks'] = { ...(isIdentified && { list: {} }), cancel: {}, requests: { tools: { call: {} } } }
  }
  return capabilities
}

function offered(families: ReadonlySet<Family>, settings: JsonObject): JsonObject {
  const capabilities: JsonObject = {}
  for (const family of ['tools', 'prompts', 'resources'] as const) {
    if (families.has(family)) capabilities[family] = settings
  }
  if (families.has('completions')) capabilities['completions'] = {}
  return capabilities
}
