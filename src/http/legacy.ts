// Legacy requests: the handshake, and everything that is answered the same with and without a session.
// Delete this file, `session*.ts`, `stream-bridge.ts`, `protocol/legacy/` and `durable-objects/session*` with their call
// sites in endpoint.ts and workers/mcp.ts to drop the legacy era. @see 2025-11-25 basic/lifecycle, basic/transports

import { clip } from '../protocol/clip.ts'
import { limits } from '../limits.ts'
import { isSince, LATEST_LEGACY, negotiate, type LegacyVersion } from '../protocol/era.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isObject, type JsonObject, type JsonRpcRequest } from '../protocol/json-rpc.ts'
import { legacyResult, legacyServerInfo } from '../protocol/legacy/encode.ts'
import { resultMessage } from '../protocol/messages.ts'
import type { ClientCapabilities, LogLevel, ProgressToken } from '../protocol/meta.ts'
import { methodIn } from '../protocol/methods.ts'
import { legacyCapabilities, type LegacyAudience } from '../protocol/server-capabilities.ts'
import type { Server } from '../server/define-server.ts'
import { dispatch } from '../server/dispatch.ts'
import type { Auth, Call, CallPort, Client, Journal, Trace } from '../server/ports.ts'
import type { TaskPort } from '../server/task-port.ts'
import type { Final } from './exchange.ts'
import { answerTaskMethod, createTask, knowsTasks } from './legacy-tasks.ts'

/** The revision a legacy request speaks. `named` is false when nobody said so. */
export interface LegacyRevision {
  version: LegacyVersion
  named: boolean
}

/** One legacy request and what is known of its caller. */
export interface LegacyCall {
  request: JsonRpcRequest
  revision: LegacyRevision
  client: Client
  auth: Auth
  env: Cloudflare.Env
  requestId: string
  trace?: Trace
  logLevel?: LogLevel
  port: CallPort
  journal: Journal
  tasks: TaskPort
  /** The object of its session, if it has one. */
  session?: string
}

/** What `initialize` settles. */
export interface Handshake {
  version: LegacyVersion
  client: Client
}

/**
 * Answers one legacy request other than `initialize`.
 * @throws {ProtocolError} everything that is answered with a JSON-RPC error
 */
export async function answerLegacy(server: Server, legacy: LegacyCall): Promise<Final> {
  const { id, method } = legacy.request
  checkMethod(server, method, legacy.revision.version)
  const result = await resultOf(server, legacy)
  return { message: resultMessage(id, JSON.stringify(result)), status: 200 }
}

/** @throws {ProtocolError} MethodNotFound for what this server does not have on a legacy revision */
export function checkMethod(server: Server, method: string, version: LegacyVersion): void {
  const row = methodIn('legacy', method)
  const isKnown = row && (row.since === undefined || isSince(version, row.since))
  if (isKnown && (!row.family || server.families.has(row.family))) return
  throw new ProtocolError('MethodNotFound', `Method not found: ${clip(method)}`)
}

/**
 * Reads an `initialize`. @see 2025-11-25 basic/lifecycle, Initialization
 * @throws {ProtocolError} InvalidParams naming the field
 */
export function parseHandshake(params: JsonObject): Handshake {
  const { protocolVersion, capabilities, clientInfo } = params
  if (typeof protocolVersion !== 'string') throw invalid('protocolVersion must be a string')
  if (!isObject(capabilities)) throw invalid('capabilities must be an object')
  if (!isObject(clientInfo) || typeof clientInfo['name'] !== 'string') throw invalid('clientInfo must have a "name"')
  const info = {
    name: clientInfo['name'],
    version: typeof clientInfo['version'] === 'string' ? clientInfo['version'] : '?',
  }
  return { version: negotiate(protocolVersion), client: { info, capabilities: objectsOf(capabilities) } }
}

/** Capabilities are objects; whatever else a client sends there declares nothing. */
function objectsOf(capabilities: JsonObject): ClientCapabilities {
  return Object.fromEntries(Object.entries(capabilities).filter(([, value]) => isObject(value)))
}

/** The result of `initialize`. */
export function handshakeResult(server: Server, audience: LegacyAudience): JsonObject {
  const { version } = audience
  return {
    protocolVersion: version,
    capabilities: legacyCapabilities(server.families, audience),
    serverInfo: legacyServerInfo(server.info as unknown as JsonObject, version),
    ...(server.instructions !== undefined && { instructions: server.instructions }),
  }
}

async function resultOf(server: Server, legacy: LegacyCall): Promise<JsonObject> {
  const { method } = legacy.request
  // Without a session there is nowhere to keep a level, and nothing is sent that it could hold back.
  if (method === 'ping' || method === 'logging/setLevel') return {}
  if (methodIn('legacy', method)?.needsSession) {
    throw new ProtocolError('SessionRequired', `Invalid request: ${method} needs a session`)
  }
  return dispatched(server, legacy)
}

async function dispatched(server: Server, legacy: LegacyCall): Promise<JsonObject> {
  const { request, revision, trace, logLevel, tasks, session, ...rest } = legacy
  const { method, params } = request
  const progressToken = progressTokenOf(params)
  const call: Call = {
    ...rest,
    era: 'legacy',
    version: revision.version,
    method,
    params,
    ...(trace && { trace }),
    ...(logLevel && { logLevel }),
    ...(progressToken !== undefined && { progressToken }),
    askTtlMs: limits.askTtlMs,
  }
  if (methodIn('legacy', method)?.family === 'tasks') return answerTaskMethod(tasks, server, call)
  if (method === 'tools/call' && knowsTasks(server, revision.version)) {
    const task = await createTask(tasks, server, call, session)
    if (task) return task
  }
  const result = await withoutMissing(method, async () => (await dispatch(server, call)).result)
  // A revision that was only assumed may really be a later one, whose client would miss what it was announced.
  return legacyResult(method, result, revision.named ? revision.version : LATEST_LEGACY)
}

/** What a client cannot be asked is the tool's failure, which the model can read. */
export async function withoutMissing(method: string, run: () => Promise<JsonObject>): Promise<JsonObject> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.kind !== 'MissingRequiredClientCapability') throw error
    const text = `This client cannot be asked here (${error.message}): tell the user to do it another way`
    if (method === 'tools/call') return { content: [{ type: 'text', text }], isError: true }
    throw new ProtocolError('InternalError', text)
  }
}

/** The journal of a request without a session: its client's capabilities are unknown, so no ask gets this far. */
export const NO_SESSION: Journal = {
  ask: () => Promise.reject(new TypeError('a request without a session cannot ask')),
  step: async (_key, run) => run(),
  sleep: async (ms, _key, signal) => void (await scheduler.wait(ms, { signal: signal() })),
  shouldEmit: () => true,
}

function progressTokenOf({ _meta }: JsonObject): ProgressToken | undefined {
  const token = isObject(_meta) ? _meta['progressToken'] : undefined
  return typeof token === 'string' || Number.isSafeInteger(token) ? (token as ProgressToken) : undefined
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError('InvalidParams', `Invalid params: params.${problem}`)
}
