// Messages as text, the same in every era.

import type { Era, ProtocolError } from './errors.ts'
import type { JsonObject, RequestId } from './json-rpc.ts'

/** The text of a result response whose result is already text. */
export function resultMessage(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

/** The text of an error response. The id is left out when it could not be read. */
export function errorMessage(id: RequestId | undefined, error: ProtocolError, era: Era): string {
  return JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), error: error.encode(era) })
}

/** The text of a notification. */
export function notificationMessage(method: string, params: JsonObject | undefined): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}
