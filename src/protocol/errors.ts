// Every JSON-RPC error this server can send: code, HTTP status per era, and where the specification says so.
// Decide by code, never by message text.

import type { JsonObject } from './json-rpc.ts'

/** Which of the two families of revisions a request belongs to. @see basic/versioning, Terminology */
export type Era = 'modern' | 'legacy'

interface ErrorRow {
  code: number
  /** The code on legacy revisions, where it differs. */
  legacyCode?: number
  /** HTTP status of a modern answer that carries this error alone. */
  modern: number
  /** HTTP status of a legacy answer. A JSON-RPC error is 200 there unless the transport page says otherwise. */
  legacy: number
  spec: string
}

/**
 * The table. `InvalidParams` is 200 because a method refused its own parameters; the same code for a broken
 * envelope is `InvalidEnvelope`, which is a 400.
 */
export const ERRORS = {
  ParseError: { code: -32700, modern: 400, legacy: 400, spec: 'basic/index, Error Codes' },
  InvalidRequest: { code: -32600, modern: 400, legacy: 400, spec: 'basic/index, Messages' },
  MethodNotFound: {
    code: -32601,
    modern: 404,
    legacy: 200,
    spec: 'basic/transports/streamable-http, Protocol Version',
  },
  InvalidParams: { code: -32602, modern: 200, legacy: 200, spec: 'server/tools, Error Handling' },
  InvalidEnvelope: { code: -32602, modern: 400, legacy: 400, spec: 'basic/index, Per-request protocol fields' },
  InternalError: { code: -32603, modern: 200, legacy: 200, spec: 'basic/index, Error Codes' },
  HeaderMismatch: {
    code: -32020,
    modern: 400,
    legacy: 400,
    spec: 'basic/transports/streamable-http, Server Validation',
  },
  MissingRequiredClientCapability: { code: -32021, modern: 400, legacy: 200, spec: 'basic/index, Per-request fields' },
  UnsupportedProtocolVersion: { code: -32022, modern: 400, legacy: 400, spec: 'basic/versioning, Negotiation' },
  ResourceNotFound: { code: -32602, legacyCode: -32002, modern: 200, legacy: 200, spec: 'server/resources, Errors' },
  UrlElicitationRequired: { code: -32042, modern: 200, legacy: 200, spec: '2025-11-25 client/elicitation, Error' },
  SessionNotFound: { code: -32600, modern: 404, legacy: 404, spec: '2025-11-25 basic/transports, Session Management' },
  SessionRequired: { code: -32600, modern: 400, legacy: 400, spec: '2025-11-25 basic/transports, Session Management' },
  Unauthorized: { code: -32600, modern: 401, legacy: 401, spec: 'basic/authorization, Error Handling' },
  InsufficientScope: { code: -32600, modern: 403, legacy: 403, spec: 'basic/authorization, Scope Challenge Handling' },
  MalformedAuthorization: { code: -32600, modern: 400, legacy: 400, spec: 'basic/authorization, Error Handling' },
  Forbidden: { code: -32600, modern: 403, legacy: 403, spec: 'basic/transports/streamable-http, Security' },
  MethodNotAllowed: { code: -32600, modern: 405, legacy: 405, spec: 'basic/transports/streamable-http, Earlier' },
  NotAcceptable: { code: -32600, modern: 406, legacy: 406, spec: 'basic/transports/streamable-http, Sending Messages' },
  ContentTooLarge: { code: -32600, modern: 413, legacy: 413, spec: 'RFC 9110, 15.5.14' },
  UnsupportedMediaType: { code: -32600, modern: 415, legacy: 415, spec: 'RFC 9110, 15.5.16' },
  TooManyRequests: { code: -32600, modern: 429, legacy: 429, spec: 'RFC 6585, 4' },
  Unavailable: { code: -32603, modern: 503, legacy: 503, spec: 'RFC 9110, 15.6.4' },
} as const satisfies Record<string, ErrorRow>

export type ErrorName = keyof typeof ERRORS

/** What an error adds to the headers of its answer. */
export interface ErrorHeaders {
  /** `WWW-Authenticate`: how to come back with a token that will do. */
  challenge?: string
  /** `Retry-After`, in seconds. */
  retryAfterSeconds?: number
}

/** An error that crosses the wire as a JSON-RPC error. Handlers throw it for protocol faults; tools prefer `ToolError`. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  readonly code: number
  readonly kind: ErrorName | undefined
  readonly data: unknown
  readonly headers: ErrorHeaders

  /**
   * @param kind a row of the table, or an application's own integer outside -32768 to -32000
   * @param message what could not be done, then a colon and the state
   * @param data anything JSON; shown to the client
   * @param headers sent where the error is the whole answer
   * @throws {RangeError} when an own code lies in the range JSON-RPC reserves
   * @throws {TypeError} when `data` is no JSON: found out here, since an error that cannot be sent would be no answer
   */
  constructor(kind: ErrorName | number, message: string, data?: unknown, headers: ErrorHeaders = {}) {
    super(message)
    this.headers = headers
    this.kind = typeof kind === 'string' ? kind : undefined
    this.code = typeof kind === 'string' ? ERRORS[kind].code : ownCode(kind)
    const text = data === undefined ? undefined : JSON.stringify(data)
    this.data = text === undefined ? undefined : JSON.parse(text)
  }

  /** The HTTP status when this error is the whole answer. */
  status(era: Era): number {
    return this.kind ? ERRORS[this.kind][era] : 200
  }

  /** The `error` member. */
  encode(era: Era): JsonObject {
    const { message, data } = this
    const row: ErrorRow | undefined = this.kind && ERRORS[this.kind]
    const code = era === 'legacy' ? (row?.legacyCode ?? this.code) : this.code
    return data === undefined ? { code, message } : { code, message, data }
  }
}

/** An error that was answered, or would have been, and is answered again as it was. */
export class StoredError extends ProtocolError {
  override readonly code: number

  /** @param error as `encode` gave it */
  constructor({ code, message, data }: JsonObject) {
    super('InternalError', String(message), data)
    this.code = Number(code)
  }
}

function ownCode(code: number): number {
  if (Number.isInteger(code) && (code < -32768 || code > -32000)) return code
  throw new RangeError(`cannot use error code ${code}: own codes are integers outside -32768 to -32000`)
}
