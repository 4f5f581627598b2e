// Whose metadata documents are read, and whose are not even fetched.

import { describe, expect, test } from 'vitest'
import { Browser, textOf } from '../browser.ts'
import { newPkce, TestClient } from '../client.ts'
import type { Local } from './local.ts'

export function describeClients(at: Local): void {
  describe('a client', () => {
    const refusals: [string, string][] = [
      ['whose document names another client', '/mismatch'],
      ['without a name', '/nameless'],
      ['whose document has moved', '/moved'],
      ['whose document is larger than 5 KB', '/large'],
      ['whose document is not JSON', '/text'],
      ['without a document', '/missing'],
      ['whose document holds a secret', '/secret'],
    ]
    test.each(refusals)('%s is refused on a page', async (_what, path) => {
      const { challenge } = await newPkce()
      const page = await new Browser(at.site.auth).open(
        new TestClient(at.site.auth, at.documents.origin + path, at.site.mcp).url(challenge),
      )
      expect([page.status, page.headers.get('location')]).toEqual([400, null])
      expect(textOf(page)).toContain('App not recognised')
    })

    test('is not looked for where a redirect leads', async () => {
      const before = at.documents.seen.filter((path) => path === '/client').length
      const { challenge } = await newPkce()
      await new Browser(at.site.auth).open(
        new TestClient(at.site.auth, `${at.documents.origin}/moved`, at.site.mcp).url(challenge),
      )
      expect(at.documents.seen.filter((path) => path === '/client')).toHaveLength(before)
    })

    test.each([
      'https://10.0.0.1/client',
      'https://192.168.1.1/client',
      'https://169.254.169.254/latest/meta-data',
      'https://0xa9fea9fe/latest',
      'https://[fd00::1]/client',
      'https://[::ffff:10.0.0.1]/client',
      'https://93.184.215.14/client',
      'https://intranet/client',
      'https://metadata.google.internal/client',
      'https://printer.local/client',
      'https://example.com:8443/client',
      'https://user@example.com/client',
      'https://example.com/a/../client',
      'https://example.com/client#part',
      'https://example.com',
      'http://localhost/client',
      'nobody',
      'x'.repeat(600),
      '',
    ])('with the id %s is refused, without a request to it', async (id) => {
      const { challenge } = await newPkce()
      const started = Date.now()
      const page = await new Browser(at.site.auth).open(new TestClient(at.site.auth, id, at.site.mcp).url(challenge))
      expect([page.status, page.headers.get('location')]).toEqual([400, null])
      expect(Date.now() - started).toBeLessThan(2_000)
    })

    test('is refused at the token endpoint in the same way', async () => {
      const { status, body } = await new TestClient(at.site.auth, 'https://10.0.0.1/client', at.site.mcp).refresh(
        'a:b:c',
      )
      expect([status, body['error']]).toEqual([401, 'invalid_client'])
    })
  })
}
