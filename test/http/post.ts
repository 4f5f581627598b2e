// Requests written by hand, for tests that send what no client would: the body and every header are theirs.

import type { Client, JsonObject, RawExchange } from '../support/client.ts'

export const VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
export const BOTH_TYPES = 'application/json, text/event-stream'

/** The `_meta` of a modern request; `undefined` removes a key. */
export function envelope(more: JsonObject = {}): JsonObject {
  return { [VERSION]: '2026-07-28', [CAPABILITIES]: {}, ...more }
}

/** A JSON-RPC request with id 1. */
export function message(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id: 1, method, ...(params && { params }) }
}

/** POSTs text as it is, or a value as JSON. A header that is `null` is left out. */
export function post(client: Client, body: unknown, headers: Record<string, string | null> = {}): Promise<RawExchange> {
  const all = { 'content-type': 'application/json', accept: BOTH_TYPES, ...headers }
  const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
  return client.raw({ body: typeof body === 'string' ? body : JSON.stringify(body), headers: Object.fromEntries(sent) })
}

/** The code of the JSON-RPC error in an answer, or what there is instead. */
export function outcome({ status, messages }: RawExchange): string {
  const [last] = messages.slice(-1)
  if (last === undefined) return `${status}`
  return last.error ? `${status} ${last.error.code}` : `${status} result`
}
