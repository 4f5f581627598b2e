// Signed access tokens: the keys of an issuer, and nobody else's, verify them. @see RFC 7519; RFC 9068; RFC 8725

import {
  createLocalJWKSet,
  decodeJwt,
  errors,
  jwtVerify,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose'
import { clip } from '../protocol/clip.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { discover, endpointOf } from './discovery.ts'
import { fetchJson } from './fetch-json.ts'
import { Refreshing } from './refreshing.ts'
import type { Issuer } from './settings.ts'
import { IssuerError, TokenError, UnknownKeyError } from './token-error.ts'

/** Who says to have issued a token, or undefined when it is no JWT. Nothing is verified: it only says whom to ask. */
export function claimedIssuer(token: string): string | undefined {
  // What jose throws costs more than all the rest.
  if (token.split('.', 4).length !== 3) return undefined
  try {
    const { iss } = decodeJwt(token)
    return typeof iss === 'string' ? iss : undefined
  } catch {
    // Opaque: only its issuer can read it.
    return undefined
  }
}

/** Verifies the tokens of one issuer. */
export class JwtVerifier {
  readonly #issuer: Issuer
  readonly #options: JWTVerifyOptions
  readonly #keys: Refreshing<KeySet>

  constructor(issuer: Issuer) {
    this.#issuer = issuer
    const { check, typ } = issuer
    this.#options = {
      issuer: issuer.issuer,
      algorithms: [...issuer.algorithms],
      clockTolerance: issuer.clockToleranceSeconds,
      requiredClaims: ['exp'],
      ...(typ !== undefined && { typ }),
    }
    const url = async (signal: AbortSignal): Promise<string> => {
      return check.by === 'jwks' ? check.url : endpointOf(await discover(issuer.issuer, signal), 'jwks_uri')
    }
    this.#keys = new Refreshing(async (signal) => keySet(await url(signal), signal))
  }

  /**
   * The claims of a token whose signature is the issuer's.
   * @throws {TokenError} for any other @throws {IssuerError} when the keys cannot be had
   */
  async verify(token: string): Promise<JsonObject> {
    try {
      return (await jwtVerify(token, this.#key, this.#options)).payload
    } catch (error) {
      if (error instanceof IssuerError) throw error
      throw refusal(error, this.#issuer.issuer)
    }
  }

  readonly #key: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#reach(() => this.#keys.get())
    try {
      return await this.#find(keys, header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !mayBeNew(header, keys)) throw error
    }
    const newer = await this.#reach(() => this.#keys.refresh())
    // Not a refusal: with that a host would throw away a token which is good in a moment.
    if (!newer)
      throw new UnknownKeyError(
        `the keys of ${this.#issuer.issuer} were looked up too often: a token may have a new one`,
      )
    return this.#find(newer, header, token)
  }

  /** @throws {IssuerError} for keys that are none: the token is not to blame */
  async #find(
    keys: KeySet,
    header: JWTHeaderParameters,
    token: FlattenedJWSInput,
  ): Promise<Awaited<ReturnType<JWTVerifyGetKey>>> {
    try {
      return await keys(header, token)
    } catch (cause) {
      if (NO_SUCH_KEY.some((kind) => cause instanceof kind)) throw cause
      throw new IssuerError(`cannot use the keys of ${this.#issuer.issuer}`, { cause })
    }
  }

  async #reach<T>(load: () => Promise<T>): Promise<T> {
    try {
      return await load()
    } catch (cause) {
      throw new IssuerError(`cannot get the keys of ${this.#issuer.issuer}`, { cause })
    }
  }
}

type KeySet = ReturnType<typeof createLocalJWKSet>

/** True for a key that the issuer may have made since. One that is there, and is not for this token, will not become so. */
function mayBeNew({ kid }: JWTHeaderParameters, keys: KeySet): boolean {
  return kid !== undefined && keys.jwks().keys.every((key) => key.kid !== kid)
}

/** What jose throws when there is no one key for a token. */
const NO_SUCH_KEY = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported]

/** @throws {Error} when there is no key set */
async function keySet(url: string, signal: AbortSignal): Promise<KeySet> {
  const keys = await fetchJson(url, signal)
  if (!keys) throw new Error(`cannot find keys at ${url}`)
  return createLocalJWKSet(keys as unknown as JSONWebKeySet)
}

/** What jose says, in words for both sides. Whatever it is that was thrown, the token is not taken. */
function refusal(error: unknown, issuer: string): TokenError {
  // It may quote what a stranger wrote into the token.
  const what = error instanceof Error ? clip(error.message) : 'unknown'
  const detail = `a token that says it is of ${issuer} is not taken: ${what}`
  if (error instanceof errors.JWTExpired) return new TokenError('The access token expired', detail)
  if (error instanceof errors.JWTClaimValidationFailed) {
    const isEarly = error.claim === 'nbf' && error.reason === 'check_failed'
    return new TokenError(isEarly ? 'The access token is not valid yet' : 'The access token is malformed', detail)
  }
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return new TokenError('The access token is signed with an unknown key', detail)
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return new TokenError('The signature of the access token is wrong', detail)
  }
  return new TokenError('The access token is malformed', detail)
}
