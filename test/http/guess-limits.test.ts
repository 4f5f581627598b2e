// Who sends tokens that are none: an address that does so too often waits, and nobody else does. Issuers are real.

import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { GuessLimits } from '../../src/http/guess-limits.ts'
import { ProtocolError } from '../../src/server/index.ts'
import { createIssuer, RESOURCE, type Issuer } from '../auth/issuer.ts'
import { createKey } from '../auth/sign.ts'
import { accepted, call, DOWN, invalid, MISSING, protect, type Outcome } from '../auth/table.ts'
import { json } from '../auth/tenant.ts'
import type { Fetcher } from '../support/client.ts'

const ADDRESS = '192.0.2.7'
const UNTRUSTED = invalid('The access token is not valid here')
const WAITS: Outcome = { status: 429, code: -32600, retryAfter: '10' }
const GOOD = 'a-good-token'

const START = Math.floor(Date.now() / 1000) * 1000
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Knows one token, and calls every other inactive. */
let opaque: Issuer
/** Signs its tokens. */
let signed: Issuer
beforeAll(async () => {
  ;[opaque, signed] = await Promise.all([createIssuer(), createIssuer()])
  await opaque.introspects(GOOD, json({ active: true, sub: 'ada', aud: RESOURCE, scope: 'notes:read' }))
})

const asked = async (of = opaque): Promise<number> => (await of.requests('/introspect')).length
const unknown = (): string => `unknown-${crypto.randomUUID()}`

/** Sends a token from an address. */
const send = (fetcher: Fetcher, token: string, address = ADDRESS): Promise<Outcome> =>
  call(fetcher, { authorization: `Bearer ${token}`, 'cf-connecting-ip': address })

/** A limit that is over for tokens that are none, and keeps the keys it was asked for. */
function limiter(isOver = true) {
  const keys: string[] = []
  const limit = async ({ key }: { key: string }) => {
    keys.push(key)
    return { success: !(isOver && key.includes(' tokens ')) }
  }
  return { keys, limit, ofTokens: () => keys.filter((key) => key.includes(' tokens ')) }
}

function guarded(limit: unknown, vars: object = {}): Fetcher {
  const introspection = { clientId: 'mcp', clientSecret: 'SECRET' }
  const issuers = [opaque.settings({ introspection }), signed.settings({ id: 'signed' })]
  const CALLS = limit === undefined ? undefined : { limit }
  return protect(issuers, { SECRET: 'x', RATE_LIMIT: 'on', CALLS, ...vars })
}

describe('a token that no issuer knows', () => {
  test('counts for the address it came from, at CALLS, and for nobody else', async () => {
    const { limit, ofTokens } = limiter(false)
    const server = guarded(limit)
    for (const address of [ADDRESS, ADDRESS, '198.51.100.1', '2001:db8:1:2::3']) {
      expect(await send(server, unknown(), address)).toEqual(UNTRUSTED)
    }
    expect(ofTokens()).toEqual([
      `mcp.example.com tokens address ${ADDRESS}`,
      `mcp.example.com tokens address ${ADDRESS}`,
      'mcp.example.com tokens address 198.51.100.1',
      'mcp.example.com tokens address 2001:db8:1',
    ])
  })

  test('counts under the host of PUBLIC_URL where it is set, whatever name was asked', async () => {
    const { limit, ofTokens } = limiter(false)
    const server = guarded(limit, { PUBLIC_URL: 'https://public.example.com' })
    for (const host of ['a1.example.com', 'a2.example.com']) {
      const headers = { authorization: `Bearer ${unknown()}`, 'cf-connecting-ip': ADDRESS }
      expect((await call(server, headers, `https://${host}/mcp`)).status).toBe(401)
    }
    expect(new Set(ofTokens())).toEqual(new Set([`public.example.com tokens address ${ADDRESS}`]))
  })

  test('once over, its address waits 10 seconds, and no issuer is asked meanwhile', async () => {
    const server = guarded(limiter().limit)
    expect(await send(server, unknown())).toEqual(UNTRUSTED)
    const before = await asked()
    for (const token of [unknown(), unknown(), 'x']) expect(await send(server, token)).toEqual(WAITS)
    vi.setSystemTime(START + 10_000 - 1)
    expect(await send(server, unknown())).toEqual(WAITS)
    expect(await asked()).toBe(before)
    vi.setSystemTime(START + 10_000)
    expect(await send(server, unknown())).toEqual(UNTRUSTED)
    expect(await asked()).toBe(before + 1)
    expect(await send(server, unknown())).toEqual(WAITS)
  })

  test('is answered with what a page may read', async () => {
    const server = guarded(limiter().limit)
    await send(server, unknown())
    const headers = { authorization: 'Bearer x', 'cf-connecting-ip': ADDRESS, origin: 'http://localhost:6274' }
    const response = await server(new Request(RESOURCE, { method: 'POST', headers, body: '{}' }))
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '10'])
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-expose-headers')).toContain('Retry-After')
    expect(await response.json()).toMatchObject({
      error: {
        message: 'Too many requests: too many access tokens from this address were none, try again in a moment',
      },
    })
  })

  test('is also a JWT that its issuer calls inactive', async () => {
    const { limit, ofTokens } = limiter()
    const server = guarded(limit)
    expect(await send(server, await opaque.mint())).toEqual(UNTRUSTED)
    expect(ofTokens()).toHaveLength(1)
    expect(await send(server, await opaque.mint({ sub: 'bob' }))).toEqual(WAITS)
  })
})

describe('while an address waits', () => {
  test('what is known to be good goes on, from there and from elsewhere', async () => {
    const server = guarded(limiter().limit)
    expect(await send(server, GOOD)).toEqual(accepted())
    expect(await send(server, unknown())).toEqual(UNTRUSTED)
    expect(await send(server, unknown())).toEqual(WAITS)
    const before = await asked()
    expect(await send(server, GOOD)).toEqual(accepted())
    expect(await send(server, await signed.mint())).toEqual(accepted('user signed ada | notes:read'))
    expect(await asked()).toBe(before)
    expect(await send(server, unknown(), '192.0.2.8')).toEqual(UNTRUSTED)
    expect(await asked()).toBe(before + 1)
  })

  test('so does its whole network, where it has one', async () => {
    const server = guarded(limiter().limit)
    expect(await send(server, unknown(), '2001:db8:7:1::1')).toEqual(UNTRUSTED)
    expect(await send(server, unknown(), '2001:db8:7:2::9')).toEqual(WAITS)
    expect(await send(server, unknown(), '2001:db8:8:1::1')).toEqual(UNTRUSTED)
  })

  test('who sends no token is told how to get one', async () => {
    const server = guarded(limiter().limit)
    await send(server, unknown())
    expect(await call(server, { 'cf-connecting-ip': ADDRESS })).toEqual(MISSING)
  })
})

describe('nothing is counted of', () => {
  test.each<[what: string, token: () => string | Promise<string>, status: number]>([
    ['a JWT with a wrong signature', async () => `${(await signed.mint()).slice(0, -8)}AAAAAAAA`, 401],
    ['a JWT with an unknown key', async () => signed.mint({}, { key: await createKey('ES256') }), 401],
    ['a JWT that expired', () => signed.mint({ exp: 1 }), 401],
    ['a JWT of an issuer that nobody configured', () => signed.mint({ iss: 'https://other.example.com' }), 401],
    ['a token that is malformed', () => 'a b', 400],
    ['a token that is too long', () => 'x'.repeat(20_000), 401],
    ['a token that is good', () => GOOD, 200],
  ])('%s', async (_, token, status) => {
    const { limit, ofTokens } = limiter()
    const server = guarded(limit)
    for (let i = 0; i < 3; i++) expect((await send(server, await token())).status).toBe(status)
    expect(ofTokens()).toEqual([])
  })

  test('a token whose issuer cannot be reached', async () => {
    const down = await createIssuer()
    await down.outage('500')
    const { limit, ofTokens } = limiter()
    const issuers = [down.settings({ introspection: { clientId: 'mcp', clientSecret: 'SECRET' } })]
    const server = protect(issuers, { SECRET: 'x', RATE_LIMIT: 'on', CALLS: { limit }, LOG: 'off' })
    for (let i = 0; i < 3; i++) expect(await send(server, unknown())).toEqual(DOWN)
    expect(ofTokens()).toEqual([])
  })
})

describe('nobody waits', () => {
  const broken = [
    ['rejects', () => Promise.reject(new Error('limiter down'))],
    [
      'throws',
      () => {
        throw new Error('limiter down')
      },
    ],
    ['answers nonsense', () => Promise.resolve(undefined)],
  ] as const

  test('where RATE_LIMIT is off', async () => {
    const { limit, keys } = limiter()
    const server = guarded(limit, { RATE_LIMIT: 'off' })
    for (let i = 0; i < 3; i++) expect(await send(server, unknown())).toEqual(UNTRUSTED)
    expect(keys).toEqual([])
  })

  test('where there is no binding', async () => {
    const server = guarded(undefined)
    for (let i = 0; i < 3; i++) expect(await send(server, unknown())).toEqual(UNTRUSTED)
  })

  test.each(broken)('where the limit %s', async (_, limit) => {
    const server = guarded(limit)
    for (let i = 0; i < 3; i++) expect(await send(server, unknown())).toEqual(UNTRUSTED)
  })
})

test('a thousand addresses are kept, then all are forgotten', async () => {
  const guesses = new GuessLimits({ rateLimit: true, publicUrl: undefined })
  const env = { CALLS: { limit: () => Promise.resolve({ success: false }) } }
  const from = (i: number) => new Request(RESOURCE, { headers: { 'cf-connecting-ip': `10.0.${i >> 8}.${i & 255}` } })
  const isWaiting = (i: number): boolean => {
    try {
      guesses.check(from(i))
      return false
    } catch (error) {
      if (error instanceof ProtocolError && error.kind === 'TooManyRequests') return true
      throw error
    }
  }
  const waiting = (): number => Array.from({ length: 1_002 }, (_, i) => isWaiting(i)).filter(Boolean).length
  for (let i = 0; i < 1_000; i++) await guesses.failed(from(i), env)
  expect(waiting()).toBe(1_000)
  await guesses.failed(from(1_000), env)
  expect([waiting(), isWaiting(0), isWaiting(1_000)]).toEqual([1, false, true])
})
