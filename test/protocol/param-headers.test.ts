// Where a tool may say `x-mcp-header`: checked on the schema that goes out, when the tool is defined.
// @see basic/transports/streamable-http, Schema Extension

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { defineServer, defineTool, type JsonSchema, type Tool } from '../../src/server/index.ts'

function define(inputSchema: JsonSchema): Tool {
  return defineTool('tool', { description: 'A tool.', inputSchema, handler: () => '' })
}

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: 'object', properties, ...more })
const text = (name: unknown): JsonSchema => ({ type: 'string', 'x-mcp-header': name })
const SAFE = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

describe('x-mcp-header is accepted', () => {
  test.each<[string, JsonSchema, Tool['paramHeaders']]>([
    ['on a string', object({ a: text('Region') }), [{ name: 'Region', path: ['a'], type: 'string' }]],
    [
      'on a boolean',
      object({ a: { type: 'boolean', 'x-mcp-header': 'A' } }),
      [{ name: 'A', path: ['a'], type: 'boolean' }],
    ],
    [
      'on an integer within the safe range',
      object({ a: { type: 'integer', ...SAFE, 'x-mcp-header': 'A' } }),
      [{ name: 'A', path: ['a'], type: 'integer' }],
    ],
    [
      'on an integer with exclusive bounds within the safe range',
      object({ a: { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10, 'x-mcp-header': 'A' } }),
      [{ name: 'A', path: ['a'], type: 'integer' }],
    ],
    [
      'below objects',
      object({ a: object({ b: object({ c: text('C') }) }) }),
      [{ name: 'C', path: ['a', 'b', 'c'], type: 'string' }],
    ],
    [
      'on a property called "properties"',
      object({ properties: text('P') }),
      [{ name: 'P', path: ['properties'], type: 'string' }],
    ],
    [
      'as any token',
      object({ a: text("!#$%&'*+-.^_`|~09azAZ") }),
      [{ name: "!#$%&'*+-.^_`|~09azAZ", path: ['a'], type: 'string' }],
    ],
    ['as the name of a property, which is no annotation', object({ 'x-mcp-header': { type: 'number' } }), []],
  ])('%s', (_what, schema, expected) => {
    expect(define(schema).paramHeaders).toEqual(expected)
  })

  test('in zod, on what it emits: optional and defaulted fields, and integers that it bounds itself', () => {
    const inputSchema = z.object({
      a: z.string().optional().meta({ 'x-mcp-header': 'A' }),
      b: z.string().default('x').meta({ 'x-mcp-header': 'B' }),
      c: z.int().meta({ 'x-mcp-header': 'C' }),
      d: z.enum(['x']).meta({ 'x-mcp-header': 'D' }),
    })
    const { paramHeaders } = defineTool('tool', { description: 'A tool.', inputSchema, handler: () => '' })
    expect(paramHeaders.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'A string',
      'B string',
      'C integer',
      'D string',
    ])
  })

  test('and is announced for CORS, once for each name', () => {
    const tools = ['one', 'two'].map((name) =>
      defineTool(name, { description: name, inputSchema: object({ a: text('Region') }), handler: () => '' }),
    )
    expect(defineServer({ name: 'x', version: '1', tools }).paramHeaders).toEqual(['Mcp-Param-Region'])
  })
})

describe('x-mcp-header is refused', () => {
  test.each<[string, unknown]>([
    ['empty', ''],
    ['with a space', 'My Region'],
    ['with a colon', 'Region:'],
    ['with a line break', 'Region\r\nX: y'],
    ['with a control character', 'Region\u0000'],
    ['with other letters', 'Région'],
    ['that is no string', 5],
    ['that is null', null],
  ])('%s', (_what, name) => {
    expect(() => define(object({ a: text(name) }))).toThrow(TypeError)
  })

  test.each<[string, JsonSchema]>([
    ['on a number', object({ a: { type: 'number', 'x-mcp-header': 'A' } })],
    ['on an array', object({ a: { type: 'array', items: { type: 'string' }, 'x-mcp-header': 'A' } })],
    ['on an object', object({ a: object({}, { 'x-mcp-header': 'A' }) })],
    ['on null', object({ a: { type: 'null', 'x-mcp-header': 'A' } })],
    ['on several types', object({ a: { type: ['string', 'integer'], 'x-mcp-header': 'A' } })],
    ['on no type', object({ a: { 'x-mcp-header': 'A' } })],
    ['on the arguments themselves', object({}, { 'x-mcp-header': 'A' })],
    ['on an integer without bounds', object({ a: { type: 'integer', 'x-mcp-header': 'A' } })],
    ['on an integer with one bound', object({ a: { type: 'integer', minimum: 0, 'x-mcp-header': 'A' } })],
    [
      'on an integer beyond the safe range',
      object({ a: { type: 'integer', minimum: 0, maximum: 2 ** 53, 'x-mcp-header': 'A' } }),
    ],
    [
      'on an integer below the safe range',
      object({ a: { type: 'integer', minimum: -(2 ** 53), maximum: 0, 'x-mcp-header': 'A' } }),
    ],
    ['twice, by case', object({ a: text('Region'), b: text('REGION') })],
    ['twice, at different depths', object({ a: text('Region'), b: object({ c: text('Region') }) })],
  ])('%s', (_what, schema) => {
    expect(() => define(schema)).toThrow(/x-mcp-header/)
  })

  test.each<[string, JsonSchema]>([
    ['items', { type: 'array', items: text('A') }],
    ['prefixItems', { type: 'array', prefixItems: [text('A')] }],
    ['contains', { type: 'array', contains: text('A') }],
    ['oneOf', { oneOf: [text('A')] }],
    ['anyOf', { anyOf: [text('A')] }],
    ['allOf', { allOf: [text('A')] }],
    ['not', { not: text('A') }],
    ['if', { if: object({ b: text('A') }) }],
    // oxlint-disable-next-line unicorn/no-thenable
    ['then', { then: object({ b: text('A') }) }],
    ['else', { else: object({ b: text('A') }) }],
    ['additionalProperties', { type: 'object', additionalProperties: text('A') }],
    ['patternProperties', { type: 'object', patternProperties: { '^b': text('A') } }],
    ['dependentSchemas', { type: 'object', dependentSchemas: { b: object({ c: text('A') }) } }],
    ['items below properties', object({ b: { type: 'array', items: object({ c: text('A') }) } })],
  ])('where it is reached through %s', (_keyword, schema) => {
    expect(() => define(object({ a: schema }))).toThrow(/x-mcp-header/)
  })

  test('where it is reached through $ref', () => {
    const schema = object({ a: { $ref: '#/$defs/region' } }, { $defs: { region: text('Region') } })
    expect(() => define(schema)).toThrow(/x-mcp-header/)
  })

  test('in zod, on what may be null: the annotation would stand on no type', () => {
    const inputSchema = z.object({ a: z.string().nullable().meta({ 'x-mcp-header': 'A' }) })
    expect(() => defineTool('tool', { description: 'A tool.', inputSchema, handler: () => '' })).toThrow(/x-mcp-header/)
  })
})
