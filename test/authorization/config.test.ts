// The variables of the authorization server: each mistake is named, none is worked around, no value is repeated.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { createAuthorizationApp } from '../../src/authorization/app.ts'
import { parseAuthorizationConfig } from '../../src/authorization/config.ts'

afterEach(() => void vi.restoreAllMocks())

const SECRET = 'a secret of at least 32 characters'
const valid = {
  ISSUER: 'https://auth.example.com',
  RESOURCES: ['https://mcp.example.com/mcp'],
  SCOPES_SUPPORTED: 'read write',
  UPSTREAM_ISSUER: 'https://login.example.com/',
  UPSTREAM_CLIENT_ID: 'edge',
  UPSTREAM_CLIENT_SECRET: 'x',
  COOKIE_SECRET: SECRET,
}

test('parseAuthorizationConfig reads what is set, and defaults to what is safe', () => {
  expect(parseAuthorizationConfig(valid)).toEqual({
    issuer: 'https://auth.example.com',
    resources: ['https://mcp.example.com/mcp'],
    scopes: ['read', 'write'],
    defaultScopes: [],
    registration: false,
    upstream: {
      issuer: 'https://login.example.com/',
      clientId: 'edge',
      clientSecret: 'x',
      scope: 'openid profile email',
    },
    cookieSecret: SECRET,
    introspectionClients: [],
    accessTokenSeconds: 3_600,
    refreshTokenSeconds: 2_592_000,
    rateLimit: true,
  })
})

test('parseAuthorizationConfig takes lists and tables as text too', () => {
  const config = parseAuthorizationConfig({
    ...valid,
    RESOURCES: 'https://a.example/mcp, https://b.example/mcp',
    UPSTREAM_SCOPES: ['email'],
    INTROSPECTION_CLIENTS: '[{"clientId":"a","clientSecret":"A_SECRET","resource":"https://a.example/mcp"}]',
    A_SECRET: SECRET,
    REFRESH_TOKEN_SECONDS: '0',
  })
  expect(config.resources).toEqual(['https://a.example/mcp', 'https://b.example/mcp'])
  expect(config.upstream?.scope).toBe('openid email')
  expect(config.introspectionClients).toEqual([
    { clientId: 'a', clientSecret: SECRET, resource: 'https://a.example/mcp' },
  ])
  expect(config.refreshTokenSeconds).toBe(0)
})

describe('parseAuthorizationConfig refuses', () => {
  const client = { clientId: 'a', clientSecret: 'A_SECRET', resource: 'https://mcp.example.com/mcp' }
  const dev = { UPSTREAM_ISSUER: undefined, UPSTREAM_CLIENT_ID: undefined, DEV_LOGIN: 'on' }
  test.each<[string, string, object]>([
    ['ISSUER', 'none', { ISSUER: undefined }],
    ['ISSUER', 'a placeholder', { ISSUER: '<https://auth.example.com>' }],
    ['ISSUER', 'http', { ISSUER: 'http://auth.example.com' }],
    ['ISSUER', 'a slash at its end', { ISSUER: 'https://auth.example.com/' }],
    ['ISSUER', 'a path', { ISSUER: 'https://auth.example.com/oauth' }],
    ['RESOURCES', 'none', { RESOURCES: [] }],
    ['RESOURCES', 'http', { RESOURCES: ['http://mcp.example.com/mcp'] }],
    ['RESOURCES', 'a fragment', { RESOURCES: ['https://mcp.example.com/mcp#a'] }],
    ['RESOURCES', 'a spelling of its own', { RESOURCES: ['https://MCP.example.com/mcp'] }],
    ['RESOURCES', 'one twice', { RESOURCES: 'https://a.example/mcp https://a.example/mcp' }],
    ['RESOURCES', 'a number', { RESOURCES: 7 }],
    ['SCOPES_SUPPORTED', 'a quote', { SCOPES_SUPPORTED: ['a"b'] }],
    ['SCOPES_SUPPORTED', 'one twice', { SCOPES_SUPPORTED: 'a a' }],
    ['SCOPES_DEFAULT', 'one nobody grants', { SCOPES_DEFAULT: 'admin' }],
    ['DYNAMIC_REGISTRATION', 'another word', { DYNAMIC_REGISTRATION: 'yes' }],
    ['DEV_LOGIN', 'a public host', { ...dev }],
    ['DEV_LOGIN', 'a provider beside it', { DEV_LOGIN: 'on', ISSUER: 'http://localhost:8788' }],
    ['UPSTREAM_ISSUER', 'none', { UPSTREAM_ISSUER: undefined }],
    ['UPSTREAM_ISSUER', 'http', { UPSTREAM_ISSUER: 'http://login.example.com' }],
    ['UPSTREAM_CLIENT_ID', 'none', { UPSTREAM_CLIENT_ID: undefined }],
    ['UPSTREAM_CLIENT_SECRET', 'none', { UPSTREAM_CLIENT_SECRET: undefined }],
    ['COOKIE_SECRET', 'none', { COOKIE_SECRET: undefined }],
    ['COOKIE_SECRET', 'a short one', { COOKIE_SECRET: 'short' }],
    ['ACCESS_TOKEN_SECONDS', 'less than a minute', { ACCESS_TOKEN_SECONDS: 59 }],
    ['ACCESS_TOKEN_SECONDS', 'more than a day', { ACCESS_TOKEN_SECONDS: 86_401 }],
    ['REFRESH_TOKEN_SECONDS', 'less than a minute', { REFRESH_TOKEN_SECONDS: 30 }],
    ['INTROSPECTION_CLIENTS', 'what is no JSON', { INTROSPECTION_CLIENTS: '[' }],
    ['INTROSPECTION_CLIENTS', 'a field missing', { INTROSPECTION_CLIENTS: [{ clientId: 'a' }] }],
    ['INTROSPECTION_CLIENTS', 'a resource of nobody', { INTROSPECTION_CLIENTS: [{ ...client, resource: 'x' }] }],
    ['INTROSPECTION_CLIENTS', 'one twice', { INTROSPECTION_CLIENTS: [client, client], A_SECRET: SECRET }],
    ['INTROSPECTION_CLIENTS', 'a secret that is not set', { INTROSPECTION_CLIENTS: [client] }],
    ['INTROSPECTION_CLIENTS', 'a short secret', { INTROSPECTION_CLIENTS: [client], A_SECRET: 'short' }],
    ['RATE_LIMIT', 'another word', { RATE_LIMIT: 'no' }],
  ])('%s with %s', (name, _what, changes) => {
    expect(() => parseAuthorizationConfig({ ...valid, ...changes })).toThrow(new RegExp(`(: |; )${name}: `))
  })

  test('several mistakes at once, and repeats no value', () => {
    const broken = { ...valid, ISSUER: 'ftp://hush', COOKIE_SECRET: 'hush' }
    expect(() => parseAuthorizationConfig(broken)).toThrow(/ISSUER.*COOKIE_SECRET/)
    expect(() => parseAuthorizationConfig(broken)).not.toThrow(/hush/)
  })

  test('a secret where its name belongs, by naming the client', () => {
    const hush = { ...client, clientId: 'billing', clientSecret: 'hush: the secret itself, written in the wrong place' }
    const broken = { ...valid, INTROSPECTION_CLIENTS: [hush] }
    expect(() => parseAuthorizationConfig(broken)).toThrow(/INTROSPECTION_CLIENTS: .*"billing"/)
    expect(() => parseAuthorizationConfig(broken)).not.toThrow(/hush/)
  })
})

test('a development login is taken on loopback', () => {
  const dev = { ...valid, UPSTREAM_ISSUER: undefined, DEV_LOGIN: 'on' }
  for (const ISSUER of ['http://localhost:8788', 'http://127.0.0.1:8788', 'http://[::1]:8788', 'https://localhost']) {
    expect(parseAuthorizationConfig({ ...dev, ISSUER }).upstream).toBeUndefined()
  }
  for (const ISSUER of ['https://localhost.example.com', 'https://127.0.0.1.example.com', 'http://10.0.0.1']) {
    expect(() => parseAuthorizationConfig({ ...dev, ISSUER })).toThrow(/ISSUER|DEV_LOGIN/)
  }
})

test('a server that is set up wrongly answers 503 to everything, and says why in its log alone', async () => {
  const app = createAuthorizationApp()
  for (const path of ['/', '/authorize', '/.well-known/oauth-authorization-server', '/oauth/token', '/health']) {
    const response = await app.request(`https://auth.example.com${path}`, {}, { ...valid, DEV_LOGIN: 'on' } as never)
    expect(response.status).toBe(503)
    expect(await response.text()).not.toContain('DEV_LOGIN')
  }
})

test('a server without its KV namespace answers 503, and names the binding in its log', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const response = await createAuthorizationApp().request('https://auth.example.com/health', {}, { ...valid } as never)
  expect(response.status).toBe(503)
  expect(printed.mock.calls.flat().join()).toContain('there is no KV binding OAUTH_KV')
})
