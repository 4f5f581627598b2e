// The page for a request that is refused before anybody consented. It leads to the client by a link only: anybody may
// register a client, so a redirect without a person would let anybody send people from this host to their own.
// @see RFC 9700, 4.11.2

import type { AuthorizationErrorCode } from '@cloudflare/workers-oauth-provider'
import { html } from 'hono/html'
import { page } from './page.ts'

/**
 * `redirectTo` is the redirect that tells the client, on a host that it has registered. The words are ours: a client could
 * put its own into what the library says of a request.
 */
export function errorPage(code: AuthorizationErrorCode, redirectTo: string): Response {
  const { host } = new URL(redirectTo)
  const content = html`<p>${REASONS[code] ?? REASONS.invalid_request} (<code>${code}</code>)</p>
    <p>
      The app can be told so: that leads to <strong>${host}</strong>. Go there only if you came from that app. This
      server does not know who has made it.
    </p>
    <p><a href="${redirectTo}" rel="noreferrer">Back to ${host}</a></p>`
  return page('The app cannot continue', content, { status: 400 })
}

const REASONS: { [code in AuthorizationErrorCode]?: string } & { invalid_request: string } = {
  invalid_scope: 'It asks for permissions that cannot be granted here.',
  invalid_target: 'It does not name a server that this one gives access to.',
  unsupported_response_type: 'It asks for an answer of a kind that is not given here.',
  unauthorized_client: 'It asks for an answer of a kind that it has not registered for.',
  invalid_request: 'It does not ask in the way that is required here, with a response_type and PKCE (S256).',
}
