// The methods that are about the session itself, and what may be done with a call whose handler died.

import type { SessionCall, SessionReply } from '../src/http/session-call.ts'
import { limits } from '../src/limits.ts'
import { ProtocolError } from '../src/protocol/errors.ts'
import type { JsonObject, JsonRpcRequest } from '../src/protocol/json-rpc.ts'
import { errorMessage, resultMessage } from '../src/protocol/messages.ts'
import { LOG_LEVELS, type LogLevel } from '../src/protocol/meta.ts'
import { stringParam } from '../src/protocol/params.ts'
import type { Auth } from '../src/server/ports.ts'
import { findResource } from '../src/server/run.ts'
import type { Server } from '../src/server/define-server.ts'
import type { EventLog } from './event-log.ts'

/** Who makes a call. A Worker, or a stored call, of a version before this says only which principal. */
export function authOf({ auth, facts }: Pick<SessionCall, 'facts'> & Partial<SessionCall>): Auth {
  return auth ?? { principal: facts.principal }
}

/** Changes what a session keeps. @throws {ProtocolError} when the parameters do not fit */
export type OwnMethod = (log: EventLog, server: Server, params: JsonObject, auth: Auth) => void

export const OWN_METHODS: ReadonlyMap<string, OwnMethod> = new Map<string, OwnMethod>([
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
])

function setLevel(log: EventLog, _server: Server, params: JsonObject): void {
  const level = params['level'] as LogLevel
  if (!LOG_LEVELS.includes(level)) throw invalid(`params.level must be one of ${LOG_LEVELS.join(', ')}`)
  log.set('level', level)
}

function subscribe(log: EventLog, server: Server, params: JsonObject, auth: Auth): void {
  const uri = stringParam(params, 'uri')
  if (!findResource(server, auth, uri))
    throw new ProtocolError('ResourceNotFound', `Resource not found: ${uri}`, { uri })
  if (!log.isSubscribed(uri) && log.countSubscriptions() >= limits.sessionSubscriptions)
    throw invalid('too many subscriptions in this session')
  log.subscribe(uri)
}

function unsubscribe(log: EventLog, _server: Server, params: JsonObject): void {
  log.unsubscribe(stringParam(params, 'uri'))
}

/** True if carrying a request out again does no harm that its definition did not allow. */
export function mayRepeat(server: Server, { method, params }: JsonRpcRequest): boolean {
  if (method !== 'tools/call') return true
  const { readOnlyHint, idempotentHint } = server.tools.get(params['name'] as string)?.annotations ?? {}
  return readOnlyHint === true || idempotentHint === true
}

/** The answer to a request that is refused, or came to an error. */
export function refused({ id }: JsonRpcRequest, error: ProtocolError): Extract<SessionReply, { kind: 'final' }> {
  return {
    kind: 'final',
    message: errorMessage(id, error, 'legacy'),
    status: error.status('legacy'),
    code: error.code,
  }
}

/** The answer to a call that was cut off and may not be repeated. */
export function interruptedMessage(request: JsonRpcRequest): string {
  return failedMessage(
    request,
    'The call was interrupted. It may have been carried out in part: check before you repeat it.',
  )
}

/** The answer to a call that would go on for ever. */
export function endlessMessage(request: JsonRpcRequest): string {
  return failedMessage(request, 'The call took too long and was given up. It may have been carried out in part.')
}

/** What is replayed in place of an answer that was too large to keep. */
export function tooLargeMessage(request: JsonRpcRequest): string {
  return failedMessage(request, 'The answer was sent, but it is too large to be sent again: ask for less at once.')
}

/** A failure the model can read, where the method has a model behind it. */
function failedMessage({ id, method }: JsonRpcRequest, text: string): string {
  if (method !== 'tools/call') return errorMessage(id, new ProtocolError('InternalError', text), 'legacy')
  return resultMessage(id, JSON.stringify({ content: [{ type: 'text', text }], isError: true }))
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError('InvalidParams', `Invalid params: ${problem}`)
}
