// The protocol revisions under test and the JSON-RPC message shape that they share. No behaviour.

export const LEGACY = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
export const MODERN = '2026-07-28'
export const REVISIONS = [...LEGACY, MODERN] as const

export type LegacyRevision = (typeof LEGACY)[number]
export type Revision = (typeof REVISIONS)[number]

export type Id = string | number
export type JsonObject = Record<string, unknown>

export interface RpcError {
  code: number
  message: string
  data?: unknown
}

/** Any one JSON-RPC message: a request, a notification or a response. */
export interface Message {
  jsonrpc: '2.0'
  id?: Id
  method?: string
  params?: JsonObject
  result?: JsonObject
  error?: RpcError
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
