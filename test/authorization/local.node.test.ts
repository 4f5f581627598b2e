// The authorization server as `npm run start:auth` runs it: two real Workers, a browser with a cookie jar, and clients
// whose metadata documents lie on https://localhost.

import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, textOf } from './browser.ts'
import { newPkce, TestClient } from './client.ts'
import { describeClients } from './local/clients.ts'
import { describeCodeFlow } from './local/code-flow.ts'
import { describeConsent } from './local/consent.ts'
import { describeIntrospection } from './local/introspection.ts'
import { describeLinks } from './local/links.ts'
import { type Local, OTHER, SECRET, tokensFor } from './local/local.ts'
import { describeSignIn } from './local/sign-in.ts'
import { describeTokens } from './local/tokens.ts'
import { serveDocuments, startAuth } from './start.mjs'

const REDIRECTS = ['http://127.0.0.1:3333/callback', 'https://app.example.com/callback']

// Filled in below: the cases are declared before anything runs.
const at = {} as Local
let slow: Promise<string>

/** Documents by the first part of their path; each has the client_id it is served at unless it says otherwise. */
const odd: Record<string, () => object | Promise<object>> = {
  mismatch: () => ({ ...document('/other'), client_name: 'Mismatch' }),
  nameless: () => ({ ...document('/nameless'), client_name: undefined }),
  moved: () => new Response(null, { status: 302, headers: { location: '/client' } }),
  large: () => ({ ...document('/large'), padding: 'x'.repeat(6_000) }),
  text: () => new Response('not JSON', { headers: { 'content-type': 'application/json' } }),
  missing: () => new Response('no', { status: 404 }),
  secret: () => ({ ...document('/secret'), client_secret: 'x' }),
  slow: () => new Promise((done) => setTimeout(() => done(document('/slow')), 12_000).unref()),
  evil: () => ({
    ...document('/evil'),
    client_name: '</h1><script>alert("x")</script>\u202Egpj',
    redirect_uris: ['https://evil.example.com/callback?a=<b>'],
  }),
}

function document(path: string): object {
  return { client_id: at.documents.origin + path, client_name: 'Test Client', redirect_uris: REDIRECTS }
}

beforeAll(async () => {
  at.documents = await serveDocuments((path) => odd[path.slice(1)]?.() ?? document(path))
  at.site = await startAuth({
    vars: (mcp) => ({
      MCP_SECRET: SECRET,
      OTHER_SECRET: `${SECRET} of another`,
      RESOURCES: `${mcp} ${OTHER}`,
      INTROSPECTION_CLIENTS: JSON.stringify([
        { clientId: 'mcp: one', clientSecret: 'MCP_SECRET', resource: mcp },
        { clientId: 'other', clientSecret: 'OTHER_SECRET', resource: OTHER },
      ]),
      ACCESS_TOKEN_SECONDS: '600',
      SCOPES_SUPPORTED: 'files:read files:write offline_access',
    }),
    // No definition of the MCP server counts here.
    flags: ['--var=SCOPES_SUPPORTED:files:read'],
    env: { NODE_EXTRA_CA_CERTS: at.documents.ca },
    caller: true,
  })
  at.client = new TestClient(at.site.auth, `${at.documents.origin}/client`, at.site.mcp)
  const { challenge } = await newPkce()
  slow = new Browser(at.site.auth)
    .open(new TestClient(at.site.auth, `${at.documents.origin}/slow`, at.site.mcp).url(challenge))
    .then((page) => `${page.status} ${textOf(page)}`)
})
afterAll(async () => {
  await at.site?.stop()
  await at.documents?.stop()
})

describe('metadata', () => {
  test('says what this server does, to any origin', async () => {
    const response = await fetch(`${at.site.auth}/.well-known/oauth-authorization-server`, {
      headers: { origin: 'https://app.example.com' },
    })
    expect(response.headers.get('access-control-allow-origin')).toBeTruthy()
    const metadata = await response.json()
    expect(metadata).toMatchObject({
      issuer: at.site.auth,
      authorization_endpoint: `${at.site.auth}/authorize`,
      token_endpoint: `${at.site.auth}/oauth/token`,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      scopes_supported: ['files:read', 'files:write', 'offline_access'],
      protected_resources: [at.site.mcp, OTHER],
      introspection_endpoint: `${at.site.auth}/oauth/introspect`,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    })
    expect(metadata).not.toHaveProperty('registration_endpoint')
  })

  test('registration is off', async () => {
    const response = await fetch(`${at.site.auth}/oauth/register`, { method: 'POST', body: '{}' })
    expect(response.status).toBe(404)
  })

  test('another host gets nothing, so a rebound name cannot use the development login', async () => {
    for (const host of ['evil.example.com', `127.0.0.1:${new URL(at.site.auth).port}`]) {
      expect(await statusWithHost(host), host).toBe(404)
    }
  })
})

function statusWithHost(host: string): Promise<number | undefined> {
  return new Promise((done, failed) => {
    const sent = httpRequest(`${at.site.auth}/health`, { headers: { host } }, (response) => {
      response.resume()
      done(response.statusCode)
    })
    sent.once('error', failed)
    sent.end()
  })
}

describeCodeFlow(at)
describeClients(at)
describeConsent(at)
describeSignIn(at)
describeTokens(at)
describeIntrospection(at)
describeLinks(at)

test('nothing a stranger sends is answered with a failure', async () => {
  const form = 'application/x-www-form-urlencoded'
  const long = 'x'.repeat(1_000)
  const assertion =
    'client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer&grant_type=refresh_token'
  const hostile: [string, string, string | undefined, string][] = [
    ['POST', '/oauth/token', form, `grant_type=refresh_token&client_id=${at.client.id}&refresh_token=${long}:b:c`],
    [
      'POST',
      '/oauth/token',
      form,
      `grant_type=authorization_code&client_id=${at.client.id}&code=${long}:b:c&code_verifier=x`,
    ],
    ['POST', '/oauth/token', form, `client_id=${at.client.id}&token=${long}:b:c`],
    ['POST', '/oauth/token', form, `grant_type=refresh_token&client_id=${long}&refresh_token=a:b:c`],
    ['POST', '/oauth/token', form, 'x'.repeat(100_000)],
    ['POST', '/oauth/token', 'application/json', '{}'],
    ['POST', '/oauth/token', 'multipart/form-data; boundary=x', '--x'],
    ['POST', '/oauth/token', form, ''],
    ['PUT', '/oauth/token', form, 'a=b'],
    ['POST', '/oauth/token', form, `${assertion}&client_assertion=e30.${btoa(`{"iss":"${long}"}`)}.x`],
    ['POST', '/oauth/token', form, `${assertion}&client_assertion=${long}&client_id=${at.client.id}`],
    ['POST', '/oauth/introspect', form, `token=${long}:b:c`],
    ['POST', '/oauth/introspect', 'text/plain', 'token=x'],
    ['GET', '/oauth/introspect', undefined, ''],
    ['POST', '/authorize', form, 'x'.repeat(100_000)],
    ['POST', '/authorize', form, ''],
    ['POST', '/authorize', 'application/json', '{}'],
    ['POST', '/authorize', undefined, ''],
    ['POST', '/sign-in', form, `next=${long}`],
    ['POST', '/sign-out', form, '%'],
    ['GET', '/sign-in/callback?state=x', undefined, ''],
    ['GET', '/authorize', undefined, ''],
    ['GET', `/authorize?client_id=%00&redirect_uri=%00`, undefined, ''],
    ['GET', `/authorize?client_id=https://example.com/%E0%A4%A`, undefined, ''],
    ['GET', '/connect/%', undefined, ''],
    ['POST', '/connect/x', form, ''],
    ['DELETE', '/authorize', undefined, ''],
    ['GET', '/nothing', undefined, ''],
    ['HEAD', '/.well-known/oauth-authorization-server', undefined, ''],
  ]
  for (const [method, path, type, body] of hostile) {
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const response = await fetch(at.site.auth + path, {
      method,
      headers: type === undefined ? {} : { 'content-type': type },
      ...(hasBody ? { body } : {}),
    })
    await response.body?.cancel()
    expect(response.status, `${method} ${path} ${body.slice(0, 40)}`).toBeLessThan(500)
  }
})

test('the start says who can sign in', () => {
  expect(at.site.output()).toContain(`Whoever reaches port ${new URL(at.site.auth).port} can sign in as anybody`)
})

test('a document that does not come is given up after ten seconds', async () => {
  expect(await slow).toContain('400 App not recognised')
})

test('neither tokens, codes nor secrets are printed', async () => {
  const { body } = await tokensFor(at, 'alice')
  await at.client.refresh(body['refresh_token']!)
  await at.client.post({ client_id: at.client.id, token: body['access_token']! })
  expect(at.site.output()).not.toContain(body['access_token'])
  expect(at.site.output()).not.toContain(body['refresh_token'])
  expect(at.site.output()).not.toContain('code=')
})

// Last: it ends both.
test('a signal ends both servers and all that belongs to them', async () => {
  await at.site.stop()
  expect(await at.site.exited).toBe(143)
  for (const url of [at.site.auth, at.site.mcp]) await expect(fetch(url)).rejects.toThrow()
})
