// The way to the upstream provider and back. The library keeps what is pending: encrypted, for ten minutes, deleted when it
// is read, and bound to the browser by a cookie.

import type { AuthRequest } from '@cloudflare/workers-oauth-provider'
import { failure, report } from '../observability/sink.ts'
import { complete, failedSignIn, answerErrors } from './answers.ts'
import { loginUrl, newLogin, userOf, type PendingLogin } from './oidc.ts'
import { message } from './page.ts'
import { sessionCookie } from './session.ts'
import type { Site } from './site.ts'

/** Registered at the provider as the redirect URI. */
export const CALLBACK_PATH = '/sign-in/callback'

interface Pending extends PendingLogin {
  /** The page to come back to, when no client waits for an answer. */
  next?: string
}

/** A sign-in for its own sake: the library's record has a place for the request of a client, and nobody reads this one. */
const NO_REQUEST: AuthRequest = { responseType: '', clientId: '', redirectUri: '', scope: [], state: '' }

/**
 * Sends the browser to the provider. `state` is made here, so call it after consent only.
 * @see docs/tutorials/security/security_best_practices, Confused Deputy Problem
 */
export async function beginUpstream(
  { config, oauth }: Site,
  about: { request?: AuthRequest; next?: string; choose: boolean; headers?: Headers },
): Promise<Response> {
  const { upstream, issuer } = config
  if (upstream === undefined) throw new TypeError('cannot sign in upstream: UPSTREAM_ISSUER is not set')
  const login = newLogin()
  const data: Pending = { ...login, ...(about.next === undefined ? {} : { next: about.next }) }
  const { state, headers } = await oauth.beginUpstream(about.request ?? NO_REQUEST, {
    data,
    headers: about.headers ?? new Headers(),
  })
  try {
    headers.set('location', await loginUrl(upstream, issuer + CALLBACK_PATH, state, login, about.choose))
    return new Response(null, { status: 303, headers })
  } catch (error) {
    report(failure(error, { name: 'upstream' }))
    if (about.request !== undefined) return failedSignIn(about.request, 'temporarily_unavailable', headers)
    return message('Cannot sign in', 'The sign-in page cannot be reached now. Try again.', { status: 503, headers })
  }
}

/** `GET /sign-in/callback`. */
export async function finishUpstream(request: Request, site: Site): Promise<Response> {
  const { config, oauth } = site
  const { upstream, issuer } = config
  if (upstream === undefined) return message('Not found', 'There is no such page.', { status: 404 })
  return answerErrors(async () => {
    const { request: original, data, headers } = await oauth.finishUpstream<Pending>(request)
    const callback = new URL(request.url)
    const refused = callback.searchParams.get('error')
    const user = await userOf(upstream, issuer + CALLBACK_PATH, callback, data).catch((error: unknown) => {
      if (refused === null) report(failure(error, { name: 'upstream' }))
      return undefined
    })
    if (user === undefined) {
      if (data.next === undefined) {
        return failedSignIn(original, refused === 'access_denied' ? 'access_denied' : 'server_error', headers)
      }
      return message('Not signed in', 'The sign-in did not succeed. Try again.', { status: 400, headers })
    }
    headers.append('set-cookie', await sessionCookie(user, config))
    if (data.next === undefined) return complete(site, original, user, headers)
    headers.set('location', data.next)
    return new Response(null, { status: 303, headers })
  })
}
