// One set-up authorization server: its configuration and the library that speaks the protocol. Made once per isolate.

import { OAuthAuthorizationServer, type OAuthHelpers } from '@cloudflare/workers-oauth-provider'
import { report } from '../observability/sink.ts'
import { parseAuthorizationConfig, type AuthorizationConfig } from './config.ts'
import type { AuthorizationEnv } from './env.ts'
import { tolerantKv } from './kv.ts'
import { guardOutbound } from './outbound.ts'
import { createRequestLimit } from './rate-limit.ts'

/** What every part of the server works with. */
export interface Site {
  config: AuthorizationConfig
  server: OAuthAuthorizationServer<AuthorizationEnv>
  /** The environment, with a KV that never throws because of a key. */
  env: AuthorizationEnv
  oauth: OAuthHelpers
  /** Counts a request of a stranger: true if it is one too many. */
  isOverLimit: (request: Request) => Promise<boolean>
}

/** The default handler and the entrypoint may be given environments of their own. */
const sites = new WeakMap<AuthorizationEnv, Site>()

/** The site of an environment. @throws {TypeError} naming every variable that is wrong, or the binding that is missing */
export function siteOf(env: AuthorizationEnv): Site {
  const known = sites.get(env)
  if (known) return known
  const config = parseAuthorizationConfig(env)
  // Whatever its type says, the configuration may lack it.
  if ((env.OAUTH_KV as KVNamespace | undefined) === undefined) {
    throw new TypeError('cannot use the configuration: there is no KV binding OAUTH_KV')
  }
  guardOutbound({ issuer: config.issuer, loopback: config.upstream === undefined })
  const server = createServer(config)
  const tolerant = { ...env, OAUTH_KV: tolerantKv(env.OAUTH_KV) }
  const isOverLimit = createRequestLimit(config, env.REQUESTS)
  const site = { config, server, env: tolerant, oauth: server.getOAuthApi(tolerant), isOverLimit }
  sites.set(env, site)
  return site
}

function createServer(config: AuthorizationConfig): OAuthAuthorizationServer<AuthorizationEnv> {
  return new OAuthAuthorizationServer<AuthorizationEnv>({
    issuer: config.issuer,
    resources: config.resources,
    scopesSupported: config.scopes,
    accessTokenTTL: config.accessTokenSeconds,
    refreshTokenTTL: config.refreshTokenSeconds,
    clientIdMetadataDocumentEnabled: true,
    ...(config.registration ? { clientRegistrationEndpoint: '/oauth/register' } : {}),
    onError({ code, status, internal }) {
      const why = internal === undefined ? '' : ` (${internal.category}: ${internal.reason})`
      report({ event: 'warning', message: `refused with ${status} ${code}${why}` })
    },
  })
}
