// Who sends a request: its token, checked by the issuer it comes from. Nothing is let through that could not be checked.
// @see basic/authorization, Token Handling; OAuth 2.1, 5.2

import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { failure, report } from '../observability/sink.ts'
import { clip } from '../protocol/clip.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { noteToken } from '../server/access-token.ts'
import type { Auth } from '../server/ports.ts'
import { bearerOf } from './bearer.ts'
import { invalidToken, malformedAuthorization, unauthorized, type Challenger } from './challenge.ts'
import { authOf } from './claims.ts'
import { claimedIssuer, JwtVerifier } from './jwt.ts'
import { OpaqueVerifier } from './opaque.ts'
import { metadataUrl } from './protected-resource.ts'
import type { Issuer } from './settings.ts'
import { IssuerError, TokenError, UnknownKeyError } from './token-error.ts'

/** Holds back who sends tokens that are none, each of which costs an issuer a call. */
export interface Guesses {
  /** @throws {ProtocolError} TooManyRequests for who has guessed too often */
  check(request: Request): void
  /** A token was none. */
  failed(request: Request, env: object): Promise<void>
}

/** Checks the tokens of one configuration. */
export class Authenticator {
  readonly #config: Config
  readonly #scopes: readonly string[]
  readonly #guesses: Guesses
  readonly #signed = new Map<string, { issuer: Issuer; verifier: JwtVerifier }>()
  readonly #opaque: { issuer: Issuer; verifier: OpaqueVerifier }[] = []

  /** @param scopes those to begin with, which challenges name */
  constructor(config: Config, issuers: readonly Issuer[], scopes: readonly string[], guesses: Guesses = UNLIMITED) {
    this.#config = config
    this.#guesses = guesses
    this.#scopes = scopes
    for (const issuer of issuers) {
      const { by } = issuer.check
      if (by === 'introspection' || by === 'service')
        this.#opaque.push({ issuer, verifier: new OpaqueVerifier(issuer) })
      else this.#signed.set(issuer.issuer, { issuer, verifier: new JwtVerifier(issuer) })
    }
  }

  /**
   * Who sends a request.
   * @throws {ProtocolError} Unauthorized or MalformedAuthorization with a challenge, Unavailable when an issuer cannot be reached
   */
  async authenticate(request: Request, env: object): Promise<Auth> {
    const bearer = bearerOf(request)
    if ('token' in bearer) return this.#authenticate(bearer.token, request, env)
    const challenger = this.#challenger(request)
    this.#refused(bearer.problem ?? bearer.instead ?? 'there is no access token')
    throw bearer.problem === undefined ? unauthorized(challenger) : malformedAuthorization(challenger, bearer.problem)
  }

  async #authenticate(token: string, request: Request, env: object): Promise<Auth> {
    try {
      return noteToken(await this.#verify(token, request, env), token)
    } catch (error) {
      if (error instanceof TokenError) {
        this.#refused(error.detail)
        throw invalidToken(this.#challenger(request), error.message)
      }
      if (!(error instanceof IssuerError)) throw error
      // What anybody can bring about must not fill the log.
      if (error instanceof UnknownKeyError) this.#refused(error.message)
      else report(failure(error, {}), this.#config.log)
      throw new ProtocolError('Unavailable', 'The access token cannot be checked now: try again')
    }
  }

  async #verify(token: string, request: Request, env: object): Promise<Auth> {
    if (token.length > limits.tokenChars) throw new TokenError('The access token is too long')
    const claimed = claimedIssuer(token)
    const signed = claimed === undefined ? undefined : this.#signed.get(claimed)
    if (signed) return authOf(signed.issuer, await signed.verifier.verify(token), Date.now())
    // A JWT goes to nobody but the issuer it names.
    const asked = this.#opaque.filter(({ issuer }) => claimed === undefined || issuer.issuer === claimed)
    const auth = await this.#ask(asked, token, request, env)
    if (auth) return auth
    const of = claimed === undefined ? 'an opaque token' : `a token of '${clip(claimed)}'`
    if (asked.length === 0) throw new TokenError(NOT_HERE, `there is no issuer in AUTH_ISSUERS for ${of}`)
    await this.#guesses.failed(request, env)
    throw new TokenError(NOT_HERE, `no issuer that was asked knows ${of}, or no longer`)
  }

  /** Asks each issuer until one knows the token. While one cannot be reached, it may be theirs. */
  async #ask(
    asked: readonly { issuer: Issuer; verifier: OpaqueVerifier }[],
    token: string,
    request: Request,
    env: object,
  ): Promise<Auth | undefined> {
    let unreachable: IssuerError | undefined
    for (const { issuer, verifier } of asked) {
      try {
        const claims = await verifier.verify(token, env, () => this.#guesses.check(request))
        if (claims) return authOf(issuer, claims, Date.now())
      } catch (error) {
        if (!(error instanceof IssuerError)) throw error
        unreachable ??= error
      }
    }
    if (unreachable) throw unreachable
    return undefined
  }

  #refused(reason: string): void {
    report({ event: 'refused', reason }, this.#config.log)
  }

  #challenger(request: Request): Challenger {
    return { metadataUrl: metadataUrl(this.#config, request.url), scopes: this.#scopes }
  }
}

const UNLIMITED: Guesses = { check: () => {}, failed: async () => {} }
const NOT_HERE = 'The access token is not valid here'
