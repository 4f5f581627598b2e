// JSON-RPC 2.0 messages as MCP narrows them: what a parsed body is, without knowing any method.
// Pure: no I/O, no clock, no platform types.

/** A JSON object whose values nobody has looked at yet. */
export type JsonObject = { [key: string]: unknown }

/** The id of a request: a string or an integer, never null. @see basic/index, Requests */
export type RequestId = string | number

/** A message that wants an answer. */
export interface JsonRpcRequest {
  kind: 'request'
  id: RequestId
  method: string
  params: JsonObject
}

/** A message that wants none. */
export interface JsonRpcNotification {
  kind: 'notification'
  method: string
  params: JsonObject
}

/** An answer to something this server asked; only legacy clients send these. */
export interface JsonRpcAnswer {
  kind: 'answer'
  id: RequestId
  result?: JsonObject
  error?: JsonObject
}

/** Something that is JSON but no message. `id` is set when it could be read. */
export interface InvalidMessage {
  kind: 'invalid'
  id?: RequestId
  reason: string
}

/** One element of a body. */
export type Message = JsonRpcRequest | JsonRpcNotification | JsonRpcAnswer | InvalidMessage

/** True for `{…}`, false for arrays, null and everything else. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for the two id types MCP allows. Integers must be exact, so that the same id is echoed. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

const NO_PARAMS: JsonObject = Object.freeze({})

/** Tells what one parsed JSON value is. Arrays are the caller's business: they are batches. */
export function parseMessage(value: unknown): Message {
  if (!isObject(value)) return { kind: 'invalid', reason: 'a message must be a JSON object' }
  const { id, method, params } = value
  const invalid = (reason: string): InvalidMessage =>
    isRequestId(id) ? { kind: 'invalid', id, reason } : { kind: 'invalid', reason }
  if (value['jsonrpc'] !== '2.0') return invalid('"jsonrpc" must be "2.0"')
  if (method === undefined) return parseAnswer(value, invalid)
  if (typeof method !== 'string') return invalid('"method" must be a string')
  if (params !== undefined && !isObject(params)) return invalid('"params" must be an object')
  if (id === undefined) return { kind: 'notification', method, params: params ?? NO_PARAMS }
  if (!isRequestId(id)) return invalid('"id" must be a string or an integer')
  return { kind: 'request', id, method, params: params ?? NO_PARAMS }
}

function parseAnswer(value: JsonObject, invalid: (reason: string) => InvalidMessage): Message {
  const { id } = value
  // Some libraries write the member that is not meant as null; refusing that would leave the ask open until it expires.
  const result = value['result'] ?? undefined
  const error = value['error'] ?? undefined
  if (result === undefined && error === undefined) return invalid('"method" is missing')
  if (isRequestId(id) && isObject(result) && error === undefined) return { kind: 'answer', id, result }
  if (isRequestId(id) && isObject(error) && result === undefined) return { kind: 'answer', id, error }
  // Without its id, which names a request of this server: the sender would take the error for the answer to one of its own.
  return { kind: 'invalid', reason: 'an answer carries an id and one object, "result" or "error"' }
}

/**
 * True if the text nests arrays and objects deeper than `depth`. One pass over the characters, before `JSON.parse`,
 * so that nothing recursive ever sees such a value.
 */
export function isDeeperThan(text: string, depth: number): boolean {
  if (text.length <= depth * 2) return false
  let level = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 34) {
      i = endOfString(text, i)
    } else if (code === 123 || code === 91) {
      if (++level > depth) return true
    } else if (code === 125 || code === 93) level--
  }
  return false
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === 92) slashes++
  return slashes % 2 === 1
}
