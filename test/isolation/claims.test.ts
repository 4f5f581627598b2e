// `ctx.auth.claims` is kept for the next request of a token: a handler that writes there changes nothing for anybody.

import { describe, expect, test } from 'vitest'
import { defineServer, defineTool, type Auth } from '../../src/server/index.ts'
import { createIssuer, RESOURCE } from '../auth/issuer.ts'
import { json } from '../auth/tenant.ts'
import { modern, type Fetcher, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { bearer } from './support.ts'

type Claims = { sub?: string; added?: string; roles: string[]; realm: { roles: string[]; deep: [{ a: number }] } }

const claimsOf = ({ claims }: Auth): Claims => {
  const { props } = claims as { props?: unknown }
  return (props ?? claims) as Claims
}

const writes: { [what: string]: (claims: Claims) => unknown } = {
  'in place of a claim': (claims) => (claims.sub = 'eve'),
  'a claim more': (claims) => (claims.added = 'x'),
  'one less': (claims) => delete claims.sub,
  'into a list': (claims) => claims.roles.push('admin'),
  'below an object': (claims) => claims.realm.roles.push('admin'),
  'far below': (claims) => (claims.realm.deep[0].a = 2),
}

const server = defineServer({
  name: 'claims',
  version: '1.0.0',
  tools: [
    defineTool('claims', { description: 'Says what is known.', handler: (_, { auth }) => JSON.stringify(auth) }),
    ...Object.values(writes).map((write, i) =>
      defineTool(`write_${i}`, {
        description: 'Writes where it may not.',
        handler: (_, { auth }) => {
          try {
            write(claimsOf(auth))
            return 'written'
          } catch (error) {
            return (error as Error).name
          }
        },
      }),
    ),
  ],
})

const CLAIMS = { sub: 'ada', roles: ['user'], realm: { roles: ['user'], deep: [{ a: 1 }] } }
const TOKEN = 'an-opaque-token'

/** Servers that learn of a token in each way, and the token. */
const ways: [way: string, open: () => Promise<{ fetcher: Fetcher; token: string }>, written: string][] = [
  [
    'introspection',
    async () => {
      const issuer = await createIssuer()
      await issuer.introspects(undefined, json({ active: true, aud: RESOURCE, ...CLAIMS }))
      const introspection = { clientId: 'mcp', clientSecret: 'SECRET' }
      return { fetcher: open(issuer.settings({ introspection }), { SECRET: 'x' }), token: TOKEN }
    },
    'TypeError',
  ],
  [
    'a service',
    async () => {
      const issuer = await createIssuer()
      const validateToken = async () => ({
        audience: RESOURCE,
        scope: [],
        userId: 'ada',
        props: structuredClone(CLAIMS),
      })
      return { fetcher: open(issuer.settings({ service: 'TOKENS' }), { TOKENS: { validateToken } }), token: TOKEN }
    },
    'TypeError',
  ],
  [
    'a signature, whose claims are read anew each time',
    async () => {
      const issuer = await createIssuer()
      return { fetcher: open(issuer.settings(), {}), token: await issuer.mint(CLAIMS) }
    },
    'written',
  ],
]

const open = (issuer: JsonObject, vars: object): Fetcher =>
  serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS: JSON.stringify([issuer]), ...vars } as object })

describe.each(ways)('claims by %s', (_, way, written) => {
  test.each(Object.keys(writes).map((what, i) => [what, i] as const))('are not changed: %s', async (_what, i) => {
    const { fetcher, token } = await way()
    const client = modern(fetcher, { headers: bearer(token) })
    const said = async (tool: string) => (await client.call(tool)).result.content[0]?.text
    const before = await said('claims')
    expect(before).toContain('"deep":[{"a":1}]')
    expect(await said(`write_${i}`)).toBe(written)
    expect(await said('claims')).toBe(before)
  })
})
