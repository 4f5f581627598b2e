// Legacy requests without a session: the handshake, and everything that needs no memory.
// Delete this file, `protocol/legacy/` and their two call sites to drop the legacy era.
// @see 2025-11-25 basic/lifecycle, basic/transports

import { limits } from '../limits.ts'
import { LATEST_LEGACY, negotiate, type LegacyVersion } from '../protocol/era.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isObject, type JsonObject, type JsonRpcRequest } from '../protocol/json-rpc.ts'
import { legacyResult, legacyServerInfo } from '../protocol/legacy/encode.ts'
import { resultMessage } from '../protocol/messages.ts'
import type { ProgressToken } from '../protocol/meta.ts'
import { methodIn } from '../protocol/methods.ts'
import { serverCapabilities } from '../protocol/server-capabilities.ts'
import type { Server } from '../server/define-server.ts'
import { dispatch } from '../server/dispatch.ts'
import type { Call, Journal } from '../server/ports.ts'
import type { Final } from './exchange.ts'
import type { Incoming } from './incoming.ts'

/** The revision a legacy request speaks. `named` is false when nobody said so. */
export interface LegacyRevision {
  version: LegacyVersion
  named: boolean
}

/**
 * Answers one legacy request.
 * @throws {ProtocolError} everything that is answered with a JSON-RPC error
 */
export async function answerLegacy(
  server: Server,
  request: JsonRpcRequest,
  revision: LegacyRevision,
  incoming: Incoming,
): Promise<Final> {
  const { id, method } = request
  const row = methodIn('legacy', method)
  if (!row || (row.family && !server.families.has(row.family))) {
    throw new ProtocolError('MethodNotFound', `Method not found: ${method}`)
  }
  const result = await resultOf(server, request, revision, incoming)
  return { message: resultMessage(id, JSON.stringify(result)), status: 200 }
}

async function resultOf(
  server: Server,
  request: JsonRpcRequest,
  revision: LegacyRevision,
  incoming: Incoming,
): Promise<JsonObject> {
  if (request.method === 'ping') return {}
  if (request.method === 'initialize') return initialize(server, request.params, incoming)
  return dispatched(server, request, revision, incoming)
}

function initialize(server: Server, params: JsonObject, incoming: Incoming): JsonObject {
  const { protocolVersion, capabilities, clientInfo } = params
  if (typeof protocolVersion !== 'string') throw invalid('protocolVersion must be a string')
  if (!isObject(capabilities)) throw invalid('capabilities must be an object')
  if (!isObject(clientInfo) || typeof clientInfo['name'] !== 'string') throw invalid('clientInfo must have a "name"')
  const release = typeof clientInfo['version'] === 'string' ? clientInfo['version'] : '?'
  incoming.note({ client: { name: clientInfo['name'], version: release } })
  const version = negotiate(protocolVersion)
  return {
    protocolVersion: version,
    capabilities: serverCapabilities(server.families, 'legacy'),
    serverInfo: legacyServerInfo(server.info as unknown as JsonObject, version),
    ...(server.instructions !== undefined && { instructions: server.instructions }),
  }
}

async function dispatched(
  server: Server,
  { method, params }: JsonRpcRequest,
  { version, named }: LegacyRevision,
  incoming: Incoming,
): Promise<JsonObject> {
  const progressToken = progressTokenOf(params)
  const call: Call = {
    era: 'legacy',
    version,
    method,
    params,
    requestId: incoming.requestId,
    client: { capabilities: {} },
    auth: incoming.auth,
    env: incoming.env,
    ...(incoming.trace && { trace: incoming.trace }),
    ...(progressToken !== undefined && { progressToken }),
    port: incoming.port,
    journal: NO_SESSION,
    askTtlMs: limits.askTtlMs,
  }
  const result = await withoutAsks(method, async () => (await dispatch(server, call)).result)
  // A revision that was only assumed may really be a later one, whose client would miss what it was announced.
  return legacyResult(method, result, named ? version : LATEST_LEGACY)
}

/** What cannot be asked without a session is the tool's failure, which the model can read. */
async function withoutAsks(method: string, run: () => Promise<JsonObject>): Promise<JsonObject> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.kind !== 'MissingRequiredClientCapability') throw error
    const text = `${error.message}, or a session in which to ask for it`
    if (method === 'tools/call') return { content: [{ type: 'text', text }], isError: true }
    throw new ProtocolError('InternalError', text)
  }
}

/** Without a session the client cannot be asked: its capabilities are unknown, so no ask gets this far. */
const NO_SESSION: Journal = {
  ask: () => Promise.reject(new TypeError('a request without a session cannot ask')),
  step: async (_key, run) => run(),
  shouldEmit: () => true,
}

function progressTokenOf({ _meta }: JsonObject): ProgressToken | undefined {
  const token = isObject(_meta) ? _meta['progressToken'] : undefined
  return typeof token === 'string' || Number.isSafeInteger(token) ? (token as ProgressToken) : undefined
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError('InvalidParams', `Invalid params: params.${problem}`)
}
