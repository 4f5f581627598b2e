// The header rules of modern requests: what mirrors the body must equal it.
// @see basic/transports/streamable-http, Request Metadata

import { clip } from './clip.ts'
import { ProtocolError } from './errors.ts'
import { isObject, type JsonObject, type JsonRpcRequest } from './json-rpc.ts'
import { methodIn } from './methods.ts'

/** The part of `Headers` these rules read. Names are case-insensitive. */
export interface HeaderSource {
  get(name: string): string | null
}

/** One property that a tool mirrors into `Mcp-Param-{name}`. */
export interface ParamHeader {
  name: string
  /** The `properties` keys from the root of the arguments to the value. */
  path: readonly string[]
  type: 'string' | 'integer' | 'boolean'
}

const PREFIX = '=?base64?'
const SUFFIX = '?='

/**
 * The value a header carries: as it stands, or decoded when it has the base64 form.
 * Undefined when it holds characters a header may not, or base64 that is none.
 */
export function decodeHeaderValue(raw: string): string | undefined {
  if (!/^[\t\x20-\x7e]*$/.test(raw)) return undefined
  const value = trimBlanks(raw)
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length) return value
  return decodeBase64(value.slice(PREFIX.length, -SUFFIX.length))
}

/** Not a regular expression: on a long run of blanks inside, those take quadratic time. */
function trimBlanks(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isBlank(value, start)) start++
  while (end > start && isBlank(value, end - 1)) end--
  return value.slice(start, end)
}

function isBlank(value: string, at: number): boolean {
  return value[at] === ' ' || value[at] === '\t'
}

function decodeBase64(text: string): string | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    // Not base64 of UTF-8, which only decoding can tell.
    return undefined
  }
}

/**
 * Checks that the version header is there (that it agrees is a rung higher up), and `Mcp-Method` and `Mcp-Name` against
 * the body.
 * @throws {ProtocolError} HeaderMismatch naming the header and both values
 */
export function checkStandardHeaders(headers: HeaderSource, request: JsonRpcRequest): void {
  if (headers.get('mcp-protocol-version') === null) throw missing('MCP-Protocol-Version')
  const method = headers.get('mcp-method')
  if (method === null) throw missing('Mcp-Method')
  if (trimBlanks(method) !== request.method) throw mismatch('Mcp-Method', method, request.method)
  const nameFrom = methodIn('modern', request.method)?.nameFrom
  if (nameFrom === undefined) return
  const body = request.params[nameFrom]
  if (typeof body !== 'string') return // the parameters are refused further down, by name
  const header = headers.get('mcp-name')
  if (header === null) throw missing('Mcp-Name')
  if (decodeHeaderValue(header) !== body) throw mismatch('Mcp-Name', header, body)
}

/**
 * Checks the `Mcp-Param-*` headers a tool declares against the arguments as they were sent, before defaults.
 * Headers no tool declares are ignored.
 * @throws {ProtocolError} HeaderMismatch naming the header
 */
export function checkParamHeaders(headers: HeaderSource, declared: readonly ParamHeader[], args: JsonObject): void {
  for (const param of declared) {
    const name = `Mcp-Param-${param.name}`
    const header = headers.get(name)
    const body = valueAt(args, param.path)
    if (body === undefined || body === null) {
      if (header !== null)
        throw new ProtocolError('HeaderMismatch', `Header mismatch: ${name} names no value of the body`)
      continue
    }
    if (header === null) throw missing(name)
    if (!sameValue(decodeHeaderValue(header), body)) throw mismatch(name, header, body)
  }
}

function valueAt(args: JsonObject, path: readonly string[]): unknown {
  let value: unknown = args
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

function sameValue(header: string | undefined, body: unknown): boolean {
  if (header === undefined) return false
  if (typeof body === 'number') return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(header) && Number(header) === body
  if (typeof body === 'boolean') return header === String(body)
  return header === body
}

function missing(name: string): ProtocolError {
  return new ProtocolError('HeaderMismatch', `Header mismatch: ${name} is missing`)
}

function mismatch(name: string, header: string, body: unknown): ProtocolError {
  const sent = clip(header)
  const said = clip(typeof body === 'string' ? body : (JSON.stringify(body) ?? 'undefined'))
  return new ProtocolError('HeaderMismatch', `Header mismatch: ${name} is '${sent}', the body says '${said}'`)
}
