// The page that asks whether a client may act for a person.
// @see basic/authorization/security-considerations, Localhost Redirect URI Risks

import type { ConsentDescription } from '@cloudflare/workers-oauth-provider'
import { html } from 'hono/html'
import type { User } from './session.ts'
import { page, shown } from './page.ts'

/** What the page shows and what its forms send. */
export interface ConsentPage {
  details: ConsentDescription
  resource: string
  handle: string
  headers: Headers
  /** Undefined when the upstream provider asks who it is, after this page. */
  user: User | undefined
  /** Where the upstream provider lives, if people sign in there. */
  upstreamHost: string | undefined
  /** The form that signs out, if somebody is signed in. */
  signOut: { token: string; next: string } | undefined
}

export function consentPage({
  details,
  resource,
  handle,
  headers,
  user,
  upstreamHost,
  signOut,
}: ConsentPage): Response {
  const name = shown(details.clientName) || shown(details.clientId)
  const content = html`${origin(details)}
    <p>If you allow it, access to <strong>${resource}</strong> is sent to <strong>${details.redirectHost}</strong>.</p>
    ${
      details.redirectIsLoopback
        ? html`<p class="warning">
            <strong>This sends access to an app on your computer.</strong> Any program that runs there may be the one
            that asks, whatever name it gives. Continue only if you have just started to sign in from it.
          </p>`
        : ''
    }
    <form method="post" action="/authorize">
      <input type="hidden" name="handle" value="${handle}" />
      <input type="hidden" name="user" value="${user?.userId ?? ''}" />
      ${scopes(details.scope)} ${user === undefined ? upstreamNote(upstreamHost) : ''}
      <p>
        <button name="decision" value="allow">Allow</button>
        <button name="decision" value="deny">Deny</button>
      </p>
    </form>
    ${user === undefined || signOut === undefined ? '' : signOutForm(user, signOut)}`
  return page(`Allow ${name}?`, content, { headers })
}

function origin({ clientDomain }: ConsentDescription): ReturnType<typeof html> {
  return clientDomain === undefined
    ? html`<p>This app chose its name itself: nobody has verified it.</p>`
    : html`<p>This app is published by <strong>${clientDomain}</strong>.</p>`
}

function scopes(names: string[]): ReturnType<typeof html> {
  if (names.length === 0) return html`<p>It asks for no permission beyond knowing who you are.</p>`
  return html`<p>It asks for these permissions:</p>
    <p>
      ${names.map(
        (scope) => html`<label><input type="checkbox" name="scope" value="${scope}" checked /> ${scope}</label><br />`,
      )}
    </p>`
}

function upstreamNote(host: string | undefined): ReturnType<typeof html> {
  return html`<p>Next you sign in at <strong>${host}</strong>.</p>
    <p>
      <label><input type="checkbox" name="choose" value="yes" /> Let me choose the account there</label>
    </p>`
}

/** Ends the session; also on the page of `connect`, when the wrong person is signed in. */
export function signOutForm(user: User, { token, next }: { token: string; next: string }): ReturnType<typeof html> {
  return html`<form class="quiet" method="post" action="/sign-out">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="next" value="${next}" />
    Signed in as <strong>${shown(user.name ?? user.userId)}</strong>. <button>Use another account</button>
  </form>`
}
