// What this server announces, derived from its definition. A family that is not announced answers -32601.
// @see server/tools, Capabilities and its siblings; server/utilities/logging

import type { Era } from './errors.ts'
import type { JsonObject } from './json-rpc.ts'
import type { Family } from './methods.ts'

/**
 * The capabilities of `server/discover` (modern) or of `initialize` (legacy).
 * @param hasSession true if the client gets a session, in which a level can be set and changes be watched
 */
export function serverCapabilities(families: ReadonlySet<Family>, era: Era, hasSession = false): JsonObject {
  const capabilities: JsonObject = {}
  for (const family of ['tools', 'prompts', 'resources'] as const) {
    if (families.has(family)) capabilities[family] = hasSession ? { listChanged: true } : {}
  }
  if (hasSession && families.has('resources')) capabilities['resources'] = { subscribe: true, listChanged: true }
  if (families.has('completions')) capabilities['completions'] = {}
  if (families.size > 0 && (era === 'modern' || hasSession)) capabilities['logging'] = {}
  return capabilities
}
