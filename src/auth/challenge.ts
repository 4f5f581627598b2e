// The answers to a request without the right token, which tell its client how to get one.
// @see RFC 6750, 3; basic/authorization, Error Handling and Scope Challenge Handling

import { ProtocolError } from '../protocol/errors.ts'

/** What every challenge of one request has in common. */
export interface Challenger {
  /** Where the document about this resource is. */
  metadataUrl: string
  /** The scopes to begin with. */
  scopes: readonly string[]
}

/** 401 for a request without a token. It says no error: nothing was wrong with what was not there. */
export function unauthorized({ metadataUrl, scopes }: Challenger): ProtocolError {
  const challenge = challengeOf({ resource_metadata: metadataUrl, scope: scopes.join(' ') })
  return new ProtocolError('Unauthorized', 'Unauthorized: send an access token', undefined, { challenge })
}

/** 401 for a token that is not taken. @param why in a few words, for whoever holds it */
export function invalidToken({ metadataUrl, scopes }: Challenger, why: string): ProtocolError {
  const challenge = challengeOf({
    error: 'invalid_token',
    error_description: why,
    resource_metadata: metadataUrl,
    scope: scopes.join(' '),
  })
  return new ProtocolError('Unauthorized', `Unauthorized: ${why}`, undefined, { challenge })
}

/** 400 for a token that is sent in a way none is. */
export function malformedAuthorization({ metadataUrl }: Challenger, why: string): ProtocolError {
  const challenge = challengeOf({ error: 'invalid_request', error_description: why, resource_metadata: metadataUrl })
  return new ProtocolError('MalformedAuthorization', `Invalid request: ${why}`, undefined, { challenge })
}

/**
 * 403 for a token that may do less than this request needs. Names all that a new token should have, so that one step
 * will do and what the old one may do is not lost.
 * @param needed by this request @param wanted of the new token, as its issuer calls it
 */
export function insufficientScope(
  metadataUrl: string,
  needed: readonly string[],
  wanted: readonly string[],
): ProtocolError {
  const scope = [...new Set(wanted)].join(' ')
  const challenge = challengeOf({
    error: 'insufficient_scope',
    error_description: 'This needs a token with more scopes',
    scope,
    resource_metadata: metadataUrl,
  })
  const message = `Forbidden: this needs the scopes ${needed.join(', ')}`
  return new ProtocolError('InsufficientScope', message, undefined, { challenge })
}

/** Quoted strings hold no quotes, backslashes or characters beyond ASCII: RFC 6750 allows none of them here. */
function challengeOf(parameters: { [name: string]: string }): string {
  const parts = Object.entries(parameters).flatMap(([name, value]) => {
    return value === '' ? [] : [`${name}="${value.replaceAll(/[^\x20-\x7e]|["\\]/g, "'")}"`]
  })
  return `Bearer ${parts.join(', ')}`
}
