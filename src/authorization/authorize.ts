// `/authorize`: a request of a client becomes a question to a person, and the answer a code or an error for the client.
// @see basic/authorization

import { AuthorizationError, type AuthRequest } from '@cloudflare/workers-oauth-provider'
import { report } from '../observability/sink.ts'
import { answerErrors, complete } from './answers.ts'
import type { AuthorizationConfig } from './config.ts'
import { consentPage } from './consent-page.ts'
import { readForm } from './form.ts'
import { authorizationLimits } from './limits.ts'
import { message } from './page.ts'
import { readSession } from './session.ts'
import { signInPage, signOutFields } from './sign-in.ts'
import type { Site } from './site.ts'
import { beginUpstream } from './upstream.ts'

/** `GET /authorize`: the sign-in page of the development login, or the consent page. */
export async function askConsent(request: Request, site: Site): Promise<Response> {
  const { config, oauth } = site
  return answerErrors(async () => {
    refuseRepeated(new URL(request.url).searchParams)
    const asked = await oauth.parseAuthRequest(request)
    const offered = { ...asked, scope: offeredScopes(asked, config) }
    refuseWithoutPkce(offered)

    const user = await readSession(request, config)
    // With an upstream provider the person is asked there, after consent: no client may send people there without it.
    if (user === undefined && config.upstream === undefined) return signInPage(request, config)
    const details = await oauth.describeConsent(offered)
    const { handle, headers } = await oauth.beginConsent(offered)
    return consentPage({
      details,
      resource: offered.resource ?? '',
      handle,
      headers,
      user,
      upstreamHost: config.upstream && new URL(config.upstream.issuer).host,
      signOut: user && (await signOutFields(request, config, headers)),
    })
  })
}

/** `POST /authorize`: the form of the consent page. */
export async function takeConsent(request: Request, site: Site): Promise<Response> {
  const { config, oauth } = site
  const form = await readForm(request)
  const handle = form.get('handle') ?? ''
  return answerErrors(async () => {
    if (form.get('decision') !== 'allow') {
      const { headers } = await oauth.denyConsent(request, handle, { description: 'The user declined' })
      return new Response(null, { status: 303, headers })
    }
    const user = await readSession(request, config)
    // The page named somebody. Whoever signed in since, in another tab, has not been asked.
    if ((user?.userId ?? '') !== form.get('user') || (user === undefined && config.upstream === undefined)) {
      return message('Start again', 'Somebody else has signed in to this browser since, or nobody is. Start again.', {
        status: 400,
      })
    }
    const { request: approved, headers } = await oauth.approveConsent(request, handle)
    const ticked = form.getAll('scope')
    const granted = { ...approved, scope: approved.scope.filter((scope) => ticked.includes(scope)) }
    if (user === undefined) return beginUpstream(site, { request: granted, choose: form.has('choose'), headers })
    return complete(site, granted, user, headers)
  })
}

/** OAuth 2.1 section 3.1: parameters must not repeat; which of two a client meant cannot be told. */
function refuseRepeated(params: URLSearchParams): void {
  for (const name of new Set(params.keys())) {
    if (name !== 'resource' && params.getAll(name).length > 1) {
      throw new AuthorizationError('invalid_request', { description: 'A parameter of this request is repeated' })
    }
  }
}

/** The library asks public clients only. */
function refuseWithoutPkce(request: AuthRequest): void {
  if (request.codeChallenge !== undefined) return
  throw errorFor(request, 'invalid_request', 'PKCE is required: send a code_challenge with S256')
}

/** What of the scopes asked for this server knows: the rest is not granted, as the answer then says. */
function offeredScopes(request: AuthRequest, { scopes, defaultScopes }: AuthorizationConfig): string[] {
  if (request.scope.length === 0) return defaultScopes
  const offered = scopes.filter((scope) => request.scope.includes(scope))
  const unknown = request.scope.filter((scope) => !scopes.includes(scope))
  if (unknown.length > 0) {
    const names = unknown.join(' ').slice(0, authorizationLimits.loggedCharacters)
    report({ event: 'warning', message: `scopes that are asked for and not in SCOPES_SUPPORTED: ${names}` })
  }
  if (offered.length === 0) throw errorFor(request, 'invalid_scope', 'None of these scopes can be granted')
  return offered
}

type Code = ConstructorParameters<typeof AuthorizationError>[0]

/** An error for the client of a request that the library has validated. */
function errorFor({ redirectUri, state, issuer }: AuthRequest, code: Code, description: string): AuthorizationError {
  return new AuthorizationError(code, {
    description,
    redirectUri,
    state,
    ...(issuer === undefined ? {} : { issuer }),
  })
}
