// JSON Web Tokens: for each that can be made, its exact answer. The issuer `main` has three keys, `other` one of each.
// @see basic/authorization, Access Token Usage; RFC 9068, 4; RFC 8725

import { base64url, CompactEncrypt, exportSPKI, importJWK } from 'jose'
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { Fetcher, JsonObject } from '../support/client.ts'
import { createIssuer, type Issuer } from './issuer.ts'
import { watchLog } from './log.ts'
import { createKey, encode, sign, signWithSecret, type SigningKey } from './sign.ts'
import { accepted, invalid, present, protect, type Outcome } from './table.ts'

const TOLERANCE_SECONDS = 30
const EXPIRED = invalid('The access token expired')
const NOT_YET = invalid('The access token is not valid yet')
const MALFORMED = invalid('The access token is malformed')
const UNTRUSTED = invalid('The access token is not valid here')
const UNKNOWN_KEY = invalid('The access token is signed with an unknown key')
const WRONG_SIGNATURE = invalid('The signature of the access token is wrong')
const NOBODY = invalid('The access token names nobody')
const BOUND = invalid('The access token is bound to a key')
const PROGRAM = accepted('client main host | notes:read')

let main: Issuer
let other: Issuer
let stranger: Issuer
let rsa: SigningKey
let ec: SigningKey
let ed: SigningKey
let server: Fetcher

/** Whole seconds, so that a tolerance can be met to the second. */
const NOW = Math.floor(Date.now() / 1000)

beforeAll(async () => {
  ;[main, other, stranger] = await Promise.all([
    createIssuer({ algorithms: ['RS256', 'ES256', 'EdDSA'] }),
    createIssuer({ algorithms: ['RS256'] }),
    createIssuer({ algorithms: ['RS256'] }),
  ])
  ;[rsa, ec, ed] = main.keys as [SigningKey, SigningKey, SigningKey]
  const times = { clockToleranceSeconds: TOLERANCE_SECONDS }
  server = protect([main.settings(times), other.settings({ id: 'second', ...times })], { LOG: 'requests' })
})

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW * 1000 })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A name, how its token is made, and what it is answered. */
type Row = [name: string, token: () => string | Promise<string>, answer: Outcome]

/** Signed by the RSA key, with a header and a payload of any kind. */
const forge = (header: JsonObject, payload: unknown = main.claims()): Promise<string> =>
  sign(rsa, { alg: 'RS256', kid: rsa.kid, typ: 'at+jwt', ...header }, payload)

/** A token of `main` with one part replaced. */
async function part(at: 0 | 1 | 2, text: string): Promise<string> {
  const parts = (await main.mint()).split('.')
  parts[at] = text
  return parts.join('.')
}

async function pem(key: SigningKey): Promise<string> {
  return exportSPKI((await importJWK(key.jwk, key.alg, { extractable: true })) as CryptoKey)
}

const rows: Record<string, Row[]> = {
  'a good token': [
    ['signed with RSA', () => main.mint({}, { key: rsa }), accepted()],
    ['signed with an elliptic curve', () => main.mint({}, { key: ec }), accepted()],
    ['signed with Ed25519', () => main.mint({}, { key: ed }), accepted()],
    ['of the second issuer', () => other.mint(), accepted('user second ada | notes:read')],
    ['without typ', () => main.mint({}, { header: { typ: undefined } }), accepted()],
    ['of typ JWT', () => main.mint({}, { header: { typ: 'JWT' } }), accepted()],
    ['with scopes in scp', () => main.mint({ scope: undefined, scp: ['a', 'b'] }), accepted('user main ada | a | b')],
    ['without scopes', () => main.mint({ scope: undefined }), accepted('user main ada')],
    ['without client_id', () => main.mint({ client_id: undefined }), accepted()],
    ['without iat', () => main.mint({ iat: undefined }), accepted()],
    ['of a program, without sub', () => main.mint({ sub: undefined }), accepted('client main host | notes:read')],
    ['with a claim named like a prototype', () => forge({}, rawClaims('"__proto__":{"sub":"eve"}')), accepted()],
  ],
  'an issuer': [
    ['nobody configured', () => stranger.mint(), UNTRUSTED],
    ['with a slash more', () => main.mint({ iss: `${main.url}/` }), UNTRUSTED],
    ['in other case', () => main.mint({ iss: main.url.toUpperCase() }), UNTRUSTED],
    ['missing', () => main.mint({ iss: undefined }), UNTRUSTED],
    ['a number', () => main.mint({ iss: 1 }), UNTRUSTED],
    ['a list with the right one', () => main.mint({ iss: [main.url] }), UNTRUSTED],
    ['named by its id', () => main.mint({ iss: 'main' }), UNTRUSTED],
    ['whose name is that of a prototype', () => main.mint({ iss: '__proto__' }), UNTRUSTED],
  ],
  'a key': [
    ['of another issuer, with its kid', () => main.mint({}, { key: other.key }), UNKNOWN_KEY],
    [
      'of another issuer, with the right kid',
      () => main.mint({}, { key: other.key, header: { kid: rsa.kid } }),
      WRONG_SIGNATURE,
    ],
    [
      'of another issuer, without kid',
      () => main.mint({}, { key: other.key, header: { kid: undefined } }),
      WRONG_SIGNATURE,
    ],
    ['of the first issuer under the claims of the second', () => other.mint({}, { key: rsa }), UNKNOWN_KEY],
    [
      'of the first under the claims of the second, with its kid',
      () => other.mint({}, { key: rsa, header: { kid: other.key.kid } }),
      WRONG_SIGNATURE,
    ],
    ['that nobody published', async () => main.mint({}, { key: await createKey('RS256') }), UNKNOWN_KEY],
    [
      'of the right issuer with the kid of its other one',
      () => main.mint({}, { key: rsa, header: { kid: ed.kid } }),
      UNKNOWN_KEY,
    ],
    ['without kid, the only one of its algorithm', () => main.mint({}, { header: { kid: undefined } }), accepted()],
    ['whose kid is a number', () => main.mint({}, { header: { kid: 1 } }), UNKNOWN_KEY],
    ['whose kid is empty', () => main.mint({}, { header: { kid: '' } }), UNKNOWN_KEY],
    ['that came along as jwk', async () => attached((key) => ({ jwk: key.jwk })), UNKNOWN_KEY],
    [
      'that came along as jwk, with the right kid',
      async () => attached((key) => ({ jwk: key.jwk, kid: rsa.kid })),
      WRONG_SIGNATURE,
    ],
    ['behind jku', () => main.mint({}, { key: stranger.key, header: { jku: `${stranger.url}/jwks` } }), UNKNOWN_KEY],
    ['behind x5u', () => main.mint({}, { key: stranger.key, header: { x5u: `${stranger.url}/x5u` } }), UNKNOWN_KEY],
    ['in x5c', () => main.mint({}, { key: stranger.key, header: { x5c: ['MIIB'] } }), UNKNOWN_KEY],
  ],
  'an algorithm': [
    ['none', () => `${encode({ alg: 'none' })}.${encode(main.claims())}.`, MALFORMED],
    [
      'none, with the kid of a key',
      () => `${encode({ alg: 'none', kid: rsa.kid })}.${encode(main.claims())}.`,
      MALFORMED,
    ],
    ['nOnE', () => `${encode({ alg: 'nOnE' })}.${encode(main.claims())}.`, MALFORMED],
    ['none, with a signature', () => forge({ alg: 'none' }), MALFORMED],
    ['HS256 with the public key as PEM', async () => hmac(await pem(rsa)), MALFORMED],
    ['HS256 with the public key as JWK', () => hmac(JSON.stringify(rsa.jwk)), MALFORMED],
    ['HS256 with the modulus', () => hmac(rsa.jwk.n ?? ''), MALFORMED],
    ['HS256 with an empty-looking secret', () => hmac('\0'), MALFORMED],
    ['RS384 by a key for RS256', () => forge({ alg: 'RS384' }), UNKNOWN_KEY],
    [
      'PS256 by a key for RS256',
      () => sign({ ...rsa, alg: 'RS256' }, { alg: 'PS256', kid: rsa.kid }, main.claims()),
      UNKNOWN_KEY,
    ],
    ['ES256 over an RSA signature', () => forge({ alg: 'ES256' }), UNKNOWN_KEY],
    ['missing', () => forge({ alg: undefined }), MALFORMED],
    ['a number', () => forge({ alg: 256 }), MALFORMED],
    ['unknown', () => forge({ alg: 'RS257' }), MALFORMED],
  ],
  'a time': [
    ['expired an hour ago', () => main.mint({ exp: NOW - 3600 }), EXPIRED],
    ['expired, just within the tolerance', () => main.mint({ exp: NOW - TOLERANCE_SECONDS + 1 }), accepted()],
    ['expired, just over the tolerance', () => main.mint({ exp: NOW - TOLERANCE_SECONDS }), EXPIRED],
    ['exp missing', () => main.mint({ exp: undefined }), MALFORMED],
    ['exp as text', () => main.mint({ exp: String(NOW + 3600) }), MALFORMED],
    ['exp null', () => main.mint({ exp: null }), MALFORMED],
    ['exp infinite', () => forge({}, rawClaims('"exp":1e999')), MALFORMED],
    ['exp in the far future', () => main.mint({ exp: 1e300 }), accepted()],
    ['exp negative', () => main.mint({ exp: -1 }), EXPIRED],
    ['exp in milliseconds', () => main.mint({ exp: (NOW + 60) * 1000 }), accepted()],
    ['nbf in an hour', () => main.mint({ nbf: NOW + 3600 }), NOT_YET],
    ['nbf just within the tolerance', () => main.mint({ nbf: NOW + TOLERANCE_SECONDS }), accepted()],
    ['nbf just over the tolerance', () => main.mint({ nbf: NOW + TOLERANCE_SECONDS + 1 }), NOT_YET],
    ['nbf as text', () => main.mint({ nbf: 'now' }), MALFORMED],
    ['iat just within the tolerance', () => main.mint({ iat: NOW + TOLERANCE_SECONDS }), accepted()],
    ['iat in an hour', () => main.mint({ iat: NOW + 3600 }), accepted()],
    ['iat as text', () => main.mint({ iat: 'now' }), MALFORMED],
  ],
  'a claim': [
    ['sub and client_id missing', () => main.mint({ sub: undefined, client_id: undefined }), NOBODY],
    ['sub a number', () => main.mint({ sub: 7 }), MALFORMED],
    ['sub empty', () => main.mint({ sub: '' }), MALFORMED],
    ['sub null', () => main.mint({ sub: null }), accepted('client main host | notes:read')],
    ['sub an object', () => main.mint({ sub: { id: 'ada' } }), MALFORMED],
    ['sub with a line break', () => main.mint({ sub: 'ada\n' }), MALFORMED],
    ['sub with a null character', () => main.mint({ sub: 'ada\0' }), MALFORMED],
    ['sub with DEL', () => main.mint({ sub: 'ada\u007f' }), MALFORMED],
    ['sub with a control character of C1', () => main.mint({ sub: 'ada\u0085' }), MALFORMED],
    ['sub with the first half of a character', () => main.mint({ sub: 'ada\ud83d' }), MALFORMED],
    ['sub with the second half of a character', () => main.mint({ sub: '\ude42ada' }), MALFORMED],
    ['sub with a whole character', () => main.mint({ sub: '🙂' }), accepted('user main 🙂 | notes:read')],
    ['sub that is the program', () => main.mint({ sub: 'host' }), PROGRAM],
    ['sub that is the program, by azp', () => main.mint({ sub: 'host', client_id: undefined, azp: 'host' }), PROGRAM],
    ['sub missing, but a username', () => main.mint({ sub: undefined, username: 'ada' }), NOBODY],
    ['sub missing, the username of the program', () => main.mint({ sub: undefined, username: 'host' }), PROGRAM],
    ['sub missing, and a username that is no text', () => main.mint({ sub: undefined, username: 7 }), MALFORMED],
    [
      'sub of 255 characters',
      () => main.mint({ sub: 'a'.repeat(255) }),
      accepted(`user main ${'a'.repeat(255)} | notes:read`),
    ],
    ['sub of 256 characters', () => main.mint({ sub: 'a'.repeat(limits.subjectChars + 1) }), MALFORMED],
    ['sub with a space', () => main.mint({ sub: 'ada lovelace' }), accepted('user main ada lovelace | notes:read')],
    ['client_id a number', () => main.mint({ sub: undefined, client_id: 7 }), MALFORMED],
    ['client_id with a control character of C1', () => main.mint({ client_id: 'host\u009b' }), MALFORMED],
    ...['client_id', 'azp', 'cid', 'appid'].map((claim): Row => {
      const claims = { sub: undefined, client_id: undefined, [claim]: 'host' }
      return [`of a program that is named by ${claim}`, () => main.mint(claims), PROGRAM]
    }),
    ['cnf of a key', () => main.mint({ cnf: { jkt: 'abc' } }), BOUND],
    ['cnf of a certificate', () => main.mint({ cnf: { 'x5t#S256': 'abc' } }), BOUND],
    ['cnf empty', () => main.mint({ cnf: {} }), BOUND],
    ['cnf a text', () => main.mint({ cnf: 'abc' }), BOUND],
    ['cnf false', () => main.mint({ cnf: false }), BOUND],
    ['cnf null', () => main.mint({ cnf: null }), accepted()],
    ['scope a number', () => main.mint({ scope: 7 }), accepted('user main ada')],
    ['scope an object', () => main.mint({ scope: { a: 1 } }), accepted('user main ada')],
    ['scope with other things in its list', () => main.mint({ scope: ['a', 7, null] }), accepted('user main ada | a')],
  ],
  'a form': [
    ['cut in its signature', async () => (await main.mint()).slice(0, -8), WRONG_SIGNATURE],
    ['cut in its payload', async () => (await main.mint()).split('.').slice(0, 2).join('.').slice(0, -9), UNTRUSTED],
    ['without a signature', async () => (await main.mint()).replace(/[^.]*$/, ''), WRONG_SIGNATURE],
    ['without the last dot', async () => (await main.mint()).split('.').slice(0, 2).join('.'), UNTRUSTED],
    ['with a fourth part', async () => `${await main.mint()}.abc`, UNTRUSTED],
    ['with another signature', async () => part(2, base64url.encode(new Uint8Array(256))), WRONG_SIGNATURE],
    ['with another payload', () => part(1, encode(main.claims({ sub: 'eve' }))), WRONG_SIGNATURE],
    ['only dots', () => '..', UNTRUSTED],
    ['with a header that is no base64', () => part(0, '~~~~'), MALFORMED],
    ['with a payload that is no base64', () => part(1, '~~~~'), UNTRUSTED],
    ['with a payload that is no JSON', () => forge({}, 'not json'), UNTRUSTED],
    ['with a payload that is a list', () => forge({}, '[]'), UNTRUSTED],
    ['with a payload that is null', () => forge({}, 'null'), UNTRUSTED],
    ['with a payload that is a text', () => forge({}, '"ada"'), UNTRUSTED],
    ['with a header that is no JSON', () => part(0, encode('{"alg":')), MALFORMED],
    ['with a header that is null', () => part(0, encode('null')), MALFORMED],
    ['with a payload that is no UTF-8', () => part(1, base64url.encode(new Uint8Array([0xff, 0xfe, 0x7b]))), UNTRUSTED],
    ['encrypted', () => encrypted(), UNTRUSTED],
    ['with crit that nobody knows', () => forge({ crit: ['mystery'], mystery: 1 }), MALFORMED],
    ['with an empty crit', () => forge({ crit: [] }), MALFORMED],
    ['with crit that names a claim', () => forge({ crit: ['exp'], exp: 1 }), MALFORMED],
    ['with an unencoded payload', () => forge({ crit: ['b64'], b64: false }), MALFORMED],
    ['of 16 Ki characters, though nobody knows it', () => 'x'.repeat(16 * 1024), UNTRUSTED],
    ['of one character more', () => 'x'.repeat(limits.tokenChars + 1), invalid('The access token is too long')],
    ['of 20,000 characters', () => main.mint({ padding: 'x'.repeat(20_000) }), invalid('The access token is too long')],
    ['nested deeply', () => forge({}, rawClaims(`"deep":${'['.repeat(3000)}${']'.repeat(3000)}`)), accepted()],
  ],
}

/** The claims as JSON text, with something more at the end, which wins over what is before. */
function rawClaims(more: string): string {
  return `${JSON.stringify(main.claims()).slice(0, -1)},${more}}`
}

function hmac(secret: string): Promise<string> {
  return signWithSecret(secret, { alg: 'HS256', kid: rsa.kid, typ: 'at+jwt' }, main.claims())
}

/** Signed by a key that the token itself brings. */
async function attached(header: (key: SigningKey) => JsonObject): Promise<string> {
  const key = await createKey('RS256')
  return main.mint({}, { key, header: header(key) })
}

async function encrypted(): Promise<string> {
  const key = await importJWK({ ...rsa.jwk, alg: 'RSA-OAEP-256', use: 'enc' }, 'RSA-OAEP-256')
  const claims = new TextEncoder().encode(JSON.stringify(main.claims()))
  return new CompactEncrypt(claims)
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: rsa.kid })
    .encrypt(key)
}

describe.each(Object.entries(rows))('%s', (_, rows) => {
  test.each(rows)('%s', async (_name, make, answer) => {
    const log = watchLog()
    onTestFinished(log.restore)
    const token = await make()
    expect(await present(server, token)).toEqual(answer)
    log.expectNoneOf(token)
    if (answer.status === 401) expect(log.text()).toContain('"event":"refused"')
  })
})

test('what a stranger writes into a header is logged in part', async () => {
  const log = watchLog()
  onTestFinished(log.restore)
  const name = 'm'.repeat(4000)
  expect(await present(server, await forge({ crit: [name], [name]: 1 }))).toEqual(MALFORMED)
  expect(log.text()).toContain('"event":"refused"')
  expect(log.text()).toContain('mmm')
  expect(log.text()).not.toContain('m'.repeat(200))
})

test('keys that a token names are never fetched', async () => {
  expect(await stranger.requests()).toEqual([])
})
