// The URIs a client may read: what a template matches, and what it never does.
// @see server/resources, Security Considerations

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineResource, defineResourceTemplate } from '../../src/server/index.ts'
import { describeEras, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const note = defineResourceTemplate('note://{id}', { name: 'note', read: ({ id }) => JSON.stringify({ id }) })
const file = defineResourceTemplate('file:///docs/{+path}', {
  name: 'file',
  read: ({ path }) => JSON.stringify({ path }),
})
const pair = defineResourceTemplate('pair://{a}/{b}?q=1', { name: 'pair', read: (both) => JSON.stringify(both) })
const none = defineResource('test://none', { name: 'none', read: () => [] })
const blank = defineResource('test://blank', { name: 'blank', read: () => ({ contents: [] }) })
const fetcher = serve({ resources: [note, file, pair, none, blank] })

describeEras(
  'resources/read',
  (client, revision) => {
    const notFound = { status: 200, code: revision === '2026-07-28' ? -32602 : -32002 }

    test.each<[string, object]>([
      ['note://a', { id: 'a' }],
      ['note://caf%C3%A9%20au%20lait', { id: 'café au lait' }],
      ['note://a%2520b', { id: 'a%20b' }],
      ['note://a..b', { id: 'a..b' }],
      ['note://__proto__', { id: '__proto__' }],
      ['file:///docs/a/b/c.md', { path: 'a/b/c.md' }],
      ['pair://x/y?q=1', { a: 'x', b: 'y' }],
    ])('of %s decodes once and gives %j', async (uri, expected) => {
      const { contents } = await client.result('resources/read', { uri })
      expect(contents).toMatchObject([{ uri }])
      expect(JSON.parse(contents[0]!.text!)).toEqual(expected)
    })

    test.each([
      ['more than one segment', 'note://a/b'],
      ['no segment', 'note:///'],
      ['a query', 'note://a?b'],
      ['an encoded slash', 'note://a%2Fb'],
      ['an encoded slash in small letters', 'note://a%2fb'],
      ['an encoded backslash', 'note://a%5Cb'],
      ['a dot segment', 'note://..'],
      ['an encoded dot segment', 'note://%2e%2E'],
      ['a dot segment on the way', 'file:///docs/a/../../etc/passwd'],
      ['an encoded dot segment on the way', 'file:///docs/%2e%2e/etc/passwd'],
      ['a single dot on the way', 'file:///docs/./a'],
      ['an encoded slash on the way', 'file:///docs/..%2fetc'],
      ['an encoded NUL', 'note://a%00'],
      ['an encoded line break', 'note://a%0d%0ab'],
      ['a percent sign that encodes nothing', 'note://100%'],
      ['bytes that are no UTF-8', 'note://%ff'],
      ['another path', 'file:///other/a'],
      ['another case of the path', 'file:///Docs/a'],
      ['a resource that is empty by accident', 'test://none'],
    ])('finds nothing for %s, and says so with the URI', async (_what, uri) => {
      expect(await client.error('resources/read', { uri })).toMatchObject({ ...notFound, data: { uri } })
    })

    test('finds a resource that says it is empty', async () => {
      expect((await client.result('resources/read', { uri: 'test://blank' })).contents).toEqual([])
    })

    test('refuses what is no absolute URI', async () => {
      for (const uri of ['', 'a', '/a', '//a', 'note:', 'no te://a', 'note://a b', '1://a']) {
        const error = await client.error('resources/read', { uri }, { unchecked: true })
        expect([uri, error.status, error.code]).toEqual([uri, 200, -32602])
      }
    })
  },
  { fetcher },
)

describe('a template with several variables', () => {
  const read = (values: object): string => JSON.stringify(values)
  const day = defineResourceTemplate('day://{year}-{month}-{day}', { name: 'day', read })
  const tree = defineResourceTemplate('tree://{+base}/{+head}/{+path}/end', { name: 'tree', read })
  const client = modern(serve({ resources: [day, tree] }))

  test('gives each one as much as the later ones allow', async () => {
    for (const [uri, values] of [
      ['day://a-b-c-d', { year: 'a-b', month: 'c', day: 'd' }],
      ['day://---a-', undefined],
      ['day://a-b-c/d', undefined],
      ['tree://a/b/c/d/end/end', { base: 'a/b/c', head: 'd', path: 'end' }],
    ] as const) {
      const { result } = await client.request('resources/read', { uri })
      expect([uri, result && JSON.parse((result.contents[0] as { text: string }).text)]).toEqual([uri, values])
    }
  })

  test('takes a time that does not grow with the powers of a URI: tried otherwise, this runs for a minute', async () => {
    for (let i = 0; i < 10; i++) {
      for (const uri of [`day://${'-'.repeat(2_000)}/`, `tree://${'/'.repeat(2_000)}`]) {
        expect((await client.error('resources/read', { uri })).code).toBe(-32602)
      }
    }
  })
})

describe('a URI', () => {
  test('may have limits.uriChars characters, and not one more', async () => {
    expect(limits.uriChars).toBe(2_048)
    const read = async (length: number): Promise<string> => {
      const request = {
        jsonrpc: '2.0',
        id: 1,
        method: 'resources/read',
        params: { uri: 'note://'.padEnd(length, 'a') },
      }
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(request) }
      return (await fetcher(new Request('http://localhost/mcp', init))).text()
    }
    expect(await read(2_048)).toContain('"result"')
    expect(await read(2_049)).toContain('-32602')
  })
})
