// Environment → Config, parsed once per isolate. Every error names the variable.

import * as z from 'zod'
import { parseIssuers, type Issuer } from './auth/settings.ts'

const Key = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'each key is 32 bytes as base64url, 43 characters')

/** Parts of a list, between spaces or commas. */
const list = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

const WINDOWS_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** A scope token of OAuth. A refresh token is no matter of this server, so it may not ask for one. */
const Scope = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope has no spaces, quotes or backslashes')
  .refine((scope) => scope !== 'offline_access', 'offline_access is a matter between clients and the issuer')

const Variables = z.object({
  AUTH: z.enum(['none', 'oauth']).default('none'),
  SCOPES_SUPPORTED: z.string().transform(list).pipe(z.array(Scope)).optional(),
  LEGACY_AUTH_METADATA: z.enum(['on', 'off']).default('on'),
  RATE_LIMIT: z.enum(['on', 'off']).default('on'),
  QUOTA: z
    .string()
    .regex(/^[1-9]\d{0,8}\/(?:minute|hour|day)$/, 'calls in a time, such as 1000/day (or /hour, /minute)')
    .optional(),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'a whole URL, such as https://mcp.example.com' })
    .refine((url) => !URL.canParse(url) || new URL(url).pathname === '/', 'without a path: the endpoint is always /mcp')
    .optional(),
  ALLOWED_ORIGINS: z
    .string()
    .default('')
    .transform(list)
    .pipe(
      z.array(
        z
          .url({ protocol: /^https?$/, error: 'each is an origin, such as https://app.example.com' })
          .transform((url) => new URL(url).origin),
      ),
    ),
  STATE_KEYS: z.string().transform(list).pipe(z.array(Key).min(1)).optional(),
  SESSIONS: z.enum(['optional', 'required', 'off']).default('optional'),
  SSE_PRIMING: z.enum(['on', 'off']).default('on'),
  DEAD_SESSION_GET: z.enum(['404', '405']).default('404'),
  LISTEN_SHARDS: z.coerce.number('a number of shards').int('a whole number').min(1).max(64).default(1),
  RESUMABLE_LISTEN: z.enum(['on', 'off']).default('off'),
  LOG: z.enum(['requests', 'errors', 'off']).default('requests'),
})
const Log = Variables.shape.LOG.catch('errors')
const Shards = Variables.shape.LISTEN_SHARDS.catch(1)

/** How this deployment is set up. */
export interface Config {
  /** Where clients reach this server, when that is not the URL of the request: behind a proxy or a tunnel. */
  publicUrl: URL | undefined
  /** Origins of web pages that may call, beside the server's own and those on the user's machine. */
  allowedOrigins: ReadonlySet<string>
  /** Sealing keys given as a secret, newest first. Undefined: the KeyRing mints them. */
  stateKeys: readonly string[] | undefined
  /** `required` refuses legacy requests without a session id, `off` mints none. */
  sessions: 'optional' | 'required' | 'off'
  /** False sends no empty first event and no `retry:`, for gateways that choke on them. */
  priming: boolean
  /** The status of a GET with a dead session id. 405 quiets clients that otherwise ask again for ever. */
  deadSessionGet: 404 | 405
  /** True for the extension `dev.mcp-edge/resumable-listen`. */
  resumableListen: boolean
  /** Whose tokens are taken. Undefined without authorization: everybody is let in. */
  issuers: readonly Issuer[] | undefined
  /** The scopes a client should begin with. Undefined: all that definitions name. */
  scopesSupported: readonly string[] | undefined
  /** True to show clients of 2025-03-26 the way to the first issuer. */
  legacyAuthMetadata: boolean
  /** False switches rate limits off. */
  rateLimit: boolean
  /** Tool calls one principal may make in a time. */
  quota: { calls: number; windowMs: number } | undefined
  /** `requests` logs one line per request, `errors` only failures. */
  log: 'requests' | 'errors' | 'off'
}

/**
 * Reads the variables.
 * @throws {TypeError} naming every variable that is wrong, never its value
 */
export function parseConfig(env: object): Config {
  const parsed = Variables.safeParse(env)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${String(path[0])}: ${message}`)
    throw new TypeError(`cannot use the configuration: ${problems.join('; ')}`)
  }
  const { AUTH, AUTH_ISSUERS } = env as { AUTH?: unknown; AUTH_ISSUERS?: unknown }
  // Somebody meant to let only some in.
  if (AUTH === undefined && AUTH_ISSUERS !== undefined) {
    throw new TypeError('cannot use the configuration: AUTH: must be "oauth" for AUTH_ISSUERS to count, or "none"')
  }
  const issuers = parsed.data.AUTH === 'oauth' ? issuersOf(AUTH_ISSUERS, env) : undefined
  const { PUBLIC_URL, ALLOWED_ORIGINS, STATE_KEYS, SESSIONS, SSE_PRIMING, DEAD_SESSION_GET, RESUMABLE_LISTEN, LOG } =
    parsed.data
  return {
    publicUrl: PUBLIC_URL === undefined ? undefined : new URL(PUBLIC_URL),
    allowedOrigins: new Set(ALLOWED_ORIGINS),
    stateKeys: STATE_KEYS,
    sessions: SESSIONS,
    priming: SSE_PRIMING === 'on',
    deadSessionGet: DEAD_SESSION_GET === '405' ? 405 : 404,
    resumableListen: RESUMABLE_LISTEN === 'on',
    issuers,
    scopesSupported: parsed.data.SCOPES_SUPPORTED,
    legacyAuthMetadata: parsed.data.LEGACY_AUTH_METADATA === 'on',
    rateLimit: parsed.data.RATE_LIMIT === 'on',
    quota: quotaOf(parsed.data.QUOTA),
    log: LOG,
  }
}

function issuersOf(value: unknown, env: object): Issuer[] {
  const issuers = parseIssuers(value, env)
  if (Array.isArray(issuers)) return issuers
  const problems = issuers.problems.map((problem) => `AUTH_ISSUERS: ${problem}`)
  throw new TypeError(`cannot use the configuration: ${problems.join('; ')}`)
}

function quotaOf(text: string | undefined): Config['quota'] {
  const [calls, window] = text?.split('/') ?? []
  return window === undefined
    ? undefined
    : { calls: Number(calls), windowMs: WINDOWS_MS[window as keyof typeof WINDOWS_MS] }
}

/** How many objects share the listeners of change notifications, 1 to 64. */
export function shardsOf(env: { LISTEN_SHARDS?: unknown }): number {
  return Shards.parse(env.LISTEN_SHARDS)
}

/** What is logged, where a wrong variable must not be in the way: inside an object, which may have an alarm to answer. */
export function logOf(env: { LOG?: unknown }): Config['log'] {
  return Log.parse(env.LOG)
}
