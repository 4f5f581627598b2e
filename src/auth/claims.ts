// From what an issuer says of a token to who is calling. The same for signed tokens, introspection and services.
// @see RFC 7519, 4.1; RFC 7662, 2.2; OAuth 2.1, 5.2

import { limits } from '../limits.ts'
import { clip } from '../protocol/clip.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { Auth } from '../server/ports.ts'
import { isFor } from './audience.ts'
import type { Issuer } from './settings.ts'
import { TokenError } from './token-error.ts'

/**
 * Who is calling, when the claims hold for this server now.
 * @throws {TokenError}
 */
export function authOf(issuer: Issuer, claims: JsonObject, now: number): Auth {
  checkIssuer(issuer, claims)
  checkAudience(issuer, claims['aud'])
  checkUnbound(claims)
  const expiresAt = checkTime(issuer, claims, now)
  const clientId = CLIENT_CLAIMS.map((claim) => nameIn(claims, claim)).find((name) => name !== undefined)
  const subject = subjectOf(issuer, claims, clientId)
  return {
    principal: principalOf(issuer, subject, clientId),
    issuer: issuer.id,
    ...(subject !== undefined && { subject }),
    ...(clientId !== undefined && { clientId }),
    scopes: scopesOf(issuer, claims),
    claims,
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

/** How the usual providers call it: RFC 9068, OpenID Connect, Okta, Entra v1. */
const CLIENT_CLAIMS = ['client_id', 'azp', 'cid', 'appid']

/**
 * The user, or undefined for a program that acts for nobody. That one may be its own subject: RFC 9068, 2.2.
 * @throws {TokenError} for a user whom nothing names as configured: all such users would be one
 */
function subjectOf({ subjectClaim }: Issuer, claims: JsonObject, clientId: string | undefined): string | undefined {
  const subject = nameIn(claims, subjectClaim)
  if (subject !== undefined) return subject === clientId ? undefined : subject
  for (const claim of USER_CLAIMS) {
    const named = nameIn(claims, claim)
    if (named === undefined || named === clientId) continue
    throw new TokenError('The access token names nobody', `the token has a ${claim}, but no ${subjectClaim}`)
  }
  return undefined
}

/** What tells a user's token from a program's. @see RFC 7519, 4.1.2; RFC 7662, 2.2 */
const USER_CLAIMS = ['sub', 'username']

/** The two kinds never meet, whatever users and programs are called. Ids have no spaces. */
function principalOf({ id }: Issuer, subject: string | undefined, clientId: string | undefined): string {
  if (subject !== undefined) return `user ${id} ${subject}`
  if (clientId !== undefined) return `client ${id} ${clientId}`
  throw new TokenError('The access token names nobody', 'the token has neither a subject nor a client id')
}

/** Signed tokens were chosen by it; of others the issuer need not be named. */
function checkIssuer({ issuer }: Issuer, { iss }: JsonObject): void {
  if (iss === undefined || iss === issuer) return
  throw new TokenError('The access token is not valid here', `the issuer ${issuer} says the token is of ${shown(iss)}`)
}

function checkAudience({ issuer, audiences }: Issuer, aud: unknown): void {
  if (audiences === undefined) return
  const given = [aud].flat()
  if (given.some((each) => typeof each === 'string' && audiences.some((audience) => isFor(each, audience)))) return
  const detail = `a token of ${issuer} is for ${shown(aud)}, and AUTH_ISSUERS takes those for ${audiences.join(', ')}`
  throw new TokenError('The access token is for another server', detail)
}

/** A token for who holds a key is not for who merely bears it, and nobody here can tell who does. @see RFC 9449; RFC 8705 */
function checkUnbound({ cnf }: JsonObject): void {
  if (cnf === undefined || cnf === null) return
  throw new TokenError(
    'The access token is bound to a key',
    'the token is bound to a key (cnf), which is not checked here',
  )
}

/** @returns when it ends, in ms */
function checkTime(issuer: Issuer, { exp, nbf }: JsonObject, now: number): number | undefined {
  const toleranceMs = issuer.clockToleranceSeconds * 1000
  for (const time of [exp, nbf]) {
    if (time !== undefined && !Number.isFinite(time))
      throw new TokenError('The access token is malformed', 'its exp or nbf is no number')
  }
  if (typeof nbf === 'number' && nbf * 1000 > now + toleranceMs)
    throw new TokenError('The access token is not valid yet')
  if (typeof exp !== 'number') return undefined
  if (exp * 1000 + toleranceMs <= now) throw new TokenError('The access token expired')
  return exp * 1000
}

function scopesOf({ scopeClaims }: Issuer, claims: JsonObject): string[] {
  const found = scopeClaims.flatMap((name) => {
    const value = claims[name]
    return typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  })
  return [...new Set(found.filter((scope) => typeof scope === 'string' && scope !== ''))]
}

function nameIn(claims: JsonObject, claim: string): string | undefined {
  const name = claims[claim]
  if (name === undefined || name === null) return undefined
  // Half a character would become another one wherever the name is written as bytes.
  const isText = typeof name === 'string' && name.isWellFormed()
  const isName = isText && name !== '' && name.length <= limits.subjectChars && !/\p{Cc}/u.test(name)
  if (!isName) throw new TokenError('The access token is malformed', `its ${claim} is no name`)
  return name
}

function shown(value: unknown): string {
  return value === undefined ? 'nobody' : clip(JSON.stringify(value) ?? '')
}
