// The per-request envelope of modern requests, and the keys `_meta` may carry.
// @see basic/index, General fields

import { ProtocolError } from './errors.ts'
import { isObject, type JsonObject } from './json-rpc.ts'

export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  /** Which stream a message is on. @see basic/patterns/subscriptions, Receiving Notifications */
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  /** 2025-11-25: which task a message belongs to. @see 2025-11-25 basic/utilities/tasks, Related Task Metadata */
  relatedTask: 'io.modelcontextprotocol/related-task',
  /** 2025-11-25: what the model is told while a task runs. @see 2025-11-25 basic/utilities/tasks, Creating Tasks */
  immediateResponse: 'io.modelcontextprotocol/model-immediate-response',
} as const

/** The extension that gives modern revisions tasks. @see ext-tasks */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** The extension that lets a client go on listening where it left off. @see docs/resumable-listen.md */
export const RESUMABLE_LISTEN = 'dev.mcp-edge/resumable-listen'
/** Where a request of it may carry the cursor, beside the header Last-Event-ID. */
export const LISTEN_CURSOR = 'dev.mcp-edge/cursor'

/** Severity, least first. @see server/utilities/logging */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export function isAtLeast(level: LogLevel, threshold: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold)
}

/** What a client says of itself. Self-reported: for display and logs, never for decisions. */
export interface Implementation {
  name: string
  version: string
  title?: string
  description?: string
  websiteUrl?: string
  icons?: readonly Icon[]
}

/** A picture a host may show. `src` is an https or data URI. */
export interface Icon {
  src: string
  mimeType?: string
  sizes?: string[]
  theme?: 'light' | 'dark'
}

/** What a client can do. Unknown members are kept: extensions and later revisions add some. */
export interface ClientCapabilities {
  elicitation?: { form?: JsonObject; url?: JsonObject }
  sampling?: { context?: JsonObject; tools?: JsonObject }
  roots?: JsonObject
  experimental?: JsonObject
  extensions?: JsonObject
}

export type ProgressToken = string | number

/** The envelope of a modern request, checked. */
export interface Envelope {
  clientInfo?: Implementation
  clientCapabilities: ClientCapabilities
  logLevel?: LogLevel
  progressToken?: ProgressToken
}

/**
 * Reads the required and the optional fields of a modern request's `_meta`.
 * @throws {ProtocolError} InvalidEnvelope naming the field
 */
export function parseEnvelope(params: JsonObject): Envelope {
  const meta = params['_meta']
  if (!isObject(meta)) throw invalid('params._meta', 'is required and must be an object')
  if (typeof meta[META.protocolVersion] !== 'string') throw invalidMeta(META.protocolVersion, 'is required: a string')
  const capabilities = meta[META.clientCapabilities]
  if (!isObject(capabilities)) throw invalidMeta(META.clientCapabilities, 'is required: an object')
  const envelope: Envelope = { clientCapabilities: checkCapabilities(capabilities) }
  const info = meta[META.clientInfo]
  if (info !== undefined) envelope.clientInfo = checkImplementation(info)
  const level = meta[META.logLevel]
  if (level !== undefined) envelope.logLevel = checkLogLevel(level)
  const token = parseProgressToken(meta)
  if (token !== undefined) envelope.progressToken = token
  return envelope
}

/**
 * The `progressToken` of a request's `_meta`, in either era.
 * @throws {ProtocolError} InvalidEnvelope when it is neither a string nor an integer
 */
export function parseProgressToken(meta: JsonObject): ProgressToken | undefined {
  const token = meta['progressToken']
  if (token === undefined || typeof token === 'string' || Number.isSafeInteger(token)) {
    return token as ProgressToken | undefined
  }
  throw invalidMeta('progressToken', 'must be a string or an integer')
}

function checkCapabilities(value: JsonObject): ClientCapabilities {
  for (const key of ['elicitation', 'sampling', 'roots', 'experimental', 'extensions']) {
    if (value[key] !== undefined && !isObject(value[key])) {
      throw invalidMeta(`${META.clientCapabilities}.${key}`, 'must be an object')
    }
  }
  return value as ClientCapabilities
}

function checkImplementation(value: unknown): Implementation {
  if (!isObject(value) || typeof value['name'] !== 'string' || typeof value['version'] !== 'string') {
    throw invalidMeta(META.clientInfo, 'must be an object with the strings "name" and "version"')
  }
  return value as unknown as Implementation
}

function checkLogLevel(value: unknown): LogLevel {
  if (LOG_LEVELS.includes(value as LogLevel)) return value as LogLevel
  throw invalidMeta(META.logLevel, `must be one of ${LOG_LEVELS.join(', ')}`)
}

function invalidMeta(key: string, problem: string): ProtocolError {
  return invalid(`params._meta["${key}"]`, problem)
}

function invalid(field: string, problem: string): ProtocolError {
  return new ProtocolError('InvalidEnvelope', `Invalid params: ${field} ${problem}`)
}

/** True for a `_meta` key an author may set: well formed, and under no prefix reserved for MCP. */
export function isOwnMetaKey(key: string): boolean {
  const slash = key.lastIndexOf('/')
  const name = key.slice(slash + 1)
  if (name !== '' && !/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name)) return false
  if (slash === -1) return name !== '' && !['progressToken', 'traceparent', 'tracestate', 'baggage'].includes(name)
  const labels = key.slice(0, slash).split('.')
  if (!labels.every((label) => /^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$/.test(label))) return false
  return labels[1] !== 'mcp' && labels[1] !== 'modelcontextprotocol'
}
