// The headers of the modern era against the examples of the specification.

import { describe, expect, it } from 'vitest'
import { encodeHeaderValue, modernHeaders, paramHeaders } from './headers.ts'

describe('encodeHeaderValue', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['', ''],
  ])('encodes %j', (value, encoded) => {
    expect(encodeHeaderValue(value)).toBe(encoded)
  })
})

describe('modernHeaders', () => {
  it('names the tool, the prompt, the resource or the task', () => {
    expect(modernHeaders('tools/call', { name: 'a' })).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'a',
    })
    expect(modernHeaders('prompts/get', { name: 'p' })).toHaveProperty('mcp-name', 'p')
    expect(modernHeaders('resources/read', { uri: 'note://1' })).toHaveProperty('mcp-name', 'note://1')
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(modernHeaders(method, { taskId: 'té' })).toHaveProperty('mcp-name', '=?base64?dMOp?=')
    expect(modernHeaders('tools/list', { name: 'a' })).not.toHaveProperty('mcp-name')
  })
})

describe('paramHeaders', () => {
  it('mirrors marked arguments at any depth and omits what is absent or null', () => {
    const marked = (name: string) => ({ type: 'string', 'x-mcp-header': name })
    const deep = { type: 'object', properties: { tenant: marked('Tenant'), none: marked('None') } }
    const schema = {
      type: 'object',
      properties: { region: marked('Region'), deep, dry: { type: 'boolean', 'x-mcp-header': 'Dry' }, n: marked('N') },
    }
    expect(paramHeaders(schema, { region: 'ü', deep: { tenant: 't' }, dry: false, n: null, other: 1 })).toEqual({
      'mcp-param-region': '=?base64?w7w=?=',
      'mcp-param-tenant': 't',
      'mcp-param-dry': 'false',
    })
  })
})
