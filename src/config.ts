// Environment → Config, parsed once per isolate. Every error names the variable.

import * as z from 'zod'

const Key = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'each key is 32 bytes as base64url, 43 characters')

const Variables = z.object({
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'a whole URL, such as https://mcp.example.com' })
    .refine((url) => !URL.canParse(url) || new URL(url).pathname === '/', 'without a path: the endpoint is always /mcp')
    .optional(),
  ALLOWED_ORIGINS: z
    .string()
    .default('')
    .transform((list) => list.split(/[\s,]+/).filter(Boolean))
    .pipe(
      z.array(
        z
          .url({ protocol: /^https?$/, error: 'each is an origin, such as https://app.example.com' })
          .transform((url) => new URL(url).origin),
      ),
    ),
  STATE_KEYS: z
    .string()
    .transform((list) => list.split(/[\s,]+/).filter(Boolean))
    .pipe(z.array(Key).min(1))
    .optional(),
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
    log: LOG,
  }
}

/** How many objects share the listeners of change notifications, 1 to 64. */
export function shardsOf(env: { LISTEN_SHARDS?: unknown }): number {
  return Shards.parse(env.LISTEN_SHARDS)
}

/** What is logged, where a wrong variable must not be in the way: inside an object, which may have an alarm to answer. */
export function logOf(env: { LOG?: unknown }): Config['log'] {
  return Log.parse(env.LOG)
}
