// Tokens that only their issuer can read: every answer of an introspection endpoint or a service, and what it leads to.
// @see RFC 7662, 2.2

import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Fetcher, JsonObject } from '../support/client.ts'
import type { SiteAnswer } from '../support/site.d.mts'
import { changeLimits } from './limits.ts'
import { watchLog, type Log } from './log.ts'
import { createIssuer, metadata, RESOURCE, WELL_KNOWN, type Issuer } from './issuer.ts'
import { accepted, DOWN, invalid, present, protect, type Outcome } from './table.ts'
import { json } from './tenant.ts'

const UNTRUSTED = invalid('The access token is not valid here')
const ELSEWHERE = invalid('The access token is for another server')
const MALFORMED = invalid('The access token is malformed')
const EXPIRED = invalid('The access token expired')
const BOUND = invalid('The access token is bound to a key')
const SECRET = 's3cret/+ :%é'

const introspection = { clientId: 'mcp server:1', clientSecret: 'INTROSPECTION_SECRET' }
const vars = { INTROSPECTION_SECRET: SECRET }
const nowSeconds = (): number => Math.floor(Date.now() / 1000)

let issuer: Issuer
let server: Fetcher
let restoreLimits: () => void
afterAll(() => restoreLimits())
beforeAll(async () => {
  restoreLimits = changeLimits({ issuerFetchMs: 1500 })
  issuer = await createIssuer()
  server = protect([issuer.settings({ introspection })], { ...vars, LOG: 'requests' })
})

const made: string[] = []

function opaque(): string {
  const token = `opaque-${crypto.randomUUID()}`
  made.push(token)
  return token
}

/** What an introspection says of an ordinary token. */
function active(more: JsonObject = {}): JsonObject {
  const exp = nowSeconds() + 3600
  return { active: true, sub: 'ada', aud: RESOURCE, client_id: 'host', scope: 'notes:read', exp, ...more }
}

/** A name, what the endpoint answers, and what the caller gets. */
type Row = [name: string, says: () => SiteAnswer, answer: Outcome]

const rows: Record<string, Row[]> = {
  'a token that introspection calls': [
    ['active', () => json(active()), accepted()],
    ['active, and of this issuer', () => json(active({ iss: issuer.url })), accepted()],
    ['active, without an end', () => json(active({ exp: undefined })), accepted()],
    ['active, of a program', () => json(active({ sub: undefined })), accepted('client main host | notes:read')],
    ['active, without scopes', () => json(active({ scope: undefined })), accepted('user main ada')],
    ['active, with audiences', () => json(active({ aud: ['x', RESOURCE] })), accepted()],
    [
      'active, in JSON that says it is a page',
      () => ({ ...json(active()), headers: { 'content-type': 'text/html' } }),
      accepted(),
    ],
    ['inactive', () => json({ active: false }), UNTRUSTED],
    ['inactive, with all its claims', () => json(active({ active: false })), UNTRUSTED],
    ['active, but expired', () => json(active({ exp: nowSeconds() - 60 })), EXPIRED],
    [
      'active, but not yet valid',
      () => json(active({ nbf: nowSeconds() + 60 })),
      invalid('The access token is not valid yet'),
    ],
    ['active, for another server', () => json(active({ aud: 'https://other.example.com/mcp' })), ELSEWHERE],
    ['active, for a prefix', () => json(active({ aud: 'https://mcp.example.com/m' })), ELSEWHERE],
    ['active, for nobody in particular', () => json(active({ aud: undefined })), ELSEWHERE],
    ['active, of another issuer', () => json(active({ iss: 'https://other.example.com' })), UNTRUSTED],
    [
      'active, of nobody',
      () => json(active({ sub: undefined, client_id: undefined })),
      invalid('The access token names nobody'),
    ],
    [
      'active, of a user whom it does not say',
      () => json(active({ sub: undefined, username: 'ada' })),
      invalid('The access token names nobody'),
    ],
    ['active, of a number', () => json(active({ sub: 7 })), MALFORMED],
    ['active, with a text as its end', () => json(active({ exp: '2030-01-01' })), MALFORMED],
    ['active, by a name with half a character', () => json(active({ sub: 'a\ud800' })), MALFORMED],
    ['active, bound to a key', () => json(active({ cnf: { jkt: 'abc' } })), BOUND],
    ['active, bound to a certificate', () => json(active({ cnf: { 'x5t#S256': 'abc' } })), BOUND],
    ['active, a bearer token', () => json(active({ token_type: 'Bearer' })), accepted()],
    ['active, a bearer token in small letters', () => json(active({ token_type: 'bearer' })), accepted()],
    ['active, an access token by its type', () => json(active({ token_type: 'access_token' })), accepted()],
    ['active, an access token by its use', () => json(active({ token_use: 'access_token' })), accepted()],
    ['active, an access token by its short use', () => json(active({ token_use: 'access' })), accepted()],
    ['active, a refresh token by its use', () => json(active({ token_use: 'refresh_token' })), UNTRUSTED],
    ['active, an ID token by its use', () => json(active({ token_use: 'id' })), UNTRUSTED],
    ['active, a refresh token by its type', () => json(active({ token_type: 'refresh_token' })), UNTRUSTED],
    ['active, a DPoP token', () => json(active({ token_type: 'DPoP' })), UNTRUSTED],
    [
      'active, a refresh token by its use that is a bearer token by its type',
      () => json(active({ token_use: 'refresh_token', token_type: 'Bearer' })),
      UNTRUSTED,
    ],
  ],
  'an introspection that': [
    ['says active as text', () => json(active({ active: 'true' })), DOWN],
    ['says active as a number', () => json(active({ active: 1 })), DOWN],
    ['says nothing of active', () => json(active({ active: undefined })), DOWN],
    ['answers 500', () => json({}, 500), DOWN],
    ['answers 500 with an active token', () => json(active(), 500), DOWN],
    ['answers 401', () => json({ error: 'invalid_client' }, 401), DOWN],
    ['answers 403', () => json({}, 403), DOWN],
    ['answers 404', () => json({}, 404), DOWN],
    ['answers 204', () => ({ status: 204 }), DOWN],
    ['answers 429', () => json({}, 429), DOWN],
    ['redirects', () => ({ status: 302, headers: { location: `${issuer.url}/elsewhere` } }), DOWN],
    ['is empty', () => ({ status: 200, headers: { 'content-type': 'application/json' } }), DOWN],
    ['is a page', () => ({ headers: { 'content-type': 'text/html' }, body: '<p>Hello' }), DOWN],
    ['is broken JSON', () => ({ ...json({}), body: '{"active":true' }), DOWN],
    ['is a list', () => json([active()]), DOWN],
    ['is null', () => json(null), DOWN],
    ['is true', () => json(true), DOWN],
    ['is cut off', () => ({ drop: true }), DOWN],
    ['hangs', () => ({ hang: true }), DOWN],
    ['does not end', () => ({ ...json(active()), stall: true }), DOWN],
  ],
}

describe('whatever introspection says', () => {
  let log: Log
  beforeAll(() => {
    log = watchLog()
  })
  afterAll(() => log.restore())

  describe.each(Object.entries(rows))('%s', (_, rows) => {
    test.concurrent.each(rows)('%s', { timeout: 15_000 }, async (_name, says, answer) => {
      const token = opaque()
      await issuer.introspects(token, says())
      expect(await present(server, token)).toEqual(answer)
    })
  })

  test('neither tokens nor the secret are logged', () => {
    expect(log.text()).toContain('"event":"refused"')
    expect(log.text()).toContain('"event":"failure"')
    expect(made.length).toBeGreaterThan(30)
    for (const token of made) log.expectNoneOf(token)
    expect(log.text()).not.toContain(SECRET)
  })
})

describe('a request to the introspection endpoint', () => {
  const asked = async (settings: JsonObject, token: string): Promise<{ form: JsonObject; authorization: unknown }> => {
    const other = await createIssuer()
    await other.introspects(undefined, json(active()))
    const guarded = protect([other.settings({ introspection: { ...introspection, ...settings } })], vars)
    expect(await present(guarded, token)).toEqual(accepted())
    const [request, ...more] = await other.requests('/introspect')
    expect(more).toEqual([])
    expect(request?.method).toBe('POST')
    const form = Object.fromEntries(new URLSearchParams(request?.body))
    return { form, authorization: request?.headers['authorization'] }
  }

  test('authenticates with the secret, each part encoded as a form', async () => {
    const { form, authorization } = await asked({}, 'a.b~c+d/e=')
    expect(form).toEqual({ token: 'a.b~c+d/e=', token_type_hint: 'access_token' })
    expect(atob(String(authorization).replace('Basic ', ''))).toBe('mcp+server%3A1:s3cret%2F%2B+%3A%25%C3%A9')
  })

  test('authenticates in its body where that is configured', async () => {
    const { form, authorization } = await asked({ method: 'post' }, 'abc')
    expect(form).toMatchObject({ token: 'abc', client_id: 'mcp server:1', client_secret: SECRET })
    expect(authorization).toBeUndefined()
  })

  test('goes to the endpoint that is configured, without discovery', async () => {
    const other = await createIssuer({ discovery: 'none' })
    await other.tenant.set('/elsewhere', json(active()))
    const settings = other.settings({ introspection: { ...introspection, endpoint: `${other.url}/elsewhere` } })
    expect(await present(protect([settings], vars), opaque())).toEqual(accepted())
    expect((await other.requests()).map(({ path }) => new URL(path, other.url).pathname)).toEqual([
      `/${other.tenant.name}/elsewhere`,
    ])
  })

  test('does not happen where metadata name no endpoint', async () => {
    const other = await createIssuer()
    const document = json({ ...metadata(other), introspection_endpoint: undefined })
    await other.tenant.set(WELL_KNOWN.oauth(other.tenant), document)
    expect(await present(protect([other.settings({ introspection })], vars), opaque())).toEqual(DOWN)
    expect(await other.requests('/introspect')).toEqual([])
  })

  test('does not happen for a JWT of another issuer, nor for what has no token', async () => {
    const other = await createIssuer()
    const guarded = protect([other.settings({ introspection })], vars)
    expect(await present(guarded, await issuer.mint())).toEqual(UNTRUSTED)
    expect(await other.requests()).toEqual([])
  })

  test('happens for a JWT of its own issuer', async () => {
    const other = await createIssuer()
    const token = await other.mint()
    await other.introspects(token, json(active()))
    expect(await present(protect([other.settings({ introspection })], vars), token)).toEqual(accepted())
  })
})

describe('with several issuers', () => {
  const both = async (): Promise<[Issuer, Issuer, Fetcher]> => {
    const [first, second] = await Promise.all([createIssuer(), createIssuer()])
    const settings = [first.settings({ id: 'first', introspection }), second.settings({ id: 'second', introspection })]
    return [first, second, protect(settings, vars)]
  }

  test('each is asked in order until one knows the token', async () => {
    const [first, second, guarded] = await both()
    await second.introspects('abc', json(active()))
    expect(await present(guarded, 'abc')).toEqual(accepted('user second ada | notes:read'))
    expect(await first.requests('/introspect')).toHaveLength(1)
    await first.introspects('xyz', json(active()))
    expect(await present(guarded, 'xyz')).toEqual(accepted('user first ada | notes:read'))
    expect(await second.requests('/introspect')).toHaveLength(1)
  })

  test('one that is down does not hide the token of another, and makes an unknown token 503', async () => {
    const [first, second, guarded] = await both()
    await first.outage('500')
    await second.introspects('abc', json(active()))
    expect(await present(guarded, 'abc')).toEqual(accepted('user second ada | notes:read'))
    expect(await present(guarded, 'unknown')).toEqual(DOWN)
    await first.restore()
  })

  test('a token that says it is of the other is refused', async () => {
    const [first, second, guarded] = await both()
    await first.introspects('abc', json(active({ iss: second.url })))
    expect(await present(guarded, 'abc')).toEqual(UNTRUSTED)
  })
})

test('an introspection whose secret is not there serves nothing, and the log says what to do', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  expect(await present(protect([issuer.settings({ introspection })]), 'abc')).toEqual(DOWN)
  const advice = 'there is no secret INTROSPECTION_SECRET: npx wrangler secret put INTROSPECTION_SECRET'
  expect(String(logged.mock.calls[0]?.[0])).toContain(`${issuer.url}: ${advice}`)
})

describe('a service binding', () => {
  const ordinary = { audience: RESOURCE, scope: ['notes:read'], userId: 'ada', clientId: 'host' }
  const answers = (validateToken: (resource: string, token: string) => unknown): Fetcher =>
    protect([issuer.settings({ service: 'TOKENS' })], { TOKENS: { validateToken } })

  test.each<[string, () => unknown, Outcome]>([
    ['that knows the token', async () => ({ ...ordinary, expiresAt: nowSeconds() + 60 }), accepted()],
    ['that says no end', async () => ordinary, accepted()],
    ['that knows an expired token', async () => ({ ...ordinary, expiresAt: nowSeconds() - 60 }), EXPIRED],
    [
      'that knows a program',
      async () => ({ ...ordinary, userId: undefined }),
      accepted('client main host | notes:read'),
    ],
    ['that knows a token of others', async () => ({ ...ordinary, audience: 'https://other.example.com' }), ELSEWHERE],
    ['that says no audience', async () => ({ ...ordinary, audience: undefined }), ELSEWHERE],
    ['that returns null', async () => null, UNTRUSTED],
    ['that returns nothing', async () => undefined, UNTRUSTED],
    ['that returns false', async () => false, UNTRUSTED],
    ['that returns true', async () => true, UNTRUSTED],
    ['that returns a text', async () => 'ada', UNTRUSTED],
    ['that returns an empty object', async () => ({}), ELSEWHERE],
    ['that rejects', async () => Promise.reject(new Error('down')), DOWN],
    [
      'that throws',
      () => {
        throw new Error('down')
      },
      DOWN,
    ],
    ['that never answers', () => new Promise(() => {}), DOWN],
  ])('%s', { timeout: 15_000 }, async (_, validateToken, answer) => {
    expect(await present(answers(validateToken), opaque())).toEqual(answer)
  })

  test('that gave no answer is not asked again at once, one that refused is', { timeout: 15_000 }, async () => {
    const rejecting = vi.fn(async () => Promise.reject(new Error('odd token')))
    const refused = answers(rejecting)
    for (let i = 0; i < 3; i++) expect(await present(refused, opaque())).toEqual(DOWN)
    expect(rejecting).toHaveBeenCalledTimes(3)
    const silent = vi.fn(() => new Promise(() => {}))
    const slow = answers(silent)
    for (let i = 0; i < 3; i++) expect(await present(slow, opaque())).toEqual(DOWN)
    expect(silent).toHaveBeenCalledTimes(1)
  })

  test('is asked about the audience and the token', async () => {
    const validateToken = vi.fn(async () => ordinary)
    expect(await present(answers(validateToken), 'abc')).toEqual(accepted())
    expect(validateToken.mock.calls).toEqual([[RESOURCE, 'abc']])
  })

  test('that is not there serves nothing, and the log names it', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    expect(await present(protect([issuer.settings({ service: 'TOKENS' })]), 'abc')).toEqual(DOWN)
    expect(String(logged.mock.calls[0]?.[0])).toContain('TOKENS')
  })
})
