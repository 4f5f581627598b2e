// What strangers may cause no more often than the binding says, and what a binding that is not there changes.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { createAuthorizationApp } from '../../src/authorization/app.ts'

const SECRET = 'a secret of at least 32 characters'
const variables = {
  ISSUER: 'https://auth.example.com',
  RESOURCES: ['https://mcp.example.com/mcp'],
  UPSTREAM_ISSUER: 'https://login.example.com/',
  UPSTREAM_CLIENT_ID: 'edge',
  UPSTREAM_CLIENT_SECRET: 'x',
  COOKIE_SECRET: SECRET,
  DYNAMIC_REGISTRATION: 'on',
  INTROSPECTION_CLIENTS: [{ clientId: 'mcp', clientSecret: 'MCP_SECRET', resource: 'https://mcp.example.com/mcp' }],
  MCP_SECRET: SECRET,
}
const full = { limit: async () => ({ success: false }) }

afterEach(() => void vi.restoreAllMocks())

/** An app whose KV is empty; every request of it is answered with one environment. */
function appWith(bindings: object): (method: string, path: string, init?: RequestInit) => Promise<Response> {
  const app = createAuthorizationApp()
  const OAUTH_KV = { get: async () => null, put: async () => {}, delete: async () => {} }
  const env = { ...variables, OAUTH_KV, ...bindings }
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} }
  return async (method, path, init = {}) =>
    app.request(`https://auth.example.com${path}`, { method, ...init }, env as never, context as never)
}

const form = (fields: Record<string, string>): RequestInit => ({ body: new URLSearchParams(fields) })

describe('over the limit', () => {
  test.each([
    ['GET', '/authorize?client_id=x'],
    ['HEAD', '/authorize?client_id=x'],
    ['POST', '/sign-in'],
  ])('%s %s is a page that says when to come back', async (method, path) => {
    const response = await appWith({ REQUESTS: full })(method, path, method === 'POST' ? form({ next: '/' }) : {})
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60'])
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    if (method !== 'HEAD') expect(await response.text()).toContain('Wait a minute')
  })

  test.each(['/oauth/token', '/oauth/register', '/oauth/introspect'])(
    'POST %s is an error that a program reads, from any origin',
    async (path) => {
      const response = await appWith({ REQUESTS: full })('POST', path, form({ token: 'x' }))
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60'])
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(await response.json()).toEqual({
        error: 'temporarily_unavailable',
        error_description: 'Too many requests: try again in a minute',
      })
    },
  )

  test('nothing is read, written or fetched', async () => {
    const touched = vi.fn(async () => null)
    const fetched = vi.spyOn(globalThis, 'fetch')
    const ask = appWith({ REQUESTS: full, OAUTH_KV: { get: touched, put: touched, delete: touched } })
    await ask('GET', '/authorize?client_id=https://app.example.com/client.json')
    await ask('POST', '/oauth/register', { body: JSON.stringify({ redirect_uris: ['https://app.example.com/'] }) })
    await ask('POST', '/oauth/token', form({ client_id: 'x', grant_type: 'refresh_token', refresh_token: 'a:b:c' }))
    expect([touched.mock.calls, fetched.mock.calls]).toEqual([[], []])
  })

  test('what costs nothing is answered, and so is a resource server that knows its secret', async () => {
    const ask = appWith({ REQUESTS: full })
    expect((await ask('GET', '/.well-known/oauth-authorization-server')).status).toBe(200)
    expect((await ask('OPTIONS', '/oauth/token', { headers: { origin: 'https://app.example.com' } })).status).toBe(204)
    expect((await ask('GET', '/health')).status).toBe(200)
    const known = form({ token: 'x', client_id: 'mcp', client_secret: SECRET })
    expect(await (await ask('POST', '/oauth/introspect', known)).json()).toEqual({ active: false })
  })
})

describe('a request is counted', () => {
  async function keyOf(headers: Record<string, string>): Promise<unknown> {
    const limit = vi.fn(async (_options: { key: string }) => ({ success: true }))
    await appWith({ REQUESTS: { limit } })('GET', '/authorize', { headers })
    expect(limit).toHaveBeenCalledTimes(1)
    return limit.mock.calls[0]![0]
  }

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2::3', '2001:db8:1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1'],
    ['2001:db8::3', '2001:db8:0'],
    ['2001::3', '2001:0:0'],
  ])('by host, and by the address or its network: %s', async (address, network) => {
    expect(await keyOf({ 'cf-connecting-ip': address })).toEqual({ key: `auth.example.com ${network}` })
  })

  test('also without an address', async () => {
    expect(await keyOf({})).toEqual({ key: 'auth.example.com ' })
  })
})

describe('requests go on', () => {
  const down = {
    limit: async (): Promise<never> => {
      throw new Error('down')
    },
  }
  test.each([
    ['without the binding', {}, 'there is no [[ratelimits]] binding \\"REQUESTS\\"'],
    ['when it cannot be asked', { REQUESTS: down }, 'the rate limit cannot be read'],
  ])('%s, which is reported once', async (_what, bindings, said) => {
    const printed = ['warn', 'error'].map((name) => vi.spyOn(console, name as 'warn').mockImplementation(() => {}))
    const ask = appWith(bindings)
    for (let i = 0; i < 3; i++) expect((await ask('GET', '/authorize')).status).toBe(400)
    const lines = printed.flatMap(({ mock }) => mock.calls.map(([line]) => String(line)))
    expect(lines.filter((line) => line.includes(said))).toHaveLength(1)
  })

  test('where RATE_LIMIT is off', async () => {
    expect((await appWith({ REQUESTS: full, RATE_LIMIT: 'off' })('GET', '/authorize')).status).toBe(400)
  })
})
