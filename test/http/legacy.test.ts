// Legacy requests without a session: the handshake, and hosts that send less, or more, than they should.
// @see 2025-11-25 basic/lifecycle; 2025-06-18 basic/transports, Protocol Version Header

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { definePrompt, defineResource, defineServer, defineTool } from '../../src/server/index.ts'
import { describeEras, legacy, LEGACY, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { CAPABILITIES, message, outcome, post } from './post.ts'

const where = defineTool('where', {
  description: 'Says what it knows of the request.',
  inputSchema: z.object({ text: z.string().optional().meta({ 'x-mcp-header': 'Text' }) }),
  handler(_input, { protocolVersion, client, progress }) {
    progress(1)
    return JSON.stringify({ protocolVersion, client: { ...client, can: undefined } })
  },
})
const hello = definePrompt('hello', {
  description: 'Greets.',
  arguments: z.object({ name: z.enum(['Ada', 'Alan']) }),
  get: ({ name }) => `Hello ${name}`,
})
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const server = defineServer({
  name: 'legacy',
  version: '1.2.3',
  instructions: 'Be kind.',
  tools: [where],
  prompts: [hello],
  resources: [page],
})
const fetcher = serve(server)
const client = legacy(fetcher, '2025-11-25')
const HELLO = { capabilities: {}, clientInfo: { name: 'x', version: '1' } }

describeEras(
  'a client',
  (client, revision) => {
    test('is answered in its revision, with what the server is and can do, and gets a session', async () => {
      const { result, headers, status } = await client.request('initialize')
      expect(status).toBe(200)
      expect(result).toEqual({
        protocolVersion: revision,
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          completions: {},
          logging: {},
        },
        serverInfo: { name: 'legacy', version: '1.2.3' },
        instructions: 'Be kind.',
      })
      expect(headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]{1,512}$/)
    })

    test('gets everything that needs no memory', async () => {
      expect((await client.notify('notifications/initialized')).status).toBe(202)
      expect(await client.result('ping')).toEqual({})
      expect((await client.result('tools/list')).tools).toHaveLength(1)
      expect((await client.result('prompts/list')).prompts).toHaveLength(1)
      expect((await client.result('resources/list')).resources).toHaveLength(1)
      expect((await client.result('resources/templates/list')).resourceTemplates).toEqual([])
      expect((await client.result('resources/read', { uri: 'test://page' })).contents[0]?.text).toBe('text')
      const prompt = await client.result('prompts/get', { name: 'hello', arguments: { name: 'Ada' } })
      expect(prompt.messages[0]?.content.text).toBe('Hello Ada')
      const complete = { ref: { type: 'ref/prompt', name: 'hello' }, argument: { name: 'name', value: 'al' } }
      expect((await client.result('completion/complete', complete)).completion.values).toEqual(['Alan'])
    })

    test('tells a handler its revision, and no capability that it did not send with the request', async () => {
      const { result } = await client.call('where')
      expect(JSON.parse(result.content[0]!.text!)).toEqual({ protocolVersion: revision, client: { capabilities: {} } })
    })
  },
  { fetcher, until: '2025-11-25' },
)

describe('initialize', () => {
  test.each([
    ['2099-01-01', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    ['2024-11-05', '2025-11-25'],
    ['latest', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
  ] as const)('for %s is answered with %s', async (protocolVersion, expected) => {
    const judge = legacy(fetcher, expected)
    expect((await judge.result('initialize', { protocolVersion })).protocolVersion).toBe(expected)
  })

  test('needs no header beside its type, and takes an empty _meta', async () => {
    const body = message('initialize', { protocolVersion: '2025-11-25', ...HELLO, _meta: {} })
    expect(outcome(await post(client, body, { accept: null }))).toBe('200 result')
  })

  test.each<[string, JsonObject]>([
    ['no version', HELLO],
    ['a version that is no string', { ...HELLO, protocolVersion: 20251125 }],
    ['no capabilities', { protocolVersion: '2025-11-25', clientInfo: HELLO.clientInfo }],
    ['no client', { protocolVersion: '2025-11-25', capabilities: {} }],
    ['a client without a name', { ...HELLO, protocolVersion: '2025-11-25', clientInfo: {} }],
  ])('is -32602 with HTTP 200 for %s', async (_what, params) => {
    expect(outcome(await post(client, message('initialize', params)))).toBe('200 -32602')
  })
})

describe('a host', () => {
  const call = (version: string | null, params: JsonObject = {}): ReturnType<typeof post> => {
    const body = message('tools/call', { name: 'where', ...params })
    return post(client, body, { 'mcp-protocol-version': version, accept: null })
  }

  test('may leave out the version after initialize', async () => {
    await legacy(fetcher, '2025-06-18').result('initialize')
    expect(outcome(await call(null))).toBe('200 result')
    expect(outcome(await post(client, message('tools/list')))).toBe('200 result')
  })

  test('may send a newer version than it negotiated', async () => {
    await legacy(fetcher, '2025-06-18').result('initialize')
    for (const version of LEGACY) expect(outcome(await call(version))).toBe('200 result')
  })

  test('may send reserved _meta keys without a version, and is served as legacy', async () => {
    const answer = await call('2025-11-25', { _meta: { [CAPABILITIES]: {}, 'io.modelcontextprotocol/clientInfo': {} } })
    expect(outcome(answer)).toBe('200 result')
    expect(answer.messages[0]?.result).not.toHaveProperty('resultType')
  })

  test('need not mirror anything into headers', async () => {
    expect(outcome(await call('2025-11-25', { arguments: { text: 'x' } }))).toBe('200 result')
  })

  test('may drop its session id: from many addresses, each request stands alone', async () => {
    for (const address of ['192.0.2.1', '192.0.2.2']) {
      const headers = { 'mcp-protocol-version': '2025-11-25', 'cf-connecting-ip': address }
      expect(outcome(await post(client, message('tools/list'), headers))).toBe('200 result')
    }
  })

  test('gets 400 for a version that nobody knows', async () => {
    for (const version of ['1999-01-01', '2024-11-05', 'x']) expect(outcome(await call(version))).toBe('400 -32022')
  })

  test('may send a progress token of another type, and gets no progress', async () => {
    for (const progressToken of [1.5, null, {}]) {
      const answer = await call('2025-11-25', { _meta: { progressToken } })
      expect([answer.contentType, outcome(answer)]).toEqual(['application/json', '200 result'])
    }
  })
})
