// Which method exists in which era, and which server capability it needs. Absence means -32601.

import type { LegacyVersion } from './era.ts'
import type { Era } from './errors.ts'

/** The server capabilities that gate methods. @see server/tools, Capabilities and its siblings */
export type Family = 'tools' | 'prompts' | 'resources' | 'completions' | 'tasks'

interface MethodRow {
  eras: readonly Era[]
  /** The capability that must be declared for the method to exist. */
  family?: Family
  /** Where `Mcp-Name` comes from on modern requests. @see basic/transports/streamable-http, Standard Request Headers */
  nameFrom?: 'name' | 'uri' | 'taskId'
  /** True if it may be answered with questions. @see basic/patterns/mrtr, Supported Requests */
  mayAsk?: true
  /** True if it changes a session, so that it does not exist without one. */
  needsSession?: true
  /** The first legacy revision that has it; absent: all of them. */
  since?: LegacyVersion
}

const BOTH: readonly Era[] = ['modern', 'legacy']

const METHODS = new Map<string, MethodRow>([
  ['server/discover', { eras: ['modern'] }],
  ['initialize', { eras: ['legacy'] }],
  ['ping', { eras: ['legacy'] }],
  ['logging/setLevel', { eras: ['legacy'] }],
  ['resources/subscribe', { eras: ['legacy'], family: 'resources', needsSession: true }],
  ['resources/unsubscribe', { eras: ['legacy'], family: 'resources', needsSession: true }],
  ['tools/list', { eras: BOTH, family: 'tools' }],
  ['tools/call', { eras: BOTH, family: 'tools', nameFrom: 'name', mayAsk: true }],
  ['prompts/list', { eras: BOTH, family: 'prompts' }],
  ['prompts/get', { eras: BOTH, family: 'prompts', nameFrom: 'name', mayAsk: true }],
  ['resources/list', { eras: BOTH, family: 'resources' }],
  ['resources/templates/list', { eras: BOTH, family: 'resources' }],
  ['resources/read', { eras: BOTH, family: 'resources', nameFrom: 'uri', mayAsk: true }],
  ['completion/complete', { eras: BOTH, family: 'completions' }],
  ['subscriptions/listen', { eras: ['modern'] }],
  ['tasks/get', { eras: BOTH, family: 'tasks', nameFrom: 'taskId', since: '2025-11-25' }],
  ['tasks/cancel', { eras: BOTH, family: 'tasks', nameFrom: 'taskId', since: '2025-11-25' }],
  ['tasks/update', { eras: ['modern'], family: 'tasks', nameFrom: 'taskId' }],
  ['tasks/result', { eras: ['legacy'], family: 'tasks', since: '2025-11-25' }],
  ['tasks/list', { eras: ['legacy'], family: 'tasks', since: '2025-11-25' }],
])

/** The row of a method in an era, or undefined when that era has no such method. */
export function methodIn(era: Era, method: string): MethodRow | undefined {
  const row = METHODS.get(method)
  return row?.eras.includes(era) ? row : undefined
}

/** True for a method that only modern revisions have: naming it says which era is meant. */
export function isModernOnly(method: string): boolean {
  const row = METHODS.get(method)
  return row !== undefined && !row.eras.includes('legacy')
}
