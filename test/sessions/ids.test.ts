// Session ids: sealed facts that cost nothing until a session keeps something. @see Session Management

import { env } from 'cloudflare:workers'
import { listDurableObjectIds } from 'cloudflare:test'
import { describe, expect, test } from 'vitest'
import { base64url } from 'jose'
import { limits } from '../../src/limits.ts'
import { createSealer } from '../../src/server/sealer.ts'
import { openSession, sealSession } from '../../src/http/session-id.ts'
import { legacy, legacySession, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { CAPABILITIES, describeLegacy, NOTHING, sessionOf, storageOf, tool, later } from './support.ts'

const plain = tool('plain', () => 'done')
const fetcher = serve({ tools: [plain] })
const key = () => base64url.encode(crypto.getRandomValues(new Uint8Array(32)))
const count = async () => (await listDurableObjectIds(env.SESSION)).length

describeLegacy('a session id', (revision) => {
  test('is visible ASCII of at most 512 characters, however much the client says of itself', async () => {
    const clientInfo = { name: 'Ж'.repeat(1_000), version: '9.'.repeat(1_000) }
    const session = await legacySession(fetcher, revision, { capabilities: CAPABILITIES[revision], clientInfo })
    expect(session.id).toMatch(/^[\x21-\x7e]+$/)
    expect(session.id.length).toBeLessThanOrEqual(limits.sessionIdChars)
    expect((await session.call('plain')).result.content[0]?.text).toBe('done')
  })

  test('is another one for each initialize, also when that comes with an old one', async () => {
    const session = await sessionOf(fetcher, revision)
    const again = await session.request('initialize')
    const id = again.headers.get('mcp-session-id')
    expect(id).toMatch(/^[\x21-\x7e]+$/)
    expect(id).not.toBe(session.id)
    expect((await session.request('ping')).status).toBe(200)
  })

  test('announces what only sessions can do', async () => {
    const { hello } = await sessionOf(fetcher, revision)
    expect(hello.capabilities).toEqual({ tools: { listChanged: true }, logging: {} })
    const { result } = await legacy(serve({ tools: [plain] }, { vars: { SESSIONS: 'off' } }), revision).request(
      'initialize',
    )
    expect(result?.capabilities).toEqual({ tools: {} })
  })
})

describe('an id that is no live session of the caller', () => {
  const altered = (id: string) => id.slice(0, -6) + (id.at(-6) === 'A' ? 'B' : 'A') + id.slice(-5)
  const otherKeys = serve({ tools: [plain] }, { vars: { STATE_KEYS: key() } })

  const cases: Record<string, () => Promise<string>> = {
    'was never issued': async () => 'made-up',
    'is empty': async () => '',
    'is too long': async () => 'x'.repeat(limits.sessionIdChars + 1),
    'was altered': async () => altered((await sessionOf(fetcher)).id),
    'was sealed with another key': async () => (await legacySession(otherKeys, '2025-11-25')).id,
    'has expired': async () => {
      const { id } = await sessionOf(fetcher)
      later(limits.sessionTtlMs)
      return id
    },
    'is a requestState of the modern era': async () =>
      createSealer(async () => ({ keys: [{ kid: 'k', secret: key() }], refreshAt: 0 })).seal(env, {}),
  }
  test.for(Object.keys(cases))(
    'that %s gets 404 with a JSON-RPC error everywhere, and wakes no object',
    async (name) => {
      const id = await cases[name]!()
      const before = await count()
      const client = legacy(fetcher, '2025-11-25', { headers: { 'mcp-session-id': id } })
      expect(await client.error('ping')).toMatchObject({ status: 404, code: -32600 })
      expect(await client.error('tools/call', { name: 'plain' })).toMatchObject({ status: 404, code: -32600 })
      const headers = { 'mcp-session-id': id, accept: 'text/event-stream' }
      for (const method of ['GET', 'DELETE']) {
        const { status, json } = await client.raw({ method, headers })
        expect([method, status, json]).toEqual([
          method,
          404,
          { jsonrpc: '2.0', error: expect.objectContaining({ code: -32600 }) },
        ])
      }
      expect((await client.notify('notifications/cancelled', { requestId: 1 })).status).toBe(404)
      expect(await count()).toBe(before)
    },
  )

  test('is silenced on GET where the deployment says so', async () => {
    const quiet = legacy(serve({ tools: [plain] }, { vars: { DEAD_SESSION_GET: '405' } }), '2025-11-25')
    const headers = { 'mcp-session-id': 'x', accept: 'text/event-stream' }
    const { status, headers: answer } = await quiet.raw({ headers })
    expect([status, answer.get('allow')]).toEqual([405, 'GET, POST, DELETE, OPTIONS'])
    expect((await quiet.raw({ method: 'DELETE', headers })).status).toBe(404)
  })

  test('opens for its own principal only', async () => {
    const secret = key()
    const sealer = createSealer(async () => ({ keys: [{ kid: 'k', secret }], refreshAt: Date.now() + 1e6 }))
    const facts = {
      objectId: 'a'.repeat(64),
      version: '2025-06-18' as const,
      principal: 'ann',
      client: { info: { name: 'n', version: 'v' }, capabilities: { elicitation: {}, roots: {} } },
      expiresAt: 10,
    }
    const id = await sealSession(sealer, env, facts)
    expect(await openSession(sealer, env, id, 'ann', 9)).toEqual({
      ...facts,
      client: { ...facts.client, capabilities: { elicitation: { form: {} }, roots: {} } },
    })
    expect(await openSession(sealer, env, id, 'bob', 9)).toBeUndefined()
    expect(await openSession(sealer, env, id, 'ann', 10)).toBeUndefined()
  })
})

test('1,000 initialize without DELETE wake no object', async () => {
  const before = await count()
  for (let i = 0; i < 20; i++)
    await Promise.all(Array.from({ length: 50 }, () => legacy(fetcher, '2025-11-25').request('initialize')))
  expect(await count()).toBe(before)
})

test('quick and quiet requests leave no row, table or alarm', async () => {
  const session = await sessionOf(fetcher)
  await session.call('plain')
  await session.request('tools/list')
  await session.request('ping')
  await session.notify('notifications/roots/list_changed')
  await session.cancel('nothing')
  expect(await storageOf(session)).toEqual(NOTHING)
})

describe('SESSIONS', () => {
  test('optional serves requests without an id', async () => {
    const client = legacy(fetcher, '2025-11-25')
    expect((await client.notify('notifications/initialized')).status).toBe(202)
    expect((await client.call('plain')).status).toBe(200)
    const { status, headers } = await client.raw({ headers: { accept: 'text/event-stream' } })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, POST, DELETE, OPTIONS'])
  })

  test('required refuses everything legacy without an id but initialize', async () => {
    const strict = serve({ tools: [plain] }, { vars: { SESSIONS: 'required' } })
    const client = legacy(strict, '2025-03-26')
    expect((await client.request('initialize')).status).toBe(200)
    expect(await client.error('tools/list')).toMatchObject({ status: 400, code: -32600 })
    expect((await client.notify('notifications/initialized')).status).toBe(400)
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    for (const body of [[ping], { jsonrpc: '2.0', id: 1, result: {} }]) {
      expect((await client.raw({ method: 'POST', headers, body: JSON.stringify(body) })).status).toBe(400)
    }
    expect((await client.raw({ headers })).status).toBe(400)
    expect((await client.raw({ method: 'DELETE', headers })).status).toBe(400)
    expect((await (await legacySession(strict, '2025-03-26')).call('plain')).status).toBe(200)
    expect((await modern(strict).call('plain')).status).toBe(200)
  })

  test('off mints none and reads none', async () => {
    const none = legacy(serve({ tools: [plain] }, { vars: { SESSIONS: 'off' } }), '2025-11-25', {
      headers: { 'mcp-session-id': 'x' },
    })
    expect((await none.request('initialize')).headers.get('mcp-session-id')).toBeNull()
    expect((await none.call('plain')).status).toBe(200)
    expect((await none.raw({ headers: { accept: 'text/event-stream', 'mcp-session-id': 'x' } })).status).toBe(405)
  })
})

describe('MCP-Protocol-Version in a session', () => {
  test('of another supported revision is served as the sealed one', async () => {
    const session = await sessionOf(fetcher, '2025-03-26')
    const { status } = await session.request('tools/list', {}, { headers: { 'mcp-protocol-version': '2025-11-25' } })
    expect(status).toBe(200)
    const bare = await session.request('tools/list', {}, { omitHeaders: ['mcp-protocol-version'] })
    expect(bare.status).toBe(200)
  })

  test('of no known revision gets 400 on POST, GET and DELETE', async () => {
    const session = await sessionOf(fetcher)
    const headers = { 'mcp-protocol-version': '1999-01-01', 'mcp-session-id': session.id, accept: 'text/event-stream' }
    expect((await session.raw({ headers })).status).toBe(400)
    expect((await session.raw({ method: 'DELETE', headers })).status).toBe(400)
    const bad = { headers: { 'mcp-protocol-version': '1999-01-01' } }
    expect((await session.request('ping', {}, bad)).status).toBe(400)
    expect((await session.notify('notifications/initialized', {}, bad)).status).toBe(400)
    expect((await session.request('ping')).status).toBe(200)
  })

  test('modern makes the request modern, session or not', async () => {
    const session = await sessionOf(fetcher)
    const client = modern(fetcher, { headers: { 'mcp-session-id': session.id } })
    expect((await client.call('plain')).result.resultType).toBe('complete')
    const dead = modern(fetcher, { headers: { 'mcp-session-id': 'dead' } })
    expect((await dead.call('plain')).status).toBe(200)
    expect(await storageOf(session)).toEqual(NOTHING)
  })
})
