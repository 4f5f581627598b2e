// The schemas come out of the pinned package whole, and a package of another shape is refused by name.

import { describe, expect, it } from 'vitest'
import { definitionsOf, extractSchemas } from './extract-schemas.ts'
import { prepareSchema } from './prepare-schema.ts'
import { REVISIONS } from './revisions.ts'

describe('extractSchemas', () => {
  it('finds every revision, with all of its definitions', () => {
    const counts = Object.entries(extractSchemas()).map(([revision, schema]) => [
      revision,
      Object.keys(definitionsOf(schema)).length,
    ])
    expect(Object.fromEntries(counts)).toEqual({
      '2025-03-26': 83,
      '2025-06-18': 91,
      '2025-11-25': 145,
      '2026-07-28': 154,
    })
  })

  it.each([
    [
      'nothing that looks like a schema',
      'const x = 1',
      /found 0 schemas for 2025-03-26 among 0 object literals; adapt/,
    ],
    [
      'a schema that is computed',
      'a={$schema:`https://json-schema.org/x`,$defs:{A:make()}}',
      /no longer a plain object literal/,
    ],
    ['a template that interpolates', 'a={$schema:`https://json-schema.org/x`,$defs:{A:`${b}`}}', /interpolates/],
    ['a literal that never ends', 'a={$schema:`https://json-schema.org/x`,$defs:{', /never ends/],
  ])('refuses a bundle with %s', (_, source, because) => {
    expect(() => extractSchemas(source)).toThrow(because)
  })

  it('is not misled by brackets in strings, escapes, spaces and other names', () => {
    const schema = (members: string) =>
      `b = { "$schema": 'https://json-schema.org/x', "$defs": { ClientRequest: { description: "}\\"]" }, ${members} } };`
    const names = [
      'JSONRPCBatchResponse',
      'ElicitRequest: {}, InitializeRequest',
      'Task: {}, InitializeRequest',
      'DiscoverRequest: {}, InputRequiredResult',
    ]
    const schemas = extractSchemas(names.map((name) => schema(`${name}: { const: \`{\` }`)).join('\n'))
    expect(definitionsOf(schemas['2025-11-25']).ClientRequest).toEqual({ description: '}"]' })
  })
})

describe('prepareSchema', () => {
  const published = extractSchemas()

  it.each(REVISIONS)('leaves no object of %s open that does not say so', (revision) => {
    const open: string[] = []
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return
      if ('properties' in node && 'type' in node && !('additionalProperties' in node)) open.push(path)
      for (const [key, value] of Object.entries(node)) visit(value, `${path}/${key}`)
    }
    const { $defs } = prepareSchema(revision, published[revision])
    for (const [name, definition] of Object.entries($defs)) visit(definition, name)
    expect(
      open.filter((path) => !/(_meta|inputSchema|outputSchema|data|properties|Meta(Object)?)$/.test(path)),
    ).toEqual([])
  })

  it.each(REVISIONS)('knows the result of every request of %s', (revision) => {
    const { requests, results, $defs } = prepareSchema(revision, published[revision])
    expect(Object.keys(requests).length).toBeGreaterThan(9)
    for (const method of Object.keys(requests)) expect($defs).toHaveProperty(results[method]!)
  })
})
