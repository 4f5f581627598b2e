// Tokens that only their issuer can read: it is asked, by introspection or through a service binding, and believed for some
// seconds. @see RFC 7662

import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  introspectionRequest,
  processIntrospectionResponse,
  type AuthorizationServer,
  type IntrospectionResponse,
} from 'oauth4webapi'
import { limits } from '../limits.ts'
import { isSafe } from '../network.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import { digestOf } from '../server/canonical.ts'
import { within } from '../server/within.ts'
import { discover, endpointOf } from './discovery.ts'
import { Refreshing } from './refreshing.ts'
import type { Check, Issuer } from './settings.ts'
import { IssuerError } from './token-error.ts'

/** Says what a token stands for, as claims; undefined when it stands for nothing. @throws when it cannot be told */
type Ask = (token: string, env: object) => Promise<JsonObject | undefined>

/** Asks one issuer about its tokens. */
export class OpaqueVerifier {
  readonly #issuer: Issuer
  readonly #ask: Ask
  /** What is believed, by the digest of a token, oldest first. */
  readonly #known = new Map<string, { claims: JsonObject; until: number }>()
  #failure: { error: IssuerError; at: number } | undefined

  constructor(issuer: Issuer) {
    const { check } = issuer
    if (check.by === 'introspection') this.#ask = introspection(issuer, check)
    else if (check.by === 'service') this.#ask = service(issuer, check)
    else throw new TypeError(`cannot ask ${issuer.issuer} about tokens`)
    this.#issuer = issuer
  }

  /**
   * What a token stands for, as claims, or undefined when it is none of this issuer's, or no longer.
   * @param mayAsk is called before the issuer is, and may throw
   * @throws {IssuerError} when the issuer cannot be reached
   */
  async verify(token: string, env: object, mayAsk: () => void): Promise<JsonObject | undefined> {
    const key = await digestOf(token)
    const known = this.#known.get(key)
    if (known && Date.now() < known.until) return known.claims
    this.#known.delete(key)
    mayAsk()
    const askedAt = Date.now()
    const claims = await this.#reach(() => this.#ask(token, env))
    if (claims) this.#keep(key, frozen(claims), askedAt)
    return claims
  }

  #keep(key: string, claims: JsonObject, askedAt: number): void {
    const { exp } = claims
    const until = Math.min(askedAt + this.#issuer.cacheSeconds * 1000, typeof exp === 'number' ? exp * 1000 : Infinity)
    if (until <= askedAt) return
    if (this.#known.size >= limits.knownTokens) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(key, { claims, until })
  }

  /**
   * An issuer that gives no answer is not asked by every request, each of which would wait for it. One that answers, whatever
   * it says, is: an odd token must not lock out all others.
   */
  async #reach<T>(ask: () => Promise<T>): Promise<T> {
    const since = Date.now() - (this.#failure?.at ?? Number.NEGATIVE_INFINITY)
    if (this.#failure && since >= 0 && since < limits.issuerBackoffMs) throw this.#failure.error
    try {
      return await ask()
    } catch (cause) {
      const error = new IssuerError(`cannot ask ${this.#issuer.issuer} about a token`, { cause })
      if (cause instanceof NoAnswer) this.#failure = { error, at: Date.now() }
      throw error
    }
  }
}

function introspection({ issuer }: Issuer, check: Check & { by: 'introspection' }): Ask {
  const { clientId, secret, method } = check
  const metadata = new Refreshing((signal) => discover(issuer, signal))
  const authentication = method === 'basic' ? ClientSecretBasic(secret) : ClientSecretPost(secret)
  return async (token) => {
    const endpoint = check.endpoint ?? endpointOf(await metadata.get(), 'introspection_endpoint')
    if (!isSafe(new URL(endpoint))) throw new Error(`cannot ask ${endpoint}: it is not https`)
    const server: AuthorizationServer = { issuer, introspection_endpoint: endpoint }
    const client = { client_id: clientId }
    const signal = AbortSignal.timeout(limits.issuerFetchMs)
    const asking = introspectionRequest(server, client, authentication, token, {
      additionalParameters: { token_type_hint: 'access_token' },
      signal: () => signal,
      [allowInsecureRequests]: true,
    })
    const response = await asking.catch((cause: unknown) => {
      throw new NoAnswer('there is no answer', { cause })
    })
    const said = await processIntrospectionResponse(server, client, response).catch((cause: unknown) => {
      throw signal.aborted ? new NoAnswer('the answer does not end', { cause }) : cause
    })
    return said.active && isAccessToken(said) ? (said as JsonObject) : undefined
  }
}

/** Nobody is there, or is too slow. */
class NoAnswer extends Error {}

/** Handlers are given what is kept here, so none may change it for the next request. */
function frozen<T>(value: T): T {
  // Bytes cannot be frozen, and a service may give the same thing in two places.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value
  Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

/** Some providers say `active` of refresh tokens, too. Those that mark tokens do it in one of two ways. */
function isAccessToken({ token_use: use, token_type: type }: IntrospectionResponse): boolean {
  const isNamed = use === undefined || use === 'access_token' || use === 'access'
  return isNamed && (type === undefined || /^(bearer|access_token)$/i.test(type))
}

/** What a service binding that validates tokens has: the provider of workers/authorization.ts, for example. */
interface TokenService {
  validateToken(resource: string, token: string): Promise<unknown>
}

function service({ issuer, audiences }: Issuer, { binding }: Check & { by: 'service' }): Ask {
  return async (token, env) => {
    const { [binding]: validator } = env as { [name: string]: TokenService }
    for (const audience of audiences ?? []) {
      const said = await within(limits.issuerFetchMs, validator!.validateToken(audience, token), tooSlow)
      if (isObject(said)) return claimsOf(issuer, said)
    }
    return undefined
  }
}

const tooSlow = (): Error => new NoAnswer('it took too long')

/** What the service says, in the words of a token. */
function claimsOf(issuer: string, { audience, scope, userId, clientId, expiresAt, props }: JsonObject): JsonObject {
  return {
    ...(isObject(props) && { props }),
    iss: issuer,
    aud: audience,
    scope,
    ...(userId !== undefined && { sub: userId }),
    ...(clientId !== undefined && { client_id: clientId }),
    ...(expiresAt !== undefined && { exp: expiresAt }),
  }
}
