// Links that only one person can confirm.

import { describe, expect, test } from 'vitest'
import { Browser, textOf } from '../browser.ts'
import type { Local } from './local.ts'

export function describeLinks(at: Local): void {
  describe('a link for one person', () => {
    type Link = { url: string; handle: string }
    const makeLink = (subject: string): Promise<Link> =>
      at.site.call('connectLink', { subject, purpose: 'Connect <your> calendar' }) as Promise<Link>

    test('is confirmed by that person', async () => {
      const { url, handle } = await makeLink('alice')
      const browser = new Browser(at.site.auth)
      const page = await browser.submit(await browser.open(url), { user: 'alice' })
      expect(textOf(page)).toContain('Connect <your> calendar')
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(await at.site.call('connected', handle, 'alice')).toBe(false)
      expect(textOf(await browser.submit(page))).toContain('Done')
      expect(await at.site.call('connected', handle, 'alice')).toBe(true)
      expect(await at.site.call('connected', handle, 'bob')).toBe(false)
      expect((await browser.open(url)).status).toBe(404)
    })

    test('is confirmed in a browser that was closed in between: both forms of its page work', async () => {
      for (const action of ['/connect/', '/sign-out']) {
        const { url, handle } = await makeLink('alice')
        const browser = new Browser(at.site.auth)
        await browser.submit(await browser.open(url), { user: 'alice' })
        // Closing a browser ends the cookies without an age; the session has one.
        browser.cookies.delete('__Host-authorization-browser')
        const page = await browser.open(url)
        const answer = await browser.submit(page, {}, action === '/sign-out' ? action : new URL(url).pathname)
        expect(answer.status, action).toBe(200)
        expect(await at.site.call('connected', handle, 'alice')).toBe(action === '/connect/')
      }
    })

    test('is refused to another, who was sent it, and nothing is recorded', async () => {
      const { url, handle } = await makeLink('alice')
      const browser = new Browser(at.site.auth)
      const page = await browser.submit(await browser.open(url), { user: 'bob' })
      expect(page.status).toBe(403)
      expect(textOf(page)).not.toContain('alice')
      expect(page.text).not.toContain(`action="/connect/`)
      const forced = await browser.send(url, new URLSearchParams({ token: 'x' }))
      expect(forced.status).toBe(403)
      expect(await at.site.call('connected', handle, 'alice')).toBe(false)
      expect(await at.site.call('connected', handle, 'bob')).toBe(false)

      const signIn = await browser.submit(page, {}, '/sign-out')
      const asAlice = await browser.submit(signIn, { user: 'alice' })
      expect(asAlice.status).toBe(200)
    })

    test('is not confirmed by opening it, by a form of another page, or by nobody', async () => {
      const { url, handle } = await makeLink('alice')
      const browser = new Browser(at.site.auth)
      await browser.submit(await browser.open(url), { user: 'alice' })
      expect((await browser.send(url, new URLSearchParams({ token: 'x' }))).status).toBe(400)
      expect((await browser.send(url, new URLSearchParams())).status).toBe(400)
      const other = await makeLink('alice')
      const page = await browser.open(other.url)
      const token = /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
      expect((await browser.send(url, new URLSearchParams({ token }))).status).toBe(400)
      expect((await new Browser(at.site.auth).send(url, new URLSearchParams({ token }))).status).toBe(400)
      expect(await at.site.call('connected', handle, 'alice')).toBe(false)
    })

    test('is unknown when it was never made', async () => {
      const url = `${at.site.auth}/connect/${'A'.repeat(43)}`
      expect((await new Browser(at.site.auth).open(url)).status).toBe(404)
      expect((await new Browser(at.site.auth).open(`${at.site.auth}/connect/${'x'.repeat(2_000)}`)).status).toBe(404)
      expect(await at.site.call('connected', 'x', 'alice')).toBe(false)
      expect(await at.site.call('connected', null, null)).toBe(false)
      await expect(at.site.call('connectLink', { subject: 'alice' })).rejects.toThrow('purpose')
    })
  })
}
