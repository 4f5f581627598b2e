// What the tests of calls onward share: a provider that gives out tokens for another service, that service, and callers.

import { createIssuer, type Issuer } from '../auth/issuer.ts'
import { createTenant, json, type Tenant } from '../auth/tenant.ts'
import { bearer } from '../isolation/support.ts'
import { defineUpstream, type Server, type Upstream, type UpstreamOptions } from '../../src/server/index.ts'
import type { Fetcher, JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'

export const SECRET = 'p:ss wörd&='

/** The provider's own words, which are for the operator. */
export const DESCRIPTION = 'the audience calendar is closed to client mcp-edge'

export interface Provider {
  tenant: Tenant
  /** `defineUpstream` with its token endpoint. */
  upstream(options?: Partial<UpstreamOptions>): Upstream
  /** From now on it gives out a token, `expires_in` and such beside it. */
  gives(token: string, more?: JsonObject): Promise<void>
  /** What it was asked for, oldest first: the form, and the `Authorization` header. */
  asked(): Promise<{ form: Record<string, string>; authorization: string | undefined }[]>
}

export function createProvider(): Provider {
  const tenant = createTenant()
  return {
    tenant,
    upstream: (options = {}) =>
      defineUpstream('calendar', {
        tokenEndpoint: `${tenant.url}/token`,
        clientId: 'mcp edge',
        clientSecret: 'CALENDAR_SECRET',
        grant: 'client_credentials',
        ...options,
      }),
    gives: (token, more = {}) =>
      tenant.set('/token', json({ access_token: token, token_type: 'Bearer', expires_in: 3600, ...more })),
    async asked() {
      return (await tenant.requests('/token')).map(({ body, headers }) => ({
        form: Object.fromEntries(new URLSearchParams(body)),
        authorization: headers['authorization'] as string | undefined,
      }))
    },
  }
}

export interface Callers {
  issuer: Issuer
  serve(
    server: Server | { tools: Server['tools'] extends ReadonlyMap<string, infer T> ? T[] : never },
    vars?: JsonObject,
  ): Fetcher
  /** A token of Ada, and its headers. */
  token(claims?: JsonObject): Promise<{ token: string; headers: Record<string, string> }>
}

export async function createCallers(): Promise<Callers> {
  const issuer = await createIssuer()
  const AUTH_ISSUERS = JSON.stringify([issuer.settings()])
  return {
    issuer,
    serve: (server, vars = {}) =>
      serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS, CALENDAR_SECRET: SECRET, ...vars } as object }),
    async token(claims = {}) {
      const token = await issuer.mint({ jti: crypto.randomUUID(), ...claims })
      return { token, headers: bearer(token) }
    },
  }
}
