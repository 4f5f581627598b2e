// From an authorization request to a token, and every way in which it is refused.

import { describe, expect, test } from 'vitest'
import { Browser, linkOf, textOf } from '../browser.ts'
import { newPkce } from '../client.ts'
import { type Local, tokensFor } from './local.ts'

export function describeCodeFlow(at: Local): void {
  describe('the code flow', () => {
    test('gives a token for the resource, with what was granted, that the MCP server takes', async () => {
      const { verifier, challenge } = await newPkce()
      const back = await new Browser(at.site.auth).authorize(
        at.client.url(challenge, { scope: 'files:read files:write' }),
      )
      expect(back.origin + back.pathname).toBe('http://127.0.0.1:3333/callback')
      expect(back.searchParams.get('state')).toBe('state-1')
      expect(back.searchParams.get('iss')).toBe(at.site.auth)

      const { status, headers, body } = await at.client.exchange(back, verifier)
      expect(status).toBe(200)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(body).toMatchObject({
        token_type: 'bearer',
        scope: 'files:read files:write',
        resource: at.site.mcp,
        expires_in: 600,
        refresh_token: expect.any(String),
      })
      expect(await statusAtMcp(at, body['access_token'])).toBe(200)
      expect(await statusAtMcp(at, undefined)).toBe(401)
      expect(await statusAtMcp(at, `${body['access_token']}x`)).toBe(401)
    })

    test('begins at the MCP server, with what that says to ask for', async () => {
      const first = await askMcp(at, undefined, { method: 'tools/list' })
      expect(first.status).toBe(401)
      expect(first.headers.get('www-authenticate')).toMatch(/scope="files:read"/)
    })

    test('refuses a wrong, an absent and a reused proof', async () => {
      const { verifier, challenge } = await newPkce()
      const other = await newPkce()
      const back = await new Browser(at.site.auth).authorize(at.client.url(challenge))
      expect((await at.client.exchange(back, other.verifier)).body).toMatchObject({ error: 'invalid_grant' })

      const second = await new Browser(at.site.auth).authorize(at.client.url(challenge))
      const absent = await at.client.exchange(second, undefined)
      expect([absent.status, absent.body['error']]).toEqual([400, expect.stringMatching(/^invalid_(grant|request)$/)])

      const third = await new Browser(at.site.auth).authorize(at.client.url(challenge))
      const { body } = await at.client.exchange(third, verifier)
      expect(body).toHaveProperty('access_token')
      expect((await at.client.exchange(third, verifier)).body).toMatchObject({ error: 'invalid_grant' })
      // A code that is used twice was stolen, so what it gave is taken back.
      expect(await at.site.call('validateToken', at.site.mcp, body['access_token'])).toBe(null)
    })

    test.each([
      ['without a challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      ['with a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
      ['with a challenge of no method', { code_challenge_method: undefined }, 'invalid_request'],
      ['for no resource, where there are two', { resource: undefined }, 'invalid_target'],
      ['for another resource', { resource: 'https://elsewhere.example.com/mcp' }, 'invalid_target'],
      ['for another response type', { response_type: 'token' }, 'unsupported_response_type'],
      ['for scopes nobody knows', { scope: 'admin root' }, 'invalid_scope'],
    ])('leads to the client, with iss and state, by a link alone when a request %s', async (_what, changes, error) => {
      const { challenge } = await newPkce()
      const page = await new Browser(at.site.auth).open(at.client.url(challenge, changes))
      expect([page.status, page.headers.get('location')]).toEqual([400, null])
      expect(textOf(page)).toContain('Back to 127.0.0.1:3333')
      const back = linkOf(page)
      expect(back.origin + back.pathname).toBe('http://127.0.0.1:3333/callback')
      expect(Object.fromEntries(back.searchParams)).toMatchObject({ error, state: 'state-1', iss: at.site.auth })
      expect(back.searchParams.has('code')).toBe(false)
    })

    test('sends nobody anywhere for an error, whether signed in or not', async () => {
      const browser = new Browser(at.site.auth)
      const { challenge } = await newPkce()
      await browser.authorize(at.client.url(challenge))
      const page = await browser.open(at.client.url(challenge, { scope: 'admin' }))
      expect([page.status, page.headers.get('location')]).toEqual([400, null])
      expect(textOf(page)).toContain('permissions that cannot be granted here')
    })

    test('repeats nothing that a client sent', async () => {
      const { challenge } = await newPkce()
      const response_type = `<b>\u202E${'Your account is locked: call 555. '.repeat(9)}`
      const page = await new Browser(at.site.auth).open(at.client.url(challenge, { response_type }))
      const visible = page.text.replace(/<a\s[^>]*>/, '')
      expect(page.status).toBe(400)
      expect(visible).not.toMatch(/<b>|&lt;b/)
      expect(visible).not.toContain('\u202E')
      expect(visible).not.toContain('Your account')
    })

    test('takes any port of a loopback redirect, and nothing else that differs', async () => {
      const { challenge } = await newPkce()
      const browser = new Browser(at.site.auth)
      const back = await browser.authorize(at.client.url(challenge, { redirect_uri: 'http://127.0.0.1:4444/callback' }))
      expect(back.port).toBe('4444')
      for (const redirect_uri of [
        'http://127.0.0.1:3333/other',
        'https://app.example.com/callback/',
        'https://app.example.com:444/callback',
        'https://evil.example.com/callback',
        'http://app.example.com/callback',
        'javascript:alert(1)',
        '',
      ]) {
        const page = await browser.open(at.client.url(challenge, { redirect_uri }))
        expect([page.status, page.headers.get('location')], redirect_uri).toEqual([400, null])
      }
    })

    test('grants no scope that is unknown, and none to a client that asks for none', async () => {
      const { body } = await tokensFor(at, 'alice', { scope: `files:read root:${'x'.repeat(1_000)}` })
      expect(body['scope']).toBe('files:read')
      const line = /asked for and not in SCOPES_SUPPORTED: (root:x+)"/.exec(at.site.output())
      expect(line?.[1]).toHaveLength(300)
      expect((await tokensFor(at, 'alice', { scope: undefined })).body['scope']).toBe('')
    })

    test('refuses a parameter that is there twice', async () => {
      const { challenge } = await newPkce()
      const page = await new Browser(at.site.auth).open(
        `${at.client.url(challenge)}&redirect_uri=https://evil.example.com/`,
      )
      expect([page.status, page.headers.get('location')]).toEqual([400, null])
    })
  })
}

async function askMcp({ site }: Local, token: string | undefined, message: object): Promise<Response> {
  const response = await fetch(site.mcp, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
  await response.body?.cancel()
  return response
}

async function statusAtMcp(at: Local, token: string | undefined): Promise<number> {
  return (await askMcp(at, token, { method: 'tools/list' })).status
}
