// A link for one person: a page where they must be signed in as the one it was made for. It proves to an MCP server that
// the person in the browser is the one whose token it was sent, before it takes what they do there as theirs.
// @see client/elicitation, Phishing

import { base64url } from 'jose'
import { html } from 'hono/html'
import * as z from 'zod'
import { signOutForm } from './consent-page.ts'
import { readForm } from './form.ts'
import { isFormToken, issueFormToken } from './form-token.ts'
import { authorizationLimits } from './limits.ts'
import { message, page, shown } from './page.ts'
import { randomText, sha256 } from './seal.ts'
import { readSession, type User } from './session.ts'
import { signInPage, signOutFields } from './sign-in.ts'
import type { Site } from './site.ts'

const Link = z.object({
  /** The `sub` of the token of the person the link is for. */
  subject: z.string('subject is the "sub" of a token').min(1).max(authorizationLimits.userIdBytes),
  /** What it is for, as the page says it. */
  purpose: z.string('purpose is a text').min(1).max(authorizationLimits.purposeCharacters),
})

/** Whom a link is for, and what for. */
export type ConnectLink = z.infer<typeof Link>

/**
 * Makes a link, valid for `connectSeconds`.
 * @returns `url` for the person, and `handle` to ask `isConnected` with: keep it where only the server reads it
 * @throws {TypeError} when `subject` or `purpose` is missing or too long
 */
export async function makeLink(link: unknown, { config, env }: Site): Promise<{ url: string; handle: string }> {
  const parsed = Link.safeParse(link)
  if (!parsed.success) throw new TypeError(`cannot make a link: ${parsed.error.issues[0]?.message}`)
  const handle = randomText()
  await env.OAUTH_KV.put(await keyOf('connect', handle), JSON.stringify(parsed.data), EXPIRY)
  return { url: `${config.issuer}/connect/${handle}`, handle }
}

/** True once the person the link was made for, signed in as `subject`, has confirmed it. */
export async function isConnected(handle: unknown, subject: unknown, { env }: Site): Promise<boolean> {
  if (typeof handle !== 'string' || typeof subject !== 'string') return false
  // A key of its own, first read after the person is done as a rule: KV remembers for a minute that a key was not there.
  return (await env.OAUTH_KV.get(await keyOf('connected', handle))) === subject
}

/** `GET /connect/:handle`. */
export async function showLink(request: Request, handle: string, site: Site): Promise<Response> {
  const { config } = site
  const link = await readLink(handle, site)
  if (link === undefined) return gone()
  const user = await readSession(request, config)
  if (user === undefined) return signInPage(request, config)
  if (user.userId !== link.subject) return refuse(request, user, site)

  const headers = new Headers()
  const token = await issueFormToken(request, headers, config.cookieSecret, formPurpose(handle, user))
  const content = html`<p class="warning">${shown(link.purpose, authorizationLimits.purposeCharacters)}</p>
    <p>Continue only if you have just asked for this yourself.</p>
    <form method="post" action="/connect/${handle}">
      <input type="hidden" name="token" value="${token}" />
      <p><button>Continue</button></p>
    </form>
    ${signOutForm(user, await signOutFields(request, config, headers))}`
  return page('Was this you?', content, { headers })
}

/** `POST /connect/:handle`. */
export async function confirmLink(request: Request, handle: string, site: Site): Promise<Response> {
  const { config, env } = site
  const form = await readForm(request)
  const link = await readLink(handle, site)
  if (link === undefined) return gone()
  const user = await readSession(request, config)
  if (user === undefined) return message('Start again', 'Nobody is signed in: open the link again.', { status: 400 })
  if (user.userId !== link.subject) return refuse(request, user, site)
  if (!(await isFormToken(request, config.cookieSecret, formPurpose(handle, user), form.get('token') ?? ''))) {
    return message('Start again', 'This form was not made in this browser: open the link again.', { status: 400 })
  }
  await env.OAUTH_KV.put(await keyOf('connected', handle), user.userId, EXPIRY)
  await env.OAUTH_KV.delete(await keyOf('connect', handle))
  return message('Done', 'You can close this page and go back to the app you came from.')
}

const EXPIRY = { expirationTtl: authorizationLimits.connectSeconds }

async function readLink(handle: string, { env }: Site): Promise<ConnectLink | undefined> {
  const stored = await env.OAUTH_KV.get(await keyOf('connect', handle), 'json')
  return Link.safeParse(stored).data
}

/** Who reads KV cannot make a link of what it holds. */
async function keyOf(kind: 'connect' | 'connected', handle: string): Promise<string> {
  return `${kind}:${base64url.encode(await sha256(handle))}`
}

function formPurpose(handle: string, { userId }: User): string {
  return `connect ${handle} ${userId}`
}

/** It does not say whom the link is for: that is no business of whoever was sent it. */
async function refuse(request: Request, user: User, { config }: Site): Promise<Response> {
  const headers = new Headers()
  const content = html`<p>
      This link was made for another person. If somebody sent it to you, close this page: it would have connected your
      account to theirs.
    </p>
    ${signOutForm(user, await signOutFields(request, config, headers))}`
  return page('Not your link', content, { status: 403, headers })
}

function gone(): Response {
  return message('Link expired', 'This link is unknown, was used, or is too old. Ask for a new one.', { status: 404 })
}
