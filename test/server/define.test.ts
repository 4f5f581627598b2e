// What authors may define, and what is refused at once instead of at a request.

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  ProtocolError,
  type Schema,
} from '../../src/server/index.ts'
import { warnings } from '../../src/server/warnings.ts'

const handler = () => 'ok'
const tool = (name: string, more: object = {}) => defineTool(name, { description: name, handler, ...more })
const withInput = (inputSchema: Schema) => tool('t', { inputSchema })
const header = (type: z.ZodType, name: string) => type.meta({ 'x-mcp-header': name })

describe('defineTool', () => {
  test('refuses names that are empty, too long or not visible ASCII', () => {
    for (const name of ['', 'a b', 'a,b', 'é', 'a\n', 'x'.repeat(129)])
      expect(() => tool(name), name).toThrow(TypeError)
  })

  test('warns about names that some hosts reject', () => {
    for (const name of ['admin.list', 'a/b', 'x'.repeat(65)]) {
      tool(name)
      expect(warnings().join()).toContain(`"${name}"`)
    }
    tool('fine_name-1')
    expect(warnings().join()).not.toContain('fine_name-1')
  })

  test('refuses a rate limit that names no binding', () => {
    for (const rateLimit of ['', ' ', 'TWO WORDS']) {
      expect(() => tool('t', { rateLimit }), rateLimit).toThrow(/tool "t": rateLimit/)
    }
    tool('t', { rateLimit: 'SEARCHES' })
  })

  test('refuses arguments that are no object', () => {
    for (const schema of [
      z.string(),
      z.array(z.string()),
      z.union([z.object({}), z.string()]),
      { type: 'array' },
      {},
    ]) {
      expect(() => withInput(schema)).toThrow(/arguments are an object/)
    }
  })

  test('puts type object at the root of a union of objects, with all branches', () => {
    const union = withInput(z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]))
    expect(union.listed['inputSchema']).toMatchObject({
      type: 'object',
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    })
    const tagged = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a') }),
      z.object({ kind: z.literal('b') }),
    ])
    expect(withInput(tagged).listed['inputSchema']).toMatchObject({ type: 'object' })
  })

  test('refuses a zod schema without a JSON form, naming the tool', () => {
    expect(() => withInput(z.object({ when: z.date() }))).toThrow(/tool "t": inputSchema/)
  })

  test('keeps fields with defaults optional', () => {
    const listed = withInput(z.object({ a: z.string(), b: z.string().default('x') })).listed
    expect(listed['inputSchema']).toMatchObject({ required: ['a'] })
  })

  test('refuses icons that are neither https nor data, and reserved or malformed _meta keys', () => {
    for (const src of ['http://example.com/i.png', 'javascript:alert(1)', 'file:///i.png', 'data:text/html,x']) {
      expect(() => tool('t', { icons: [{ src }] }), src).toThrow(/icon/)
    }
    for (const key of [
      'io.modelcontextprotocol/x',
      'dev.mcp/x',
      'com.mcp.tools/x',
      '-a/x',
      'a b',
      'progressToken',
      'a/-',
      '',
    ]) {
      expect(() => tool('t', { _meta: { [key]: 1 } }), key).toThrow(/_meta/)
    }
    for (const key of ['com.example.mcp/x', 'com.example/', 'name', 'com.example/a_b.c-d'])
      tool('t', { _meta: { [key]: 1 } })
  })
})

describe('task', () => {
  const withTask = (task: object) => () => tool('t', { task })

  test('says whether the tool is one for everybody', () => {
    for (const support of ['optional', 'required']) {
      expect(withTask({ support })().listed['execution']).toEqual({ taskSupport: support })
    }
    expect(tool('t').listed).not.toHaveProperty('execution')
    for (const task of [{}, { support: 'forbidden' }, { support: true }, { support: 'Required' }, { ttlMs: 1 }]) {
      expect(withTask(task), JSON.stringify(task)).toThrow(
        new TypeError('cannot define tool "t": task.support must be "optional" or "required"'),
      )
    }
  })

  test('lives for whole milliseconds, or for ever', () => {
    for (const ttlMs of [1, 60_000, null, undefined]) withTask({ support: 'optional', ttlMs })()
    for (const ttlMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '60000', 2 ** 53, {}]) {
      expect(withTask({ support: 'optional', ttlMs }), String(ttlMs)).toThrow(/^cannot define tool "t": task\.ttlMs/)
    }
  })

  test('is asked for after whole milliseconds', () => {
    for (const pollIntervalMs of [1, 60_000, undefined]) withTask({ support: 'optional', pollIntervalMs })()
    for (const pollIntervalMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '500', null]) {
      expect(withTask({ support: 'optional', pollIntervalMs }), String(pollIntervalMs)).toThrow(
        /^cannot define tool "t": task\.pollIntervalMs/,
      )
    }
  })

  test('is frozen with its tool, and no longer the object it was defined with', () => {
    const task = { support: 'optional', ttlMs: 1_000 }
    const defined = withTask(task)()
    task.ttlMs = 5
    expect(defined.task).toMatchObject({ support: 'optional', ttlMs: 1_000 })
    expect(Object.isFrozen(defined.task)).toBe(true)
  })

  test('makes a server one that has tasks', () => {
    const families = (task?: object) => defineServer({ name: 's', version: '1', tools: [tool('t', { task })] }).families
    expect(families({ support: 'optional' }).has('tasks')).toBe(true)
    expect(families({ support: 'required' }).has('tasks')).toBe(true)
    expect(families().has('tasks')).toBe(false)
  })
})

describe('x-mcp-header', () => {
  test('is accepted on strings, booleans and safe integers, also nested', () => {
    const schema = z.object({
      region: header(z.string(), 'Region'),
      dry: header(z.boolean(), 'Dry'),
      count: header(z.int(), 'Count'),
      deep: z.object({ id: header(z.string(), 'Deep-Id') }),
    })
    expect(withInput(schema).paramHeaders).toEqual([
      { name: 'Region', path: ['region'], type: 'string' },
      { name: 'Dry', path: ['dry'], type: 'boolean' },
      { name: 'Count', path: ['count'], type: 'integer' },
      { name: 'Deep-Id', path: ['deep', 'id'], type: 'string' },
    ])
  })

  test.each<[string, Schema]>([
    ['an empty name', z.object({ a: header(z.string(), '') })],
    ['a name that is no token', z.object({ a: header(z.string(), 'a b') })],
    ['a name with a line break', z.object({ a: header(z.string(), 'a\r\nb') })],
    ['the same name in another case', z.object({ a: header(z.string(), 'X'), b: header(z.string(), 'x') })],
    ['a number', z.object({ a: header(z.number(), 'X') })],
    ['an object', z.object({ a: header(z.object({}), 'X') })],
    ['an array item', z.object({ a: z.array(header(z.string(), 'X')) })],
    ['a branch of a union', z.object({ a: z.union([header(z.string(), 'X'), z.number()]) })],
    ['an unbounded integer', { type: 'object', properties: { a: { type: 'integer', 'x-mcp-header': 'X' } } }],
    ['the root', { type: 'object', 'x-mcp-header': 'X' }],
    ['a definition', { type: 'object', $defs: { a: { type: 'string', 'x-mcp-header': 'X' } } }],
    ['a conditional branch', { type: 'object', if: { properties: { a: { type: 'string', 'x-mcp-header': 'X' } } } }],
    ['a pattern property', { type: 'object', patternProperties: { a: { type: 'string', 'x-mcp-header': 'X' } } }],
  ])('is refused on %s', (_name, schema) => {
    expect(() => withInput(schema)).toThrow(/x-mcp-header/)
  })
})

describe('raw JSON Schema', () => {
  const object = (more: object) => () => withInput({ type: 'object', ...more })

  test('keeps every keyword it was written with', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { a: { $anchor: 'a', type: 'string' } },
      properties: { x: { $ref: '#a' }, y: { $ref: '#/$defs/a' } },
      allOf: [{ anyOf: [{ required: ['x'] }] }],
      if: { required: ['x'] },
      // oxlint-disable-next-line unicorn/no-thenable
      then: { required: ['y'] },
      else: false,
      additionalProperties: false,
    }
    expect(withInput(schema).listed['inputSchema']).toEqual(schema)
  })

  test.each<[string, () => unknown, RegExp]>([
    ['another dialect', object({ $schema: 'http://json-schema.org/draft-07/schema#' }), /dialect/],
    ['another dialect inside', object({ properties: { a: { $schema: 'urn:x' } } }), /#\/properties\/a declares/],
    [
      'a network reference',
      object({ properties: { a: { $ref: 'https://example.com/s.json' } } }),
      /not inside the schema/,
    ],
    ['a relative reference', object({ properties: { a: { $ref: 'other.json' } } }), /not inside the schema/],
    ['a reference to nothing', object({ properties: { a: { $ref: '#/$defs/nothing' } } }), /not inside the schema/],
    ['an unknown anchor', object({ properties: { a: { $ref: '#nothing' } } }), /not inside the schema/],
    ['an inherited member', object({ properties: { a: { $ref: '#/toString' } } }), /not inside the schema/],
    ['a dynamic reference', object({ $dynamicAnchor: 'a', properties: { a: { $dynamicRef: '#a' } } }), /\$dynamicRef/],
    ['null for a keyword', object({ required: null }), /null for "required"/],
    ['an unknown type', object({ properties: { a: { type: 'strng' } } }), /unknown type 'strng'/],
    ['a required that is no list', object({ required: 'a' }), /no list of names/],
    ['properties that are a list', object({ properties: [] }), /"properties" that is no object of schemas/],
    ['a property that is null', object({ properties: { a: null } }), /"properties" that is no object of schemas/],
    [
      'items of an older dialect',
      object({ properties: { a: { items: [{}] } } }),
      /#\/properties\/a has a "items" that is no schema/,
    ],
    ['a choice that is no list', object({ anyOf: {} }), /"anyOf" that is no list of schemas/],
    ['a choice of nothing', object({ oneOf: [] }), /"oneOf" that is no list of schemas/],
    [
      'additionalProperties that are a word',
      object({ additionalProperties: 'no' }),
      /"additionalProperties" that is no schema/,
    ],
    ['an enum that is no list', object({ properties: { a: { enum: 'x' } } }), /"enum" that is no list/],
    [
      'a length that is a word',
      object({ properties: { a: { minLength: '1' } } }),
      /"minLength" that is no whole number/,
    ],
    ['a bound that is a word', object({ properties: { a: { maximum: '1' } } }), /"maximum" that is no number/],
    ['a description that is no text', object({ description: 5 }), /"description" that is no text/],
    [
      'a pattern that is none',
      object({ properties: { a: { pattern: '(' } } }),
      /#\/properties\/a has the pattern '\(', which is none/,
    ],
    [
      'a pattern that is none for names',
      object({ patternProperties: { '(': {} } }),
      /has the pattern '\(', which is none/,
    ],
  ])('with %s is refused', (_name, define, message) => {
    expect(define).toThrow(message)
  })

  test('that nests too deep or has too many subschemas is refused', () => {
    let deep: object = { type: 'string' }
    for (let i = 0; i < 40; i++) deep = { type: 'object', properties: { a: deep } }
    expect(object({ properties: { deep } })).toThrow(/nests deeper than 32/)
    const many = Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`p${i}`, {}]))
    expect(object({ properties: many })).toThrow(/more than 2000 subschemas/)
  })
})

describe('definePrompt', () => {
  test('refuses arguments that do not accept strings, and completion for arguments it has not', () => {
    const define =
      (args: Schema, complete: object = {}) =>
      () =>
        definePrompt('p', { description: 'p', arguments: args, complete: complete as never, get: () => 'x' })
    expect(define(z.object({ n: z.number() }))).toThrow(/"n" must accept strings/)
    expect(define(z.object({ n: z.literal(5) }))).toThrow(/"n" must accept strings/)
    expect(define(z.string())).toThrow(/object schema/)
    expect(define(z.object({ a: z.string() }), { b: () => [] })).toThrow(/no argument "b"/)
    expect(define(z.object({ n: z.string().transform(Number) }))()).toMatchObject({ name: 'p' })
  })
})

describe('resources', () => {
  test('refuse what is no URI or template, and completion for variables they have not', () => {
    const options = { name: 'r', read: () => 'x' }
    for (const uri of ['', 'no-scheme', 'a b://x', `x:${'y'.repeat(2_048)}`]) {
      expect(() => defineResource(uri, options), uri).toThrow(TypeError)
    }
    for (const template of [
      'note://{',
      'note://}',
      'note://{a',
      'note://{?a}',
      'note://{a*}',
      'note://{a}{a}',
      'x{a}',
      'n://{a,b}',
    ]) {
      expect(() => defineResourceTemplate(template, options), template).toThrow(TypeError)
    }
    expect(() => defineResourceTemplate('n://{a}', { ...options, complete: { b: () => [] } as never })).toThrow(
      /no \{b\}/,
    )
  })

  test('refuse caching hints that are no whole milliseconds', () => {
    for (const ttlMs of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      const cache = { ttlMs, scope: 'public' as const }
      expect(() => defineResource('x://y', { name: 'r', cache, read: () => 'x' })).toThrow(RangeError)
    }
  })
})

describe('defineServer', () => {
  test('refuses two definitions of one name or URI', () => {
    const resource = defineResource('x://y', { name: 'r', read: () => 'x' })
    const template = defineResourceTemplate('x://{y}', { name: 'r', read: () => 'x' })
    const prompt = definePrompt('p', { description: 'p', get: () => 'x' })
    const define = (more: object) => () => defineServer({ name: 's', version: '1', ...more })
    expect(define({ tools: [tool('a'), tool('a')] })).toThrow(/tool "a" is defined twice/)
    expect(define({ prompts: [prompt, prompt] })).toThrow(/prompt "p"/)
    expect(define({ resources: [resource, resource] })).toThrow(/resource "x:\/\/y"/)
    expect(define({ resources: [template, template] })).toThrow(/template/)
  })

  test('refuses a page size that is no positive integer', () => {
    for (const pageSize of [0, -1, 1.5, Number.NaN]) {
      expect(() => defineServer({ name: 's', version: '1', pageSize })).toThrow(/pageSize/)
    }
  })

  test('is frozen, as its definitions are', () => {
    const server = defineServer({ name: 's', version: '1', tools: [tool('a')] })
    expect(Object.isFrozen(server)).toBe(true)
    expect(Object.isFrozen(server.tools.get('a'))).toBe(true)
  })
})

describe('ProtocolError', () => {
  test('refuses own codes in the range JSON-RPC reserves', () => {
    for (const code of [-32768, -32000, -32050, 1.5]) expect(() => new ProtocolError(code, 'x')).toThrow(RangeError)
    expect(new ProtocolError(1, 'x').code).toBe(1)
    expect(new ProtocolError(-32769, 'x').code).toBe(-32769)
  })
})
