// Environment → AuthorizationConfig, parsed once per isolate. Every error names the variable, never a value. Pure, and
// without types of the platform: a deployment is checked with it in Node.

import * as z from 'zod'
import { isLoopback } from './loopback.ts'

/** A resource server that may ask about tokens. */
export interface IntrospectionClient {
  clientId: string
  clientSecret: string
  /** The only resource whose tokens it learns about. */
  resource: string
}

/** The OpenID provider at which people sign in. */
export interface UpstreamConfig {
  /** Compared exactly with what the provider says. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Always with `openid`. */
  scope: string
}

/** How this authorization server is set up. */
export interface AuthorizationConfig {
  /** An origin, without a slash at its end. */
  issuer: string
  /** Whom tokens are for: canonical URLs of MCP endpoints. */
  resources: string[]
  /** Everything that can be granted. */
  scopes: string[]
  /** What is offered to clients that ask for nothing. */
  defaultScopes: string[]
  /** True if any program may register itself, for hosts without Client ID Metadata Documents. */
  registration: boolean
  /** Undefined for the development login: any name, no password. Taken where `issuer` is on loopback. */
  upstream: UpstreamConfig | undefined
  cookieSecret: string
  introspectionClients: IntrospectionClient[]
  accessTokenSeconds: number
  /** 0 issues no refresh tokens. */
  refreshTokenSeconds: number
  /** False where something else limits how often strangers may ask. */
  rateLimit: boolean
}

const Secret = z.string('a secret of at least 32 characters').min(32, 'a secret of at least 32 characters')

const list = (value: unknown): unknown =>
  typeof value === 'string' ? value.split(/[\s,]+/).filter((item) => item !== '') : value
const json = (value: unknown): unknown => {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    // Left as it is, to be refused as what it is not.
    return value
  }
}

/** https, or http on this machine: a token never crosses a network in the clear. */
function isSafe(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

const Issuer = z
  .string('the URL of this server, such as https://auth.example.com')
  .refine(
    (url) => isSafe(url) && new URL(url).origin === url,
    'an origin without path or slash, such as https://auth.example.com; http only on loopback',
  )
const Resource = z
  .string()
  .refine(
    (url) => isSafe(url) && !url.includes('#') && (new URL(url).href === url || new URL(url).origin === url),
    'each is the URL of an MCP endpoint, such as https://mcp.example.com/mcp; http only on loopback',
  )
const Scope = z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'each is a scope, without spaces and quotes')
const unique = (values: unknown[]): boolean => new Set(values).size === values.length

const Variables = z.object({
  ISSUER: Issuer,
  RESOURCES: z.preprocess(
    list,
    z.array(Resource, 'the URLs of the MCP endpoints').min(1, 'at least one').refine(unique, 'each once'),
  ),
  SCOPES_SUPPORTED: z.preprocess(list, z.array(Scope, 'a list of scopes').refine(unique, 'each once')).default([]),
  SCOPES_DEFAULT: z.preprocess(list, z.array(Scope, 'a list of scopes').refine(unique, 'each once')).default([]),
  DYNAMIC_REGISTRATION: z.enum(['off', 'on'], "'off' or 'on'").default('off'),
  DEV_LOGIN: z.enum(['off', 'on'], "'off' or 'on'").default('off'),
  UPSTREAM_ISSUER: z.string().refine(isSafe, 'the issuer of an OpenID provider; http only on loopback').optional(),
  UPSTREAM_CLIENT_ID: z.string().min(1).optional(),
  UPSTREAM_CLIENT_SECRET: z.string().min(1).optional(),
  UPSTREAM_SCOPES: z.preprocess(list, z.array(Scope, 'a list of scopes')).default(['openid', 'profile', 'email']),
  COOKIE_SECRET: Secret,
  INTROSPECTION_CLIENTS: z
    .preprocess(
      json,
      z.array(
        z.object(
          {
            clientId: z.string().min(1, 'clientId is empty'),
            clientSecret: z.string().min(1, 'clientSecret is the name of a secret'),
            resource: z.string(),
          },
          'each has clientId, clientSecret and resource',
        ),
        'an array of { clientId, clientSecret, resource }',
      ),
    )
    .default([]),
  ACCESS_TOKEN_SECONDS: z.coerce.number('a number').int('a whole number').min(60).max(86_400).default(3_600),
  REFRESH_TOKEN_SECONDS: z.coerce
    .number('a number')
    .int('a whole number')
    .refine((seconds) => seconds === 0 || seconds >= 60, '0, or at least 60')
    .default(30 * 86_400),
  RATE_LIMIT: z.enum(['off', 'on'], "'off' or 'on'").default('on'),
})
type Parsed = z.infer<typeof Variables>

/**
 * Reads the variables and secrets.
 * @throws {TypeError} naming every variable that is wrong, never its value
 */
export function parseAuthorizationConfig(env: object): AuthorizationConfig {
  const parsed = Variables.safeParse(env)
  const problems = parsed.success
    ? contradictions(parsed.data, env)
    : parsed.error.issues.map(({ path, message }) => `${String(path[0])}: ${message}`)
  if (!parsed.success || problems.length > 0) {
    throw new TypeError(`cannot use the configuration: ${[...new Set(problems)].join('; ')}`)
  }
  const { data } = parsed
  return {
    issuer: data.ISSUER,
    resources: data.RESOURCES,
    scopes: data.SCOPES_SUPPORTED,
    defaultScopes: data.SCOPES_DEFAULT,
    registration: data.DYNAMIC_REGISTRATION === 'on',
    upstream: upstreamOf(data),
    cookieSecret: data.COOKIE_SECRET,
    introspectionClients: data.INTROSPECTION_CLIENTS.map((client) => ({
      ...client,
      clientSecret: secretOf(env, client.clientSecret) ?? '',
    })),
    accessTokenSeconds: data.ACCESS_TOKEN_SECONDS,
    refreshTokenSeconds: data.REFRESH_TOKEN_SECONDS,
    rateLimit: data.RATE_LIMIT === 'on',
  }
}

/** What each variable alone does not show. */
function contradictions(data: Parsed, env: object): string[] {
  const problems: string[] = []
  const foreign = data.SCOPES_DEFAULT.filter((scope) => !data.SCOPES_SUPPORTED.includes(scope))
  if (foreign.length > 0) problems.push('SCOPES_DEFAULT: each must be in SCOPES_SUPPORTED')

  if (data.DEV_LOGIN === 'on') {
    if (!isLoopback(new URL(data.ISSUER).hostname)) {
      problems.push('DEV_LOGIN: it asks for no password, so it is refused unless ISSUER is on loopback')
    }
    if (data.UPSTREAM_ISSUER !== undefined) problems.push('DEV_LOGIN: cannot be on beside UPSTREAM_ISSUER')
  } else {
    if (data.UPSTREAM_ISSUER === undefined) problems.push('UPSTREAM_ISSUER: nobody can sign in without it')
    else if (data.UPSTREAM_CLIENT_ID === undefined) problems.push('UPSTREAM_CLIENT_ID: missing')
    else if (data.UPSTREAM_CLIENT_SECRET === undefined) problems.push('UPSTREAM_CLIENT_SECRET: this secret is not set')
  }

  const clients = data.INTROSPECTION_CLIENTS
  if (!unique(clients.map(({ clientId }) => clientId))) problems.push('INTROSPECTION_CLIENTS: each clientId once')
  for (const { clientId, clientSecret, resource } of clients) {
    if (!data.RESOURCES.includes(resource)) {
      problems.push(`INTROSPECTION_CLIENTS: the resource of "${clientId}" is not in RESOURCES`)
    }
    // Not by its name: who mistakes it for the secret has written the secret there.
    if (secretOf(env, clientSecret) === undefined) {
      problems.push(
        `INTROSPECTION_CLIENTS: the clientSecret of "${clientId}" names no secret of at least 32 characters`,
      )
    }
  }
  return problems
}

function upstreamOf(data: Parsed): UpstreamConfig | undefined {
  const { UPSTREAM_ISSUER: issuer, UPSTREAM_CLIENT_ID: clientId, UPSTREAM_CLIENT_SECRET: clientSecret } = data
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined
  return { issuer, clientId, clientSecret, scope: [...new Set(['openid', ...data.UPSTREAM_SCOPES])].join(' ') }
}

function secretOf(env: object, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name)
  return Secret.safeParse(value).data
}
