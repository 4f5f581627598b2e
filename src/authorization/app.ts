// The routes of the authorization server: pages and introspection are ours, what is left belongs to the library.

import type { MiddlewareHandler } from 'hono'
import { Hono } from 'hono/tiny'
import { failure, report } from '../observability/sink.ts'
import { askConsent, takeConsent } from './authorize.ts'
import { confirmLink, showLink } from './connect.ts'
import type { AuthorizationEnv } from './env.ts'
import { FormError } from './form.ts'
import { INTROSPECTION_PATH, introspect } from './introspect.ts'
import { message, STYLE, STYLE_PATH } from './page.ts'
import { serveProtocol } from './protocol.ts'
import { tooManyError, tooManyPage } from './rate-limit.ts'
import { signIn, signOut } from './sign-in.ts'
import { siteOf, type Site } from './site.ts'
import { CALLBACK_PATH, finishUpstream } from './upstream.ts'

interface Served {
  Bindings: AuthorizationEnv
  Variables: { site: Site }
}
type App = Hono<Served>

/** The app that serves one issuer. */
export function createAuthorizationApp(): App {
  const app: App = new Hono()

  app.use(async (c, next) => {
    const site = findSite(c.env)
    if (site === undefined) return message('Not set up', 'This server is not configured: see its log.', { status: 503 })
    // A host that is not the issuer's is a rebound name, a preview address or a mistake: no page or cookie is for it.
    if (!URL.canParse(c.req.url) || new URL(c.req.url).origin !== site.config.issuer) {
      return message('Not here', `This authorization server is ${site.config.issuer}.`, { status: 404 })
    }
    c.set('site', site)
    return next()
  })

  app.get('/authorize', limited(tooManyPage), (c) => askConsent(c.req.raw, c.var.site))
  app.post('/authorize', (c) => takeConsent(c.req.raw, c.var.site))
  app.get(CALLBACK_PATH, (c) => finishUpstream(c.req.raw, c.var.site))
  app.post('/sign-in', limited(tooManyPage), (c) => signIn(c.req.raw, c.var.site))
  app.post('/sign-out', (c) => signOut(c.req.raw, c.var.site))
  app.get('/connect/:handle', (c) => showLink(c.req.raw, c.req.param('handle'), c.var.site))
  app.post('/connect/:handle', (c) => confirmLink(c.req.raw, c.req.param('handle'), c.var.site))
  app.all(INTROSPECTION_PATH, (c) => introspect(c.req.raw, c.var.site))
  app.get('/health', (c) => c.text('ok'))
  app.get(
    STYLE_PATH,
    () => new Response(STYLE, { headers: { 'content-type': 'text/css', 'cache-control': 'max-age=3600' } }),
  )
  // Tokens and registration. What else the library serves is read from memory.
  app.post('*', limited(tooManyError))
  app.all('*', (c) => serveProtocol(c.req.raw, c.var.site, c.executionCtx as ExecutionContext))

  app.onError((error) => {
    if (error instanceof FormError) return message('Cannot continue', `${error.message}.`, { status: error.status })
    report(failure(error, {}))
    return message('Try again', 'This server cannot answer now. Try again.', { status: 503 })
  })
  return app
}

/** For routes that write or fetch when a stranger asks. */
function limited(refuse: () => Response): MiddlewareHandler<Served> {
  return async (c, next) => ((await c.var.site.isOverLimit(c.req.raw)) ? refuse() : next())
}

function findSite(env: AuthorizationEnv): Site | undefined {
  try {
    return siteOf(env)
  } catch (error) {
    report(failure(error, {}))
    return undefined
  }
}
