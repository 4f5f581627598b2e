// How an authorization request ends: with a code, with an error for the client, or with a page.

import {
  AuthorizationError,
  authorizationErrorRedirect,
  CimdFetchError,
  type AuthRequest,
} from '@cloudflare/workers-oauth-provider'
import { errorPage } from './error-page.ts'
import { message } from './page.ts'
import type { User } from './session.ts'
import type { Site } from './site.ts'

/** Sends the browser back to the client with a code for what `user` granted. */
export async function complete(
  { oauth }: Site,
  request: AuthRequest,
  { userId, name, email }: User,
  headers: Headers,
): Promise<Response> {
  const { redirectTo } = await oauth.completeAuthorization({
    request,
    userId,
    scope: request.scope,
    metadata: {},
    // All installations of a host share its client_id, and often the redirect URI: the second one would end the first.
    revokeExistingGrants: false,
    props: { sub: userId, ...(name === undefined ? {} : { name }), ...(email === undefined ? {} : { email }) },
  })
  headers.set('location', redirectTo)
  headers.set('cache-control', 'no-store')
  return new Response(null, { status: 303, headers })
}

/**
 * Shows what is wrong with a request as a page, also what the client is to be told: nobody has consented to anything of it.
 * Who has is sent back by `complete`, `failedSignIn` or the library.
 */
export async function answerErrors(answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    if (error instanceof CimdFetchError) {
      return message('App not recognised', `The description of this app cannot be read from ${error.metadataUrl}.`, {
        status: 400,
      })
    }
    if (!(error instanceof AuthorizationError)) throw error
    if (error.redirectTo !== undefined) return errorPage(error.code, error.redirectTo)
    return message('Cannot continue', `${error.description}.`, { status: 400 })
  }
}

/** The redirect that tells a client that signing in failed. */
export function failedSignIn(
  request: AuthRequest,
  code: ConstructorParameters<typeof AuthorizationError>[0],
  headers: Headers,
): Response {
  headers.set('location', authorizationErrorRedirect(request, code))
  headers.set('cache-control', 'no-store')
  return new Response(null, { status: 303, headers })
}
