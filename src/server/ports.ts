// What the server needs from outside, and what a transport gives it with each call.
// HTTP and Durable Objects implement these; nothing here knows either.

import type { Era } from '../protocol/errors.ts'
import type { ProtocolVersion } from '../protocol/era.ts'
import type { ParamHeader } from '../protocol/headers.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { ClientCapabilities, Implementation, LogLevel, ProgressToken } from '../protocol/meta.ts'
import type { Topic } from '../protocol/topic.ts'
import type { Validation } from './json-schema.ts'

/**
 * Who is calling, as its token says: read on every request. Without authorization everybody is the same anonymous principal.
 * The token itself is not here, since it may go nowhere else: `defineUpstream` gets a handler a token of its own.
 */
export interface Auth {
  /**
   * Names the principal: two calls of one principal have the same, nobody else has it. `user <issuer> <subject>`,
   * `client <issuer> <client id>` for a program that acts for nobody, or `anonymous`.
   */
  principal: string
  /** The configured id of the issuer. */
  issuer?: string
  /** The user, unique at that issuer only. Absent for a program that acts for nobody. */
  subject?: string
  /** The program that the token was issued to. */
  clientId?: string
  /** What the token may be used for. */
  scopes?: readonly string[]
  /** All that the issuer says. Absent in tasks, which outlive every token. */
  claims?: { readonly [name: string]: unknown }
  /** When the token ends, ms since the epoch. Absent in tasks, and where the issuer does not say. */
  expiresAt?: number
}

/** Everybody, where nobody says who they are. */
export const ANONYMOUS: Auth = Object.freeze({ principal: 'anonymous' })

export function isAnonymous({ principal }: Auth): boolean {
  return principal === ANONYMOUS.principal
}

/** Who is calling, as far as it may outlive the token: what the issuer said of it goes with it. */
export function lasting({ claims: _claims, expiresAt: _expiresAt, ...auth }: Auth): Auth {
  return auth
}

/** The client as it described itself. Self-reported: for display, never for decisions about access. */
export interface Client {
  info?: Implementation
  capabilities: ClientCapabilities
}

/** W3C trace context, from `_meta` or from the headers. @see basic/index, OpenTelemetry trace context */
export interface Trace {
  traceId: string
  traceparent: string
  tracestate?: string
}

/** A request this server makes of the client. @see basic/patterns/mrtr, InputRequests */
export interface InputRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
  params?: JsonObject
  /** The id of a link, which only 2025-11-25 puts on the wire. */
  elicitationId?: string
}

/** One ask, as a handler made it. */
export interface Ask {
  key: string
  /** The request to send. URL asks are built from an id the journal keeps. */
  request(id: string): InputRequest
  /** True when the answer only makes sense for a request the client has really seen. */
  needsId: boolean
  /** How long it stays answerable. */
  ttlMs: number
  validate(answer: unknown): Validation | Promise<Validation>
}

/**
 * Where one call remembers its asks and steps between entries: sealed with the client, in memory, or in rows.
 * Keys are unique for the life of the call.
 */
export interface Journal {
  /** Resolves with the validated answer. While there is none it never settles. */
  ask(ask: Ask): Promise<unknown>
  /** The stored result, or that of `run`, stored. */
  step(key: string, run: () => unknown): Promise<unknown>
  /** Settles after `ms`, counted from the first entry that came to it. Without a key it is known by its turn. */
  sleep(ms: number, key: string | undefined, signal: () => AbortSignal): Promise<void>
  /** True if this notification is new; false when an entered-again handler repeats what was already sent. */
  shouldEmit(method: string, params: JsonObject): boolean
}

/** What a journal has to say when the handler can go no further in this entry. */
export interface Suspension {
  inputRequests: { [key: string]: InputRequest }
  memory: JsonObject
}

/** What a transport does for one call. */
export interface CallPort {
  /** Sends a notification that belongs to this call; dropped where the client cannot take it. */
  emit(method: string, params: JsonObject): void
  /** Aborts when the caller is gone. */
  signal(): AbortSignal
  /** Keeps the isolate for `work` after the answer. */
  waitUntil(work: Promise<unknown>): void
  /** Takes what a handler says of its progress, where that is kept: by tasks. */
  status?(progress: number, message: string): void
  /** Tells who watches that something changed. */
  notify(topic: Topic): void
  /** Tells the operator of an error whose text the caller does not see. */
  report(error: unknown): void
  /** Compares declared `Mcp-Param-*` headers with the raw arguments. @throws {ProtocolError} HeaderMismatch */
  checkParamHeaders?(declared: readonly ParamHeader[], args: JsonObject): void
}

/** One request, checked as far as its envelope. */
export interface Call {
  era: Era
  version: ProtocolVersion
  method: string
  params: JsonObject
  /** Names this request in logs and in "Internal error". */
  requestId: string
  client: Client
  auth: Auth
  env: Cloudflare.Env
  trace?: Trace
  logLevel?: LogLevel
  progressToken?: ProgressToken
  port: CallPort
  journal: Journal
  /** How long an ask of this call stays answerable; the definition that is called may say. */
  askTtlMs: number
  /**
   * Makes a task of the call instead of running its handler, where its tool and its client want that.
   * @param prepared what the tool's `prepare` came to
   * @returns what the client is answered with
   */
  toTask?(prepared: unknown): Promise<JsonObject>
  /** True where it was decided before that the caller may make this call: a task goes on whatever becomes of its token. */
  isAdmitted?: true
  /** What `prepare` came to, when it ran before. */
  prepared?: { value: unknown }
}

/** A key that seals, and its name. `secret` is 32 bytes, base64url. */
export interface SealingKey {
  kid: string
  secret: string
}

/** The keys in force. The first one seals; all of them open. */
export interface SealingKeys {
  keys: readonly SealingKey[]
  /** When to ask again, in ms since the epoch. */
  refreshAt: number
}

/** Where sealing keys come from. @throws when the store behind it is down */
export type KeySource = (env: Cloudflare.Env) => Promise<SealingKeys>
