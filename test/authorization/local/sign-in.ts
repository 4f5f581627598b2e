// The development login and the session it begins.

import { describe, expect, test } from 'vitest'
import { Browser, textOf } from '../browser.ts'
import { newPkce } from '../client.ts'
import type { Local } from './local.ts'

export function describeSignIn(at: Local): void {
  describe('the sign-in', () => {
    async function open(): Promise<{ browser: Browser; page: Awaited<ReturnType<Browser['open']>> }> {
      const { challenge } = await newPkce()
      const browser = new Browser(at.site.auth)
      return { browser, page: await browser.open(at.client.url(challenge)) }
    }

    test('keeps its cookies to this host, from scripts and from other sites', async () => {
      const { browser, page } = await open()
      const fields = new URLSearchParams({ user: 'alice', next: '/authorize' })
      fields.set('token', /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? '')
      const signedIn = await browser.send('/sign-in', fields)
      expect(signedIn.status).toBe(303)
      const lines = [...page.headers.getSetCookie(), ...signedIn.headers.getSetCookie()]
      expect(lines.map((line) => line.split('=')[0])).toEqual([
        '__Host-authorization-browser',
        '__Host-authorization-session',
      ])
      for (const line of lines) expect(line).toMatch(/; Path=\/; Secure; HttpOnly; SameSite=Lax/)
      expect(signedIn.headers.get('cache-control')).toBe('no-store')
    })

    test('is refused without the token of its page, and in another browser', async () => {
      const { browser, page } = await open()
      expect((await browser.submit(page, { user: 'alice', token: 'x' })).status).toBe(400)
      expect((await browser.submit(page, { user: 'alice', token: undefined })).status).toBe(400)
      const { browser: other } = await open()
      expect((await other.submit(page, { user: 'alice' })).status).toBe(400)
      expect((await new Browser(at.site.auth).submit(page, { user: 'alice' })).status).toBe(400)
      expect(browser.cookies.has('__Host-authorization-session')).toBe(false)
    })

    test.each([
      'https://evil.example.com/',
      '//evil.example.com/authorize',
      '/\\evil.example.com/',
      '/oauth/token',
      '/',
    ])('never leads to %s', async (next) => {
      const { browser, page } = await open()
      const answer = await browser.submit(page, { user: 'alice', next })
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
      expect(browser.cookies.has('__Host-authorization-session')).toBe(false)
    })

    test.each(['', 'a:b', 'a b', 'x'.repeat(65), '<b>'])('does not take %s for a name', async (user) => {
      const { browser, page } = await open()
      expect((await browser.submit(page, { user })).status).toBe(400)
    })

    test('does not believe a session it has not sealed', async () => {
      const { browser, page } = await open()
      await browser.submit(page, { user: 'alice' })
      const sealed = browser.cookies.get('__Host-authorization-session') ?? ''
      expect(sealed).not.toContain('alice')
      for (const forged of ['x', `${sealed.slice(0, -2)}AA`, 'eyJhbGciOiJub25lIn0..', '']) {
        browser.cookies.set('__Host-authorization-session', forged)
        expect(textOf(await browser.open(page.url)), forged).toContain('Development login')
      }
    })
  })
}
