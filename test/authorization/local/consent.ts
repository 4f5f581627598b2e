// The page that asks a person: what it shows, and for whom its answer counts.

import { describe, expect, test } from 'vitest'
import { Browser, textOf } from '../browser.ts'
import { newPkce, TestClient } from '../client.ts'
import type { Local } from './local.ts'

export function describeConsent(at: Local): void {
  describe('the consent page', () => {
    async function open(
      id = at.client.id,
      redirect_uri?: string,
    ): Promise<{ browser: Browser; page: Awaited<ReturnType<Browser['open']>> }> {
      const { challenge } = await newPkce()
      const browser = new Browser(at.site.auth)
      const target = new TestClient(at.site.auth, id, at.site.mcp)
      const signIn = await browser.open(target.url(challenge, redirect_uri === undefined ? {} : { redirect_uri }))
      return { browser, page: await browser.submit(signIn, { user: 'alice' }) }
    }

    test('names client, domain, scopes, resource and where access goes, and warns of this computer', async () => {
      const { page } = await open()
      const text = textOf(page)
      expect(text).toContain('Allow Test Client?')
      expect(text).toContain('published by localhost')
      expect(text).toContain('files:read')
      expect(text).toContain(at.site.mcp)
      expect(text).toContain('is sent to 127.0.0.1')
      expect(text).toContain('an app on your computer')
      expect(text).toContain('Signed in as alice')
      expect(textOf((await open(at.client.id, 'https://app.example.com/callback')).page)).not.toContain(
        'on your computer',
      )
    })

    test('cannot be framed, cached, scripted or read by what it links to', async () => {
      const { page } = await open()
      const policy = page.headers.get('content-security-policy')
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(page.headers.get('x-frame-options')).toBe('DENY')
      expect(page.headers.get('cache-control')).toBe('no-store')
      expect(page.headers.get('x-content-type-options')).toBe('nosniff')
      expect(page.text).not.toContain('<script')
      const cookies = page.headers.getSetCookie()
      expect(cookies.length).toBeGreaterThan(0)
      for (const cookie of cookies) {
        expect(cookie).toMatch(/^__Host-/)
        expect(cookie).toMatch(/; Path=\/; Secure; HttpOnly; SameSite=Lax/)
      }
      const style = await fetch(`${at.site.auth}/style.css`)
      expect(style.headers.get('content-type')).toContain('text/css')
    })

    test('escapes what the client calls itself', async () => {
      const { page } = await open(`${at.documents.origin}/evil`, 'https://evil.example.com/callback?a=<b>')
      expect(page.status).toBe(200)
      expect(page.text).not.toContain('<script')
      expect(page.text).not.toContain('\u202E')
      expect(page.text).toContain('&lt;/h1&gt;&lt;script&gt;')
      expect(textOf(page)).toContain('is sent to evil.example.com')
    })

    test('grants what is ticked, and never more than was asked for', async () => {
      const { verifier, challenge } = await newPkce()
      const url = at.client.url(challenge, { scope: 'files:read files:write' })
      const back = await new Browser(at.site.auth).authorize(url, { scope: ['files:write', 'offline_access', 'root'] })
      expect((await at.client.exchange(back, verifier)).body['scope']).toBe('files:write')
    })

    test('sends a person who declines back with access_denied', async () => {
      const { challenge } = await newPkce()
      const back = await new Browser(at.site.auth).authorize(at.client.url(challenge), { decision: 'deny' })
      expect(Object.fromEntries(back.searchParams)).toMatchObject({
        error: 'access_denied',
        state: 'state-1',
        iss: at.site.auth,
      })
    })

    test('works once', async () => {
      const { browser, page } = await open()
      expect((await browser.submit(page, { decision: 'allow' })).headers.get('location')).toContain('code=')
      const again = await browser.submit(page, { decision: 'allow' })
      expect([again.status, again.headers.get('location')]).toEqual([400, null])
    })

    test('works in the browser that opened it alone', async () => {
      const { page } = await open()
      const { browser: other } = await open()
      const stranger = await other.submit(page, { decision: 'allow' })
      expect([stranger.status, stranger.headers.get('location')]).toEqual([400, null])
      const nobody = await new Browser(at.site.auth).submit(page, { decision: 'allow' })
      expect([nobody.status, nobody.headers.get('location')]).toEqual([400, null])
      const denied = await new Browser(at.site.auth).submit(page, { decision: 'deny' })
      expect([denied.status, denied.headers.get('location')]).toEqual([400, null])
    })

    test('does not count for who signs in after it was shown', async () => {
      const { browser, page } = await open()
      const signIn = await browser.submit(page, {}, '/sign-out')
      expect(textOf(signIn)).toContain('Sign in')
      expect((await browser.submit(page, { decision: 'allow' })).status).toBe(400)
      const asBob = await browser.submit(signIn, { user: 'bob' })
      expect(textOf(asBob)).toContain('Signed in as bob')
      expect((await browser.submit(page, { decision: 'allow' })).status).toBe(400)
      expect((await browser.submit(asBob, { decision: 'allow' })).headers.get('location')).toContain('code=bob')
    })
  })
}
