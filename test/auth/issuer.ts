// An authorization server that tests own: real keys, and real HTTP for everything a resource server fetches of it.
// It mints what it is asked for, also what no honest issuer would.

import type { JsonObject } from '../support/client.ts'
import type { SiteAnswer, SiteRequest } from '../support/site.d.mts'
import { createKey, sign, type Algorithm, type SigningKey } from './sign.ts'
import { createTenant, json, type Tenant } from './tenant.ts'

/** The endpoint that tokens are for. */
export const RESOURCE = 'https://mcp.example.com/mcp'

export interface IssuerOptions {
  /** One key each, the first signs; one ES256 key by default. */
  algorithms?: readonly Algorithm[]
  /** Which discovery documents there are; by default the one of RFC 8414. */
  discovery?: 'oauth' | 'openid' | 'none'
}

export interface MintOptions {
  /** By default the newest. */
  key?: SigningKey
  /** Merged over `{ alg, kid, typ }`; `undefined` removes a member. */
  header?: JsonObject
}

/** How an issuer is down: connections are cut, answers are 500, or nothing is answered. */
export type Outage = 'cut' | '500' | 'hang'

export class Issuer {
  /** What `iss` says. */
  readonly url: string
  readonly tenant: Tenant
  /** Newest first. */
  readonly keys: SigningKey[]

  constructor(tenant: Tenant, keys: SigningKey[]) {
    this.url = tenant.url
    this.tenant = tenant
    this.keys = keys
  }

  /** The key that signs. */
  get key(): SigningKey {
    const [newest] = this.keys
    if (!newest) throw new Error('the issuer has no key left')
    return newest
  }

  /** Its settings in `AUTH_ISSUERS`. */
  settings(more: JsonObject = {}): JsonObject {
    return { issuer: this.url, id: 'main', audience: RESOURCE, ...more }
  }

  /** The claims of an ordinary token; what is `undefined` is left out. Times count from `Date.now()`. */
  claims(more: JsonObject = {}): JsonObject {
    const now = Math.floor(Date.now() / 1000)
    const ordinary = { iss: this.url, sub: 'ada', aud: RESOURCE, client_id: 'host', scope: 'notes:read' }
    return { ...ordinary, iat: now, exp: now + 3600, ...more }
  }

  /** A token with the claims of `claims(more)`, signed. */
  mint(more: JsonObject = {}, { key = this.key, header = {} }: MintOptions = {}): Promise<string> {
    return sign(key, { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header }, this.claims(more))
  }

  /** From now on another key signs; the old ones stay published. */
  async rotate(alg: Algorithm = 'ES256'): Promise<SigningKey> {
    const key = await createKey(alg)
    this.keys.unshift(key)
    await this.publish()
    return key
  }

  /** Takes a key out of what is published. */
  async remove({ kid }: SigningKey): Promise<void> {
    const at = this.keys.findIndex((key) => key.kid === kid)
    if (at >= 0) this.keys.splice(at, 1)
    await this.publish()
  }

  /** Publishes the keys, or an answer of your own in their place. */
  publish(answer: SiteAnswer = json({ keys: this.keys.map(({ jwk }) => jwk) })): Promise<void> {
    return this.tenant.set('/jwks', answer)
  }

  /** What its introspection endpoint answers for a token, or for every token that nothing was said about. */
  introspects(token: string | undefined, answer: SiteAnswer): Promise<void> {
    return this.tenant.set('/introspect', { ...answer, ...(token !== undefined && { contains: `token=${token}` }) })
  }

  /** From now on nothing of it can be had. */
  outage(how: Outage): Promise<void> {
    const answers = { cut: { drop: true }, '500': { status: 500, body: 'down' }, hang: { hang: true } }
    return this.tenant.set('/*', answers[how])
  }

  /** The end of an outage. */
  restore(): Promise<void> {
    return this.tenant.unset('/*')
  }

  /** What it was asked, only requests with `part` in their path if that is given. */
  requests(part?: string): Promise<SiteRequest[]> {
    return this.tenant.requests(part)
  }
}

/** Makes an issuer and publishes what it has. */
export async function createIssuer({
  algorithms = ['ES256'],
  discovery = 'oauth',
}: IssuerOptions = {}): Promise<Issuer> {
  const tenant = createTenant()
  const issuer = new Issuer(tenant, await Promise.all(algorithms.map(createKey)))
  await issuer.publish()
  if (discovery !== 'none') await tenant.set(WELL_KNOWN[discovery](tenant), json(metadata(issuer)))
  await issuer.introspects(undefined, json({ active: false }))
  return issuer
}

/** Where the discovery documents of an issuer with a path are. @see authorization-server-discovery */
export const WELL_KNOWN = {
  oauth: ({ name }: Tenant) => `/.well-known/oauth-authorization-server/${name}`,
  openid: ({ name }: Tenant) => `/.well-known/openid-configuration/${name}`,
  appended: () => '/.well-known/openid-configuration',
}

/** Its discovery document. */
export function metadata({ url }: Issuer): JsonObject {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/jwks`,
    introspection_endpoint: `${url}/introspect`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  }
}
