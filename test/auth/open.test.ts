// What may be asked without a token, and that nothing else may: not one request of any era reaches an object.
// @see basic/authorization, Access Token Usage: it is needed for every HTTP request

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { modern, type Fetcher, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { BOTH_TYPES, envelope, message } from '../http/post.ts'
import { watchedObjects } from '../support/watched-objects.ts'
import { createIssuer, RESOURCE, type Issuer } from './issuer.ts'
import { invalid, METADATA, MISSING, outcome, protect, type Outcome } from './table.ts'

const ORIGIN = 'https://mcp.example.com'
const MALFORMED_TOKEN = 'x'

/** The names of the object bindings that were used. */
const touched: string[] = []
let issuer: Issuer
let server: Fetcher
beforeAll(async () => {
  issuer = await createIssuer()
  server = protect([issuer.settings()], watchedObjects(touched))
})
beforeEach(() => {
  touched.length = 0
})

const legacyVersions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const SESSION = { 'mcp-session-id': 'a-session' }
const SSE = { accept: 'text/event-stream' }

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  const all = { accept: BOTH_TYPES, 'content-type': 'application/json', ...headers }
  return { method: 'POST', headers: all, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

function modernPost(method: string, params: JsonObject = {}, headers: Record<string, string> = {}): RequestInit {
  const protocol = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers }
  return post(message(method, { ...params, _meta: envelope() }), protocol)
}

function initialize(protocolVersion: string): RequestInit {
  return post(message('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } }))
}

const requests: [name: string, init: RequestInit][] = [
  ['modern server/discover', modernPost('server/discover')],
  ['modern tools/list', modernPost('tools/list')],
  ['modern tools/call', modernPost('tools/call', { name: 'whoami', arguments: {} }, { 'mcp-name': 'whoami' })],
  ['modern tools/call of an unknown tool', modernPost('tools/call', { name: 'no' }, { 'mcp-name': 'no' })],
  ['modern resources/read', modernPost('resources/read', { uri: 'a:b' }, { 'mcp-name': 'a:b' })],
  ['modern prompts/get', modernPost('prompts/get', { name: 'p' }, { 'mcp-name': 'p' })],
  ['modern completion/complete', modernPost('completion/complete')],
  ['modern subscriptions/listen', modernPost('subscriptions/listen', { notifications: { toolsListChanged: true } })],
  ['modern tasks/get', modernPost('tasks/get', { taskId: 'a' }, { 'mcp-name': 'a' })],
  ['modern tasks/cancel', modernPost('tasks/cancel', { taskId: 'a' }, { 'mcp-name': 'a' })],
  ['modern tasks/update', modernPost('tasks/update', { taskId: 'a', inputResponses: {} }, { 'mcp-name': 'a' })],
  ['modern, a method nobody knows', modernPost('no/such')],
  [
    'modern, with a requestState',
    modernPost('tools/call', { name: 'whoami', requestState: 'x' }, { 'mcp-name': 'whoami' }),
  ],
  ['modern, without its headers', post(message('tools/list', { _meta: envelope() }))],
  ['a version nobody knows', post(message('tools/list'), { 'mcp-protocol-version': '1999-01-01' })],
  ['a notification', post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })],
  ['an answer', post({ jsonrpc: '2.0', id: 1, result: {} })],
  ['an error', post({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } })],
  ...legacyVersions.map((version): [string, RequestInit] => [`initialize of ${version}`, initialize(version)]),
  ...legacyVersions.map((version): [string, RequestInit] => [
    `tools/list of ${version}`,
    post(message('tools/list'), { 'mcp-protocol-version': version }),
  ]),
  ['a legacy ping', post(message('ping'))],
  ['a legacy call in a session', post(message('tools/call', { name: 'whoami' }), SESSION)],
  ['a legacy notification in a session', post({ jsonrpc: '2.0', method: 'notifications/initialized' }, SESSION)],
  ['a legacy answer in a session', post({ jsonrpc: '2.0', id: 1, result: {} }, SESSION)],
  ['a batch', post([message('ping'), message('tools/list')])],
  ['a batch of 51', post(Array.from({ length: 51 }, () => message('ping')))],
  ['an empty batch', post([])],
  ['a GET', { method: 'GET', headers: SSE }],
  ['a GET of a session', { method: 'GET', headers: { ...SSE, ...SESSION } }],
  ['a GET that goes on', { method: 'GET', headers: { ...SSE, ...SESSION, 'last-event-id': '1' } }],
  ['a GET of a modern client', { method: 'GET', headers: { ...SSE, 'mcp-protocol-version': '2026-07-28' } }],
  ['a GET that takes anything', { method: 'GET' }],
  ['a DELETE', { method: 'DELETE' }],
  ['a DELETE of a session', { method: 'DELETE', headers: SESSION }],
  ['a POST without a body', { method: 'POST' }],
  ['a POST that is no JSON', post('{')],
  ['a POST that is no JSON-RPC', post('7')],
  ['a POST of another type', post('x', { 'content-type': 'text/plain' })],
  ['a POST that accepts nothing', post(message('ping'), { accept: 'image/png' })],
  ['a POST of 5 MB', post('x'.repeat(5 * 1024 * 1024))],
]

async function ask(init: RequestInit, authorization?: string, url = RESOURCE): Promise<Outcome> {
  const headers = new Headers(init.headers)
  if (authorization !== undefined) headers.set('authorization', authorization)
  return outcome(await modern(server, { url }).raw({ ...init, headers, as: '2025-11-25' }))
}

describe('without a token no object is touched, and the challenge is all there is', () => {
  test.each(requests)('%s', async (_, init) => {
    expect(await ask(init)).toEqual(MISSING)
    expect(touched).toEqual([])
  })
})

describe('with a token nobody knows no object is touched either', () => {
  test.each(requests)('%s', async (_, init) => {
    expect(await ask(init, `Bearer ${MALFORMED_TOKEN}`)).toEqual(invalid('The access token is not valid here'))
    expect(touched).toEqual([])
  })
})

test('objects are seen to be touched at all', async () => {
  const { status } = await ask(initialize('2025-11-25'), `Bearer ${await issuer.mint()}`)
  expect(status).toBe(200)
  expect(touched).not.toEqual([])
})

test('a HEAD is refused as its GET is', async () => {
  const response = await server(new Request(RESOURCE, { method: 'HEAD' }))
  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toBe(MISSING.challenge)
  expect(touched).toEqual([])
})

test('a slash at the end of the endpoint opens nothing', async () => {
  expect(await ask(modernPost('tools/list'), undefined, `${RESOURCE}/`)).toEqual(MISSING)
})

describe('a way to write the endpoint never gets past the check', () => {
  test.each([
    '/mcp?x=1',
    '/mcp//',
    '//mcp',
    '/./mcp',
    '/x/../mcp',
    '/%6dcp',
    '/mcp%2f',
    '/MCP',
    '/mcp;x',
    '/mcp/x',
    '/mcp%00',
  ])('%s', async (path) => {
    expect([401, 404]).toContain((await ask(modernPost('tools/list'), undefined, `${ORIGIN}${path}`)).status)
    expect(touched).toEqual([])
  })
})

describe('open to everybody', () => {
  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    Promise.resolve(server(new Request(`${ORIGIN}${path}`, { redirect: 'manual', ...init })))

  test.each(['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])(
    'the metadata at %s',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(await response.json()).toEqual({
        resource: RESOURCE,
        authorization_servers: [issuer.url],
        bearer_methods_supported: ['header'],
        resource_name: 'test',
      })
    },
  )

  test('metadata that name every issuer, the scopes, and PUBLIC_URL', async () => {
    const other = await createIssuer()
    const vars = { SCOPES_SUPPORTED: 'notes:read notes:write', PUBLIC_URL: 'https://public.example.com' }
    const both = protect([issuer.settings(), other.settings({ id: 'second' })], vars)
    const response = await both(new Request(METADATA))
    expect(await response.json()).toEqual({
      resource: 'https://public.example.com/mcp',
      authorization_servers: [issuer.url, other.url],
      scopes_supported: ['notes:read', 'notes:write'],
      bearer_methods_supported: ['header'],
      resource_name: 'test',
    })
  })

  test('where clients of 2025-03-26 look for the issuer, unless that is off', async () => {
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/oauth-authorization-server/mcp']) {
      const response = await get(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(await response.json()).toMatchObject({ issuer: issuer.url })
      const off = protect([issuer.settings()], { LEGACY_AUTH_METADATA: 'off' })
      expect((await off(new Request(`${ORIGIN}${path}`))).status).toBe(404)
    }
  })

  test('to pages of any origin, which may read nothing else', async () => {
    const fetcher = protect([issuer.settings()])
    const headers = { origin: 'https://elsewhere.example', 'access-control-request-headers': 'mcp-protocol-version' }
    for (const path of ['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server']) {
      const url = `${ORIGIN}/.well-known/${path}`
      const read = await fetcher(new Request(url, { headers }))
      expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
      const preflight = await fetcher(new Request(url, { method: 'OPTIONS', headers }))
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    }
    for (const method of ['POST', 'OPTIONS']) {
      expect((await fetcher(new Request(`${ORIGIN}/mcp`, { method, headers }))).status).toBe(403)
    }
  })

  test('nothing about authorization where there is none', async () => {
    const none = protect([], { AUTH: 'none', AUTH_ISSUERS: undefined })
    for (const path of ['oauth-protected-resource/mcp', 'oauth-protected-resource', 'oauth-authorization-server']) {
      expect((await none(new Request(`${ORIGIN}/.well-known/${path}`))).status).toBe(404)
    }
  })

  test('the metadata, where its challenge says', async () => {
    expect((await get(new URL(METADATA).pathname)).status).toBe(200)
  })

  test('a preflight, of the endpoint, the metadata and anything', async () => {
    const headers = { origin: 'https://mcp.example.com', 'access-control-request-headers': 'authorization' }
    for (const path of ['/mcp', '/.well-known/oauth-protected-resource/mcp', '/elsewhere']) {
      const response = await get(path, { method: 'OPTIONS', headers })
      expect(response.status).toBe(204)
      expect(response.headers.get('access-control-allow-headers')).toContain('Authorization')
      expect(response.headers.get('www-authenticate')).toBeNull()
    }
  })

  test.each([
    ['the health check', '/health', 200],
    ['the page about the server', '/', 200],
    ['nothing at an unknown path', '/elsewhere', 404],
    ['nothing at an unknown path of a client that looks for an older transport', '/sse', 404],
    ['nothing at an unknown document', '/.well-known/elsewhere', 404],
    ['nothing at the document of another path', '/.well-known/oauth-protected-resource/elsewhere', 404],
  ])('%s', async (_, path, status) => {
    const response = await get(path)
    await response.text()
    expect(response.status).toBe(status)
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(touched).toEqual([])
  })

  test.each(['PUT', 'PATCH'])('that %s is no method of the endpoint', async (method) => {
    const response = await get('/mcp', { method })
    await response.text()
    expect(response.status).toBe(405)
    expect(touched).toEqual([])
  })

  test('the page a browser gets at the endpoint', async () => {
    const response = await get('/mcp', { headers: { accept: 'text/html' } })
    await response.text()
    expect([401, 405]).toContain(response.status)
    expect(touched).toEqual([])
  })

  test.each([
    ['/', {}],
    ['/mcp', { headers: { accept: 'text/html' } }],
  ])('the page at %s without instructions, which are for who may call', async (path, init) => {
    const instructions = 'Only for who may call.'
    const page = async (AUTH: string): Promise<string> => {
      const vars = { AUTH, AUTH_ISSUERS: JSON.stringify([issuer.settings()]) } as Partial<Cloudflare.Env>
      return (await serve({ instructions, title: 'Notes' }, { vars })(new Request(`${ORIGIN}${path}`, init))).text()
    }
    expect(await page('oauth')).toContain('<h1>Notes</h1>')
    expect(await page('oauth')).not.toContain(instructions)
    expect(await page('none')).toContain(instructions)
  })

  test('only to origins that may call', async () => {
    const response = await get('/mcp', { method: 'POST', headers: { origin: 'https://evil.example' } })
    await response.text()
    expect(response.status).toBe(403)
  })
})
