// AUTH_ISSUERS as it may be written: what is doubtful serves nothing at all, and the log names the place, never a secret.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { createIssuer, RESOURCE } from './issuer.ts'
import { accepted, call, DOWN, MISSING, present, protect } from './table.ts'

const good = { issuer: 'https://login.example.com', audience: RESOURCE }
const introspection = { clientId: 'mcp', clientSecret: 'SECRET' }

function logOfErrors(): () => string {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  return () => logged.mock.calls.flat().map(String).join('\n')
}

describe('nothing is served with', () => {
  test.each<[name: string, issuers: unknown, named: string]>([
    ['no AUTH_ISSUERS', undefined, 'AUTH_ISSUERS: not set: add [[vars.AUTH_ISSUERS]], see docs/authorization.md'],
    ['one table', good, 'write [[vars.AUTH_ISSUERS]], with two brackets'],
    [
      'a variable that fell into an issuer',
      [{ ...good, LOG: 'off' }],
      'a variable of [vars] belongs above [[vars.AUTH_ISSUERS]]',
    ],
    ['an empty text', '', 'AUTH_ISSUERS'],
    ['a text that is no JSON', '[{', 'AUTH_ISSUERS'],
    ['a text that is no list', '{"issuer":"https://login.example.com"}', 'AUTH_ISSUERS'],
    ['no issuers', [], 'at least one issuer'],
    ['an issuer that is a text', ['https://login.example.com'], '[0]'],
    ['an issuer that is null', [null], '[0]'],
    ['an issuer without its URL', [{ audience: RESOURCE }], '[0].issuer'],
    ['an issuer over http', [{ ...good, issuer: 'http://login.example.com' }], '[0].issuer'],
    ['an issuer over http that looks local', [{ ...good, issuer: 'http://localhost.example.com' }], '[0].issuer'],
    ['an issuer that is no URL', [{ ...good, issuer: 'login' }], '[0].issuer'],
    ['an issuer with a space', [{ ...good, issuer: 'https://login.example.com/a b' }], '[0].issuer'],
    ['an issuer with a query', [{ ...good, issuer: 'https://login.example.com/?tenant=1' }], '[0].issuer'],
    ['an issuer with an empty query', [{ ...good, issuer: 'https://login.example.com?' }], '[0].issuer'],
    ['an issuer with a fragment', [{ ...good, issuer: 'https://login.example.com/#a' }], '[0].issuer'],
    ['an issuer with an empty fragment', [{ ...good, issuer: 'https://login.example.com#' }], '[0].issuer'],
    ['a prefix of scopes with a space', [{ ...good, scopePrefix: 'api://a ' }], '[0].scopePrefix'],
    ['a prefix of scopes with a quote', [{ ...good, scopePrefix: 'api"' }], '[0].scopePrefix'],
    ['no audience', [{ issuer: good.issuer }], 'has no audience'],
    ['an empty audience', [{ ...good, audience: '' }], '[0].audience'],
    ['an empty list of audiences', [{ ...good, audience: [] }], '[0].audience'],
    ['a number as audience', [{ ...good, audience: 7 }], '[0].audience'],
    ['both an audience and its waiver', [{ ...good, anyAudience: true }], 'both audience and anyAudience'],
    ['a waiver that is false', [{ issuer: good.issuer, anyAudience: false }], '[0].anyAudience'],
    ['a waiver that is a text', [{ issuer: good.issuer, anyAudience: 'true' }], '[0].anyAudience'],
    ['a setting nobody knows', [{ ...good, audiences: ['x'] }], 'audiences'],
    ['the algorithm none', [{ ...good, algorithms: ['none'] }], '[0].algorithms'],
    ['a symmetric algorithm', [{ ...good, algorithms: ['RS256', 'HS256'] }], '[0].algorithms'],
    ['no algorithm', [{ ...good, algorithms: [] }], '[0].algorithms'],
    ['a tolerance of an hour', [{ ...good, clockToleranceSeconds: 3600 }], '[0].clockToleranceSeconds'],
    ['a negative tolerance', [{ ...good, clockToleranceSeconds: -1 }], '[0].clockToleranceSeconds'],
    ['a cache of an hour', [{ ...good, cacheSeconds: 3600 }], '[0].cacheSeconds'],
    ['an id with a space', [{ ...good, id: 'a b' }], '[0].id'],
    ['keys over http', [{ ...good, jwks: 'http://login.example.com/jwks' }], '[0].jwks'],
    ['two ways to check tokens', [{ ...good, jwks: 'https://login.example.com/jwks', service: 'X' }], 'one way'],
    [
      'introspection over http',
      [{ ...good, introspection: { ...introspection, endpoint: 'http://a.example' } }],
      '[0].introspection.endpoint',
    ],
    [
      'introspection without a client',
      [{ ...good, introspection: { clientSecret: 'SECRET' } }],
      '[0].introspection.clientId',
    ],
    [
      'a secret that is not there',
      [{ ...good, introspection: { ...introspection, clientSecret: 'OTHER' } }],
      'there is no secret OTHER: npx wrangler secret put OTHER, or .dev.vars on this machine',
    ],
    [
      'a secret in place of its name, which is not logged either',
      [{ ...good, introspection: { ...introspection, clientSecret: 'not-to-be-logged' } }],
      'introspection.clientSecret is not the name of a secret that is set',
    ],
    ['a service that is not there', [{ ...good, service: 'NOBODY' }], 'NOBODY'],
    ['one issuer twice', [good, { ...good, id: 'other' }], 'two issuers have this issuer'],
    [
      'two issuers of one id',
      [
        { ...good, id: 'a' },
        { ...good, issuer: 'https://b.example.com', id: 'a' },
      ],
      'two issuers have this id',
    ],
    ['one good issuer and one bad', [good, { issuer: 'https://b.example.com' }], 'https://b.example.com'],
  ])('%s', async (_, issuers, named) => {
    const logged = logOfErrors()
    const vars = { AUTH: 'oauth', AUTH_ISSUERS: issuers, SECRET: 'not-to-be-logged' } as Partial<Cloudflare.Env>
    expect(await call(serve({}, { vars }), {})).toEqual(DOWN)
    expect(logged()).toContain('AUTH_ISSUERS')
    expect(logged()).toContain(named)
    expect(logged()).not.toContain('not-to-be-logged')
  })

  test('an AUTH nobody knows', async () => {
    const logged = logOfErrors()
    expect(await call(protect([good], { AUTH: 'oauth2' }), {})).toEqual(DOWN)
    expect(logged()).toContain('AUTH:')
  })

  test('a token that would do', async () => {
    logOfErrors()
    const issuer = await createIssuer()
    const server = protect([issuer.settings(), { issuer: 'https://b.example.com' }])
    expect(await present(server, await issuer.mint())).toEqual(DOWN)
  })
})

test('a list is taken as it is, as from wrangler.toml, or as JSON', async () => {
  const issuer = await createIssuer()
  const token = await issuer.mint()
  const list: JsonObject[] = [issuer.settings()]
  for (const value of [list, JSON.stringify(list)]) {
    const server = protect([], { AUTH_ISSUERS: value })
    expect(await present(server, token)).toEqual(accepted())
    expect(await call(server, {})).toEqual(MISSING)
  }
})

test.each([undefined, ''])(
  'issuers serve nothing while AUTH is %j: somebody meant to let only some in',
  async (AUTH) => {
    const logged = logOfErrors()
    const issuer = await createIssuer()
    const server = protect([issuer.settings()], { AUTH })
    expect(await call(server, {})).toEqual(DOWN)
    expect(await present(server, await issuer.mint())).toEqual(DOWN)
    expect(logged()).toContain('AUTH:')
  },
)

test('without issuers AUTH may be left out', async () => {
  expect(await call(protect([], { AUTH: undefined, AUTH_ISSUERS: undefined }), {})).toEqual(accepted('anonymous'))
})

test('spaces around an issuer are no part of it', async () => {
  const issuer = await createIssuer()
  const server = protect([issuer.settings({ issuer: ` ${issuer.url}\n` })])
  expect(await present(server, await issuer.mint())).toEqual(accepted())
})

test('issuers are of no use where AUTH is none: nobody is asked for a token', async () => {
  const issuer = await createIssuer()
  const server = protect([issuer.settings()], { AUTH: 'none' })
  expect(await call(server, {})).toEqual(accepted('anonymous'))
  expect(await present(server, await issuer.mint())).toEqual(accepted('anonymous'))
  expect(await issuer.requests()).toEqual([])
})
