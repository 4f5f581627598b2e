// The headers that a modern client mirrors from the body: `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`, with the Base64
// form for values that are no plain header value. See basic/transports/streamable-http, Request Metadata. Pure.

import { isObject, MODERN } from './revisions.ts'
import type { JsonObject } from './revisions.ts'

/** Where `Mcp-Name` comes from; for tasks see the extension, Routing Headers. */
const NAMED_BY: Record<string, 'name' | 'uri' | 'taskId'> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

export function modernHeaders(method: string, params: JsonObject): Record<string, string> {
  const name = params[NAMED_BY[method] ?? '']
  return {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
  }
}

/** Plain when it survives as a header value and is not itself of the Base64 form. */
export function encodeHeaderValue(value: string): string {
  const isPlain = /^[\t\x20-\x7e]*$/.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value)
  if (isPlain) return value
  const bytes = new TextEncoder().encode(value)
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}?=`
}

/** `Mcp-Param-*` for the arguments that a tool's input schema marks with `x-mcp-header`. */
export function paramHeaders(inputSchema: JsonObject, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {}
  const properties = isObject(inputSchema.properties) ? inputSchema.properties : {}
  for (const [key, property] of Object.entries(properties)) {
    const value = args[key]
    if (!isObject(property) || value === undefined || value === null) continue
    const name = property['x-mcp-header']
    if (typeof name === 'string') headers[`mcp-param-${name.toLowerCase()}`] = encodeHeaderValue(String(value))
    else if (isObject(value)) Object.assign(headers, paramHeaders(property, value))
  }
  return headers
}
