// What the generator found, one test each, so that it stays fixed also where no generator runs.

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { refuseOrigin } from '../../src/http/origin.ts'
import { limits } from '../../src/limits.ts'
import { decodeHeaderValue } from '../../src/protocol/headers.ts'
import { defineTool, type JsonSchema } from '../../src/server/index.ts'
import { compileSchema, type Validation } from '../../src/server/json-schema.ts'
import { legacy, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const raw = (schema: JsonSchema) => compileSchema({ type: 'object', ...schema }, 'input', 'the schema')

async function issuesOf(schema: JsonSchema, value: unknown): Promise<string[]> {
  const checked: Validation = await raw(schema).parse(value)
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`)
}

/** Slow work took from seconds to years; what is quick takes milliseconds. Workerd's clock stands still meanwhile. */
const soon = { timeout: 5_000 }

describe('a header value', () => {
  test('with a hundred thousand blanks inside is trimmed in linear time', soon, () => {
    const blanks = ' '.repeat(100_000)
    expect(decodeHeaderValue(` \ta${blanks}b\t `)).toBe(`a${blanks}b`)
    expect(decodeHeaderValue(blanks)).toBe('')
  })
})

describe('a request', () => {
  const config = parseConfig({})

  test.each([
    'http://a b/mcp',
    'http://localhost:65536/mcp',
    'http://[/mcp',
    'http://256.256.256.256/mcp',
    'http://%00/mcp',
  ])('whose host makes no URL is refused, not an internal error: %s', (url) => {
    expect(refuseOrigin({ url, headers: new Headers() } as Request, config)).toMatch(/host/i)
  })

  test('of a legacy client whose version is an object without a text is answered', async () => {
    const client = legacy(serve({}), '2025-11-25')
    const clientInfo = { name: 'x', version: { toString: 1, valueOf: 1 } }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const headers = { 'content-type': 'application/json' }
    const { status, messages } = await client.raw({ body, headers })
    expect(status).toBe(200)
    expect(messages[0]?.result).toBeDefined()
  })

  test('whose answer is too large to be remembered is told so', async () => {
    const ask = defineTool('ask', {
      description: 'Asks twice.',
      async handler(_input, context) {
        const schema = z.object({ name: z.string() })
        await context.elicit('first', { message: 'First?', schema })
        await context.elicit('second', { message: 'Second?', schema })
        return 'done'
      },
    })
    const client = modern(serve({ tools: [ask] }), { capabilities: { elicitation: {} } })
    const content = { name: 'x'.repeat(limits.requestStateBytes) }
    const inputResponses = { first: { action: 'accept', content } }
    const error = await client.error('tools/call', { name: 'ask', inputResponses })
    expect(error.code).toBe(-32602)
    expect(error.message).toBe('Invalid params: the answer to "first" is too large to be remembered')
  })
})

describe('a raw schema', () => {
  const node = (op: string): JsonSchema => ({
    type: 'object',
    properties: { of: { $ref: '#/$defs/node' }, op: { const: op } },
    required: ['op', 'of'],
  })
  const tree: JsonSchema = {
    properties: { tree: { $ref: '#/$defs/node' } },
    $defs: { node: { oneOf: [node('not'), node('minus'), { type: 'number' }] } },
  }
  const levels = (depth: number, leaf: unknown): unknown =>
    depth === 0 ? leaf : { op: 'not', of: levels(depth - 1, leaf) }

  test('that refers to itself in several branches is checked in time linear in the depth', soon, async () => {
    expect(await issuesOf(tree, { tree: levels(55, 1) })).toEqual([])
    expect(await issuesOf(tree, { tree: levels(55, 'x') })).not.toEqual([])
  })

  test('names every bad field when it does not refer to itself, also through $ref', async () => {
    const schema = {
      properties: { a: { $ref: '#/$defs/n' }, b: { $ref: '#/$defs/n' } },
      $defs: { n: { type: 'number' } },
    }
    const issues = await issuesOf(schema, { a: 'x', b: 'y' })
    expect(issues).toEqual([expect.stringMatching(/^a: /), expect.stringMatching(/^b: /)])
  })

  test('is published as it was written, whatever order it is checked in', () => {
    const properties = { list: { type: 'array', uniqueItems: true }, kind: { const: 1 } }
    expect(JSON.stringify(raw({ properties }).json)).toBe(JSON.stringify({ type: 'object', properties }))
  })

  test('with a key of half a surrogate pair says so', async () => {
    const schema = { additionalProperties: { type: 'number' } }
    expect(await issuesOf(schema, { '\ud800': 'x' })).toEqual([': has a key that is not well-formed Unicode'])
  })

  test('with more bad items than can be listed names the first', soon, async () => {
    const schema = { properties: { list: { type: 'array', items: { type: 'integer' } } } }
    const [first, ...others] = await issuesOf(schema, { list: Array.from({ length: 200_000 }, () => 'x') })
    expect(first).toMatch(/^list\.0: /)
    expect(others).toEqual([])
  })

  test('that has to look at too many items says so', soon, async () => {
    const schema = { properties: { list: { type: 'array', contains: { const: 1 }, minContains: 2 } } }
    const list = Array.from({ length: 400_000 }, () => 0)
    expect(await issuesOf(schema, { list })).toEqual([': is too large to be checked'])
  })

  test('compares the items of a list with each other up to the limit', soon, async () => {
    const schema = { properties: { list: { type: 'array', uniqueItems: true } } }
    const list = Array.from({ length: limits.uniqueItems }, (_, i) => ({ i }))
    expect(await issuesOf(schema, { list })).toEqual([])
    expect(await issuesOf(schema, { list: [...list.slice(1), { i: 5 }] })).toEqual([
      expect.stringMatching(/^list: Duplicate/),
    ])
    expect(await issuesOf(schema, { list: [...list, 0] })).toEqual([expect.stringMatching(/^list: .*too many items/)])
    const many = Array.from({ length: 400_000 }, (_, i) => i)
    expect(await issuesOf(schema, { list: many })).toEqual([expect.stringMatching(/^list: .*too many items/)])
  })

  test('keeps its own, smaller maxItems beside uniqueItems', async () => {
    const schema = { properties: { list: { type: 'array', uniqueItems: true, maxItems: 2 } } }
    expect(await issuesOf(schema, { list: [1, 2, 3] })).toEqual([expect.stringMatching(/^list: .*\(3 > 2\)/)])
    expect(await issuesOf(schema, { list: 'no list' })).not.toEqual([])
  })
})
