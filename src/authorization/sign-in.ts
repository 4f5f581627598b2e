// Signing in and out. Either the development login, which believes any name and needs an issuer on loopback, or the way to
// the upstream provider for pages that need a person before anything else.

import { html } from 'hono/html'
import type { AuthorizationConfig } from './config.ts'
import { readForm } from './form.ts'
import { isFormToken, issueFormToken } from './form-token.ts'
import { nextOf, parseNext } from './next.ts'
import { message, page } from './page.ts'
import { endSessionCookie, sessionCookie } from './session.ts'
import type { Site } from './site.ts'
import { beginUpstream } from './upstream.ts'

const SIGN_IN = 'sign in'
const SIGN_OUT = 'sign out'

/** What a user name of the development login looks like. */
const DEV_USER = /^[A-Za-z0-9._@-]{1,64}$/

/** The page that asks a person to sign in, and comes back to what was asked for. */
export async function signInPage(request: Request, config: AuthorizationConfig): Promise<Response> {
  const headers = new Headers()
  const token = await issueFormToken(request, headers, config.cookieSecret, SIGN_IN)
  const how =
    config.upstream === undefined
      ? html`<p class="warning">
            Development login: any name, no password. Whoever reaches this page can sign in as anybody.
          </p>
          <p>
            <label>User name <input name="user" required autofocus autocomplete="username" /></label>
          </p>`
      : html`<p>You sign in at <strong>${new URL(config.upstream.issuer).host}</strong>.</p>
          <p>
            <label><input type="checkbox" name="choose" value="yes" /> Let me choose the account there</label>
          </p>`
  const content = html`<form method="post" action="/sign-in">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="next" value="${nextOf(request)}" />
    ${how}
    <p><button>Sign in</button></p>
  </form>`
  return page('Sign in', content, { headers })
}

/** `POST /sign-in`. */
export async function signIn(request: Request, site: Site): Promise<Response> {
  const { config } = site
  const form = await readForm(request)
  const next = await checkedNext(request, form, config, SIGN_IN)
  if (next === undefined) return stale()
  if (config.upstream !== undefined) return beginUpstream(site, { next, choose: form.has('choose') })

  const userId = form.get('user') ?? ''
  if (!DEV_USER.test(userId)) {
    return message('Not signed in', 'A user name has 1 to 64 letters, digits, dots, dashes, underscores or @.', {
      status: 400,
    })
  }
  const headers = new Headers({ location: next, 'cache-control': 'no-store' })
  headers.append('set-cookie', await sessionCookie({ userId }, config))
  return new Response(null, { status: 303, headers })
}

/** `POST /sign-out`. */
export async function signOut(request: Request, { config }: Site): Promise<Response> {
  const next = await checkedNext(request, await readForm(request), config, SIGN_OUT)
  if (next === undefined) return stale()
  const headers = new Headers({ location: next, 'cache-control': 'no-store' })
  headers.append('set-cookie', endSessionCookie())
  return new Response(null, { status: 303, headers })
}

/** What the form that signs out needs, with the cookie its token may need set. */
export async function signOutFields(
  request: Request,
  config: AuthorizationConfig,
  headers: Headers,
): Promise<{ token: string; next: string }> {
  return { token: await issueFormToken(request, headers, config.cookieSecret, SIGN_OUT), next: nextOf(request) }
}

async function checkedNext(
  request: Request,
  form: URLSearchParams,
  config: AuthorizationConfig,
  purpose: string,
): Promise<string | undefined> {
  const isOurs = await isFormToken(request, config.cookieSecret, purpose, form.get('token') ?? '')
  return isOurs ? parseNext(form.get('next'), config.issuer) : undefined
}

function stale(): Response {
  return message('Start again', 'This form was not made in this browser, or its page is gone. Start again.', {
    status: 400,
  })
}
