// For whom a token is: what counts as this server, and what only looks like it. @see RFC 8707, 2; RFC 7519, 4.1.3

import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createIssuer, type Issuer } from './issuer.ts'
import { accepted, call, DOWN, invalid, present, protect, type Outcome } from './table.ts'

const ELSEWHERE = invalid('The access token is for another server')

let issuer: Issuer
beforeAll(async () => {
  issuer = await createIssuer()
})

/** A name, the `aud` of the token, and what it is answered. */
type Row = [name: string, aud: unknown, answer: Outcome]

const rows: Row[] = [
  ['the endpoint', 'https://mcp.example.com/mcp', accepted()],
  ['with a slash at its end', 'https://mcp.example.com/mcp/', accepted()],
  ['with two slashes at its end', 'https://mcp.example.com/mcp//', ELSEWHERE],
  ['with its host in capitals', 'https://MCP.Example.COM/mcp', accepted()],
  ['with its scheme in capitals', 'HTTPS://mcp.example.com/mcp', accepted()],
  ['with its default port', 'https://mcp.example.com:443/mcp', accepted()],
  ['on another port', 'https://mcp.example.com:8443/mcp', ELSEWHERE],
  ['over http', 'http://mcp.example.com/mcp', ELSEWHERE],
  ['with its path in capitals', 'https://mcp.example.com/MCP', ELSEWHERE],
  ['another path', 'https://mcp.example.com/other', ELSEWHERE],
  ['a path below', 'https://mcp.example.com/mcp/admin', ELSEWHERE],
  ['a prefix of its path', 'https://mcp.example.com/m', ELSEWHERE],
  ['a path it is a prefix of', 'https://mcp.example.com/mcp2', ELSEWHERE],
  ['only its origin', 'https://mcp.example.com', ELSEWHERE],
  ['only its host', 'mcp.example.com', ELSEWHERE],
  ['another host', 'https://other.example.com/mcp', ELSEWHERE],
  ['a host it is a prefix of', 'https://mcp.example.com.evil.example/mcp', ELSEWHERE],
  ['as a user of another host', 'https://mcp.example.com@evil.example/mcp', ELSEWHERE],
  ['with a user', 'https://ada@mcp.example.com/mcp', ELSEWHERE],
  ['with a query', 'https://mcp.example.com/mcp?tenant=1', ELSEWHERE],
  ['with a fragment', 'https://mcp.example.com/mcp#x', ELSEWHERE],
  ['with a space before it', ' https://other.example.com/mcp', ELSEWHERE],
  ['a list with it', ['https://other.example.com', 'https://mcp.example.com/mcp'], accepted()],
  ['a list without it', ['https://other.example.com/mcp', 'https://mcp.example.com'], ELSEWHERE],
  ['a list in a list', [['https://mcp.example.com/mcp']], ELSEWHERE],
  ['an empty list', [], ELSEWHERE],
  ['none', undefined, ELSEWHERE],
  ['null', null, ELSEWHERE],
  ['an empty text', '', ELSEWHERE],
  ['a number', 7, ELSEWHERE],
  ['an object', { 0: 'https://mcp.example.com/mcp' }, ELSEWHERE],
  ['two in one text', 'https://mcp.example.com/mcp https://other.example.com', ELSEWHERE],
]

describe('a token for', () => {
  test.each(rows)('%s', async (_, aud, answer) => {
    expect(await present(protect([issuer.settings()]), await issuer.mint({ aud }))).toEqual(answer)
  })
})

describe('an audience that is configured', () => {
  test.each<[string, string | string[], unknown, Outcome]>([
    ['as a list takes each', ['api://notes', 'https://b.example/mcp'], 'https://b.example/mcp', accepted()],
    ['as a list takes no other', ['api://notes', 'https://b.example/mcp'], 'https://c.example/mcp', ELSEWHERE],
    ['as a name is compared as it is', 'api://notes', 'api://notes', accepted()],
    ['as a name takes no other case', 'api://notes', 'API://notes', ELSEWHERE],
    ['as a name takes no slash', 'api://notes', 'api://notes/', ELSEWHERE],
    ['as an id is compared as it is', '0b5f-client', '0b5f-client', accepted()],
    ['with a slash takes one without', 'https://b.example/mcp/', 'https://b.example/mcp', accepted()],
    ['as an origin takes no path', 'https://b.example', 'https://b.example/mcp', ELSEWHERE],
    ['as an origin takes it with a slash', 'https://b.example', 'https://b.example/', accepted()],
  ])('%s', async (_, audience, aud, answer) => {
    const server = protect([issuer.settings({ audience })])
    expect(await present(server, await issuer.mint({ aud }))).toEqual(answer)
  })

  test('is that of its issuer alone', async () => {
    const other = await createIssuer()
    const server = protect([issuer.settings({ audience: 'a' }), other.settings({ id: 'second', audience: 'b' })])
    expect(await present(server, await issuer.mint({ aud: 'a' }))).toEqual(accepted())
    expect(await present(server, await issuer.mint({ aud: 'b' }))).toEqual(ELSEWHERE)
    expect(await present(server, await other.mint({ aud: 'a' }))).toEqual(ELSEWHERE)
  })
})

describe('without an audience', () => {
  test('nothing is served, and the log says which variable and which issuer', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const server = protect([issuer.settings({ audience: undefined })])
    expect(await present(server, await issuer.mint())).toEqual(DOWN)
    expect(await call(server, {})).toEqual(DOWN)
    expect(String(logged.mock.calls[0]?.[0])).toContain('AUTH_ISSUERS')
    expect(String(logged.mock.calls[0]?.[0])).toContain(issuer.url)
  })

  test('a chosen waiver takes every token of the issuer, also one that names none', async () => {
    const server = protect([issuer.settings({ audience: undefined, anyAudience: true })])
    expect(await present(server, await issuer.mint({ aud: 'https://anybody.example' }))).toEqual(accepted())
    expect(await present(server, await issuer.mint({ aud: undefined }))).toEqual(accepted())
  })
})
