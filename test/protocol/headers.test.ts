// The headers that mirror the body: what equals it, what does not, and what must not be there.
// @see basic/transports/streamable-http, Request Metadata

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { definePrompt, defineResource, defineTool } from '../../src/server/index.ts'
import { checkParamHeaders, checkStandardHeaders, decodeHeaderValue } from '../../src/protocol/headers.ts'
import { encodeHeaderValue, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const Inner = z.object({ deep: z.string().meta({ 'x-mcp-header': 'Deep' }) })
const mirror = defineTool('mirror', {
  description: 'Mirrors its arguments into headers.',
  inputSchema: z.object({
    text: z.string().optional().meta({ 'x-mcp-header': 'Text' }),
    size: z.int().optional().meta({ 'x-mcp-header': 'Size' }),
    flag: z.boolean().optional().meta({ 'x-mcp-header': 'Flag' }),
    preset: z.string().default('eu').meta({ 'x-mcp-header': 'Preset' }),
    inner: z.object({ inner: Inner.optional() }).optional(),
  }),
  handler: (input) => JSON.stringify(input),
})
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const hello = definePrompt('hello', { description: 'Greets.', get: () => 'Hello' })
const client = modern(serve({ tools: [mirror], resources: [page], prompts: [hello] }))

type Headers = Record<string, string>

async function status(args: object | null | undefined, headers: Headers): Promise<string> {
  const params = { name: 'mirror', ...(args !== undefined && { arguments: args }) }
  const { status, error } = await client.request('tools/call', params, { headers, unchecked: true })
  return error ? `${status} ${error.code}` : `${status}`
}

describe('Mcp-Param-*', () => {
  test.each<[string, object | null | undefined, Headers]>([
    ['a plain value', { text: 'us-west1' }, { 'mcp-param-text': 'us-west1' }],
    ['a name in another case', { text: 'x' }, { 'MCP-PARAM-TEXT': 'x' }],
    ['blanks around a plain value', { text: 'x y' }, { 'mcp-param-text': ' \tx y ' }],
    ['an empty value', { text: '' }, { 'mcp-param-text': '' }],
    ['an empty value in base64', { text: '' }, { 'mcp-param-text': '=?base64??=' }],
    ['non-ASCII in base64', { text: 'Hello, 世界' }, { 'mcp-param-text': '=?base64?SGVsbG8sIOS4lueVjA==?=' }],
    ['padding in base64', { text: ' padded ' }, { 'mcp-param-text': '=?base64?IHBhZGRlZCA=?=' }],
    ['a newline in base64', { text: 'line1\nline2' }, { 'mcp-param-text': '=?base64?bGluZTEKbGluZTI=?=' }],
    [
      'the sentinel in base64',
      { text: '=?base64?literal?=' },
      { 'mcp-param-text': '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=' },
    ],
    ['a byte order mark in base64', { text: '\ufeffx' }, { 'mcp-param-text': encodeHeaderValue('\ufeffx') }],
    ['ASCII in base64 all the same', { text: 'x' }, { 'mcp-param-text': '=?base64?eA==?=' }],
    ['a value that only begins like base64', { text: '=?base64?eA==' }, { 'mcp-param-text': '=?base64?eA==' }],
    ['a value that only ends like base64', { text: 'eA==?=' }, { 'mcp-param-text': 'eA==?=' }],
    ['a sentinel in capitals, which is none', { text: '=?BASE64?eA==?=' }, { 'mcp-param-text': '=?BASE64?eA==?=' }],
    ['prefix and suffix that overlap', { text: '=?base64?=' }, { 'mcp-param-text': '=?base64?=' }],
    ['an integer', { size: 42 }, { 'mcp-param-size': '42' }],
    ['an integer as a decimal', { size: 42 }, { 'mcp-param-size': '42.0' }],
    ['an integer with an exponent', { size: 4200 }, { 'mcp-param-size': '4.2e3' }],
    ['a negative integer', { size: -7 }, { 'mcp-param-size': '-7' }],
    ['an integer in base64', { size: 42 }, { 'mcp-param-size': '=?base64?NDI=?=' }],
    ['true', { flag: true }, { 'mcp-param-flag': 'true' }],
    ['false', { flag: false }, { 'mcp-param-flag': 'false' }],
    ['a value below two objects', { inner: { inner: { deep: 'x' } } }, { 'mcp-param-deep': 'x' }],
    ['nothing, for what is absent', {}, {}],
    ['nothing, for what is null', { text: null }, {}],
    ['nothing, for arguments that are absent', undefined, {}],
    ['nothing, for arguments that are null', null, {}],
    ['nothing, for what only a default fills in', {}, {}],
    ['the value over a default', { preset: 'us' }, { 'mcp-param-preset': 'us' }],
    ['nothing, below an object that is absent', { inner: {} }, {}],
    ['a header that no tool declares', {}, { 'mcp-param-other': '=?base64?*?=' }],
  ])('is accepted: %s', async (_what, args, headers) => {
    expect(await status(args, headers)).toBe('200')
  })

  test.each<[string, object, Headers]>([
    ['a missing header', { text: 'x' }, {}],
    ['a missing header below two objects', { inner: { inner: { deep: 'x' } } }, {}],
    ['a missing header for an empty value', { text: '' }, {}],
    ['another value', { text: 'x' }, { 'mcp-param-text': 'y' }],
    ['another case', { text: 'x' }, { 'mcp-param-text': 'X' }],
    ['another integer', { size: 42 }, { 'mcp-param-size': '43' }],
    ['an integer with a sign', { size: 42 }, { 'mcp-param-size': '+42' }],
    ['an integer in another base', { size: 42 }, { 'mcp-param-size': '0x2A' }],
    ['an empty header for zero', { size: 0 }, { 'mcp-param-size': '' }],
    ['infinity', { size: 1 }, { 'mcp-param-size': 'Infinity' }],
    ['a boolean in capitals', { flag: true }, { 'mcp-param-flag': 'TRUE' }],
    ['a number for a boolean', { flag: true }, { 'mcp-param-flag': '1' }],
    ['a header for what is absent', {}, { 'mcp-param-text': 'x' }],
    ['an empty header for what is absent', {}, { 'mcp-param-text': '' }],
    ['a header for what is null', { text: null }, { 'mcp-param-text': 'null' }],
    ['a header for what only a default fills in', {}, { 'mcp-param-preset': 'eu' }],
    ['base64 of other bytes', { text: 'x' }, { 'mcp-param-text': '=?base64?eQ==?=' }],
    ['base64 without padding', { text: 'x' }, { 'mcp-param-text': '=?base64?eA?=' }],
    ['base64 with odd characters', { text: 'x' }, { 'mcp-param-text': '=?base64?e*==?=' }],
    ['base64url', { text: '~~~' }, { 'mcp-param-text': '=?base64?fn5-?=' }],
    ['base64 of bytes that are no UTF-8', { text: '\ufffd' }, { 'mcp-param-text': '=?base64?/w==?=' }],
    ['a value twice', { text: 'x' }, { 'mcp-param-text': 'x, x' }],
  ])('is refused with 400 and -32020: %s', async (_what, args, headers) => {
    expect(await status(args, headers)).toBe('400 -32020')
  })

  test('is refused with 400 and -32020 where the body has a value of another type', async () => {
    expect(await status({ text: 5 }, { 'mcp-param-text': 'x' })).toBe('400 -32020')
    expect(await status({ text: ['x'] }, { 'mcp-param-text': 'x' })).toBe('400 -32020')
  })

  test('is not compared with what every object inherits', () => {
    const headers = { get: () => null }
    const declared = [{ name: 'Made', path: ['constructor'], type: 'string' as const }]
    expect(() => checkParamHeaders(headers, declared, {})).not.toThrow()
  })

  test.each(['ä', '\u0000', 'a\u007f', 'a\rb', 'a\nb'])(
    'is refused where it holds characters no header may: %j',
    (value) => {
      const headers = { get: (name: string) => (name === 'Mcp-Param-Text' ? value : null) }
      const declared = [{ name: 'Text', path: ['text'], type: 'string' as const }]
      expect(() => checkParamHeaders(headers, declared, { text: value })).toThrow(/^Header mismatch: Mcp-Param-Text/)
    },
  )
})

describe('Mcp-Method and Mcp-Name', () => {
  const call = { name: 'mirror' }

  test.each<[string, string, object, Headers]>([
    ['a method in another case', 'tools/call', call, { 'mcp-method': 'TOOLS/CALL' }],
    ['another method', 'tools/call', call, { 'mcp-method': 'tools/list' }],
    ['a method in base64, which only names may be', 'tools/list', {}, { 'mcp-method': '=?base64?dG9vbHMvbGlzdA==?=' }],
    ['another name', 'tools/call', call, { 'mcp-name': 'other' }],
    ['a name in another case', 'tools/call', call, { 'mcp-name': 'Mirror' }],
    ['another URI', 'resources/read', { uri: 'test://page' }, { 'mcp-name': 'test://other' }],
    ['another prompt', 'prompts/get', { name: 'hello' }, { 'mcp-name': 'other' }],
    ['an unknown tool under the name of a known one', 'tools/call', { name: 'other' }, { 'mcp-name': 'mirror' }],
    ['a name whose base64 is broken', 'tools/call', call, { 'mcp-name': '=?base64?bWlycm9y*?=' }],
  ])('are refused with 400 and -32020: %s', async (_what, method, params, headers) => {
    const error = await client.error(method, { ...params }, { headers })
    expect(error).toMatchObject({ status: 400, code: -32020 })
  })

  test.each([
    ['tools/call', { name: 'mirror' }],
    ['prompts/get', { name: 'hello' }],
    ['resources/read', { uri: 'test://page' }],
  ])('are both required on %s', async (method, params) => {
    for (const name of ['mcp-method', 'mcp-name', 'mcp-protocol-version']) {
      const error = await client.error(method, params, { omitHeaders: [name] })
      expect(error).toMatchObject({ status: 400, code: -32020, message: expect.stringMatching(/ is missing$/) })
    }
  })

  test.each(['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])(
    'are Mcp-Method alone on %s',
    async (method) => {
      expect((await client.request(method, {}, { omitHeaders: ['mcp-name'] })).status).toBe(200)
      expect(await client.error(method, {}, { omitHeaders: ['mcp-method'] })).toMatchObject({
        status: 400,
        code: -32020,
      })
      // Nothing of the body is mirrored there, so there is nothing it could disagree with.
      expect((await client.request(method, {}, { headers: { 'mcp-name': 'x' } })).status).toBe(200)
    },
  )

  test('are found by their name in any case, with blanks around their values', async () => {
    const headers = { 'MCP-METHOD': '  tools/call\t', 'McP-nAmE': '\tmirror  ' }
    expect((await client.request('tools/call', { name: 'mirror' }, { headers })).status).toBe(200)
  })

  test('are decoded before they are compared', async () => {
    const tool = { 'mcp-name': '=?base64?bWlycm9y?=' }
    expect((await client.request('tools/call', { name: 'mirror' }, { headers: tool })).status).toBe(200)
    const resource = { 'mcp-name': '=?base64?dGVzdDovL3BhZ2U=?=' }
    expect((await client.request('resources/read', { uri: 'test://page' }, { headers: resource })).status).toBe(200)
  })

  test('leave a name that is no string to the check of the parameters', async () => {
    for (const params of [{}, { name: 5 }, { name: null }]) {
      const error = await client.error('tools/call', params)
      expect(error).toMatchObject({ status: 200, code: -32602 })
    }
  })

  test('are refused where they hold characters no header may', () => {
    const headers = (name: string) => ({ get: (key: string) => ({ 'mcp-name': name })[key] ?? 'tools/call' })
    const request = (name: string) => ({ kind: 'request' as const, id: 1, method: 'tools/call', params: { name } })
    expect(() => checkStandardHeaders(headers('mirror'), request('mirror'))).not.toThrow()
    expect(() => checkStandardHeaders(headers('mirrör'), request('mirrör'))).toThrow(/^Header mismatch: Mcp-Name/)
  })

  test('are not asked of a legacy request', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'mirror', arguments: { text: 'x' } } }
    for (const headers of [{}, { 'mcp-method': 'x', 'mcp-name': 'y', 'mcp-param-text': 'z' }]) {
      const init = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-06-18', ...headers }
      const { status } = await client.raw({ as: '2025-06-18', body: JSON.stringify(body), headers: init })
      expect(status).toBe(200)
    }
  })
})

test('a mismatch names the header and both values, clipped', async () => {
  const long = 'v'.repeat(5000)
  const error = await client.error('tools/call', { name: long }, { headers: { 'mcp-name': 'other' } })
  expect(error.message).toContain("Mcp-Name is 'other', the body says 'vvv")
  expect(error.message.length).toBeLessThan(250)
})

test.each<[string, string | undefined]>([
  ['plain', 'plain'],
  ['\t spaced out \t', 'spaced out'],
  ['=?base64?w6k=?=', 'é'],
  [' =?base64?w6k=?= ', 'é'],
  ['=?base64??=', ''],
  ['=?base64?w6k?=', undefined],
  ['=?base64?=w6k?=', undefined],
  ['=?base64?w6 k=?=', undefined],
  ['é', undefined],
])('decodeHeaderValue reads %j as %j', (raw, value) => {
  expect(decodeHeaderValue(raw)).toBe(value)
})
