// What changes with time: keys that come and go, tokens that end, issuers that are down. The clock of the Worker is the
// test's; the issuer is real, and counts what it is asked.

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { Fetcher, JsonObject } from '../support/client.ts'
import type { SiteAnswer } from '../support/site.d.mts'
import { createIssuer, RESOURCE, type Issuer, type Outage } from './issuer.ts'
import { withLimits } from './limits.ts'
import { createKey } from './sign.ts'
import { accepted, DOWN, invalid, present, protect } from './table.ts'
import { json } from './tenant.ts'

const UNKNOWN_KEY = invalid('The access token is signed with an unknown key')
const WRONG_SIGNATURE = invalid('The signature of the access token is wrong')
const EXPIRED = invalid('The access token expired')
const UNTRUSTED = invalid('The access token is not valid here')

const MINUTE = 60_000
const START = Math.floor(Date.now() / 1000) * 1000
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

/** The time since the start of the test. */
function at(ms: number): void {
  vi.setSystemTime(START + ms)
}

/** An issuer, and a server that has its keys. The tokens live an hour. */
async function warm(more: JsonObject = {}): Promise<{ issuer: Issuer; server: Fetcher; token: string }> {
  const issuer = await createIssuer()
  const server = protect([issuer.settings(more)])
  const token = await issuer.mint()
  expect(await present(server, token)).toEqual(accepted())
  return { issuer, server, token }
}

const fetches = async (issuer: Issuer): Promise<number> => (await issuer.requests('/jwks')).length
const unknown = async (issuer: Issuer): Promise<string> => issuer.mint({}, { header: { kid: crypto.randomUUID() } })

describe('the warm path', () => {
  test('asks the issuer nothing', async () => {
    const { issuer, server, token } = await warm()
    const before = await issuer.requests()
    expect(before.map(({ path }) => path.split('/').at(-1))).toEqual([issuer.tenant.name, 'jwks'])
    for (let i = 0; i < 50; i++) expect(await present(server, i % 2 ? token : await issuer.mint())).toEqual(accepted())
    at(limits.issuerFreshMs - 1)
    expect(await present(server, token)).toEqual(accepted())
    expect(await issuer.requests()).toHaveLength(before.length)
  })

  test('begins with one fetch, however many ask at once', async () => {
    const issuer = await createIssuer()
    await issuer.publish({ ...json({ keys: [issuer.key.jwk] }), delayMs: 200 })
    const server = protect([issuer.settings()])
    const token = await issuer.mint()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => present(server, token)))
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => accepted()))
    expect(await fetches(issuer)).toBe(1)
  })

  test('is refreshed by one fetch, while others use what there is', async () => {
    const { issuer, server, token } = await warm()
    await issuer.publish({ ...json({ keys: [issuer.key.jwk] }), delayMs: 200 })
    at(limits.issuerFreshMs)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => present(server, token)))
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => accepted()))
    expect(await fetches(issuer)).toBe(2)
  })
})

describe('a new key', () => {
  test('verifies on its first request, also right after a fetch', async () => {
    const { issuer, server, token } = await warm()
    await issuer.rotate()
    expect(await present(server, await issuer.mint())).toEqual(accepted())
    expect(await present(server, token)).toEqual(accepted())
    await issuer.rotate('RS256')
    expect(await present(server, await issuer.mint())).toEqual(accepted())
    expect(await fetches(issuer)).toBe(3)
  })

  test('verifies when many ask for it at once, with one fetch', async () => {
    const { issuer, server } = await warm()
    await issuer.rotate()
    await issuer.publish({ ...json({ keys: issuer.keys.map(({ jwk }) => jwk) }), delayMs: 200 })
    const token = await issuer.mint()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => present(server, token)))
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => accepted()))
    expect(await fetches(issuer)).toBe(2)
  })

  test('of the same kid is taken once the old one is no longer fresh', async () => {
    const { issuer, server } = await warm()
    const { kid, alg } = issuer.key
    const fresh = await createKey(alg)
    issuer.keys[0] = { ...fresh, kid, jwk: { ...fresh.jwk, kid } }
    await issuer.publish()
    expect(await present(server, await issuer.mint())).toEqual(WRONG_SIGNATURE)
    at(limits.issuerFreshMs)
    expect(await present(server, await issuer.mint())).toEqual(accepted())
  })
})

describe('a key that was taken back', () => {
  test('stops within 5 minutes', async () => {
    const { issuer, server, token } = await warm()
    const old = issuer.key
    await issuer.rotate()
    await issuer.remove(old)
    at(5 * MINUTE - 1)
    expect(await present(server, token)).toEqual(accepted())
    at(5 * MINUTE)
    expect(await present(server, token)).toEqual(UNKNOWN_KEY)
    expect(await present(server, await issuer.mint())).toEqual(accepted())
  })

  test('stops at once when a new key is first used', async () => {
    const { issuer, server, token } = await warm()
    const old = issuer.key
    await issuer.rotate()
    await issuer.remove(old)
    expect(await present(server, await issuer.mint())).toEqual(accepted())
    expect(await present(server, token)).toEqual(UNKNOWN_KEY)
  })

  test('stops also when none is left', async () => {
    const { issuer, server, token } = await warm()
    await issuer.remove(issuer.key)
    at(5 * MINUTE)
    expect(await present(server, token)).toEqual(UNKNOWN_KEY)
  })
})

describe('tokens with made-up kids', () => {
  test('cause a few fetches, and stop nobody', async () => {
    const { issuer, server, token } = await warm()
    // What was not looked for may be there: that is no refusal.
    for (let i = 0; i < 60; i++) {
      const known = i < limits.issuerRefreshes ? UNKNOWN_KEY : DOWN
      expect(await present(server, await unknown(issuer))).toEqual(known)
    }
    expect(await fetches(issuer)).toBe(1 + limits.issuerRefreshes)
    expect(await present(server, token)).toEqual(accepted())
    at(limits.issuerRefreshMs - 1)
    expect(await present(server, await unknown(issuer))).toEqual(DOWN)
    expect(await fetches(issuer)).toBe(1 + limits.issuerRefreshes)
    at(limits.issuerRefreshMs)
    await issuer.rotate()
    expect(await present(server, await issuer.mint())).toEqual(accepted())
    expect(await fetches(issuer)).toBe(2 + limits.issuerRefreshes)
  })

  test('do not keep a new key waiting for longer than issuerRefreshMs, also when they go on', async () => {
    const { issuer, server } = await warm()
    for (let i = 0; i < 20; i++) await present(server, await unknown(issuer))
    await issuer.rotate()
    const token = await issuer.mint()
    expect(await present(server, token)).toEqual(DOWN)
    at(limits.issuerRefreshMs)
    expect(await present(server, await unknown(issuer))).toEqual(UNKNOWN_KEY)
    expect(await present(server, await unknown(issuer))).toEqual(DOWN)
    expect(await present(server, token)).toEqual(accepted())
    expect(await fetches(issuer)).toBe(2 + limits.issuerRefreshes)
  })

  test('cause one fetch for each such time that passed, and never more than a few in a row', async () => {
    const { issuer, server } = await warm()
    const burst = async (): Promise<number> => {
      const before = await fetches(issuer)
      for (let i = 0; i < limits.issuerRefreshes + 5; i++) await present(server, await unknown(issuer))
      return (await fetches(issuer)) - before
    }
    expect(await burst()).toBe(limits.issuerRefreshes)
    expect(await burst()).toBe(0)
    at(3 * limits.issuerRefreshMs)
    expect(await burst()).toBe(3)
    // As long as keys are fresh anyway.
    at(limits.issuerFreshMs - 1)
    expect(await burst()).toBe(limits.issuerRefreshes)
  })

  test('cause no more when they come at once', async () => {
    const { issuer, server } = await warm()
    const tokens = await Promise.all(Array.from({ length: 60 }, () => unknown(issuer)))
    for (const outcome of await Promise.all(tokens.map((token) => present(server, token)))) {
      expect(outcome).toEqual(UNKNOWN_KEY)
    }
    expect(await fetches(issuer)).toBeLessThanOrEqual(1 + limits.issuerRefreshes)
  })
})

describe('a token', () => {
  test('ends when it says so, with the tolerance, and the issuer is not asked', async () => {
    const { issuer, server } = await warm({ clockToleranceSeconds: 10 })
    const token = await issuer.mint({ exp: START / 1000 + 60 })
    at(70_000 - 1000)
    expect(await present(server, token)).toEqual(accepted())
    at(70_000)
    expect(await present(server, token)).toEqual(EXPIRED)
    expect(await fetches(issuer)).toBe(1)
  })

  test('begins when it says so, with the tolerance', async () => {
    const { issuer, server } = await warm({ clockToleranceSeconds: 10 })
    const token = await issuer.mint({ nbf: START / 1000 + 60 })
    at(49_000)
    expect(await present(server, token)).toEqual(invalid('The access token is not valid yet'))
    at(50_000)
    expect(await present(server, token)).toEqual(accepted())
  })
})

describe('an outage', () => {
  test.each<Outage>(['cut', '500'])('keeps keys for 15 minutes, and no longer (%s)', async (how) => {
    const { issuer, server, token } = await warm()
    await issuer.outage(how)
    for (const minutes of [1, 5, 10, 14]) {
      at(minutes * MINUTE)
      expect(await present(server, token)).toEqual(accepted())
    }
    at(limits.issuerStaleMs - 1)
    expect(await present(server, token)).toEqual(accepted())
    at(15 * MINUTE)
    expect(await present(server, token)).toEqual(DOWN)
    at(15 * MINUTE + limits.issuerBackoffMs)
    expect(await present(server, token)).toEqual(DOWN)
  })

  test('makes no refusal an acceptance', async () => {
    const { issuer, server } = await warm()
    const other = await createIssuer()
    const refused = [
      [await issuer.mint({ exp: START / 1000 - 3600 }), EXPIRED],
      [await issuer.mint({}, { key: other.key, header: { kid: issuer.key.kid } }), WRONG_SIGNATURE],
      [await issuer.mint({ aud: 'https://other.example.com' }), invalid('The access token is for another server')],
      [await other.mint(), UNTRUSTED],
    ] as const
    await issuer.outage('500')
    for (const minutes of [0, 6, 12]) {
      at(minutes * MINUTE)
      for (const [token, answer] of refused) expect(await present(server, token)).toEqual(answer)
      // It may be a new key: that cannot be told now.
      expect(await present(server, await unknown(issuer))).toEqual(DOWN)
    }
    at(16 * MINUTE)
    for (const [token, answer] of refused.slice(0, 3)) {
      expect([answer, DOWN]).toContainEqual(await present(server, token))
    }
    expect(await present(server, refused[3][0])).toEqual(UNTRUSTED)
  })

  test('that ends is over after 5 seconds, before which the issuer is left alone', async () => {
    const issuer = await createIssuer()
    const server = protect([issuer.settings()])
    const token = await issuer.mint()
    await issuer.outage('500')
    expect(await present(server, token)).toEqual(DOWN)
    const asked = (await issuer.requests()).length
    await issuer.restore()
    at(limits.issuerBackoffMs - 1)
    for (let i = 0; i < 10; i++) expect(await present(server, token)).toEqual(DOWN)
    expect(await issuer.requests()).toHaveLength(asked)
    at(limits.issuerBackoffMs)
    expect(await present(server, token)).toEqual(accepted())
  })
})

describe('an issuer that hangs', () => {
  test('is given up after 5 seconds, then answered for at once', { timeout: 30_000 }, async () => {
    const issuer = await createIssuer()
    const server = protect([issuer.settings()])
    await issuer.outage('hang')
    const token = await issuer.mint()
    const began = performance.now()
    expect(await present(server, token)).toEqual(DOWN)
    expect(performance.now() - began).toBeLessThan(limits.issuerFetchMs + 3000)
    const then = performance.now()
    expect(await present(server, token)).toEqual(DOWN)
    expect(performance.now() - then).toBeLessThan(1000)
    await issuer.restore()
  })

  test('holds up one of those who have its keys, for one such time', { timeout: 30_000 }, async () => {
    withLimits({ issuerFetchMs: 2000 })
    const { issuer, server, token } = await warm()
    await issuer.outage('hang')
    onTestFinished(() => issuer.restore())
    at(limits.issuerFreshMs)
    const began = performance.now()
    const first = present(server, token)
    for (let i = 0; i < 5; i++) expect(await present(server, token)).toEqual(accepted())
    expect(performance.now() - began).toBeLessThan(1500)
    expect(await first).toEqual(accepted())
    expect(performance.now() - began).toBeLessThan(3500)
  })
})

describe('what introspection said', () => {
  const introspection = { clientId: 'mcp', clientSecret: 'SECRET' }
  const active = (more: JsonObject = {}): JsonObject => ({ active: true, sub: 'ada', aud: RESOURCE, ...more })
  const asked = async (issuer: Issuer): Promise<number> => (await issuer.requests('/introspect')).length
  const ADA = accepted('user main ada')

  async function known(
    more: JsonObject = {},
    claims: JsonObject = {},
  ): Promise<{ issuer: Issuer; server: Fetcher; token: string }> {
    const issuer = await createIssuer()
    const server = protect([issuer.settings({ introspection, ...more })], { SECRET: 'x' })
    const token = crypto.randomUUID()
    await issuer.introspects(token, json(active(claims)))
    expect(await present(server, token)).toEqual(ADA)
    return { issuer, server, token }
  }

  test('is believed for 30 seconds, then a revoked token is refused', async () => {
    const { issuer, server, token } = await known()
    await issuer.introspects(token, json({ active: false }))
    at(30_000 - 1)
    expect(await present(server, token)).toEqual(ADA)
    expect(await asked(issuer)).toBe(1)
    at(30_000)
    expect(await present(server, token)).toEqual(UNTRUSTED)
    expect(await present(server, token)).toEqual(UNTRUSTED)
  })

  test('is believed as long as is configured', async () => {
    const { issuer, server, token } = await known({ cacheSeconds: 5 })
    await issuer.introspects(token, json({ active: false }))
    at(5000 - 1)
    expect(await present(server, token)).toEqual(ADA)
    at(5000)
    expect(await present(server, token)).toEqual(UNTRUSTED)
  })

  test('is believed never where that is configured', async () => {
    const { issuer, server, token } = await known({ cacheSeconds: 0 })
    expect(await present(server, token)).toEqual(ADA)
    expect(await asked(issuer)).toBe(2)
    await issuer.introspects(token, json({ active: false }))
    expect(await present(server, token)).toEqual(UNTRUSTED)
  })

  test('is not believed past the end of the token', async () => {
    const { server, token } = await known({ clockToleranceSeconds: 0 }, { exp: START / 1000 + 10 })
    at(10_000 - 1)
    expect(await present(server, token)).toEqual(ADA)
    at(10_000)
    expect(await present(server, token)).toEqual(EXPIRED)
  })

  test('is not believed past it either where the clock is given time', async () => {
    const { issuer, server, token } = await known({ clockToleranceSeconds: 30 }, { exp: START / 1000 + 10 })
    await issuer.introspects(token, json({ active: false }))
    at(10_000 - 1)
    expect(await present(server, token)).toEqual(ADA)
    at(10_000)
    expect(await present(server, token)).toEqual(UNTRUSTED)
  })

  test('is not believed when it was no', async () => {
    const { issuer, server } = await known()
    const token = crypto.randomUUID()
    expect(await present(server, token)).toEqual(UNTRUSTED)
    await issuer.introspects(token, json(active()))
    expect(await present(server, token)).toEqual(ADA)
  })

  test('is of one token, not of those like it', async () => {
    const { server, token } = await known()
    expect(await present(server, token)).toEqual(ADA)
    for (const other of [`${token}x`, token.slice(0, -1), token.toUpperCase(), `${token}=`]) {
      expect(await present(server, other.replace(token, 'x-'))).toEqual(UNTRUSTED)
    }
  })

  test('is kept for 30 seconds in an outage, which accepts nothing else', async () => {
    const { issuer, server, token } = await known()
    await issuer.outage('500')
    at(30_000 - 1)
    expect(await present(server, token)).toEqual(ADA)
    expect(await present(server, crypto.randomUUID())).toEqual(DOWN)
    at(30_000)
    expect(await present(server, token)).toEqual(DOWN)
    await issuer.restore()
    expect(await present(server, token)).toEqual(ADA)
  })

  test('is not asked of one that gave no answer, for issuerBackoffMs', async () => {
    const { issuer, server, token } = await known()
    await issuer.outage('cut')
    at(30_000)
    expect(await present(server, token)).toEqual(DOWN)
    await issuer.restore()
    const before = await issuer.requests()
    at(30_000 + limits.issuerBackoffMs - 1)
    expect(await present(server, token)).toEqual(DOWN)
    expect(await issuer.requests()).toEqual(before)
    at(30_000 + limits.issuerBackoffMs)
    expect(await present(server, token)).toEqual(ADA)
  })

  test.each<[how: string, odd: SiteAnswer]>([
    ['400', json({ error: 'invalid_request' }, 400)],
    ['500', json({}, 500)],
    ['429', json({}, 429)],
    ['nonsense', { body: '<p>Hello' }],
  ])('is asked of other tokens when one is answered %s', async (_, odd) => {
    const { issuer, server, token } = await known()
    await issuer.introspects('odd', odd)
    const [next, unlike] = [crypto.randomUUID(), crypto.randomUUID()]
    await issuer.introspects(next, json(active()))
    expect(await present(server, 'odd')).toEqual(DOWN)
    expect(await present(server, next)).toEqual(ADA)
    expect(await present(server, 'odd')).toEqual(DOWN)
    expect(await present(server, unlike)).toEqual(UNTRUSTED)
    expect(await present(server, token)).toEqual(ADA)
    expect(await asked(issuer)).toBe(5)
  })

  test.each<[how: string, answer: SiteAnswer]>([
    ['no answer', { hang: true }],
    ['no end of one', { ...json(active()), stall: true }],
  ])('is asked of nobody for issuerBackoffMs after there was %s in time', { timeout: 15_000 }, async (_, answer) => {
    withLimits({ issuerFetchMs: 1000 })
    const { issuer, server, token } = await known()
    await issuer.introspects('slow', answer)
    expect(await present(server, 'slow')).toEqual(DOWN)
    const before = await asked(issuer)
    for (let i = 0; i < 5; i++) expect(await present(server, crypto.randomUUID())).toEqual(DOWN)
    expect(await asked(issuer)).toBe(before)
    expect(await present(server, token)).toEqual(ADA)
    at(limits.issuerBackoffMs)
    expect(await present(server, crypto.randomUUID())).toEqual(UNTRUSTED)
  })

  test('is forgotten, oldest first, over a number of tokens', { timeout: 60_000 }, async () => {
    const issuer = await createIssuer()
    let calls = 0
    const validateToken = async (): Promise<unknown> => {
      calls++
      return { audience: RESOURCE, scope: [], userId: 'ada' }
    }
    const server = protect([issuer.settings({ service: 'TOKENS' })], { TOKENS: { validateToken } })
    for (let i = 0; i < limits.knownTokens; i++) await present(server, `token-${i}`)
    await present(server, 'token-0')
    expect(calls).toBe(limits.knownTokens)
    await present(server, 'one-more')
    await present(server, `token-${limits.knownTokens - 1}`)
    expect(calls).toBe(limits.knownTokens + 1)
    await present(server, 'token-0')
    expect(calls).toBe(limits.knownTokens + 2)
  })
})
