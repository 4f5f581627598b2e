// What becomes of tokens: refresh, revocation, and what the entrypoint says about them.

import { describe, expect, test } from 'vitest'
import { TestClient } from '../client.ts'
import { type Local, tokensFor } from './local.ts'

export function describeTokens(at: Local): void {
  describe('tokens', () => {
    test('are refreshed with a new refresh token each time', async () => {
      const { body: first } = await tokensFor(at, 'alice')
      const second = await at.client.refresh(first['refresh_token']!)
      expect(second.status).toBe(200)
      expect(second.body['refresh_token']).not.toBe(first['refresh_token'])
      expect(second.body['scope']).toBe('files:read')
      // The last one stays valid until its successor is used: the answer that named it may have been lost.
      const third = await at.client.refresh(second.body['refresh_token']!)
      expect(third.status).toBe(200)
      const stolen = await at.client.refresh(first['refresh_token']!)
      expect([stolen.status, stolen.body['error']]).toEqual([400, 'invalid_grant'])
      const repeated = await at.client.refresh(second.body['refresh_token']!)
      expect(repeated.status).toBe(200)
      expect((await at.client.refresh(third.body['refresh_token']!)).body['error']).toBe('invalid_grant')
      expect((await at.client.refresh(repeated.body['refresh_token']!)).status).toBe(200)
    })

    test('cannot be refreshed to more scopes, and may be to fewer', async () => {
      const { body } = await tokensFor(at, 'alice', { scope: 'files:read files:write' })
      const fields = { grant_type: 'refresh_token', client_id: at.client.id, refresh_token: body['refresh_token']! }
      const fewer = await at.client.post({ ...fields, scope: 'files:read' })
      expect(fewer.body['scope']).toBe('files:read')
      const more = await at.client.post({
        ...fields,
        refresh_token: fewer.body['refresh_token']!,
        scope: 'files:read offline_access',
      })
      expect(more.body['scope'] ?? '').not.toContain('offline_access')
    })

    test('outlive another sign-in of the same person at the same client', async () => {
      const { body: first } = await tokensFor(at, 'alice')
      await tokensFor(at, 'alice')
      expect(await at.site.call('validateToken', at.site.mcp, first['access_token'])).toMatchObject({ userId: 'alice' })
      expect((await at.client.refresh(first['refresh_token']!)).status).toBe(200)
    })

    test('are not looked for in a body over 64 KB', async () => {
      const { status, body } = await at.client.refresh('x'.repeat(70_000))
      expect([status, body['error']]).toEqual([413, 'invalid_request'])
    })

    test('are the client’s they were issued to', async () => {
      const { body } = await tokensFor(at, 'alice')
      const other = new TestClient(at.site.auth, `${at.documents.origin}/another`, at.site.mcp)
      const { status, body: answer } = await other.refresh(body['refresh_token']!)
      expect([status, answer['error']]).toEqual([400, 'invalid_grant'])
    })

    test('are worth nothing once revoked', async () => {
      const { body } = await tokensFor(at, 'alice')
      expect(await at.site.call('validateToken', at.site.mcp, body['access_token'])).toMatchObject({ userId: 'alice' })
      expect((await at.client.post({ client_id: at.client.id, token: body['access_token']! })).status).toBe(200)
      expect(await at.site.call('validateToken', at.site.mcp, body['access_token'])).toBe(null)
      expect((await at.client.post({ client_id: at.client.id, token: body['refresh_token']! })).status).toBe(200)
      expect((await at.client.refresh(body['refresh_token']!)).body['error']).toBe('invalid_grant')
    })

    test('are told to whoever is bound to the entrypoint', async () => {
      const { body } = await tokensFor(at, 'alice', { scope: 'files:read offline_access' })
      const valid = await at.site.call('validateToken', at.site.mcp, body['access_token'])
      expect(valid).toEqual({
        audience: at.site.mcp,
        scope: ['files:read', 'offline_access'],
        userId: 'alice',
        clientId: at.client.id,
        expiresAt: expect.any(Number),
        props: { sub: 'alice' },
      })
      const inSeconds = (valid as { expiresAt: number }).expiresAt - Date.now() / 1_000
      expect(inSeconds).toBeGreaterThan(500)
      expect(inSeconds).toBeLessThanOrEqual(600)
    })

    test('are null for another resource, and when they are none', async () => {
      const { body } = await tokensFor(at, 'alice')
      const token = body['access_token']!
      expect(await at.site.call('validateToken', 'https://elsewhere.example.com/mcp', token)).toBe(null)
      expect(await at.site.call('validateToken', `${at.site.mcp}/`, token)).toBe(null)
      const none = [
        '',
        'x',
        'a:b:c',
        '::',
        `${'x'.repeat(1_000)}:b:c`,
        `ä:b:c`,
        `${token} `,
        body['refresh_token'],
        7,
        null,
      ]
      for (const each of none) expect(await at.site.call('validateToken', at.site.mcp, each), String(each)).toBe(null)
      expect(await at.site.call('validateToken', null, token)).toBe(null)
    })
  })
}
