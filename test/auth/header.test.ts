// How a token is sent: in one Authorization header, once. @see OAuth 2.1, 5.1.1; RFC 6750, 2 and 3.1

import { beforeAll, describe, expect, test } from 'vitest'
import { modern, type Fetcher } from '../support/client.ts'
import { createIssuer, RESOURCE } from './issuer.ts'
import {
  accepted,
  call,
  invalid,
  malformed,
  METADATA,
  MISSING,
  outcome,
  present,
  protect,
  type Outcome,
} from './table.ts'

const NOT_ONE = malformed("the Authorization header is not one 'Bearer' with one token")
const IN_URL = malformed('access tokens are not taken from the URL, send the Authorization header')
const MALFORMED = invalid('The access token is malformed')
const UNTRUSTED = invalid('The access token is not valid here')

let server: Fetcher
let token: string
beforeAll(async () => {
  const issuer = await createIssuer()
  server = protect([issuer.settings()])
  token = await issuer.mint()
})

/** A name, the values of `Authorization`, and the answer; `@` stands for a good token. */
type Row = [name: string, values: string[], answer: Outcome]

describe('the header', () => {
  test.each<Row>([
    ['as it should be', ['Bearer @'], accepted()],
    ['in lower case', ['bearer @'], accepted()],
    ['in capitals', ['BEARER @'], accepted()],
    ['with two spaces', ['Bearer  @'], accepted()],
    ['with spaces around', ['  Bearer @  '], accepted()],
    ['missing', [], MISSING],
    ['empty', [''], MISSING],
    ['of spaces', ['   '], MISSING],
    ['without a token', ['Bearer'], NOT_ONE],
    ['without a token but a space', ['Bearer '], NOT_ONE],
    ['without a scheme', ['@'], MISSING],
    ['with a tab', ['Bearer\t@'], NOT_ONE],
    ['with no space', ['Bearer@'], MISSING],
    ['with a colon', ['Bearer: @'], MISSING],
    ['with quotes', ['Bearer "@"'], NOT_ONE],
    ['with something after the token', ['Bearer @ x'], NOT_ONE],
    ['with a parameter', ['Bearer token=@'], MALFORMED],
    ['twice', ['Bearer @', 'Bearer @'], NOT_ONE],
    ['twice, the first empty', ['', 'Bearer @'], NOT_ONE],
    ['twice, the second empty', ['Bearer @', ''], NOT_ONE],
    ['twice, with another scheme after', ['Bearer @', 'Basic YTpi'], NOT_ONE],
    ['twice, with another scheme before', ['Basic YTpi', 'Bearer @'], NOT_ONE],
    ['with two tokens and a comma', ['Bearer @, Bearer @'], NOT_ONE],
    ['with two tokens, a comma and no space', ['Bearer @,Bearer @'], NOT_ONE],
    ['with a comma at the end', ['Bearer @,'], NOT_ONE],
    ['of scheme Basic', ['Basic YTpi'], MISSING],
    ['of scheme DPoP', ['DPoP @'], MISSING],
    ['of scheme Negotiate', ['Negotiate @'], MISSING],
    ['with signs that few tokens have', ['Bearer a%20b'], UNTRUSTED],
    ['with characters beyond ASCII', ['Bearer tök\u00ffn'], NOT_ONE],
    ['with braces', ['Bearer ${@}'], MALFORMED],
    ['with only an equals sign', ['Bearer ='], UNTRUSTED],
  ])('%s', async (_, values, answer) => {
    const headers = new Headers()
    for (const value of values) headers.append('authorization', value.replaceAll('@', token))
    expect(await call(server, headers)).toEqual(answer)
  })

  test('of 100,000 characters is refused', async () => {
    expect(await present(server, 'x'.repeat(100_000))).toEqual(invalid('The access token is too long'))
  })
})

describe('a token elsewhere', () => {
  test.each<[string, (token: string) => [HeadersInit, string?], Outcome]>([
    ['in the URL', (token) => [{}, `${RESOURCE}?access_token=${token}`], IN_URL],
    ['in the URL, with one in the header', (token) => [bearer(token), `${RESOURCE}?access_token=${token}`], IN_URL],
    ['in the URL, empty, with one in the header', (token) => [bearer(token), `${RESOURCE}?a=1&access_token=`], IN_URL],
    ['in the URL under a name like it', (token) => [bearer(token), `${RESOURCE}?my_access_token=1`], accepted()],
    ['in the URL with its name encoded', (token) => [{}, `${RESOURCE}?access%5Ftoken=${token}`], IN_URL],
    ['in the fragment', (token) => [{}, `${RESOURCE}#access_token=${token}`], MISSING],
    ['as the user of the URL', (token) => [{}, RESOURCE.replace('//', `//${token}@`)], MISSING],
    ['in a cookie', (token) => [{ cookie: `access_token=${token}` }], MISSING],
    ['in Proxy-Authorization', (token) => [{ 'proxy-authorization': `Bearer ${token}` }], MISSING],
    ['in X-Forwarded-Access-Token', (token) => [{ 'x-forwarded-access-token': token }], MISSING],
    ['in X-Authorization', (token) => [{ 'x-authorization': `Bearer ${token}` }], MISSING],
  ])('%s', async (_, send, answer) => {
    const [headers, url] = send(token)
    expect(await call(server, headers, url)).toEqual(answer)
  })

  test('in the body, as a form', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const raw = await modern(server, { url: RESOURCE }).raw({ headers: form, body: `access_token=${token}` })
    expect(outcome(raw)).toEqual(MISSING)
  })

  test('in the body, as JSON', async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      access_token: token,
      authorization: token,
    })
    const raw = await modern(server, { url: RESOURCE }).raw({ headers: { 'content-type': 'application/json' }, body })
    expect(outcome(raw)).toEqual(MISSING)
  })
})

test('a challenge names the metadata at the host that was asked, or at PUBLIC_URL', async () => {
  const issuer = await createIssuer()
  const at = async (url: string, vars = {}): Promise<string | undefined> =>
    (await call(protect([issuer.settings()], vars), {}, url)).challenge
  const challenge = (origin: string): string =>
    `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
  expect(await at('https://a.example/mcp')).toBe(challenge('https://a.example'))
  expect(await at('https://a.example/mcp/')).toBe(challenge('https://a.example'))
  expect(await at('http://localhost:8787/mcp')).toBe(challenge('http://localhost:8787'))
  expect(await at('https://a.example/mcp', { PUBLIC_URL: 'https://mcp.example.com' })).toBe(
    `Bearer resource_metadata="${METADATA}"`,
  )
})

test('a challenge names the scopes to begin with, but where the request was malformed', async () => {
  const issuer = await createIssuer()
  const scoped = protect([issuer.settings()], { SCOPES_SUPPORTED: 'notes:read, notes:write' })
  const scope = ', scope="notes:read notes:write"'
  expect(await call(scoped, {})).toEqual({ ...MISSING, challenge: `${MISSING.challenge}${scope}` })
  expect(await present(scoped, 'x')).toEqual({ ...UNTRUSTED, challenge: `${UNTRUSTED.challenge}${scope}` })
  expect(await present(scoped, 'x y')).toEqual(NOT_ONE)
})

test('a challenge can be read by a page of another origin', async () => {
  const response = await server(new Request(RESOURCE, { method: 'POST', headers: { origin: 'http://localhost:6274' } }))
  await response.text()
  expect(response.status).toBe(401)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
})

function bearer(token: string): HeadersInit {
  return { authorization: `Bearer ${token}` }
}
