// Tools with raw JSON Schemas that between them use every keyword of 2020-12 the validator knows.

import { defineTool, type JsonSchema, type LookupContext, type Tool } from '../../src/server/index.ts'

const SCHEMAS: { [name: string]: JsonSchema } = {
  raw_objects: {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, maxLength: 50 },
      kind: { enum: ['a', 'b', 1, null, { x: 1 }, [1, 2]] },
      fixed: { const: { deep: [1, 'two', null] } },
      // Names that every object inherits.
      constructor: { type: 'string' },
      toString: { type: 'object', properties: { valueOf: { type: 'number' } } },
      hasOwnProperty: { type: 'boolean' },
      closed: { type: 'object', properties: { one: { type: 'number' } }, additionalProperties: false },
      mapped: { type: 'object', additionalProperties: { type: 'integer' }, propertyNames: { pattern: '^[a-z_]+$' } },
      counted: { type: 'object', minProperties: 1, maxProperties: 3 },
    },
    required: ['id'],
    patternProperties: { '^x-': { type: 'string' } },
    dependentRequired: { kind: ['fixed'] },
    dependentSchemas: { mapped: { required: ['counted'] } },
  },
  raw_arrays: {
    type: 'object',
    properties: {
      tuple: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: { type: 'boolean' } },
      set: {
        type: 'array',
        items: { type: ['string', 'number', 'null'] },
        uniqueItems: true,
        minItems: 1,
        maxItems: 50,
      },
      some: { type: 'array', contains: { const: 7 }, minContains: 1, maxContains: 2 },
      rest: { type: 'array', prefixItems: [{ type: 'string' }], unevaluatedItems: false },
      numbers: { type: 'array', items: { type: 'integer' } },
    },
  },
  raw_strings: {
    type: 'object',
    properties: Object.fromEntries(
      ['date', 'time', 'date-time', 'duration', 'uri', 'uri-reference', 'uri-template', 'email', 'hostname', 'ipv4']
        .concat(['ipv6', 'regex', 'uuid', 'json-pointer', 'relative-json-pointer'])
        .map((format) => [format, { type: 'string', format }]),
    ),
    maxProperties: 4,
  },
  raw_numbers: {
    type: 'object',
    properties: {
      integer: { type: 'integer', minimum: -5, maximum: 5 },
      open: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      cents: { type: 'number', multipleOf: 0.01 },
      either: { type: ['number', 'string', 'null'], maxLength: 5, maximum: 5 },
    },
  },
  // Every level doubles the work of a validator that looks into both branches.
  raw_tree: {
    type: 'object',
    properties: { expression: { $ref: '#/$defs/expression' } },
    $defs: {
      expression: {
        oneOf: [
          {
            type: 'object',
            properties: { op: { const: 'not' }, of: { $ref: '#/$defs/expression' } },
            required: ['op', 'of'],
          },
          {
            type: 'object',
            properties: { op: { const: 'minus' }, of: { $ref: '#/$defs/expression' } },
            required: ['op', 'of'],
          },
          { type: 'number' },
        ],
      },
    },
  },
  raw_logic: {
    type: 'object',
    properties: {
      method: { enum: ['phone', 'mail'] },
      phone: { type: 'string', pattern: '^\\+?[0-9 ]{3,20}$' },
      tree: { $ref: '#/$defs/node' },
      money: { $ref: '#amount' },
      one: { oneOf: [{ type: 'string' }, { type: 'number', multipleOf: 3 }, { type: 'number', multipleOf: 5 }] },
      any: {
        anyOf: [
          { type: 'string', maxLength: 3 },
          { type: 'array', items: { type: 'string' } },
        ],
      },
      not: { not: { type: 'string' } },
    },
    if: { properties: { method: { const: 'phone' } }, required: ['method'] },
    // oxlint-disable-next-line unicorn/no-thenable
    then: { required: ['phone'] },
    else: { allOf: [{ maxProperties: 6 }] },
    unevaluatedProperties: false,
    $defs: {
      node: {
        type: 'object',
        properties: { value: { type: 'number' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['value'],
        additionalProperties: false,
      },
      amount: { $anchor: 'amount', type: 'object', properties: { units: { type: 'integer' } }, required: ['units'] },
    },
  },
}

/** One tool for each schema. @param note called with the name of a handler when it runs */
export function rawTools(note: (handler: string, context: LookupContext) => void): Tool[] {
  return Object.entries(SCHEMAS).map(([name, inputSchema]) =>
    defineTool(name, {
      description: 'Has a raw schema.',
      inputSchema,
      handler(input, context) {
        note(`tool ${name}`, context)
        return JSON.stringify(input).slice(0, 2_000)
      },
    }),
  )
}
