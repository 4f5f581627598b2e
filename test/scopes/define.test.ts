// What authors and operators may say of scopes. Mistakes are refused when they are made, and named.
// @see RFC 6749, 3.3; basic/authorization, Refresh Tokens

import { beforeAll, describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  type ServerOptions,
} from '../../src/server/index.ts'
import { logged } from '../isolation/support.ts'
import { modern } from '../support/client.ts'
import { createScopeRealm, DEFINITIONS, ran, type ScopeRealm } from './support.ts'

const read = () => 'text'
const definitions: [string, (scopes: readonly string[]) => unknown][] = [
  ['tool "x"', (scopes) => defineTool('x', { description: 'x', scopes, handler: () => 'x' })],
  ['prompt "x"', (scopes) => definePrompt('x', { description: 'x', scopes, get: () => 'x' })],
  ['resource "test://x"', (scopes) => defineResource('test://x', { name: 'x', scopes, read })],
  ['template "test://{x}"', (scopes) => defineResourceTemplate('test://{x}', { name: 'x', scopes, read })],
  ['the server', (scopes) => defineServer({ name: 's', version: '1', scopeImplies: { a: scopes } })],
  [
    'the server',
    (scopes) =>
      defineServer({ name: 's', version: '1', scopeImplies: Object.fromEntries(scopes.map((s) => [s, ['a']])) }),
  ],
]

describe.each(definitions)('%s', (what, define) => {
  test.each(['', ' ', 'a b', 'a"b', 'a\\b', 'naïve', 'a\tb', 'a\n', '\u007f'])('may not need the scope %j', (scope) => {
    expect(() => define(['fine', scope])).toThrow(TypeError)
    expect(() => define(['fine', scope])).toThrow(what)
  })

  test('may not need offline_access', () => {
    expect(() => define(['offline_access'])).toThrow(what)
    expect(() => define(['offline_access'])).toThrow('offline_access')
  })

  test.each(['a', 'notes:write', 'https://example.com/notes.read', '!#[]~', 'a,b', 'offline_access2'])(
    'may need the scope %j',
    (scope) => {
      expect(() => define([scope])).not.toThrow()
    },
  )

  test('may need none', () => {
    expect(() => define([])).not.toThrow()
  })
})

describe.each(definitions.slice(0, 5))('%s', (what, define) => {
  test.each(['notes:write', {}, 7, null])('takes no %j in place of a list of scopes', (scopes) => {
    expect(() => define(scopes as never)).toThrow(TypeError)
    expect(() => define(scopes as never)).toThrow(what)
  })

  test.each([7, null, ['a']])('takes no %j in place of a scope', (scope) => {
    expect(() => define([scope as never])).toThrow(what)
  })
})

test.each(['Hide', 'hidden', '', true, null])(
  'missingScopes %j is refused, which would hide nothing',
  (missingScopes) => {
    const options = { name: 's', version: '1', missingScopes: missingScopes as 'hide' }
    expect(() => defineServer(options)).toThrow('missingScopes must be "challenge" or "hide"')
  },
)

test('a public cache is refused on what needs scopes', () => {
  const cache = { ttlMs: 1000, scope: 'public' } as const
  const scopes = ['secret:read']
  expect(() => defineResource('test://x', { name: 'x', scopes, cache, read })).toThrow('public')
  expect(() => defineResourceTemplate('test://{x}', { name: 'x', scopes, cache, read })).toThrow('public')
  expect(() => defineResource('test://x', { name: 'x', cache, read })).not.toThrow()
})

test('a public cache is refused on lists that hide', () => {
  const cache = { ttlMs: 1000, scope: 'public' } as const
  for (const list of ['tools', 'prompts', 'resources', 'templates'] as const) {
    const options: ServerOptions = { name: 's', version: '1', ...DEFINITIONS, cache: { [list]: cache } }
    expect(() => defineServer({ ...options, missingScopes: 'hide' }), list).toThrow(`cache.${list}`)
  }
})

test('a public cache is refused on a list of resources that is not the same for every token', () => {
  const cache = { resources: { ttlMs: 1000, scope: 'public' } as const }
  expect(() => defineServer({ name: 's', version: '1', ...DEFINITIONS, cache })).toThrow('cache.resources')
})

describe('with authorization', () => {
  let realm: ScopeRealm
  beforeAll(async () => {
    realm = await createScopeRealm()
  })

  const metadata = async (options: Partial<ServerOptions>, vars: Record<string, unknown> = {}) =>
    (await realm.serve(options, vars)(new Request('http://localhost/.well-known/oauth-protected-resource/mcp'))).json<{
      scopes_supported?: string[]
    }>()

  test('all scopes of definitions are supported, each once', async () => {
    expect((await metadata(DEFINITIONS)).scopes_supported).toEqual([
      'notes:write',
      'notes:read',
      'prompts:use',
      'secret:read',
      'items:read',
    ])
    expect(await metadata({ tools: [] })).not.toHaveProperty('scopes_supported')
  })

  test('SCOPES_SUPPORTED says which to begin with, in the document and in challenges', async () => {
    const vars = { SCOPES_SUPPORTED: 'notes:read, profile' }
    expect((await metadata(DEFINITIONS, vars)).scopes_supported).toEqual(['notes:read', 'profile'])
    const refused = await modern(realm.serve(DEFINITIONS, vars)).raw({ body: '{}' })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('scope="notes:read profile"')
  })

  test.each(['offline_access', 'notes:read offline_access', 'a"b', 'a\\b'])(
    'SCOPES_SUPPORTED=%j is refused, and named in the log',
    async (SCOPES_SUPPORTED) => {
      const lines = logged()
      const { status } = await modern(realm.serve(DEFINITIONS, { SCOPES_SUPPORTED })).raw({ body: '{}' })
      expect(status).toBe(503)
      expect(lines.join('\n')).toContain('SCOPES_SUPPORTED')
    },
  )

  test('entries that a template contributes are listed for tokens that are good for it only', async () => {
    const server = realm.serve(DEFINITIONS)
    const uris = async (scope: string) => {
      ran.length = 0
      const { resources, cacheScope } = await modern(server, { headers: await realm.ada(scope) }).result(
        'resources/list',
      )
      expect(cacheScope).toBe('private')
      return resources.map(({ uri }) => uri)
    }
    expect(await uris('items:read')).toEqual(['test://open', 'test://secret', 'test://items/1'])
    expect(ran).toEqual(['list items'])
    expect(await uris('notes:read')).toEqual(['test://open', 'test://secret'])
    expect(ran).toEqual([])
    // One caller's list must not become that of the next one.
    expect(await uris('items:read')).toEqual(['test://open', 'test://secret', 'test://items/1'])
  })
})
