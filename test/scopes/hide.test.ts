// `missingScopes: 'hide'`: what a token may not use is, byte for byte, what never was. The same requests go to a server
// that has those definitions and to one that has not.

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defineServer, type ServerOptions } from '../../src/server/index.ts'
import { legacyPost, modernPost, statusOf, whole } from '../isolation/support.ts'
import { listen } from '../listen/support.ts'
import { sessionOf } from '../sessions/support.ts'
import { modern, REVISIONS, type Fetcher, type JsonObject, type Revision } from '../support/client.ts'
import { createScopeRealm, DEFINITIONS, OPEN, ran, SCOPED, type ScopeRealm } from './support.ts'

const PRIVATE = { ttlMs: 300_000, scope: 'private' } as const
const ALL = 'notes:read notes:write secret:read items:read prompts:use'

let realm: ScopeRealm
/** Has definitions that need scopes. */
let hiding: Fetcher
/** Never had them. Its lists are private too: they say that somebody may see more, and not what. */
let without: Fetcher
beforeAll(async () => {
  realm = await createScopeRealm()
  hiding = realm.serve({ ...DEFINITIONS, missingScopes: 'hide' })
  const cache = { tools: PRIVATE, prompts: PRIVATE, templates: PRIVATE, resources: { ttlMs: 0, scope: 'private' } }
  without = realm.serve({ ...OPEN, cache } as Partial<ServerOptions>)
})
beforeEach(() => {
  ran.length = 0
})

const reference = (ref: JsonObject, name: string): JsonObject => ({ ref, argument: { name, value: '' } })
const requests: [string, JsonObject][] = [
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['tools/call', { name: 'write', arguments: {} }],
  ['tools/call', { name: 'write', arguments: { no: 'such' } }],
  ['tools/call', { name: 'both', arguments: {} }],
  ['tools/call', { name: 'job', arguments: {} }],
  ['tools/call', { name: 'job', arguments: {}, task: {} }],
  ['prompts/get', { name: 'prompt', arguments: { a: 'x' } }],
  ['prompts/get', { name: 'prompt' }],
  ['resources/read', { uri: 'test://secret' }],
  ['resources/read', { uri: 'test://items/1' }],
  ['resources/subscribe', { uri: 'test://secret' }],
  ['resources/subscribe', { uri: 'test://items/1' }],
  ['completion/complete', reference({ type: 'ref/prompt', name: 'prompt' }, 'a')],
  ['completion/complete', reference({ type: 'ref/prompt', name: 'prompt' }, 'no such')],
  ['completion/complete', reference({ type: 'ref/resource', uri: 'test://items/{id}' }, 'id')],
  ['completion/complete', reference({ type: 'ref/resource', uri: 'test://items/{id}' }, 'no such')],
  ['completion/complete', reference({ type: 'ref/resource', uri: 'test://secret' }, 'id')],
]

const post = (revision: Revision, method: string, params: JsonObject, headers: Record<string, string>): Request =>
  revision === '2026-07-28'
    ? modernPost(method, params, headers, { extensions: { 'io.modelcontextprotocol/tasks': {} } })
    : legacyPost({ jsonrpc: '2.0', id: 'same', method, params }, headers, revision)

for (const revision of REVISIONS) {
  test.each(requests)(`%s %j is answered as what never was [${revision}]`, async (method, params) => {
    const tokens = await Promise.all(['', 'notes:read', 'other'].map((scope) => realm.ada(scope)))
    const never = await whole(await without(post(revision, method, params, tokens[0]!)))
    for (const headers of tokens) expect(await whole(await hiding(post(revision, method, params, headers)))).toBe(never)
    expect(statusOf(never)).not.toBe(403)
    expect(ran).toEqual([])
  })

  test(`everything is there for a token that is good for it [${revision}]`, async () => {
    const headers = await realm.ada(ALL)
    const answer = async (method: string, params: JsonObject) =>
      (await hiding(post(revision, method, params, headers))).text()
    expect(await answer('tools/list', {})).toContain('"name":"both"')
    expect(await answer('prompts/list', {})).toContain('"name":"prompt"')
    expect(await answer('resources/list', {})).toContain('test://items/1')
    expect(await answer('resources/templates/list', {})).toContain('test://items/{id}')
    expect(await answer('tools/call', { name: 'both', arguments: {} })).toContain('"both"')
    expect(await answer('resources/read', { uri: 'test://items/1' })).toContain('"test://items/1"')
    expect(await answer('completion/complete', requests[15]![1])).toContain('complete prompt')
    // And still not for another one.
    const lesser = await realm.ada('')
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      const before = await (await hiding(post(revision, method, {}, lesser))).text()
      expect(before).toBe(await (await without(post(revision, method, {}, lesser))).text())
    }
  })

  test(`a part of what is needed shows a part [${revision}]`, async () => {
    const list = async (scope: string) =>
      (await hiding(post(revision, 'tools/list', {}, await realm.ada(scope)))).text()
    expect(await list('notes:write')).toContain('"write"')
    expect(await list('notes:write')).not.toContain('"both"')
    expect(await list('notes:read')).not.toContain('"write"')
  })
}

test.each(requests)('%s %j is answered as what never was in a session', async (method, params) => {
  const headers = await realm.ada('')
  const answer = async (fetcher: Fetcher) => {
    const { id } = await sessionOf(fetcher, '2025-11-25', { headers })
    return whole(await fetcher(post('2025-11-25', method, params, { ...headers, 'mcp-session-id': id })))
  }
  expect(await answer(hiding)).toBe(await answer(without))
})

test('lists are private, and so for everybody', async () => {
  for (const scope of ['', ALL]) {
    const client = modern(hiding, { headers: await realm.ada(scope) })
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'] as const)
      expect(await client.result(method)).toMatchObject({ cacheScope: 'private' })
  }
})

test('lists that hold nothing of that kind stay public', async () => {
  const own = realm.serve({ ...DEFINITIONS, tools: OPEN.tools, missingScopes: 'hide' })
  const client = modern(own, { headers: await realm.ada('') })
  expect(await client.result('tools/list')).toMatchObject({ cacheScope: 'public' })
})

test('where scopes are asked for, lists are the same for everybody and public', async () => {
  const own = realm.serve(DEFINITIONS)
  for (const scope of ['', ALL]) {
    const { tools, cacheScope } = await modern(own, { headers: await realm.ada(scope) }).result('tools/list')
    expect(tools).toHaveLength(DEFINITIONS.tools.length)
    expect(cacheScope).toBe('public')
  }
})

test('listening agrees to what is there', async () => {
  const uris = ['test://open', 'test://secret', 'test://items/1', 'test://none']
  const agreedOf = async (fetcher: Fetcher, scope: string) => {
    const stream = await listen(
      modern(fetcher, { headers: await realm.ada(scope) }),
      { resourceSubscriptions: uris },
      { id: 'x' },
    )
    await stream.cancel()
    return JSON.stringify([[...stream.response.headers], stream.acknowledgement])
  }
  expect(await agreedOf(hiding, '')).toBe(await agreedOf(without, ''))
  expect(await agreedOf(hiding, 'secret:read')).toContain('test://secret')
})

test('scopes that others contain count', async () => {
  const own = realm.serve({ ...DEFINITIONS, missingScopes: 'hide', scopeImplies: { admin: ['notes:write'] } })
  const client = modern(own, { headers: await realm.ada('admin') })
  expect((await client.result('tools/list')).tools.map(({ name }) => name)).toContain('write')
  expect((await client.call('write')).result.content).toEqual([{ type: 'text', text: 'write' }])
})

test('`visible` and scopes both have to allow it', async () => {
  const [write] = SCOPED.tools
  const tool = Object.freeze({ ...write!, visible: ({ subject }: { subject?: string }) => subject === 'bob' })
  const server = defineServer({ name: 'both', version: '1.0.0', tools: [...OPEN.tools, tool], missingScopes: 'hide' })
  const namesFor = async (sub: string, scope: string) => {
    const headers = { authorization: `Bearer ${await realm.issuer.mint({ sub, scope })}` }
    const { tools } = await modern(realm.serve(server as never), { headers }).result('tools/list')
    return tools.map(({ name }) => name)
  }
  expect(await namesFor('bob', 'notes:write')).toContain('write')
  expect(await namesFor('bob', '')).not.toContain('write')
  expect(await namesFor('ada', 'notes:write')).not.toContain('write')
})

test('pages of a list hold what is there for the caller', async () => {
  const own = realm.serve({ ...DEFINITIONS, missingScopes: 'hide', pageSize: 1 })
  const names = async (scope: string) => {
    const client = modern(own, { headers: await realm.ada(scope) })
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await client.result('tools/list', cursor === undefined ? {} : { cursor })
      found.push(...page.tools.map(({ name }) => name))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return found
  }
  expect(await names('')).toEqual(['open', 'open_job'])
  expect(await names('notes:write')).toEqual(['open', 'open_job', 'write', 'ask', 'job', 'quick_job'])
})

describe('a task of what is hidden from a later token', () => {
  test('is refused, since it is its owner’s and a scope brings it back', async () => {
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const made = modern(hiding, { headers: await realm.ada('notes:write'), capabilities })
    const { taskId } = await made.callTask('quick_job')
    await made.settled(taskId)
    const later = modern(hiding, { headers: await realm.ada(''), capabilities })
    expect(await later.error('tasks/get', { taskId })).toMatchObject({ status: 403 })
    expect((await made.task(taskId)).status).toBe('completed')
  })
})
