// RFC 7662.

import { describe, expect, test } from 'vitest'
import { type Local, SECRET, tokensFor } from './local.ts'

export function describeIntrospection(at: Local): void {
  describe('introspection', () => {
    const basic = (id: string, secret: string): string =>
      `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`

    async function introspect(
      fields: Record<string, string>,
      authorization?: string,
    ): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
      const response = await fetch(`${at.site.auth}/oauth/introspect`, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers: authorization === undefined ? {} : { authorization },
      })
      return { status: response.status, headers: response.headers, body: await response.json() }
    }

    test('says what a token is, by either authentication', async () => {
      const { body: tokens } = await tokensFor(at, 'alice', { scope: 'files:read files:write' })
      const token = tokens['access_token']!
      const { status, headers, body } = await introspect({ token }, basic('mcp: one', SECRET))
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
      expect(body).toEqual({
        active: true,
        scope: 'files:read files:write',
        client_id: at.client.id,
        sub: 'alice',
        aud: at.site.mcp,
        iss: at.site.auth,
        exp: expect.any(Number),
        token_type: 'Bearer',
      })
      const posted = await introspect({ token, client_id: 'mcp: one', client_secret: SECRET })
      expect(posted.body).toEqual(body)
    })

    test('says nothing of a token for another resource, a refresh token, or none', async () => {
      const { body: tokens } = await tokensFor(at, 'alice')
      const foreign = await introspect({ token: tokens['access_token']! }, basic('other', `${SECRET} of another`))
      expect([foreign.status, foreign.body]).toEqual([200, { active: false }])
      for (const token of [tokens['refresh_token']!, 'x', '', 'a:b:c', `${'x'.repeat(1_000)}:b:c`]) {
        const { status, body } = await introspect({ token, token_type_hint: 'access_token' }, basic('mcp: one', SECRET))
        expect([status, body], token).toEqual([200, { active: false }])
      }
    })

    test('refuses who does not authenticate', async () => {
      const { body: tokens } = await tokensFor(at, 'alice')
      const token = tokens['access_token']!
      const refused: (string | undefined)[] = [
        undefined,
        basic('mcp: one', 'wrong'),
        basic('mcp: one', ''),
        basic('nobody', ''),
        basic('nobody', SECRET),
        basic('other', SECRET),
        `Bearer ${token}`,
        'Basic',
        'Basic !!!',
        `Basic ${btoa('no colon')}`,
        `Basic ${btoa('%:%')}`,
      ]
      for (const authorization of refused) {
        const { status, headers, body } = await introspect({ token }, authorization)
        expect([status, body['error']], authorization).toEqual([401, 'invalid_client'])
        expect(headers.get('www-authenticate')).toContain('Basic')
        expect(headers.get('cache-control')).toBe('no-store')
      }
      expect((await introspect({ token, client_id: 'mcp: one', client_secret: 'x' })).status).toBe(401)
      expect((await introspect({ token, client_id: 'mcp: one' })).status).toBe(401)
    })

    test('refuses two authentications, and no token', async () => {
      const both = await introspect({ token: 'x', client_id: 'a', client_secret: 'b' }, basic('mcp: one', SECRET))
      expect([both.status, both.body['error']]).toEqual([400, 'invalid_request'])
      expect((await introspect({}, basic('mcp: one', SECRET))).status).toBe(400)
    })

    test('takes a POST with a form', async () => {
      const url = `${at.site.auth}/oauth/introspect`
      const authorization = basic('mcp: one', SECRET)
      const got = await fetch(url, { headers: { authorization } })
      expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
      const json = { 'content-type': 'application/json', authorization }
      const refused = await fetch(url, { method: 'POST', body: '{}', headers: json })
      expect([refused.status, await refused.json()]).toEqual([
        415,
        expect.objectContaining({ error: 'invalid_request' }),
      ])
      const large = await fetch(url, {
        method: 'POST',
        headers: { authorization },
        body: new URLSearchParams({ token: 'x'.repeat(70_000) }),
      })
      expect([large.status, await large.json()]).toEqual([413, expect.objectContaining({ error: 'invalid_request' })])
    })
  })
}
