// The routes, and the order of checks: CORS → Origin → method → who is calling → the endpoint. Every response carries CORS
// headers. Open to everybody are preflights, the page for people, /health and what OAuth clients look up.

import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { Authenticator } from '../auth/authenticator.ts'
import { discover } from '../auth/discovery.ts'
import { METADATA_PATH, resourceMetadata, resourceUrl } from '../auth/protected-resource.ts'
import { Refreshing } from '../auth/refreshing.ts'
import { parseConfig, type Config } from '../config.ts'
import { failure, report } from '../observability/sink.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { eraOfHeader } from '../protocol/era.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { Server } from '../server/define-server.ts'
import { secretKeys } from '../server/keys.ts'
import { ANONYMOUS, type Auth, type KeySource } from '../server/ports.ts'
import { createSealer } from '../server/sealer.ts'
import type { QuotaPort } from '../server/quota-port.ts'
import type { ListenPort } from '../server/listen-port.ts'
import type { TaskPort } from '../server/task-port.ts'
import { warnings } from '../server/warnings.ts'
import { Endpoint, type Arrival } from './endpoint.ts'
import { ALLOW, EMPTY_HEADERS, HTML_HEADERS, METADATA_HEADERS, PAGE_405_HEADERS, preflightHeaders } from './headers.ts'
import { landingPage } from './landing.ts'
import { GuessLimits } from './guess-limits.ts'
import { refuseOrigin } from './origin.ts'
import { errorResponse } from './respond.ts'
import type { SessionPort } from './session.ts'

/** What the server needs from outside. */
export interface AppOptions {
  server: Server
  /** Where sealing keys come from when no `STATE_KEYS` secret is set. */
  keys: KeySource
  /** Where legacy sessions live. */
  sessions: SessionPort
  /** Where tasks live. */
  tasks: TaskPort
  /** Where changes are published and listened to. */
  hubs: ListenPort
  /** Where tool calls are counted, if there is a quota. */
  quotas: QuotaPort
  /**
   * Who sends a request to the endpoint, in place of what AUTH says, for deployments behind something that already knows.
   * Sessions, tasks and `requestState` are bound to the `principal` it returns; `{ principal: 'anonymous' }` is a stranger.
   * Without `scopes` a caller has none. `ProtocolError` refuses the request; anything else it throws is 503, and logged.
   */
  authenticate?: Authenticate
}

/** Finds out who sends a request. */
export type Authenticate = (request: Request, env: Cloudflare.Env) => Auth | Promise<Auth>

type App = Hono<{ Bindings: Cloudflare.Env }>
type AppContext = Context<{ Bindings: Cloudflare.Env }>

/** The app that serves one MCP server at `/mcp`. */
export function createApp({ server, keys, authenticate, ...ports }: AppOptions): App {
  const readKeys = secretKeys((env) => parseConfig(env).stateKeys, keys)
  const endpoint = new Endpoint(server, createSealer(readKeys), ports)
  const preflight = preflightHeaders(server.paramHeaders)
  const app: App = new Hono({ strict: false })
  const readConfig = configReader()

  /** A handler behind the checks every request goes through. One handler a route is hono's shortest path. */
  const checked =
    (handle: (arrival: Arrival) => Response | Promise<Response>, isPublic = false) =>
    (c: AppContext) => {
      const request = c.req.raw
      const config = readConfig(c.env)
      if (config instanceof Response) return config
      const refused = refuseOrigin(request, config, isPublic)
      if (refused !== undefined)
        return errorResponse(new ProtocolError('Forbidden', `Forbidden: ${refused}`), eraOf(request))
      return handle({ request, env: c.env, execution: c.executionCtx, config, auth: ANONYMOUS })
    }
  const authenticatorOf = perConfig((config) => {
    return (
      config.issuers &&
      new Authenticator(config, config.issuers, scopesToBeginWith(server, config), new GuessLimits(config))
    )
  })
  /** The same for the endpoint, where it matters who is calling. */
  const identified = (handle: (arrival: Arrival) => Promise<Response>) =>
    checked((arrival) => {
      const authenticator = authenticate ? { authenticate } : authenticatorOf(arrival.config)
      return authenticator ? handleIdentified(handle, arrival, authenticator) : handle(arrival)
    })

  app.post(
    '/mcp',
    identified((arrival) => endpoint.post(arrival)),
  )
  const get = identified((arrival) => endpoint.get(arrival))
  const show = checked((arrival) => page(server, arrival, 405))
  app.get('/mcp', (c) => (wantsPage(c.req.raw) ? show(c) : get(c)))
  app.delete(
    '/mcp',
    identified((arrival) => endpoint.delete(arrival)),
  )
  // What OAuth clients look up before they are anybody, any page may.
  for (const path of [METADATA_PATH, ISSUER_PATH].flatMap((each) => [each, `${each}/*`])) {
    app.options(
      path,
      checked(() => new Response(null, { status: 204, headers: preflight }), true),
    )
  }
  app.options(
    '*',
    checked(() => new Response(null, { status: 204, headers: preflight })),
  )
  app.all(
    '/mcp',
    checked(({ request }) => {
      return errorResponse(new ProtocolError('MethodNotAllowed', `Method not allowed: send ${ALLOW}`), eraOf(request))
    }),
  )
  app.get(
    '/',
    checked((arrival) => page(server, arrival, 200)),
  )
  const document = checked(({ request, config }) => metadata(server, request, config), true)
  for (const path of [METADATA_PATH, `${METADATA_PATH}/mcp`]) app.get(path, document)
  const issuerOf = perConfig(({ issuers, legacyAuthMetadata }) => {
    const [first] = legacyAuthMetadata ? (issuers ?? []) : []
    return first && new Refreshing((signal) => discover(first.issuer, signal))
  })
  const issuer = checked(({ config }) => issuerMetadata(issuerOf(config), config), true)
  for (const path of [ISSUER_PATH, `${ISSUER_PATH}/mcp`]) app.get(path, issuer)
  app.get('/health', () => new Response('ok', { headers: EMPTY_HEADERS }))
  app.notFound(checked(() => notFound()))
  app.onError((error) => {
    report(failure(error, {}))
    return errorResponse(new ProtocolError('InternalError', 'Internal error'), 'modern')
  })
  return app
}

/** Finds out who is calling, and lets nobody else in. */
async function handleIdentified(
  handle: (arrival: Arrival) => Promise<Response>,
  arrival: Arrival,
  authenticator: { authenticate: Authenticate },
): Promise<Response> {
  const { request, env, config } = arrival
  try {
    return await handle({ ...arrival, auth: await authenticator.authenticate(request, env) })
  } catch (error) {
    const isRefusal = error instanceof ProtocolError
    if (!isRefusal) report(failure(error, {}), config.log)
    // Who cannot be told apart now is let in as nobody.
    const answer = isRefusal
      ? error
      : new ProtocolError('Unavailable', 'It cannot be told now who is calling: try again')
    return errorResponse(answer, eraOf(request))
  }
}

/** True for a browser. A client that names the type of streams wants one of those, whatever else it takes. */
function wantsPage({ headers }: Request): boolean {
  const accept = headers.get('accept')?.toLowerCase() ?? ''
  return accept.includes('text/html') && !accept.includes('text/event-stream')
}

function page(server: Server, { request, config }: Arrival, status: 200 | 405): Response {
  // Instructions are for who may call.
  const shown = config.issuers ? { ...server, instructions: undefined } : server
  return new Response(landingPage(shown, resourceUrl(config, request.url)), {
    status,
    headers: status === 405 ? PAGE_405_HEADERS : HTML_HEADERS,
  })
}

/** The document about this server as a protected resource. @see RFC 9728, 3 */
function metadata(server: Server, request: Request, config: Config): Response {
  if (!config.issuers) return notFound()
  const issuers = config.issuers.map(({ issuer }) => issuer)
  const resource = resourceUrl(config, request.url)
  const document = resourceMetadata(server, resource, issuers, scopesToBeginWith(server, config))
  return Response.json(document, { headers: METADATA_HEADERS })
}

/**
 * Clients of 2025-03-26 look for the metadata of the issuer at this server, which then was thought to be one. Sent itself, since
 * many follow no redirect to another origin. @see 2025-03-26 basic/authorization, Server Metadata Discovery
 */
async function issuerMetadata(issuer: Refreshing<JsonObject> | undefined, { log }: Config): Promise<Response> {
  if (!issuer) return notFound()
  try {
    return Response.json(await issuer.get(), { headers: METADATA_HEADERS })
  } catch (error) {
    report(failure(error, {}), log)
    return errorResponse(
      new ProtocolError('Unavailable', 'The issuer of tokens cannot be reached: try again'),
      'modern',
    )
  }
}

const ISSUER_PATH = '/.well-known/oauth-authorization-server'

/** What a host should ask the user for at first. Unless somebody chose, all there is: some hosts cannot ask for more later. */
function scopesToBeginWith(server: Server, { scopesSupported, issuers }: Config): readonly string[] {
  // As the first issuer calls them, which is the one that clients try first.
  const { scopePrefix = '' } = issuers?.[0] ?? {}
  return (scopesSupported ?? [...server.scopes]).map((scope) => scopePrefix + scope)
}

function notFound(): Response {
  return new Response('Not found: the MCP endpoint is /mcp', { status: 404, headers: EMPTY_HEADERS })
}

/** Makes something of a configuration once, and keeps it as long as that stays the same. */
function perConfig<T>(make: (config: Config) => T): (config: Config) => T {
  let known: { config: Config; made: T } | undefined
  return (config) => {
    if (known?.config !== config) known = { config, made: make(config) }
    return known.made
  }
}

/** Parses the configuration once per environment. A broken one answers 503 and says in the log which variable it is. */
function configReader(): (env: Cloudflare.Env) => Config | Response {
  let known: { env: Cloudflare.Env; config: Config } | undefined
  return (env) => {
    if (known?.env === env) return known.config
    try {
      known = { env, config: parseConfig(env) }
      for (const message of warnings()) report({ event: 'warning', message }, known.config.log)
      return known.config
    } catch (error) {
      report(failure(error, {}))
      return errorResponse(new ProtocolError('Unavailable', 'The server is not configured: see its log'), 'modern')
    }
  }
}

function eraOf(request: Request): 'modern' | 'legacy' {
  return eraOfHeader(request.headers.get('mcp-protocol-version'))
}
