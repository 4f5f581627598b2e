// What this server announces, derived from its definition. A family that is not announced answers -32601.
// @see server/tools, Capabilities and its siblings; server/utilities/logging

import type { Era } from './errors.ts'
import type { JsonObject } from './json-rpc.ts'
import type { Family } from './methods.ts'

/** The capabilities of `server/discover` (modern) or of `initialize` (legacy). */
export function serverCapabilities(families: ReadonlySet<Family>, era: Era): JsonObject {
  const capabilities: JsonObject = {}
  for (const family of ['tools', 'prompts', 'resources', 'completions'] as const) {
    if (families.has(family)) capabilities[family] = {}
  }
  // A legacy client sets its level in a session; without one nothing could be sent to it.
  if (era === 'modern' && families.size > 0) capabilities['logging'] = {}
  return capabilities
}
