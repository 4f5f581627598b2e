// Where keys come from: discovery and key sets as issuers publish them, whole or broken. What cannot be read is 503, never
// 401 and never open. @see RFC 8414, 3; basic/authorization/authorization-server-discovery

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { JsonObject } from '../support/client.ts'
import type { SiteAnswer } from '../support/site.d.mts'
import { createIssuer, metadata, WELL_KNOWN, type Issuer } from './issuer.ts'
import { changeLimits } from './limits.ts'
import { createKey, signWithSecret } from './sign.ts'
import { accepted, call, DOWN, invalid, METADATA, MISSING, present, protect, type Outcome } from './table.ts'
import { json } from './tenant.ts'

const UNKNOWN_KEY = invalid('The access token is signed with an unknown key')
const MALFORMED = invalid('The access token is malformed')

let restoreLimits: () => void
beforeAll(() => {
  restoreLimits = changeLimits({ issuerFetchMs: 1500 })
})
afterAll(() => restoreLimits())

/** A name, how the issuer is, and what its good token is answered. */
type Row = [name: string, prepare: (issuer: Issuer) => Promise<unknown>, answer: Outcome, settings?: JsonObject]

const oauth = (issuer: Issuer, answer: SiteAnswer): Promise<void> =>
  issuer.tenant.set(WELL_KNOWN.oauth(issuer.tenant), answer)

describe('discovery', () => {
  test.concurrent.each<Row>([
    ['finds the document of RFC 8414', async (issuer) => oauth(issuer, json(metadata(issuer))), accepted()],
    [
      'finds that of OpenID Connect, path inserted',
      async (issuer) => issuer.tenant.set(WELL_KNOWN.openid(issuer.tenant), json(metadata(issuer))),
      accepted(),
    ],
    [
      'finds that of OpenID Connect, path before',
      async (issuer) => issuer.tenant.set(WELL_KNOWN.appended(), json(metadata(issuer))),
      accepted(),
    ],
    ['finds none', async () => {}, DOWN],
    [
      'is told another issuer',
      async (issuer) => oauth(issuer, json({ ...metadata(issuer), issuer: 'https://other.example.com' })),
      DOWN,
    ],
    [
      'is told the issuer with a slash',
      async (issuer) => oauth(issuer, json({ ...metadata(issuer), issuer: `${issuer.url}/` })),
      DOWN,
    ],
    ['is told no issuer', async (issuer) => oauth(issuer, json({ ...metadata(issuer), issuer: undefined })), DOWN],
    ['is told no keys', async (issuer) => oauth(issuer, json({ ...metadata(issuer), jwks_uri: undefined })), DOWN],
    [
      'is told keys that are no URL',
      async (issuer) => oauth(issuer, json({ ...metadata(issuer), jwks_uri: 'jwks' })),
      DOWN,
    ],
    [
      'is told keys over http elsewhere',
      async (issuer) => oauth(issuer, json({ ...metadata(issuer), jwks_uri: 'http://keys.example.com/jwks' })),
      DOWN,
    ],
    [
      'is told keys in a file',
      async (issuer) => oauth(issuer, json({ ...metadata(issuer), jwks_uri: 'file:///etc/passwd' })),
      DOWN,
    ],
    [
      'meets a redirect',
      async (issuer) => {
        await issuer.tenant.set('/moved', json(metadata(issuer)))
        await oauth(issuer, { status: 302, headers: { location: `${issuer.url}/moved` } })
      },
      DOWN,
    ],
    ['meets 500', async (issuer) => oauth(issuer, json(metadata(issuer), 500)), DOWN],
    [
      'meets a page',
      async (issuer) => oauth(issuer, { headers: { 'content-type': 'text/html' }, body: '<p>Hello' }),
      DOWN,
    ],
    ['meets a list', async (issuer) => oauth(issuer, json([metadata(issuer)])), DOWN],
    ['meets nothing in 200', async (issuer) => oauth(issuer, { status: 200 }), DOWN],
    ['hangs', async (issuer) => oauth(issuer, { hang: true }), DOWN],
    ['is cut off', async (issuer) => oauth(issuer, { drop: true }), DOWN],
  ])('%s', { timeout: 15_000 }, async (_, prepare, answer) => {
    const issuer = await createIssuer({ discovery: 'none' })
    await prepare(issuer)
    expect(await present(protect([issuer.settings()]), await issuer.mint())).toEqual(answer)
  })

  test.each<[status: number, answer: Outcome]>([
    [302, accepted()],
    [401, accepted()],
    [403, accepted()],
    [410, accepted()],
    [429, DOWN],
    [500, DOWN],
    [503, DOWN],
  ])('that meets %i looks at the next place only where nothing is there', async (status, answer) => {
    const issuer = await createIssuer({ discovery: 'openid' })
    await oauth(issuer, json(metadata(issuer), status))
    expect(await present(protect([issuer.settings()]), await issuer.mint())).toEqual(answer)
  })

  test('that meets a page, as sites have for every path, looks at the next place', async () => {
    const issuer = await createIssuer({ discovery: 'openid' })
    await oauth(issuer, { headers: { 'content-type': 'text/html' }, body: '<p>Hello' })
    expect(await present(protect([issuer.settings()]), await issuer.mint())).toEqual(accepted())
  })

  test('that is told keys over http takes them from this machine by its name alone', async () => {
    const issuer = await createIssuer({ discovery: 'none' })
    const at = async (host: string): Promise<Outcome> => {
      const jwks = `${issuer.url}/jwks`.replace('127.0.0.1', host)
      await oauth(issuer, json({ ...metadata(issuer), jwks_uri: jwks }))
      return present(protect([issuer.settings()]), await issuer.mint())
    }
    expect(await at('127.0.0.1')).toEqual(accepted())
    expect(await at('0.0.0.0')).toEqual(DOWN)
    expect(await issuer.requests('/jwks')).toHaveLength(1)
  })

  test('stops at the first document that is there, in the order of the specification', async () => {
    const issuer = await createIssuer({ discovery: 'none' })
    await issuer.tenant.set(WELL_KNOWN.appended(), json(metadata(issuer)))
    await present(protect([issuer.settings()]), await issuer.mint())
    expect((await issuer.requests()).map(({ path }) => path)).toEqual([
      WELL_KNOWN.oauth(issuer.tenant),
      WELL_KNOWN.openid(issuer.tenant),
      `/${issuer.tenant.name}${WELL_KNOWN.appended()}`,
      `/${issuer.tenant.name}/jwks`,
    ])
  })

  test.each([500, 503])('that meets %i looks no further: a document there may be meant', async (status) => {
    const issuer = await createIssuer({ discovery: 'openid' })
    await oauth(issuer, { status, body: 'down' })
    await present(protect([issuer.settings()]), await issuer.mint())
    expect((await issuer.requests()).map(({ path }) => path)).toEqual([WELL_KNOWN.oauth(issuer.tenant)])
  })

  test.each([301, 307, 308])('that meets %i follows it nowhere', async (status) => {
    const issuer = await createIssuer({ discovery: 'openid' })
    await issuer.tenant.set('/moved', json({ ...metadata(issuer), jwks_uri: `${issuer.url}/moved-jwks` }))
    await oauth(issuer, { status, headers: { location: `${issuer.url}/moved` } })
    expect(await present(protect([issuer.settings()]), await issuer.mint())).toEqual(accepted())
    expect(await issuer.requests('moved')).toEqual([])
  })

  test.each<[delayMs: number, answer: Outcome]>([
    [400, accepted()],
    [1000, DOWN],
  ])('and the keys have one deadline together: %i ms each', { timeout: 15_000 }, async (delayMs, answer) => {
    const issuer = await createIssuer({ discovery: 'none' })
    await oauth(issuer, { ...json(metadata(issuer)), delayMs })
    await issuer.publish({ ...json({ keys: [issuer.key.jwk] }), delayMs })
    expect(await present(protect([issuer.settings()]), await issuer.mint())).toEqual(answer)
    expect(await issuer.requests('/jwks')).toHaveLength(1)
  })

  test('does not happen where the keys are configured', async () => {
    const issuer = await createIssuer({ discovery: 'none' })
    const server = protect([issuer.settings({ jwks: `${issuer.url}/jwks` })])
    expect(await present(server, await issuer.mint())).toEqual(accepted())
    expect((await issuer.requests()).map(({ path }) => path)).toEqual([`/${issuer.tenant.name}/jwks`])
  })
})

describe('a key set', () => {
  test.concurrent.each<Row>([
    ['with the key', async (issuer) => issuer.publish(), accepted()],
    [
      'with the key among others',
      async (issuer) => {
        await issuer.rotate('RS256')
        await issuer.rotate('EdDSA')
        issuer.keys.reverse()
      },
      accepted(),
    ],
    [
      'with a key of a kind nobody knows beside',
      async (issuer) => issuer.publish(json({ keys: [{ kty: 'XYZ', kid: 'x' }, issuer.key.jwk] })),
      accepted(),
    ],
    [
      'with a key without alg',
      async (issuer) => issuer.publish(json({ keys: [{ ...issuer.key.jwk, alg: undefined }] })),
      accepted(),
    ],
    [
      'with a key for encryption',
      async (issuer) => issuer.publish(json({ keys: [{ ...issuer.key.jwk, use: 'enc' }] })),
      UNKNOWN_KEY,
    ],
    [
      'with another key',
      async (issuer) => issuer.publish(json({ keys: [(await createKey('ES256')).jwk] })),
      UNKNOWN_KEY,
    ],
    ['that is empty', async (issuer) => issuer.publish(json({ keys: [] })), UNKNOWN_KEY],
    ['without a list', async (issuer) => issuer.publish(json({})), DOWN],
    ['whose list is a text', async (issuer) => issuer.publish(json({ keys: 'none' })), DOWN],
    ['whose list has no objects', async (issuer) => issuer.publish(json({ keys: ['a', 1, null] })), DOWN],
    ['that is a list', async (issuer) => issuer.publish(json([issuer.key.jwk])), DOWN],
    ['that is no JSON', async (issuer) => issuer.publish({ body: 'keys' }), DOWN],
    [
      'with the private key',
      async (issuer) => issuer.publish(json({ keys: [{ ...issuer.key.jwk, d: issuer.key.jwk.x }] })),
      DOWN,
    ],
    ['whose key is broken', async (issuer) => issuer.publish(json({ keys: [{ ...issuer.key.jwk, x: 'AA' }] })), DOWN],
    [
      'whose key is broken, beside a good one',
      async (issuer) => {
        const broken = { ...issuer.key.jwk, kid: 'broken', x: 'AA' }
        await issuer.publish(json({ keys: [broken, issuer.key.jwk] }))
      },
      accepted(),
    ],
    [
      'of 900 kB',
      async (issuer) => issuer.publish(json({ keys: [issuer.key.jwk], padding: 'x'.repeat(900_000) })),
      accepted(),
    ],
    ['that answers 500', async (issuer) => issuer.publish(json({ keys: [issuer.key.jwk] }, 500)), DOWN],
    ['that answers 404', async (issuer) => issuer.publish(json({}, 404)), DOWN],
    [
      'that redirects',
      async (issuer) => {
        await issuer.tenant.set('/moved', json({ keys: [issuer.key.jwk] }))
        await issuer.publish({ status: 307, headers: { location: `${issuer.url}/moved` } })
      },
      DOWN,
    ],
    ['that hangs', async (issuer) => issuer.publish({ hang: true }), DOWN],
    ['that does not end', async (issuer) => issuer.publish({ ...json({ keys: [issuer.key.jwk] }), stall: true }), DOWN],
    ['that is cut off', async (issuer) => issuer.publish({ drop: true }), DOWN],
    [
      'that is slow',
      async (issuer) => issuer.publish({ ...json({ keys: [issuer.key.jwk] }), delayMs: 300 }),
      accepted(),
    ],
  ])('%s', { timeout: 15_000 }, async (_, prepare, answer) => {
    const issuer = await createIssuer()
    await prepare(issuer)
    expect(await present(protect([issuer.settings()]), await issuer.mint())).toEqual(answer)
  })

  test('that hangs is asked once, by all who wait, and they are answered alike', { timeout: 15_000 }, async () => {
    const issuer = await createIssuer()
    await issuer.publish({ hang: true })
    const server = protect([issuer.settings({ jwks: `${issuer.url}/jwks` })])
    const token = await issuer.mint()
    const began = performance.now()
    // Each a moment later, so that some look right when the fetch ends.
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        await scheduler.wait(i)
        return present(server, token)
      }),
    )
    expect(outcomes).toEqual(Array.from({ length: 40 }, () => DOWN))
    expect(performance.now() - began).toBeLessThan(limits.issuerFetchMs + 900)
    expect(await issuer.requests('/jwks')).toHaveLength(1)
  })

  test('with a shared secret verifies nothing', async () => {
    const issuer = await createIssuer()
    const secret = 'a secret of 32 bytes, no less...'
    const k = btoa(secret).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    await issuer.publish(json({ keys: [{ kty: 'oct', kid: 'oct', alg: 'HS256', k }, issuer.key.jwk] }))
    const server = protect([issuer.settings()])
    const token = await signWithSecret(secret, { alg: 'HS256', kid: 'oct', typ: 'at+jwt' }, issuer.claims())
    expect(await present(server, token)).toEqual(MALFORMED)
    expect(await present(server, await issuer.mint())).toEqual(accepted())
  })

  test('with two keys of one algorithm needs a kid', async () => {
    const issuer = await createIssuer({ algorithms: ['ES256', 'ES256'] })
    const server = protect([issuer.settings()])
    expect(await present(server, await issuer.mint({}, { header: { kid: undefined } }))).toEqual(UNKNOWN_KEY)
    for (const key of issuer.keys) expect(await present(server, await issuer.mint({}, { key }))).toEqual(accepted())
  })

  test('of one issuer is never asked for a token of another', async () => {
    const [first, second] = await Promise.all([createIssuer(), createIssuer()])
    const server = protect([first.settings({ id: 'first' }), second.settings({ id: 'second' })])
    expect(await present(server, await first.mint())).toEqual(accepted('user first ada | notes:read'))
    expect(await second.requests()).toEqual([])
    expect(await present(server, await second.mint({}, { key: first.key }))).toEqual(UNKNOWN_KEY)
    expect(await present(server, await first.mint({}, { key: second.key }))).toEqual(UNKNOWN_KEY)
  })

  test('of an issuer that is down does not stop another issuer', async () => {
    const [first, second] = await Promise.all([createIssuer(), createIssuer()])
    const server = protect([first.settings({ id: 'first' }), second.settings({ id: 'second' })])
    await first.outage('cut')
    expect(await present(server, await first.mint())).toEqual(DOWN)
    expect(await present(server, await second.mint())).toEqual(accepted('user second ada | notes:read'))
  })
})

describe('settings', () => {
  test('algorithms take no other', async () => {
    const issuer = await createIssuer({ algorithms: ['RS256', 'ES256'] })
    const server = protect([issuer.settings({ algorithms: ['RS256'] })])
    const [rsa, ec] = issuer.keys
    expect(await present(server, await issuer.mint({}, { key: rsa! }))).toEqual(accepted())
    expect(await present(server, await issuer.mint({}, { key: ec! }))).toEqual(MALFORMED)
  })

  test.each<[string | undefined, Outcome]>([
    ['at+jwt', accepted()],
    ['AT+JWT', accepted()],
    ['application/at+jwt', accepted()],
    ['JWT', MALFORMED],
    ['dpop+jwt', MALFORMED],
    [undefined, MALFORMED],
  ])('typ at+jwt, and the token says %s', async (typ, answer) => {
    const issuer = await createIssuer()
    const server = protect([issuer.settings({ typ: 'at+jwt' })])
    expect(await present(server, await issuer.mint({}, { header: { typ } }))).toEqual(answer)
  })

  test('scopeClaims and subjectClaim say where scopes and users are', async () => {
    const issuer = await createIssuer()
    const server = protect([issuer.settings({ scopeClaims: ['permissions', 'roles'], subjectClaim: 'oid' })])
    const claims = { oid: 'o-1', permissions: ['a', 'b'], roles: 'b c' }
    expect(await present(server, await issuer.mint(claims))).toEqual(accepted('user main o-1 | a | b | c'))
  })

  test('subjectClaim makes a token without it nobody, not all users of one program the same', async () => {
    const issuer = await createIssuer()
    const server = protect([issuer.settings({ subjectClaim: 'oid' })])
    expect(await present(server, await issuer.mint({ sub: 'ada' }))).toEqual(invalid('The access token names nobody'))
  })

  test.each<[more: JsonObject, answer: Outcome]>([
    [{ sub: 'ada' }, invalid('The access token names nobody')],
    [{ sub: undefined, username: 'ada' }, invalid('The access token names nobody')],
    [{ sub: 'host' }, accepted('client main host | notes:read')],
    [{ sub: undefined, username: 'host' }, accepted('client main host | notes:read')],
    [{ sub: 'ada', oid: 'host' }, accepted('client main host | notes:read')],
    [{ sub: undefined }, accepted('client main host | notes:read')],
  ])('subjectClaim oid, and the token says %j', async (more, answer) => {
    const issuer = await createIssuer()
    const server = protect([issuer.settings({ subjectClaim: 'oid' })])
    expect(await present(server, await issuer.mint(more))).toEqual(answer)
  })

  test('scopePrefix is put before scopes that are asked for, and is not in those of tokens', async () => {
    const issuer = await createIssuer()
    const [before, vars] = ['api://notes/', { SCOPES_SUPPORTED: 'notes:read notes:write' }]
    const server = protect([issuer.settings({ scopePrefix: before })], vars)
    const scope = 'api://notes/notes:read api://notes/notes:write'
    expect(await call(server, {})).toEqual({ ...MISSING, challenge: `${MISSING.challenge}, scope="${scope}"` })
    expect((await present(server, 'x')).challenge).toContain(`scope="${scope}"`)
    const document = await (await server(new Request(METADATA))).json()
    expect(document).toMatchObject({ scopes_supported: scope.split(' ') })
    expect(await present(server, await issuer.mint())).toEqual(accepted())
    // No more than it says: a prefix in a token is part of another scope.
    const prefixed = await issuer.mint({ scope: 'api://notes/notes:read' })
    expect(await present(server, prefixed)).toEqual(accepted('user main ada | api://notes/notes:read'))
  })

  test('scopePrefix is that of the first issuer, where none has issued a token', async () => {
    const [first, second] = await Promise.all([createIssuer(), createIssuer()])
    const settings = [first.settings({ scopePrefix: 'a/' }), second.settings({ id: 'second', scopePrefix: 'b/' })]
    const server = protect(settings, { SCOPES_SUPPORTED: 'read' })
    expect((await call(server, {})).challenge).toContain('scope="a/read"')
  })

  test('id is the issuer where none is given', async () => {
    const issuer = await createIssuer()
    const server = protect([issuer.settings({ id: undefined })])
    expect(await present(server, await issuer.mint())).toEqual(accepted(`user ${issuer.url} ada | notes:read`))
  })
})
