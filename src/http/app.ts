// The routes, and the order of checks: CORS → Origin → method → the endpoint. Every response carries CORS headers.

import { Hono } from 'hono'
import { parseConfig, type Config } from '../config.ts'
import { failure, report } from '../observability/sink.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { eraOfHeader } from '../protocol/era.ts'
import type { Server } from '../server/define-server.ts'
import { secretKeys } from '../server/keys.ts'
import type { KeySource } from '../server/ports.ts'
import { createSealer } from '../server/sealer.ts'
import { warnings } from '../server/warnings.ts'
import { Endpoint } from './endpoint.ts'
import { ALLOW, EMPTY_HEADERS, HTML_HEADERS, preflightHeaders } from './headers.ts'
import { landingPage } from './landing.tsx'
import { refuseOrigin } from './origin.ts'
import { errorResponse } from './respond.ts'

/** What the server needs from outside. */
export interface AppOptions {
  server: Server
  /** Where sealing keys come from when no `STATE_KEYS` secret is set. */
  keys: KeySource
}

type App = Hono<{ Bindings: Cloudflare.Env; Variables: { config: Config } }>

/** The app that serves one MCP server at `/mcp`. */
export function createApp({ server, keys }: AppOptions): App {
  const readKeys = secretKeys((env) => parseConfig(env).stateKeys, keys)
  const endpoint = new Endpoint(server, createSealer(readKeys))
  const preflight = preflightHeaders(server.paramHeaders)
  const app: App = new Hono({ strict: false })
  const readConfig = configReader()

  app.get('/health', () => new Response('ok', { headers: EMPTY_HEADERS }))
  app.use(async (c, next) => {
    const config = readConfig(c.env)
    if (config instanceof Response) return config
    const refused = refuseOrigin(c.req.raw, config)
    if (refused !== undefined)
      return errorResponse(new ProtocolError('Forbidden', `Forbidden: ${refused}`), eraOf(c.req.raw))
    c.set('config', config)
    return next()
  })
  app.options('*', () => new Response(null, { status: 204, headers: preflight }))
  app.get('/', (c) => c.body(landingPage(server, endpointUrl(c.req.raw, c.var.config)), { headers: HTML_HEADERS }))
  app.post('/mcp', (c) =>
    endpoint.post({ request: c.req.raw, env: c.env, execution: c.executionCtx, config: c.var.config }),
  )
  app.all('/mcp', (c) => {
    if (c.req.method === 'GET' && c.req.header('accept')?.includes('text/html')) {
      const headers = new Headers(HTML_HEADERS)
      headers.set('allow', ALLOW)
      return new Response(landingPage(server, endpointUrl(c.req.raw, c.var.config)), { status: 405, headers })
    }
    return errorResponse(new ProtocolError('MethodNotAllowed', `Method not allowed: send ${ALLOW}`), eraOf(c.req.raw))
  })
  app.notFound(() => new Response('Not found: the MCP endpoint is /mcp', { status: 404, headers: EMPTY_HEADERS }))
  app.onError((error) => {
    report(failure(error, {}))
    return errorResponse(new ProtocolError('InternalError', 'Internal error'), 'modern')
  })
  return app
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

function endpointUrl(request: Request, { publicUrl }: Config): string {
  return new URL('/mcp', publicUrl ?? request.url).href
}

function eraOf(request: Request): 'modern' | 'legacy' {
  return eraOfHeader(request.headers.get('mcp-protocol-version'))
}
