// The routes, and the order of checks: CORS → Origin → method → the endpoint. Every response carries CORS headers.

import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { parseConfig, type Config } from '../config.ts'
import { failure, report } from '../observability/sink.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { eraOfHeader } from '../protocol/era.ts'
import type { Server } from '../server/define-server.ts'
import { secretKeys } from '../server/keys.ts'
import { ANONYMOUS, type Auth, type KeySource } from '../server/ports.ts'
import { createSealer } from '../server/sealer.ts'
import type { ListenPort } from '../server/listen-port.ts'
import type { TaskPort } from '../server/task-port.ts'
import { warnings } from '../server/warnings.ts'
import { Endpoint, type Arrival } from './endpoint.ts'
import { ALLOW, EMPTY_HEADERS, HTML_HEADERS, PAGE_405_HEADERS, preflightHeaders } from './headers.ts'
import { landingPage } from './landing.ts'
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
  /**
   * Who sends a request to the endpoint: `{ principal }`. Sessions, tasks and `requestState` are bound to the principal.
   * `{ principal: 'anonymous' }` is a stranger, as everybody is without it. `ProtocolError` refuses the request; anything
   * else it throws is 503, and logged.
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
  const checked = (handle: (arrival: Arrival) => Response | Promise<Response>) => (c: AppContext) => {
    const request = c.req.raw
    const config = readConfig(c.env)
    if (config instanceof Response) return config
    const refused = refuseOrigin(request, config)
    if (refused !== undefined)
      return errorResponse(new ProtocolError('Forbidden', `Forbidden: ${refused}`), eraOf(request))
    return handle({ request, env: c.env, execution: c.executionCtx, config, auth: ANONYMOUS })
  }
  /** The same for the endpoint, where it matters who is calling. */
  const identified = (handle: (arrival: Arrival) => Response | Promise<Response>) => {
    if (!authenticate) return checked(handle)
    return checked(async (arrival) => {
      try {
        return await handle({ ...arrival, auth: await authenticate(arrival.request, arrival.env) })
      } catch (error) {
        const isRefusal = error instanceof ProtocolError
        if (!isRefusal) report(failure(error, {}), arrival.config.log)
        // Who cannot be told apart now is let in as nobody.
        const answer = isRefusal
          ? error
          : new ProtocolError('Unavailable', 'It cannot be told now who is calling: try again')
        return errorResponse(answer, eraOf(arrival.request))
      }
    })
  }

  app.post(
    '/mcp',
    identified((arrival) => endpoint.post(arrival)),
  )
  app.get(
    '/mcp',
    identified((arrival) => (wantsPage(arrival) ? page(server, arrival, 405) : endpoint.get(arrival))),
  )
  app.delete(
    '/mcp',
    identified((arrival) => endpoint.delete(arrival)),
  )
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
  app.get('/health', () => new Response('ok', { headers: EMPTY_HEADERS }))
  app.notFound(
    checked(() => new Response('Not found: the MCP endpoint is /mcp', { status: 404, headers: EMPTY_HEADERS })),
  )
  app.onError((error) => {
    report(failure(error, {}))
    return errorResponse(new ProtocolError('InternalError', 'Internal error'), 'modern')
  })
  return app
}

/** True for a browser. A client that names the type of streams wants one of those, whatever else it takes. */
function wantsPage({ request }: Arrival): boolean {
  const accept = request.headers.get('accept')?.toLowerCase() ?? ''
  return accept.includes('text/html') && !accept.includes('text/event-stream')
}

function page(server: Server, { request, config }: Arrival, status: 200 | 405): Response {
  const endpoint = new URL('/mcp', config.publicUrl ?? request.url).href
  return new Response(landingPage(server, endpoint), {
    status,
    headers: status === 405 ? PAGE_405_HEADERS : HTML_HEADERS,
  })
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
