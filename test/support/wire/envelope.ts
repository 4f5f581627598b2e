// Builds the HTTP request of one JSON-RPC request or notification, as a conforming client of its revision sends it.

import { modernHeaders } from './headers.ts'
import type { SentRequest } from './judge.ts'
import { isObject, MODERN } from './revisions.ts'
import type { Id, JsonObject, Message, Revision } from './revisions.ts'

export interface ClientOptions {
  /** Client capabilities; none by default. */
  capabilities?: JsonObject
  clientInfo?: JsonObject
  /** The MCP endpoint; `http://localhost/mcp` by default. */
  url?: string
  /** Sent with every request, `raw` excepted. */
  headers?: Record<string, string>
}

export interface RequestOptions {
  /** By default every request has a new id, a number and a string in turn. */
  id?: Id
  /** Merged into `params._meta`; `undefined` removes a key, `null` removes `_meta`. */
  meta?: JsonObject | null
  /** Merged over the headers of the protocol. */
  headers?: Record<string, string>
  /** Left out, in any case. */
  omitHeaders?: string[]
  /** By default both types; `null` sends no `Accept`. */
  accept?: string | null
  signal?: AbortSignal
  /** Asks for progress; `true` makes up a token. */
  progressToken?: Id | true
  /** Asks for log messages; modern only, ignored on legacy. */
  logLevel?: string
  /** The request breaks its own schema on purpose, and may be answered with a result all the same. */
  unchecked?: boolean
}

export interface Outgoing {
  request: Request
  /** The body as the server parses it. */
  message: Message
}

let counter = 0

export function buildRequest(
  revision: Revision,
  client: ClientOptions,
  method: string,
  params: JsonObject | undefined,
  options: RequestOptions,
): Outgoing & { sent: SentRequest } {
  counter++
  const id = options.id ?? (counter % 2 === 0 ? `request-${counter}` : counter)
  const { request, message } = build(revision, client, { jsonrpc: '2.0', id, method }, params, options)
  return { request, message, sent: { id, method, ...(message.params === undefined ? {} : { params: message.params }) } }
}

export function buildNotification(
  revision: Revision,
  client: ClientOptions,
  method: string,
  params: JsonObject | undefined,
  options: RequestOptions,
): Outgoing {
  return build(revision, client, { jsonrpc: '2.0', method }, params, options)
}

function build(
  revision: Revision,
  client: ClientOptions,
  start: Message & { method: string },
  given: JsonObject | undefined,
  options: RequestOptions,
): Outgoing {
  const params = completeParams(revision, client, start, given, options)
  const body = JSON.stringify({ ...start, ...(params === undefined ? {} : { params }) })
  const headers = new Headers({ 'content-type': 'application/json' })
  if (options.accept !== null) headers.set('accept', options.accept ?? 'application/json, text/event-stream')
  const protocol = protocolHeaders(revision, start.method, params ?? {})
  for (const [name, value] of Object.entries({ ...protocol, ...client.headers, ...options.headers }))
    headers.set(name, value)
  for (const name of options.omitHeaders ?? []) headers.delete(name)
  const signal = options.signal === undefined ? {} : { signal: options.signal }
  const request = new Request(endpoint(client), { method: 'POST', headers, body, redirect: 'manual', ...signal })
  return { request, message: JSON.parse(body) as Message }
}

export function endpoint(client: ClientOptions): string {
  return client.url ?? 'http://localhost/mcp'
}

/** A legacy client learns its version by `initialize` and sends the header from then on. */
function protocolHeaders(revision: Revision, method: string, params: JsonObject): Record<string, string> {
  if (revision === MODERN) return modernHeaders(method, params)
  return method === 'initialize' ? {} : { 'mcp-protocol-version': revision }
}

function completeParams(
  revision: Revision,
  client: ClientOptions,
  { method, id }: Message,
  given: JsonObject | undefined,
  options: RequestOptions,
): JsonObject | undefined {
  const isModern = revision === MODERN
  const clientInfo = client.clientInfo ?? { name: 'mcp-edge-tests', version: '1.0.0' }
  const capabilities = client.capabilities ?? {}
  const hello = !isModern && method === 'initialize' ? { protocolVersion: revision, capabilities, clientInfo } : {}
  const params: JsonObject = { ...hello, ...given }
  const meta: JsonObject = {
    ...(isModern && id !== undefined ? envelope(clientInfo, capabilities, options) : {}),
    ...(options.progressToken === undefined ? {} : { progressToken: progressToken(options.progressToken) }),
    ...(isObject(params._meta) ? params._meta : {}),
    ...options.meta,
  }
  if (options.meta === null) delete params._meta
  else if (Object.keys(meta).length > 0) params._meta = meta
  return given === undefined && Object.keys(params).length === 0 ? undefined : params
}

function envelope(clientInfo: JsonObject, capabilities: JsonObject, { logLevel }: RequestOptions): JsonObject {
  return {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(logLevel === undefined ? {} : { 'io.modelcontextprotocol/logLevel': logLevel }),
  }
}

function progressToken(asked: Id | true): Id {
  return asked === true ? `progress-${counter}` : asked
}
