// This server as a client of the upstream OpenID provider: where to send the browser, and whom a code stands for.

import * as oauth from 'oauth4webapi'
import type { UpstreamConfig } from './config.ts'
import { authorizationLimits } from './limits.ts'
import { trustedFetch } from './outbound.ts'
import type { User } from './session.ts'

/** What is kept on this side between the redirect to the provider and the way back. */
export interface PendingLogin {
  verifier: string
  nonce: string
}

let known: { issuer: string; metadata: oauth.AuthorizationServer; until: number } | undefined

/**
 * The URL of the provider's sign-in page.
 * @param choose true asks the provider to let the person choose among accounts
 * @throws when the provider cannot be reached or is another than `issuer`
 */
export async function loginUrl(
  config: UpstreamConfig,
  redirectUri: string,
  state: string,
  { verifier, nonce }: PendingLogin,
  choose: boolean,
): Promise<string> {
  const { authorization_endpoint: endpoint } = await discover(config)
  const url = new URL(endpoint!)
  const parameters = {
    response_type: 'code',
    client_id: config.clientId,
    redirect_uri: redirectUri,
    scope: config.scope,
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(choose ? { prompt: 'select_account' } : {}),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

/** A new verifier and nonce. */
export function newLogin(): PendingLogin {
  return { verifier: oauth.generateRandomCodeVerifier(), nonce: oauth.generateRandomNonce() }
}

/**
 * Exchanges the code of a callback and validates the ID token: signature, issuer, audience, times and nonce.
 * @throws when any of it is wrong, or the provider cannot be reached
 */
export async function userOf(
  config: UpstreamConfig,
  redirectUri: string,
  callback: URL,
  { verifier, nonce }: PendingLogin,
): Promise<User> {
  const server = await discover(config)
  const client: oauth.Client = { client_id: config.clientId }
  // `state` has been checked and used up: the library's transaction is named after it.
  const parameters = oauth.validateAuthResponse(server, client, callback, callback.searchParams.get('state') ?? '')
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    clientAuthentication(server, config.clientSecret),
    parameters,
    redirectUri,
    verifier,
    options(config),
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(server, response, options(config))
  return toUser(oauth.getValidatedIdTokenClaims(tokens)!)
}

async function discover(config: UpstreamConfig): Promise<oauth.AuthorizationServer> {
  if (known?.issuer === config.issuer && Date.now() < known.until) return known.metadata
  const issuer = new URL(config.issuer)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...options(config) })
  const metadata = await oauth.processDiscoveryResponse(issuer, response)
  // The function above takes `https://a` for `https://a/`; issuers are compared exactly.
  if (metadata.issuer !== config.issuer) throw new TypeError('the upstream provider names another issuer')
  if (metadata.authorization_endpoint === undefined) throw new TypeError('the upstream provider has no sign-in page')
  known = { issuer: config.issuer, metadata, until: Date.now() + authorizationLimits.upstreamMetadataMs }
  return metadata
}

function clientAuthentication(server: oauth.AuthorizationServer, secret: string): oauth.ClientAuth {
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic') ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret)
}

function options(config: UpstreamConfig) {
  return {
    [oauth.customFetch]: (url: string, init: object) => trustedFetch(url, init),
    // The configuration lets http in for loopback alone.
    [oauth.allowInsecureRequests]: config.issuer.startsWith('http:'),
    signal: () => AbortSignal.timeout(authorizationLimits.upstreamTimeoutMs),
  }
}

/** The library's tokens take no ":", and its keys are not endless. @throws for a subject too long to be stored */
function toUser({ sub, name, email }: oauth.IDToken): User {
  const userId = encodeURIComponent(sub)
  if (userId.length > authorizationLimits.userIdBytes) throw new TypeError('the subject of the ID token is too long')
  return {
    userId,
    ...(typeof name === 'string' ? { name: name.slice(0, authorizationLimits.claimCharacters) } : {}),
    ...(typeof email === 'string' ? { email: email.slice(0, authorizationLimits.claimCharacters) } : {}),
  }
}
