// `defineUpstream`: tokens for other services that a handler calls. The client's own token is for this server and goes no
// further; another is got in exchange for it, or in this server's own name. @see basic/authorization/security-considerations,
// Access Token Privilege Restriction; RFC 6749, 4.4; RFC 8693

import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  genericTokenEndpointRequest,
  processClientCredentialsResponse,
  processGenericTokenEndpointResponse,
  ResponseBodyError,
  type AuthorizationServer,
  type Client,
  type ClientAuth,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { limits } from '../limits.ts'
import { isSafe } from '../network.ts'
import { clip } from '../protocol/clip.ts'
import { tokenOf } from './access-token.ts'
import { digestOf } from './canonical.ts'
import type { LookupContext } from './context.ts'
import { ToolError } from './errors.ts'
import { missingSecret } from './missing-secret.ts'
import type { Auth } from './ports.ts'

/** A service that takes tokens, and who gives them out. */
export interface UpstreamOptions {
  /** Where tokens are got. https, or http on this machine. */
  tokenEndpoint: string
  /** This server as a client there. */
  clientId: string
  /** The name of the secret that holds the client secret, such as `CALENDAR_SECRET`. */
  clientSecret: string
  /** How the client secret is sent. Default: `basic`. */
  method?: 'basic' | 'post'
  /**
   * `client_credentials`: this server acts for itself, the same for everybody who calls. `token_exchange`: it acts for its
   * caller, whose token is exchanged; works where the issuer of the two is one or trusts the other.
   */
  grant: 'client_credentials' | 'token_exchange'
  /** What the token is to be good for there. */
  scopes?: readonly string[]
  /** For whom it is to be, as a URL. @see RFC 8707 */
  resource?: string
  /** The same as a name, for providers that want one. */
  audience?: string
}

/** A service whose tokens a handler can get. */
export interface Upstream {
  /**
   * An access token for the service, kept in this isolate until shortly before it ends, for each caller apart.
   * @throws {ToolError} when none can be had: the provider refused it, which the model is told, or there is no token to
   * exchange: in a task, in a call that goes on after its object restarted, or without authorization.
   */
  token(context: Pick<LookupContext, 'auth' | 'env'>): Promise<string>
  /** `fetch` with that token, in place of any `Authorization` that is given. Redirects are not followed: they might lead it elsewhere. */
  fetch(
    context: Pick<LookupContext, 'auth' | 'env' | 'signal'>,
    url: string | URL,
    init?: RequestInit,
  ): Promise<Response>
}

/**
 * Defines a service that handlers call with tokens of their own.
 * @param name for messages
 * @throws {TypeError} when the endpoint is no URL, or not https
 */
export function defineUpstream(name: string, options: UpstreamOptions): Upstream {
  checkEndpoint(name, options.tokenEndpoint)
  const known = new Map<string, { token: string; until: number }>()
  const upstream: Upstream = {
    async token({ auth, env }) {
      // Also where one is known already: whether a task gets one must not depend on the isolate it runs in.
      const subject = options.grant === 'token_exchange' ? subjectToken(name, auth) : undefined
      const now = Date.now()
      // Not by the principal alone: of two tokens of one user, one may be good for more, and so is what it was exchanged for.
      const key = subject === undefined ? '' : await digestOf([auth.principal, subject])
      const held = known.get(key)
      if (held && now < held.until) return held.token
      known.delete(key)
      const { access_token: token, expires_in: seconds = DEFAULT_SECONDS } = await get(name, options, env, subject)
      if (known.size >= limits.knownTokens) known.delete(known.keys().next().value!)
      known.set(key, { token, until: now + seconds * 1000 - EARLY_MS })
      return token
    },
    async fetch(context, url, init = {}) {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${await upstream.token(context)}`)
      return fetch(url, { signal: context.signal, ...init, headers, redirect: 'manual' })
    },
  }
  return Object.freeze(upstream)
}

/** A token is got again this long before it ends, so that none ends on its way. */
const EARLY_MS = 10_000
/** How long a token is taken to live whose issuer does not say. */
const DEFAULT_SECONDS = 60

/** @param subject the token to exchange, where one is */
async function get(
  name: string,
  options: UpstreamOptions,
  env: object,
  subject: string | undefined,
): Promise<TokenEndpointResponse> {
  const server: AuthorizationServer = {
    issuer: new URL(options.tokenEndpoint).origin,
    token_endpoint: options.tokenEndpoint,
  }
  const client: Client = { client_id: options.clientId }
  const parameters = parametersOf(options)
  const http = { signal: () => AbortSignal.timeout(limits.issuerFetchMs), [allowInsecureRequests]: true }
  const proof = proofOf(name, options, env)
  try {
    if (subject === undefined) {
      const response = await clientCredentialsGrantRequest(server, client, proof, parameters, http)
      return await processClientCredentialsResponse(server, client, response)
    }
    parameters.set('subject_token', subject)
    parameters.set('subject_token_type', ACCESS_TOKEN)
    parameters.set('requested_token_type', ACCESS_TOKEN)
    const response = await genericTokenEndpointRequest(server, client, proof, TOKEN_EXCHANGE, parameters, http)
    return await processGenericTokenEndpointResponse(server, client, response)
  } catch (error) {
    throw refusal(name, error)
  }
}

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

function parametersOf({ scopes, resource, audience }: UpstreamOptions): URLSearchParams {
  return new URLSearchParams({
    ...(scopes && { scope: scopes.join(' ') }),
    ...(resource !== undefined && { resource }),
    ...(audience !== undefined && { audience }),
  })
}

function proofOf(name: string, { clientSecret, method }: UpstreamOptions, env: object): ClientAuth {
  const secret = (env as { [name: string]: unknown })[clientSecret]
  if (typeof secret !== 'string' || secret === '') {
    const problem = missingSecret(clientSecret) ?? 'its clientSecret is not the name of a secret that is set'
    throw new TypeError(`cannot get a token for ${name}: ${problem}`)
  }
  return method === 'post' ? ClientSecretPost(secret) : ClientSecretBasic(secret)
}

function subjectToken(name: string, auth: Auth): string {
  const token = tokenOf(auth)
  if (token !== undefined) return token
  throw new ToolError(
    `${name} cannot be called for you here: there is no access token of yours to exchange. Call again.`,
  )
}

/**
 * What is a matter between the provider and this caller is told to the model, by its code alone. Everything else is for the
 * operator, what the provider says of this server as a client too.
 */
function refusal(name: string, cause: unknown): Error {
  if (cause instanceof ResponseBodyError && OURS.has(cause.error)) {
    const said = cause.error_description === undefined ? '' : `: ${clip(cause.error_description)}`
    return new Error(`cannot get a token for ${name}: ${cause.error}${said}`, { cause })
  }
  if (cause instanceof ResponseBodyError) {
    return Object.assign(
      new ToolError(`${name} cannot be called for you: its provider refused a token (${cause.error})`),
      { cause },
    )
  }
  return new Error(`cannot get a token for ${name}`, { cause })
}

/** Errors of which no caller is to blame. @see RFC 6749, 5.2 */
const OURS: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client', 'unsupported_grant_type'])

function checkEndpoint(name: string, endpoint: string): void {
  if (URL.canParse(endpoint) && isSafe(new URL(endpoint))) return
  throw new TypeError(`cannot define upstream "${name}": tokenEndpoint must be an https URL`)
}
