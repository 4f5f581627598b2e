// Whether a token of this server is valid for a resource. Whatever is wrong with a token, the answer is null.

import type { ValidatedAccessToken } from '@cloudflare/workers-oauth-provider'
import type { Site } from './site.ts'

/** What a token of this server carries beside its standard fields. */
export interface TokenProps {
  sub: string
  name?: string
  email?: string
}

/** A token that is valid. `expiresAt` is in seconds, `scope` a list. */
export type ValidToken = ValidatedAccessToken<TokenProps>

/** The form of every token of this server: user id, grant, secret. */
const TOKEN = /^[^:\s]+:[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_-]{1,64}$/

/**
 * The token's data, or null when it is unknown, expired, revoked or for another resource, or the resource is none of
 * this server's.
 * @throws only when KV is down
 */
export async function validateToken(
  { server, config, env }: Site,
  resource: unknown,
  token: unknown,
): Promise<ValidToken | null> {
  if (typeof resource !== 'string' || typeof token !== 'string') return null
  if (!config.resources.includes(resource) || !TOKEN.test(token)) return null
  return server.validateToken<TokenProps>(resource, token, env)
}
