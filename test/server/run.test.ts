// Running what authors wrote: input, output, and everything that goes wrong in between.
// @see server/tools, Error Handling; server/resources, Error Handling; server/prompts

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  ProtocolError,
  ToolError,
  type ToolOptions,
} from '../../src/server/index.ts'
import { describeEras, legacy, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const SECRET = 'password=hunter2'
const thrower = (name: string, error: unknown) =>
  defineTool(name, {
    description: name,
    handler: () => {
      throw error
    },
  })
const returner = (name: string, value: unknown, more: Partial<ToolOptions<undefined, undefined>> = {}) =>
  defineTool(name, { description: name, handler: () => value as string, ...more })

const add = defineTool('add', {
  description: 'Adds.',
  inputSchema: z.object({ a: z.number(), b: z.number().max(10), note: z.object({ text: z.string() }).optional() }),
  outputSchema: z.object({ sum: z.number().max(15) }),
  handler: ({ a, b }) => ({ sum: a + b }),
})
const raw = defineTool('raw', {
  description: 'Raw.',
  inputSchema: {
    type: 'object',
    properties: { method: { enum: ['phone', 'email'] }, phone: { type: 'string' }, email: { type: 'string' } },
    if: { properties: { method: { const: 'phone' } }, required: ['method'] },
    // oxlint-disable-next-line unicorn/no-thenable
    then: { required: ['phone'] },
    additionalProperties: false,
  },
  outputSchema: { type: 'object', properties: { ok: { const: true } }, required: ['ok'] },
  handler: ({ email }) => ({ ok: email !== 'bad' }),
})
const page = defineTool('page', {
  description: 'A page.',
  inputSchema: { type: 'object', properties: { url: { type: 'string', format: 'url' } } },
  handler: () => 'ok',
})
const slowCheck = defineTool('slow_check', {
  description: 'Asynchronous schema.',
  inputSchema: z.object({ a: z.string().refine(async (value) => value === 'yes', 'must be yes') }),
  handler: ({ a }) => a,
})
const circular: { self?: unknown } = {}
circular.self = circular

const image = { type: 'image', data: 'AA==', mimeType: 'image/png' }
const tools = [
  add,
  raw,
  slowCheck,
  page,
  thrower('throws', new Error(SECRET)),
  thrower('throws_string', SECRET),
  thrower('throws_bare', Object.create(null)),
  thrower('throws_tool_error', new ToolError('No such note: ask for another id')),
  thrower('throws_protocol_error', new ProtocolError(1234, 'Own error', { why: 'x' })),
  defineTool('throws_no_json', {
    description: 'Throws an error whose data cannot be sent.',
    handler() {
      throw new ProtocolError(1234, 'Own error', { circular, big: 1n })
    },
  }),
  returner('returns_number', 5),
  returner('returns_nothing', undefined),
  returner('returns_block', image),
  returner('returns_malformed', { content: [{ type: 'text', text: 5 }] }),
  returner('returns_circular', { content: [], structuredContent: circular }),
  returner('returns_error', { content: [{ type: 'text', text: 'no' }], structuredContent: { a: 1 }, isError: true }),
]
const prompts = [
  definePrompt('greet', {
    description: 'Greets.',
    arguments: z.object({ name: z.string() }),
    get: ({ name }) => `Hi ${name}`,
  }),
  definePrompt('broken', {
    description: 'Broken.',
    get: () => {
      throw new Error(SECRET)
    },
  }),
]
const resources = [
  defineResource('test://bytes', { name: 'bytes', mimeType: 'image/png', read: () => new Uint8Array(70_000).fill(1) }),
  defineResource('test://none', { name: 'none', read: () => [] }),
  defineResource('test://empty', { name: 'empty', read: () => ({ contents: [] }) }),
  defineResource('test://broken', {
    name: 'broken',
    read: () => {
      throw new Error(SECRET)
    },
  }),
  defineResourceTemplate('file:///{+path}', { name: 'file', read: ({ path }) => (path === 'gone' ? undefined : path) }),
  defineResourceTemplate('item://{id}/data', { name: 'item', read: ({ id }) => `first ${id}` }),
  defineResourceTemplate('item://{+rest}', { name: 'rest', read: ({ rest }) => `rest ${rest}` }),
]
const fetcher = serve({ tools, prompts, resources }, { vars: { LOG: 'off' } })

describeEras(
  'tools/call',
  (client) => {
    const textOf = async (name: string, args?: unknown) => {
      const result = await client.result('tools/call', { name, arguments: args }, { unchecked: true })
      return {
        isError: result.isError ?? false,
        text: (result.content[0] as { text?: string } | undefined)?.text,
        result,
      }
    }

    test('answers arguments that do not fit with a tool error that names each field', async () => {
      const { isError, text } = await textOf('add', { a: 'x', b: 11, note: { text: 5 } })
      expect(isError).toBe(true)
      expect(text).toMatch(/^Invalid arguments for add:\n- a: .*\n- b: .*\n- note\.text: /)
    })

    test('counts missing and null arguments as an empty object', async () => {
      expect((await textOf('returns_nothing', null)).isError).toBe(false)
      expect((await textOf('returns_nothing')).isError).toBe(false)
      expect((await textOf('add', null)).text).toContain('- a: ')
    })

    test('refuses arguments that are no object, and an unknown tool, with -32602', async () => {
      for (const args of [[], 'x', 5, false]) {
        expect(await client.error('tools/call', { name: 'add', arguments: args })).toMatchObject({
          code: -32602,
          status: 200,
        })
      }
      for (const name of ['nothing', '__proto__', 'toString', '']) {
        const error = await client.error('tools/call', { name })
        expect(error, name).toMatchObject({ code: -32602, message: `Unknown tool: ${name}`, status: 200 })
      }
    })

    test('enforces every keyword of a raw schema, on input and on output', async () => {
      expect((await textOf('raw', { method: 'phone' })).text).toContain('phone')
      expect((await textOf('raw', { method: 'phone' })).isError).toBe(true)
      expect((await textOf('raw', { method: 'email', extra: 1 })).text).toContain('extra')
      expect((await textOf('raw', { method: 'email' })).isError).toBe(false)
      expect((await textOf('raw', { email: 'bad' })).text).toMatch(
        /^Internal error \(request .*\): the result does not fit .* ok/,
      )
    })

    test('checks the format "url" in a time a value cannot make long: tried otherwise, this never ends', async () => {
      expect((await textOf('page', { url: `http://${'a'.repeat(60)} ` })).isError).toBe(true)
      expect((await textOf('page', { url: 'https://example.com/a' })).isError).toBe(false)
    })

    test('waits for an asynchronous schema', async () => {
      expect((await textOf('slow_check', { a: 'no' })).text).toContain('must be yes')
      expect((await textOf('slow_check', { a: 'yes' })).text).toBe('yes')
    })

    test('refuses output that does not fit its schema, naming the field and no value', async () => {
      const { isError, text, result } = await textOf('add', { a: 9, b: 9 })
      expect(isError).toBe(true)
      expect(text).toMatch(
        /^Internal error \(request [0-9a-f-]{36}\): the result does not fit the output schema at sum$/,
      )
      expect(result).not.toHaveProperty('structuredContent')
    })

    test('shows nothing of what a handler threw, unless it is a ToolError', async () => {
      for (const name of [
        'throws',
        'throws_string',
        'throws_bare',
        'returns_number',
        'returns_malformed',
        'returns_circular',
      ]) {
        const { isError, text } = await textOf(name)
        expect(isError, name).toBe(true)
        expect(text, name).toMatch(/^Internal error \(request [0-9a-f-]{36}\)$/)
      }
      expect(await textOf('throws_tool_error')).toMatchObject({
        isError: true,
        text: 'No such note: ask for another id',
      })
    })

    test('passes a ProtocolError on as a JSON-RPC error', async () => {
      const error = await client.error('tools/call', { name: 'throws_protocol_error' })
      expect(error).toMatchObject({ code: 1234, message: 'Own error', data: { why: 'x' }, status: 200 })
    })

    test('answers an error whose data is no JSON', async () => {
      const { isError, text } = await textOf('throws_no_json')
      expect([isError, text]).toEqual([true, expect.stringMatching(/^Internal error \(request /)])
    })

    test('takes one block as content, and drops structured content from errors', async () => {
      expect((await textOf('returns_block')).result.content).toEqual([image])
      const { result } = await textOf('returns_error')
      expect(result).toMatchObject({ isError: true, content: [{ text: 'no' }] })
      expect(result).not.toHaveProperty('structuredContent')
    })
  },
  { fetcher },
)

describe('structured content', () => {
  const list = defineTool('list', { description: 'A list.', outputSchema: z.array(z.number()), handler: () => [1, 2] })
  const own = defineTool('own', {
    description: 'Own text.',
    outputSchema: z.object({ a: z.number() }),
    handler: () => ({ content: [{ type: 'text' as const, text: 'one' }], structuredContent: { a: 1 } }),
  })
  const structured = serve({ tools: [list, own] })

  test('comes with its text copy, and may be any JSON value on modern', async () => {
    const { result } = await modern(structured).call('list')
    expect(result).toMatchObject({ structuredContent: [1, 2], content: [{ type: 'text', text: '[1,2]' }] })
  })

  test('keeps the text an author wrote for it', async () => {
    const { result } = await modern(structured).call('own')
    expect(result).toMatchObject({ structuredContent: { a: 1 }, content: [{ type: 'text', text: 'one' }] })
  })

  test('that is no object is left out on legacy, with the schema that would announce it', async () => {
    const client = legacy(structured, '2025-11-25')
    const { tools: listed } = await client.result('tools/list')
    expect(listed.find(({ name }) => name === 'list')).not.toHaveProperty('outputSchema')
    const { result } = await client.call('list')
    expect(result).not.toHaveProperty('structuredContent')
    expect(result.content).toEqual([{ type: 'text', text: '[1,2]' }])
  })
})

describeEras(
  'prompts/get',
  (client) => {
    test('refuses unknown prompts and bad arguments with -32602, naming the argument', async () => {
      expect(await client.error('prompts/get', { name: 'nothing' })).toMatchObject({ code: -32602, status: 200 })
      const missing = await client.error('prompts/get', { name: 'greet' })
      expect(missing).toMatchObject({ code: -32602, status: 200 })
      expect(missing.message).toContain('- name: ')
      const wrong = await client.error('prompts/get', { name: 'greet', arguments: { name: 5 } })
      expect(wrong).toMatchObject({ code: -32602, message: 'Invalid params: params.arguments.name must be a string' })
    })

    test('answers a failure with -32603 and no inner text', async () => {
      const error = await client.error('prompts/get', { name: 'broken' })
      expect(error).toMatchObject({ code: -32603, status: 200 })
      expect(error.message).toMatch(/^Internal error \(request [0-9a-f-]{36}\)$/)
    })
  },
  { fetcher },
)

describeEras(
  'resources/read',
  (client, revision) => {
    const notFound = revision === '2026-07-28' ? -32602 : -32002
    const read = async (uri: string) => (await client.result('resources/read', { uri })).contents

    test('answers a resource that is not there with the code of its revision and the URI', async () => {
      for (const uri of ['test://nothing', 'test://none', 'file:///gone', 'item://a/b/../c', 'toString:x']) {
        const error = await client.error('resources/read', { uri })
        expect(error, uri).toMatchObject({ code: notFound, data: { uri }, status: 200 })
      }
    })

    test('refuses what is no URI, and one that is too long, with -32602', async () => {
      for (const uri of ['', 'nothing', 'a b:c', `x:${'y'.repeat(2_048)}`]) {
        expect(await client.error('resources/read', { uri })).toMatchObject({ code: -32602 })
      }
    })

    test('sends bytes as base64, and an empty resource only when it says so', async () => {
      const [bytes] = await read('test://bytes')
      expect(bytes).toMatchObject({ uri: 'test://bytes', mimeType: 'image/png' })
      expect(atob((bytes as { blob: string }).blob)).toHaveLength(70_000)
      expect(await read('test://empty')).toEqual([])
    })

    test('matches one segment for {name} and several for {+name}, decoded once', async () => {
      expect(await read('item://a%20b/data')).toMatchObject([{ text: 'first a b' }])
      expect(await read('item://a/b/c')).toMatchObject([{ text: 'rest a/b/c' }])
      expect(await read('file:///a/b%2520c')).toMatchObject([{ text: 'a/b%20c' }])
    })

    test('finds nothing when a path tries to leave its place', async () => {
      for (const path of ['../x', 'a/../x', '..', 'a%2fb', 'a%5cb', '%2e%2e/x', 'a%00b', 'a/./b', '%zz']) {
        expect(await client.error('resources/read', { uri: `file:///${path}` }), path).toMatchObject({ code: notFound })
      }
    })

    test('answers a failure with -32603 and no inner text', async () => {
      const error = await client.error('resources/read', { uri: 'test://broken' })
      expect(error.message).toMatch(/^Internal error \(request [0-9a-f-]{36}\)$/)
    })
  },
  { fetcher },
)
