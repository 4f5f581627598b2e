// The authorization server as it is deployed: people sign in at an OpenID provider, and old hosts may register. On
// loopback, since that is where tests are, but with the development login off.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freePort, startWrangler, type StartedServer } from '../support/server.mjs'
import { Browser, linkOf, textOf, type Page } from './browser.ts'
import { newPkce, TestClient } from './client.ts'
import { startProvider, type Provider } from './provider.mjs'
import { serveDocuments, startCaller, type Documents } from './start.mjs'

const RESOURCE = 'https://mcp.example.com/mcp'
const REDIRECT = 'http://127.0.0.1:3333/callback'
const SECRET = 'upstream-secret: 100%'

let provider: Provider
let server: StartedServer
let documents: Documents
let caller: StartedServer
let client: TestClient
let registry: string

beforeAll(async () => {
  provider = await startProvider({ clientId: 'edge', clientSecret: SECRET })
  documents = await serveDocuments((path) => ({
    client_id: documents.origin + path,
    client_name: 'Local',
    redirect_uris: [REDIRECT],
  }))
  registry = mkdtempSync(join(tmpdir(), 'mcp-edge-registry-'))
  const port = await freePort()
  server = await startWrangler({
    config: 'wrangler.authorization.toml',
    port,
    vars: {
      ISSUER: `http://localhost:${port}`,
      RESOURCES: RESOURCE,
      SCOPES_SUPPORTED: 'files:read files:write',
      SCOPES_DEFAULT: 'files:read',
      DYNAMIC_REGISTRATION: 'on',
      UPSTREAM_ISSUER: provider.issuer,
      UPSTREAM_CLIENT_ID: 'edge',
      UPSTREAM_CLIENT_SECRET: SECRET,
      COOKIE_SECRET: 'a secret for cookies of at least 32 characters',
      // All of these tests come from one address.
      RATE_LIMIT: 'off',
    },
    env: { NODE_EXTRA_CA_CERTS: documents.ca, WRANGLER_REGISTRY_PATH: registry },
  })
  caller = await startCaller(registry)
  const registered = await register({ token_endpoint_auth_method: 'none' })
  client = new TestClient(server.origin, registered['client_id']!, RESOURCE)
})
afterAll(async () => {
  await caller?.stop()
  await server?.stop()
  rmSync(registry, { recursive: true, force: true })
  await provider?.stop()
  await documents?.stop()
})
beforeEach(() => {
  provider.user = { sub: 'auth0|carol', name: 'Carol', email: 'carol@example.com' }
  provider.next = {}
})

async function register(metadata: object): Promise<Record<string, string>> {
  const response = await fetch(`${server.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Registered', redirect_uris: [REDIRECT], ...metadata }),
  })
  expect(response.status).toBe(201)
  return response.json()
}

/** Allows, and lets the provider sign the person in: the redirect back to this server's callback. */
async function allow(browser: Browser, page: Page, fields: Record<string, string> = {}): Promise<string> {
  const away = await browser.submit(page, { decision: 'allow', ...fields }, '/authorize')
  const login = away.headers.get('location') ?? ''
  expect(new URL(login).origin).toBe(provider.issuer)
  const back = await fetch(login, { redirect: 'manual' })
  return back.headers.get('location') ?? ''
}

/** The whole way; where the client is sent. */
async function signIn(browser = new Browser(server.origin), challenge?: string): Promise<URL> {
  const page = await browser.open(
    client.url(challenge ?? (await newPkce()).challenge, { scope: 'files:read files:write' }),
  )
  const callback = await allow(browser, page)
  const answer = await browser.send(callback)
  expect(answer.status).toBe(303)
  return new URL(answer.headers.get('location') ?? '')
}

// First: what a provider says about itself is remembered for minutes.
test('a provider that calls itself something else is not believed', async () => {
  provider.issuerClaimed = `${provider.issuer}/`
  const browser = new Browser(server.origin)
  const page = await browser.open(client.url((await newPkce()).challenge))
  const answer = await browser.submit(page, { decision: 'allow' }, '/authorize')
  const back = new URL(answer.headers.get('location') ?? '')
  expect(back.origin + back.pathname).toBe(REDIRECT)
  expect(Object.fromEntries(back.searchParams)).toEqual({
    error: 'temporarily_unavailable',
    state: 'state-1',
    iss: server.origin,
  })
  delete provider.issuerClaimed
})

describe('signing in upstream', () => {
  test('comes after consent, and nothing is sent to the provider before', async () => {
    const browser = new Browser(server.origin)
    const before = provider.requests.length
    const { verifier, challenge } = await newPkce()
    const page = await browser.open(client.url(challenge))
    expect(page.status).toBe(200)
    expect(textOf(page)).toContain('Allow Registered?')
    expect(textOf(page)).toContain('nobody has verified it')
    expect(textOf(page)).toContain(`Next you sign in at ${new URL(provider.issuer).host}`)
    expect([...browser.cookies.keys()].filter((name) => name.includes('upstream'))).toEqual([])
    expect(provider.requests).toHaveLength(before)

    const callback = await allow(browser, page)
    const asked = provider.requests.at(-1)!
    expect(asked).toMatchObject({
      response_type: 'code',
      client_id: 'edge',
      redirect_uri: `${server.origin}/sign-in/callback`,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    })
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(asked[name]?.length, name).toBeGreaterThanOrEqual(43)
    expect(asked).not.toHaveProperty('prompt')

    const answer = await browser.send(callback)
    const back = new URL(answer.headers.get('location') ?? '')
    expect(Object.fromEntries(back.searchParams)).toMatchObject({ state: 'state-1', iss: server.origin })
    const { body } = await client.exchange(back, verifier)
    expect(body['access_token']).toMatch(/^auth0%7Ccarol:/)
    // The upstream token is nobody else's.
    expect(JSON.stringify(body)).not.toContain('upstream-access-token')
  })

  test('keeps a session small enough for a cookie, whatever the provider says', async () => {
    provider.user = { sub: 'erin', name: 'ö'.repeat(5_000), email: 'x'.repeat(5_000) }
    const browser = new Browser(server.origin)
    await signIn(browser)
    expect(browser.cookies.get('__Host-authorization-session')?.length).toBeLessThan(3_000)
  })

  test('lasts in this browser, where the next client asks without it', async () => {
    const browser = new Browser(server.origin)
    await signIn(browser)
    const before = provider.requests.length
    const page = await browser.open(client.url((await newPkce()).challenge))
    expect(textOf(page)).toContain('Signed in as Carol')
    const answer = await browser.submit(page, { decision: 'allow' }, '/authorize')
    expect(answer.headers.get('location')).toContain('code=auth0')
    expect(provider.requests).toHaveLength(before)
  })

  test('can be changed: another account is chosen at the provider', async () => {
    const browser = new Browser(server.origin)
    await signIn(browser)
    const page = await browser.open(client.url((await newPkce()).challenge))
    const signedOut = await browser.submit(page, {}, '/sign-out')
    expect(textOf(signedOut)).toContain('Next you sign in at')
    provider.user = { sub: 'dave' }
    const callback = await allow(browser, signedOut, { choose: 'yes' })
    expect(provider.requests.at(-1)).toMatchObject({ prompt: 'select_account' })
    expect((await browser.send(callback)).headers.get('location')).toContain('code=dave')
  })

  test('is not begun by who declines', async () => {
    const before = provider.requests.length
    const back = await new Browser(server.origin).authorize(client.url((await newPkce()).challenge), {
      decision: 'deny',
    })
    expect(back.searchParams.get('error')).toBe('access_denied')
    expect(provider.requests).toHaveLength(before)
  })

  test('works once, and in the browser that began it alone', async () => {
    const browser = new Browser(server.origin)
    const callback = await allow(browser, await browser.open(client.url((await newPkce()).challenge)))
    const stranger = await new Browser(server.origin).send(callback)
    expect([stranger.status, stranger.headers.get('location')]).toEqual([400, null])
    const forged = await browser.send(callback.replace(/state=[^&]*/, 'state=x'))
    expect([forged.status, forged.headers.get('location')]).toEqual([400, null])
    expect((await browser.send(callback)).status).toBe(303)
    const again = await browser.send(callback)
    expect([again.status, again.headers.get('location')]).toEqual([400, null])
  })

  const wrong: [string, Provider['next'], string][] = [
    ['another nonce', { nonce: 'other' }, 'server_error'],
    ['another issuer', { issuer: 'https://evil.example.com' }, 'server_error'],
    ['another audience', { audience: 'someone' }, 'server_error'],
    ['a time that has passed', { expires: '-5m' }, 'server_error'],
    ['a key nobody knows', { key: true }, 'server_error'],
    ['a subject too long to store', { subject: 'é'.repeat(100) }, 'server_error'],
    ['no ID token at all', { tokenless: true }, 'server_error'],
    ['a refusal', { error: 'access_denied' }, 'access_denied'],
    ['another error', { error: 'temporarily_unavailable' }, 'server_error'],
  ]
  test.each(wrong)('fails for the client when the provider answers with %s', async (_what, next, error) => {
    provider.next = next
    const browser = new Browser(server.origin)
    const back = await signIn(browser)
    expect(back.origin + back.pathname).toBe(REDIRECT)
    expect(Object.fromEntries(back.searchParams)).toEqual({ error, state: 'state-1', iss: server.origin })
    expect(browser.cookies.has('__Host-authorization-session')).toBe(false)
  })
})

describe('a link for one person', () => {
  async function call(method: string, ...args: unknown[]): Promise<unknown> {
    const response = await fetch(caller.origin, { method: 'POST', body: JSON.stringify({ method, args }) })
    return (await response.json()).result
  }

  /** Opens the link in a new browser and signs in on the way. */
  async function follow(url: string): Promise<{ browser: Browser; page: Page }> {
    const browser = new Browser(server.origin)
    const before = await browser.open(url)
    expect(before.text).not.toContain('calendar')
    const away = await browser.submit(before, {}, '/sign-in')
    const back = await fetch(away.headers.get('location') ?? '', { redirect: 'manual' })
    return { browser, page: await browser.open(back.headers.get('location') ?? '') }
  }

  test('asks who it is at the provider, and compares', async () => {
    const link = { subject: 'auth0%7Ccarol', purpose: 'Connect your calendar' }
    const { url, handle } = (await call('connectLink', link)) as { url: string; handle: string }
    provider.user = { sub: 'mallory' }
    const wrong = await follow(url)
    expect([wrong.page.status, textOf(wrong.page)]).toEqual([403, expect.stringContaining('Not your link')])
    expect(await call('connected', handle, link.subject)).toBe(false)

    provider.user = { sub: 'auth0|carol' }
    const right = await follow(url)
    expect(textOf(right.page)).toContain('calendar')
    expect(textOf(await right.browser.submit(right.page))).toContain('Done')
    expect(await call('connected', handle, link.subject)).toBe(true)
  })

  test('stays where it is when the provider refuses', async () => {
    const link = { subject: 'auth0%7Ccarol', purpose: 'Connect your calendar' }
    const { url } = (await call('connectLink', link)) as { url: string }
    provider.next = { error: 'access_denied' }
    const { page } = await follow(url)
    expect([page.status, textOf(page)]).toEqual([400, expect.stringContaining('Not signed in')])
  })
})

describe('a client', () => {
  test('that registers is public or confidential, and needs PKCE in both cases', async () => {
    const metadata = await (await fetch(`${server.origin}/.well-known/oauth-authorization-server`)).json()
    expect(metadata).toMatchObject({ registration_endpoint: `${server.origin}/oauth/register` })
    expect(metadata).not.toHaveProperty('introspection_endpoint')

    const { client_id, client_secret } = await register({ token_endpoint_auth_method: 'client_secret_post' })
    const confidential = new TestClient(server.origin, client_id!, RESOURCE)
    const bare = { code_challenge: undefined, code_challenge_method: undefined }
    const page = await new Browser(server.origin).open(confidential.url('', bare))
    expect([page.status, linkOf(page).searchParams.get('error')]).toEqual([400, 'invalid_request'])

    const { verifier, challenge } = await newPkce()
    const browser = new Browser(server.origin)
    const answer = await browser.send(await allow(browser, await browser.open(confidential.url(challenge))))
    const back = new URL(answer.headers.get('location') ?? '')
    const fields = {
      grant_type: 'authorization_code',
      client_id: client_id!,
      code: back.searchParams.get('code') ?? '',
      redirect_uri: REDIRECT,
      code_verifier: verifier,
    }
    expect((await confidential.post({ ...fields, client_secret: 'wrong' })).status).toBe(401)
    expect((await confidential.post(fields)).status).toBe(401)
    expect((await confidential.post({ ...fields, client_secret: client_secret! })).status).toBe(200)
  })

  test('cannot register a redirect that is no https and not on loopback', async () => {
    for (const redirect of ['http://app.example.com/callback', 'javascript:alert(1)', 'https://a.example/#x']) {
      const response = await fetch(`${server.origin}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: 'x', redirect_uris: [redirect] }),
      })
      expect(response.status, redirect).toBe(400)
    }
  })

  test('cannot have its document on this machine', async () => {
    const { challenge } = await newPkce()
    const local = new TestClient(server.origin, `${documents.origin}/client`, RESOURCE)
    const page = await new Browser(server.origin).open(local.url(challenge))
    expect([page.status, textOf(page)]).toEqual([400, expect.stringContaining('App not recognised')])
    expect(documents.seen).toEqual([])
  })

  test('that asks for no scope is offered the default', async () => {
    const browser = new Browser(server.origin)
    const { verifier, challenge } = await newPkce()
    const page = await browser.open(client.url(challenge, { scope: undefined, resource: undefined }))
    const answer = await browser.send(await allow(browser, page))
    const { body } = await client.exchange(new URL(answer.headers.get('location') ?? ''), verifier)
    expect([body['scope'], body['resource']]).toEqual(['files:read', RESOURCE])
  })
})

test('the development login does not exist', async () => {
  const browser = new Browser(server.origin)
  const page = await browser.open(client.url((await newPkce()).challenge))
  expect(page.text).not.toContain('action="/sign-in"')
  const forced = await browser.send('/sign-in', new URLSearchParams({ user: 'alice', next: '/authorize?x' }))
  expect(forced.status).toBe(400)
  expect(browser.cookies.has('__Host-authorization-session')).toBe(false)
})

test('secrets and upstream tokens are not printed', async () => {
  await signIn()
  expect(server.output()).not.toContain('upstream-access-token')
  expect(server.output()).not.toContain('code=')
})

describe('a provider', () => {
  test('that is down is not the client’s fault', async () => {
    const issuer = provider.issuer
    await provider.stop()
    // What the provider said about itself is still known, so it is the exchange that fails.
    const browser = new Browser(server.origin)
    const page = await browser.open(client.url((await newPkce()).challenge))
    const away = await browser.submit(page, { decision: 'allow' }, '/authorize')
    const state = new URL(away.headers.get('location') ?? issuer).searchParams.get('state')
    const answer = await browser.send(`/sign-in/callback?code=x&state=${state}`)
    const back = new URL(answer.headers.get('location') ?? '')
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error: 'server_error',
      state: 'state-1',
      iss: server.origin,
    })
  })
})
