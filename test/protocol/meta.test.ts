// The envelope of modern requests, and the keys and icons that definitions may carry.
// @see basic/index, General fields

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { definePrompt, defineResource, defineServer, defineTool } from '../../src/server/index.ts'
import { isOwnMetaKey, LOG_LEVELS } from '../../src/protocol/meta.ts'
import { modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const INFO = 'io.modelcontextprotocol/clientInfo'
const LEVEL = 'io.modelcontextprotocol/logLevel'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

const tell = defineTool('tell', {
  description: 'Says what it was told about the client.',
  handler: (_input, { client }) => JSON.stringify(client),
})
const talk = defineTool('talk', {
  description: 'Logs once per level.',
  inputSchema: z.object({ times: z.int().default(1) }),
  handler({ times }, { log }) {
    for (let i = 0; i < times; i++) for (const level of LOG_LEVELS) log(level, { i }, 'talk')
  },
})
const client = modern(serve({ tools: [tell, talk] }))
const told = async (meta: JsonObject): Promise<unknown> => {
  const { result } = await client.request('tools/call', { name: 'tell' }, { meta, unchecked: true })
  return JSON.parse(result!.content[0]!.text!)
}

describe('a modern request', () => {
  test.each<[string, JsonObject | null]>([
    ['no _meta', null],
    ['no capabilities', { [CAPABILITIES]: undefined }],
    ['capabilities that are no object', { [CAPABILITIES]: [] }],
    ['null capabilities', { [CAPABILITIES]: null }],
    ['elicitation that is no object', { [CAPABILITIES]: { elicitation: true } }],
    ['extensions that are no object', { [CAPABILITIES]: { extensions: [] } }],
    ['a client without name', { [INFO]: { version: '1' } }],
    ['a client without version', { [INFO]: { name: 'x' } }],
    ['a client that is no object', { [INFO]: 'x' }],
    ['an unknown log level', { [LEVEL]: 'loud' }],
    ['a log level that is no string', { [LEVEL]: 1 }],
    ['a progress token that is no string or integer', { progressToken: 1.5 }],
    ['a null progress token', { progressToken: null }],
  ])('is refused with 400 and -32602 that names the field: %s', async (_what, meta) => {
    const error = await client.error('tools/call', { name: 'tell' }, { meta })
    expect(error).toMatchObject({ status: 400, code: -32602 })
    const [field = ''] = Object.keys(meta ?? {})
    expect(error.message).toMatch(/^Invalid params: params\._meta/)
    expect(error.message).toContain(field)
  })

  test('needs no clientInfo', async () => {
    expect(await told({ [INFO]: undefined })).toEqual({ capabilities: {} })
  })

  test('tells the handler who calls and what it can do, unknown members included', async () => {
    const info = { name: 'x', version: '1', title: 'X' }
    const capabilities = { elicitation: {}, later: { a: 1 }, extensions: { 'com.example/ui': {} } }
    expect(await told({ [INFO]: info, [CAPABILITIES]: capabilities })).toEqual({ info, capabilities })
  })

  test('may carry keys of its own', async () => {
    expect(await told({ 'com.example/mine': 1, loose: [1] })).toMatchObject({ capabilities: {} })
  })

  test('relies on nothing that a request before it declared', async () => {
    await told({ [CAPABILITIES]: { sampling: {} } })
    expect(await told({})).toMatchObject({ capabilities: {} })
  })
})

describe('log messages', () => {
  const levels = async (logLevel?: string): Promise<(string | undefined)[]> => {
    const options = logLevel === undefined ? {} : { logLevel }
    const { notifications } = await client.request('tools/call', { name: 'talk' }, options)
    return notifications.map(({ params }) => params.level)
  }

  test('are sent only to a request that set a level', async () => {
    expect(await levels()).toEqual([])
  })

  test('are sent at that level and above', async () => {
    expect(await levels('debug')).toEqual([...LOG_LEVELS])
    expect(await levels('error')).toEqual(['error', 'critical', 'alert', 'emergency'])
    expect(await levels('emergency')).toEqual(['emergency'])
  })

  test('carry data and logger as they were given', async () => {
    const { notifications } = await client.request('tools/call', { name: 'talk' }, { logLevel: 'emergency' })
    expect(notifications[0]?.params).toEqual({ level: 'emergency', logger: 'talk', data: { i: 0 } })
  })

  test('stop at limits.logMessages a request', async () => {
    const call = { name: 'talk', arguments: { times: 130 } }
    const { notifications } = await client.request('tools/call', call, { logLevel: 'debug' })
    expect(notifications).toHaveLength(1_000)
  })

  test('know these levels, least first', () => {
    expect(LOG_LEVELS).toEqual(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
  })
})

describe('a _meta key of an author', () => {
  test.each([
    'a',
    'A9',
    'my-key',
    'my_key.v1',
    'com.example/key',
    'com.example/',
    'example/key',
    'com.example-shop.a1/key',
    'mcp/key',
    'com.example.mcp/key',
    'modelcontextprotocol/key',
    'traceparent.mine',
  ])('may be %j', (key) => {
    expect(isOwnMetaKey(key)).toBe(true)
  })

  test.each([
    '',
    '/',
    '/key',
    '-a',
    'a-',
    'a b',
    'ä',
    '1com.example/key',
    'com.1example/key',
    'com.example-/key',
    'com..example/key',
    'com.exa_mple/key',
    'a/b/c',
    'com.mcp/key',
    'com.mcp.tools/key',
    'io.modelcontextprotocol/key',
    'dev.mcp/',
    'progressToken',
    'traceparent',
    'tracestate',
    'baggage',
  ])('may not be %j', (key) => {
    expect(isOwnMetaKey(key)).toBe(false)
  })

  test('is checked on every definition', () => {
    const _meta = { 'io.modelcontextprotocol/x': 1 }
    const name = /_meta key 'io\.modelcontextprotocol\/x' is malformed or reserved/
    expect(() => defineTool('a', { description: 'a', _meta, handler: () => '' })).toThrow(name)
    expect(() => definePrompt('a', { description: 'a', _meta, get: () => '' })).toThrow(name)
    expect(() => defineResource('test://a', { name: 'a', _meta, read: () => '' })).toThrow(name)
  })
})

describe('an icon', () => {
  const define = (src: string) => defineTool('a', { description: 'a', icons: [{ src }], handler: () => '' })

  test.each(['https://example.com/a.png', 'data:image/png;base64,AA=='])('may be %s', (src) => {
    expect(() => define(src)).not.toThrow()
  })

  test.each([
    'http://example.com/a.png',
    'javascript:alert(1)',
    'file:///a.png',
    'data:text/html,x',
    'ws://a',
    'a.png',
    '',
  ])('may not be %j', (src) => {
    expect(() => define(src)).toThrow(TypeError)
  })

  test('is checked on every definition', () => {
    const icons = [{ src: 'ftp://a' }]
    expect(() => definePrompt('a', { description: 'a', icons, get: () => '' })).toThrow(TypeError)
    expect(() => defineResource('test://a', { name: 'a', icons, read: () => '' })).toThrow(TypeError)
    expect(() => defineServer({ name: 'a', version: '1', icons })).toThrow(TypeError)
  })
})
