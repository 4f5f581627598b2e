// A token that may do less than a request needs: 403 with everything to ask for, before a handler, a byte or an object.
// @see basic/authorization, Scope Challenge Handling

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defineResourceTemplate, defineServer, defineTool } from '../../src/server/index.ts'
import { createIssuer } from '../auth/issuer.ts'
import { bearer, legacyPost, logged, modernPost, whole } from '../isolation/support.ts'
import { sessionOf } from '../sessions/support.ts'
import { legacy, modern, REVISIONS, type Fetcher, type JsonObject, type Revision } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { watchedObjects } from '../support/watched-objects.ts'
import { createScopeRealm, DEFINITIONS, expectRefused, insufficient, ran, type ScopeRealm } from './support.ts'

let realm: ScopeRealm
const touched: string[] = []
let fetcher: Fetcher
beforeAll(async () => {
  realm = await createScopeRealm()
  fetcher = realm.serve(DEFINITIONS, watchedObjects(touched, 'KEY_RING'))
})
beforeEach(() => {
  ran.length = touched.length = 0
})

const reference = (ref: JsonObject, name: string): JsonObject => ({ ref, argument: { name, value: '' } })
const requests: [what: string, method: string, params: JsonObject, needs: string, runs: string][] = [
  ['a tool', 'tools/call', { name: 'write', arguments: {} }, 'notes:write', 'write'],
  ['a tool that needs two', 'tools/call', { name: 'both', arguments: {} }, 'notes:read notes:write', 'both'],
  ['a prompt', 'prompts/get', { name: 'prompt', arguments: { a: 'x' } }, 'prompts:use', 'prompt'],
  ['a resource', 'resources/read', { uri: 'test://secret' }, 'secret:read', 'test://secret'],
  ['a template', 'resources/read', { uri: 'test://items/7' }, 'items:read', 'test://items/7'],
  [
    'a completion of a prompt',
    'completion/complete',
    reference({ type: 'ref/prompt', name: 'prompt' }, 'a'),
    'prompts:use',
    'complete prompt',
  ],
  [
    'a completion of a template',
    'completion/complete',
    reference({ type: 'ref/resource', uri: 'test://items/{id}' }, 'id'),
    'items:read',
    'complete items',
  ],
]

const post = (revision: Revision, method: string, params: JsonObject, headers: Record<string, string>): Request =>
  revision === '2026-07-28'
    ? modernPost(method, params, headers)
    : legacyPost({ jsonrpc: '2.0', id: 'same', method, params }, headers, revision)

test('the operator learns what was needed and what the token had', async () => {
  const lines = logged()
  const call = { name: 'both', arguments: {} }
  const talkative = realm.serve(DEFINITIONS, { LOG: 'requests' })
  await modern(talkative, { headers: await realm.ada('notes:read other') }).error('tools/call', call)
  const reason = 'this needs the scopes notes:read notes:write, and the token has notes:read other'
  expect(lines.filter((line) => line.includes('"refused"'))).toEqual([JSON.stringify({ event: 'refused', reason })])
})

for (const revision of REVISIONS) {
  describe.each(requests)(`%s [${revision}]`, (_, method, params, needs, runs) => {
    test('is refused to a token without scopes', async () => {
      await expectRefused(await fetcher(post(revision, method, params, await realm.ada(''))), needs)
      expect(touched).toEqual([])
    })

    test('is refused with what the token holds and this server knows beside what is needed', async () => {
      const unknown = 'openid other:read profile notes:Write offline_access'
      await expectRefused(await fetcher(post(revision, method, params, await realm.ada(unknown))), needs)
      const held = ['items:read', 'secret:read', 'prompts:use'].filter((scope) => scope !== needs)
      const headers = await realm.ada(`openid ${held.join(' ')} other:read`)
      await expectRefused(await fetcher(post(revision, method, params, headers)), [needs, ...held].join(' '))
      expect(touched).toEqual([])
    })

    test('is given to a token that is good for it', async () => {
      const response = await fetcher(post(revision, method, params, await realm.ada(needs)))
      expect(response.status).toBe(200)
      expect(await response.text()).not.toContain('"error"')
      expect(ran).toEqual([runs])
    })
  })

  test(`of two scopes both are needed [${revision}]`, async () => {
    for (const scope of ['notes:read', 'notes:write']) {
      const params = { name: 'both', arguments: {} }
      await expectRefused(
        await fetcher(post(revision, 'tools/call', params, await realm.ada(scope))),
        'notes:read notes:write',
      )
    }
  })

  test(`what does not exist needs no scope, nor does what is open [${revision}]`, async () => {
    const headers = await realm.ada('')
    const answer = async (method: string, params: JsonObject) =>
      (await fetcher(post(revision, method, params, headers))).text()
    expect(await answer('tools/call', { name: 'no such', arguments: {} })).toContain('Unknown tool')
    expect(await answer('tools/call', { name: '__proto__', arguments: {} })).toContain('Unknown tool')
    expect(await answer('prompts/get', { name: 'no such' })).toContain('Unknown prompt')
    expect(await answer('resources/read', { uri: 'test://none' })).toContain('Resource not found')
    expect(await answer('tools/call', { name: 'open', arguments: {} })).toContain('"open"')
    expect(await answer('resources/read', { uri: 'test://open' })).toContain('"test://open"')
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
      expect(await answer(method, {})).toContain('"result"')
  })

  test(`malformed parameters are no 403 and no failure [${revision}]`, async () => {
    const headers = await realm.ada('')
    const malformed: [string, JsonObject][] = [
      ['tools/call', { name: ['write'] }],
      ['tools/call', {}],
      ['prompts/get', { name: { prompt: 1 } }],
      ['resources/read', { uri: 7 }],
      ['completion/complete', { ref: 'prompt' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: ['prompt'] } }],
      ['completion/complete', {}],
      ['tasks/get', { taskId: 7 }],
      ['subscriptions/listen', { notifications: { resourceSubscriptions: 'test://secret' } }],
      ['subscriptions/listen', { notifications: { resourceSubscriptions: [7, null, {}] } }],
      ['subscriptions/listen', { notifications: null }],
    ]
    for (const [method, params] of malformed) {
      const { status } = await fetcher(post(revision, method, params, headers))
      expect(status, `${method} ${JSON.stringify(params)}`).toBeLessThan(500)
      expect(status, `${method} ${JSON.stringify(params)}`).not.toBe(403)
    }
  })
}

describe('in a session', () => {
  const revisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
  test.each(revisions)('everything is refused before its object is asked [%s]', async (revision) => {
    const session = await sessionOf(fetcher, revision, { headers: await realm.ada('') })
    const headers = { ...(await realm.ada('')), 'mcp-session-id': session.id }
    touched.length = 0
    for (const [, method, params, needs] of requests)
      await expectRefused(await fetcher(post(revision, method, params, headers)), needs)
    for (const [uri, needs] of [
      ['test://secret', 'secret:read'],
      ['test://items/1', 'items:read'],
    ] as const) {
      await expectRefused(await fetcher(post(revision, 'resources/subscribe', { uri }, headers)), needs)
    }
    expect(touched).toEqual([])
    const more = { ...(await realm.ada('secret:read')), 'mcp-session-id': session.id }
    const subscribed = await fetcher(post(revision, 'resources/subscribe', { uri: 'test://secret' }, more))
    expect(await subscribed.text()).toContain('"result":{}')
    // What one is rid of needs nothing.
    const unsubscribed = await fetcher(post(revision, 'resources/unsubscribe', { uri: 'test://secret' }, headers))
    expect(await unsubscribed.text()).toContain('"result":{}')
  })

  test('a session of somebody else is not found, whatever the scopes', async () => {
    const session = await sessionOf(fetcher, '2025-11-25', { headers: await realm.ada('') })
    const token = await realm.issuer.mint({ sub: 'bob', scope: '' })
    const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': session.id }
    const params = { name: 'write', arguments: {} }
    expect((await fetcher(post('2025-11-25', 'tools/call', params, headers))).status).toBe(404)
  })
})

describe('subscriptions/listen', () => {
  test.each([
    [['test://secret'], 'secret:read'],
    [['test://open', 'test://items/1', 'test://secret'], 'items:read secret:read'],
    [['test://items/1', 'test://items/2'], 'items:read'],
  ])('of %j is refused', async (resourceSubscriptions, needs) => {
    const listen = async (scope: string) =>
      fetcher(modernPost('subscriptions/listen', { notifications: { resourceSubscriptions } }, await realm.ada(scope)))
    await expectRefused(await listen(''), needs)
    await expectRefused(await listen('notes:read'), `${needs} notes:read`)
    expect(touched).toEqual([])
    const response = await listen(needs)
    expect(response.status).toBe(200)
    await response.body!.cancel()
  })

  test('of lists and open resources needs nothing', async () => {
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['test://open', 'test://shelf/1'] }
    const response = await fetcher(modernPost('subscriptions/listen', { notifications }, await realm.ada('')))
    expect(response.status).toBe(200)
    await response.body!.cancel()
  })
})

describe('a retry with a token that has lost the scope', () => {
  const retried = async (scope: string) => {
    const params = { name: 'ask', arguments: {} }
    const client = modern(fetcher, { headers: await realm.ada('notes:write'), capabilities: { elicitation: {} } })
    const { requestState } = (await client.result('tools/call', params)) as JsonObject
    const inputResponses = { name: { action: 'accept', content: { name: 'Ann' } } }
    const capabilities = { elicitation: {} }
    return fetcher(
      modernPost('tools/call', { ...params, requestState, inputResponses }, await realm.ada(scope), capabilities),
    )
  }

  test('is refused', async () => {
    await expectRefused(await retried(''), 'notes:write')
    await expectRefused(await retried('notes:read'), 'notes:write notes:read')
  })

  test('that has it still goes on', async () => {
    expect(await (await retried('notes:write')).text()).toContain('"Ann"')
    expect(ran).toEqual(['ask'])
  })
})

describe('a batch', () => {
  const request = (id: number, method: string, params: JsonObject) => ({ jsonrpc: '2.0', id, method, params })
  const batch = [
    request(1, 'tools/call', { name: 'open', arguments: {} }),
    request(2, 'tools/call', { name: 'write', arguments: {} }),
    request(3, 'resources/read', { uri: 'test://secret' }),
    request(4, 'tools/call', { name: 'both', arguments: {} }),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
  ]
  const NEEDS = 'notes:write secret:read notes:read'
  const send = async (scope: string, more: Record<string, string> = {}) =>
    fetcher(legacyPost(batch, { ...(await realm.ada(scope)), ...more }, '2025-03-26'))

  test('is refused whole, with all that its requests need', async () => {
    await expectRefused(await send(''), NEEDS)
    await expectRefused(await send('notes:read items:read'), `${NEEDS} items:read`)
    await expectRefused(await send('notes:read notes:write'), NEEDS)
    expect(touched).toEqual([])
  })

  test('is refused whole in a session too', async () => {
    const session = await sessionOf(fetcher, '2025-03-26', { headers: await realm.ada('') })
    touched.length = 0
    await expectRefused(await send('', { 'mcp-session-id': session.id }), NEEDS)
    expect(touched).toEqual([])
  })

  test('runs with a token that is good for all of it', async () => {
    const response = await send(NEEDS)
    expect(response.status).toBe(200)
    expect(await response.json()).toHaveLength(4)
    expect(ran.toSorted()).toEqual(['both', 'open', 'test://secret', 'write'])
  })

  test('that needs nothing runs', async () => {
    const response = await fetcher(legacyPost([batch[0]], await realm.ada(''), '2025-03-26'))
    expect(await response.json()).toHaveLength(1)
  })
})

describe('without authorization', () => {
  const anybody = serve(DEFINITIONS)

  for (const revision of REVISIONS)
    test.each(requests)(`%s needs no scope [${revision}]`, async (_, method, params, _needs, runs) => {
      const response = await anybody(post(revision, method, params, {}))
      expect(response.status).toBe(200)
      await response.text()
      expect(ran).toEqual([runs])
    })

  test('nothing is hidden', async () => {
    const hiding = serve({ ...DEFINITIONS, missingScopes: 'hide' })
    const { tools } = await modern(hiding).result('tools/list')
    expect(tools.map(({ name }) => name)).toContain('write')
    expect((await modern(hiding).call('write')).result.content).toEqual([{ type: 'text', text: 'write' }])
    const { resources } = await modern(hiding).result('resources/list')
    expect(resources.map(({ uri }) => uri)).toEqual(['test://open', 'test://secret', 'test://items/1'])
  })
})

test('a fork’s own authenticate has no scopes unless it says so', async () => {
  const own = serve(DEFINITIONS, {
    authenticate: ({ headers }) => ({
      principal: 'ada',
      ...(headers.has('x-scopes') && { scopes: headers.get('x-scopes')!.split(' ') }),
    }),
  })
  const call = (headers: Record<string, string>) =>
    own(modernPost('tools/call', { name: 'write', arguments: {} }, headers))
  expect((await call({})).headers.get('www-authenticate')).toBe(insufficient('notes:write'))
  expect((await call({ 'x-scopes': 'notes:write' })).status).toBe(200)
})

test('what a definition hides from a caller by itself is unknown, not refused', async () => {
  const own = realm.serve({
    tools: [
      ...DEFINITIONS.tools,
      defineTool('hidden', {
        description: 'Not for Ada.',
        scopes: ['hidden:use'],
        visible: ({ subject }) => subject !== 'ada',
        handler: () => 'seen',
      }),
    ],
  })
  const client = modern(own, { headers: await realm.ada('') })
  expect(await client.error('tools/call', { name: 'hidden', arguments: {} })).toMatchObject({
    status: 200,
    message: 'Unknown tool: hidden',
  })
})

test('a URI that several templates match needs what all of them need', async () => {
  const read = () => undefined
  const own = realm.serve({
    resources: [
      defineResourceTemplate('test://{kind}/{id}', { name: 'one', scopes: ['one:read'], read }),
      defineResourceTemplate('test://notes/{id}', { name: 'two', scopes: ['two:read'], read: () => 'two' }),
    ],
  })
  const response = await own(modernPost('resources/read', { uri: 'test://notes/1' }, await realm.ada('')))
  expect(response.headers.get('www-authenticate')).toBe(insufficient('one:read two:read'))
  const client = modern(own, { headers: await realm.ada('one:read two:read') })
  expect((await client.result('resources/read', { uri: 'test://notes/1' })).contents).toMatchObject([{ text: 'two' }])
})

test('the metadata address in a challenge is the one of the request, or of PUBLIC_URL', async () => {
  const own = realm.serve(DEFINITIONS, { PUBLIC_URL: 'https://notes.example.com' })
  const refused = await own(modernPost('tools/call', { name: 'write', arguments: {} }, await realm.ada('')))
  expect(refused.headers.get('www-authenticate')).toContain(
    'resource_metadata="https://notes.example.com/.well-known/oauth-protected-resource/mcp"',
  )
})

test('a 403 can be read by a page, and names everything that is needed', async () => {
  const response = await fetcher(
    modernPost(
      'tools/call',
      { name: 'write', arguments: {} },
      {
        ...(await realm.ada('')),
        origin: 'http://localhost:6274',
      },
    ),
  )
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
  const answer = await whole(response)
  expect(answer).toContain('"id":"same"')
  expect(answer).toContain('"code":')
  const both = await fetcher(modernPost('tools/call', { name: 'both', arguments: {} }, await realm.ada('notes:write')))
  expect(await both.text()).toContain('"Forbidden: this needs the scopes notes:read, notes:write"')
})

test('a prefix that the issuer puts before scopes is put before those of a challenge', async () => {
  const issuer = realm.issuer.settings({ scopePrefix: 'api://notes/' })
  const own = realm.serve(DEFINITIONS, { AUTH_ISSUERS: JSON.stringify([issuer]) })
  const refused = await own(modernPost('tools/call', { name: 'write', arguments: {} }, await realm.ada('notes:read')))
  expect(refused.headers.get('www-authenticate')).toBe(insufficient('api://notes/notes:write api://notes/notes:read'))
})

test('a prefix is that of the issuer whose token it is, and a token with it has another scope', async () => {
  const other = await createIssuer()
  const issuers = [
    realm.issuer.settings({ scopePrefix: 'first/' }),
    other.settings({ id: 'second', scopePrefix: 'second/' }),
  ]
  const own = realm.serve(DEFINITIONS, { AUTH_ISSUERS: JSON.stringify(issuers) })
  const write = (headers: Record<string, string>) =>
    own(modernPost('tools/call', { name: 'write', arguments: {} }, headers))
  const second = await write(bearer(await other.mint({ scope: 'notes:read' })))
  expect(second.headers.get('www-authenticate')).toBe(insufficient('second/notes:write second/notes:read'))
  expect((await write(bearer(await other.mint({ scope: 'notes:write' })))).status).toBe(200)
  const prefixed = await write(await realm.ada('first/notes:write'))
  expect(prefixed.headers.get('www-authenticate')).toBe(insufficient('first/notes:write'))
})

test('a scope of SCOPES_SUPPORTED that only handlers know is not lost by a new token', async () => {
  const own = realm.serve(DEFINITIONS, { SCOPES_SUPPORTED: 'notes:read profile:read' })
  const call = async (scope: string) =>
    own(modernPost('tools/call', { name: 'write', arguments: {} }, await realm.ada(scope)))
  await expectRefused(await call('openid profile:read'), 'notes:write profile:read')
  await expectRefused(await call('openid'), 'notes:write')
})

describe('scopeImplies', () => {
  const scopeImplies = {
    'notes:admin': ['notes:write', 'extra'],
    'notes:write': ['notes:read'],
    a: ['b'],
    b: ['c'],
    c: ['a', 'secret:read'],
    itself: ['itself', 'items:read'],
  }
  const implying = () => realm.serve({ ...DEFINITIONS, scopeImplies })
  const call = (name: string, headers: Record<string, string>) =>
    implying()(modernPost('tools/call', { name, arguments: {} }, headers))
  const read = (uri: string, headers: Record<string, string>) =>
    implying()(modernPost('resources/read', { uri }, headers))

  test.each([
    ['notes:admin', 'both'],
    ['notes:admin', 'write'],
    ['notes:write', 'both'],
  ])('%s is good for %s', async (scope, name) => {
    expect((await call(name, await realm.ada(scope))).status).toBe(200)
    expect(ran).toEqual([name])
  })

  test.each([
    ['a', 'test://secret'],
    ['b', 'test://secret'],
    ['c', 'test://secret'],
    ['itself', 'test://items/1'],
  ])('%s is good for %s, through scopes that contain each other', async (scope, uri) => {
    expect((await read(uri, await realm.ada(scope))).status).toBe(200)
  })

  test('goes one way', async () => {
    await expectRefused(await call('write', await realm.ada('notes:read')), 'notes:write notes:read')
  })

  test('adds nothing to a challenge: neither what contains what is needed nor what is contained in what is held', async () => {
    await expectRefused(await read('test://secret', await realm.ada('notes:admin')), 'secret:read notes:admin')
    await expectRefused(await call('write', await realm.ada('')), 'notes:write')
    await expectRefused(await call('both', await realm.ada('a')), 'notes:read notes:write a')
  })

  test('counts for tasks', async () => {
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const server = defineServer({ name: 'implies', version: '1.0.0', ...DEFINITIONS, scopeImplies })
    const own = realm.serve(server as never)
    const made = modern(own, { headers: await realm.ada('notes:write'), capabilities })
    const { taskId } = await made.callTask('quick_job')
    const admin = modern(own, { headers: await realm.ada('notes:admin'), capabilities })
    expect((await admin.settled(taskId)).status).toBe('completed')
  })

  test('has no property of objects', async () => {
    for (const scope of ['constructor', '__proto__', 'toString']) {
      await expectRefused(await call('write', await realm.ada(scope)), 'notes:write')
    }
  })
})

test('legacy clients without a session that name no version are refused alike', async () => {
  const client = legacy(fetcher, '2025-03-26', { headers: await realm.ada('') })
  const refused = await client.error(
    'tools/call',
    { name: 'write', arguments: {} },
    { omitHeaders: ['mcp-protocol-version'] },
  )
  expect(refused.status).toBe(403)
})
