// The only place where an error becomes a Response.

import { ProtocolError, type Era } from '../protocol/errors.ts'
import type { RequestId } from '../protocol/json-rpc.ts'
import { errorMessage } from '../protocol/messages.ts'
import type { Final } from './exchange.ts'
import { ALLOW, EMPTY_HEADERS, JSON_HEADERS, jsonHeadersWith } from './headers.ts'

const RETRY_AFTER_SECONDS = '5'
const LATER_HEADERS = jsonHeadersWith({ 'retry-after': RETRY_AFTER_SECONDS })
const NOT_ALLOWED_HEADERS = jsonHeadersWith({ allow: ALLOW })

/** An error as the end of an exchange. The id is left out when it could not be read. */
export function errorFinal(error: ProtocolError, era: Era, id?: RequestId): Final {
  return { message: errorMessage(id, error, era), status: error.status(era), headers: headersOf(error) }
}

/** An error as a whole response. */
export function errorResponse(error: ProtocolError, era: Era, id?: RequestId): Response {
  return new Response(errorMessage(id, error, era), { status: error.status(era), headers: headersOf(error) })
}

/** 202: a notification or an answer was taken. 204: a session ended. */
export function acceptedResponse(status: 202 | 204 = 202): Response {
  return new Response(null, { status, headers: EMPTY_HEADERS })
}

/** What was thrown, as a protocol error. Anything unknown keeps its text to itself. */
export function toProtocolError(error: unknown, requestId: string): ProtocolError {
  return error instanceof ProtocolError
    ? error
    : new ProtocolError('InternalError', `Internal error (request ${requestId})`)
}

function headersOf({ kind, headers: { challenge, retryAfterSeconds } }: ProtocolError): Headers {
  if (challenge !== undefined) return jsonHeadersWith({ 'www-authenticate': challenge })
  if (retryAfterSeconds !== undefined) return jsonHeadersWith({ 'retry-after': String(retryAfterSeconds) })
  if (kind === 'Unavailable' || kind === 'TooManyRequests') return LATER_HEADERS
  return kind === 'MethodNotAllowed' ? NOT_ALLOWED_HEADERS : JSON_HEADERS
}
