// The parameters of each request: what is refused as -32602, and that the error names the field.
// @see basic/index, Error Codes; schema

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { definePrompt, defineResource, defineTool } from '../../src/server/index.ts'
import { describeEras, modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const echo = defineTool('echo', {
  description: 'Echoes its arguments.',
  inputSchema: { type: 'object', additionalProperties: true },
  handler: (input) => JSON.stringify(input),
})
const hello = definePrompt('hello', {
  description: 'Greets.',
  arguments: z.object({ name: z.string().optional(), tone: z.enum(['kind']).optional() }),
  get: ({ name }) => `Hello ${name}`,
})
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const fetcher = serve({ tools: [echo], prompts: [hello], resources: [page] })

const ref = { type: 'ref/prompt', name: 'hello' }
const argument = { name: 'tone', value: '' }

describeEras(
  'parameters',
  (client) => {
    test.each<[method: string, params: JsonObject, field: string]>([
      ['tools/call', {}, 'params.name'],
      ['tools/call', { name: 5 }, 'params.name'],
      ['tools/call', { name: 'other' }, 'other'],
      ['tools/call', { name: '__proto__' }, '__proto__'],
      ['tools/call', { name: 'echo', arguments: 'x' }, 'params.arguments'],
      ['tools/call', { name: 'echo', arguments: [] }, 'params.arguments'],
      ['tools/call', { name: 'echo', arguments: 0 }, 'params.arguments'],
      ['tools/list', { cursor: 5 }, 'params.cursor'],
      ['tools/list', { cursor: 'made-up' }, 'cursor'],
      ['prompts/get', {}, 'params.name'],
      ['prompts/get', { name: 'other' }, 'other'],
      ['prompts/get', { name: 'hello', arguments: [] }, 'params.arguments'],
      ['prompts/get', { name: 'hello', arguments: { name: 5 } }, 'params.arguments.name'],
      ['prompts/get', { name: 'hello', arguments: { name: null } }, 'params.arguments.name'],
      ['prompts/get', { name: 'hello', arguments: { tone: 'loud' } }, 'tone'],
      ['prompts/list', { cursor: {} }, 'params.cursor'],
      ['resources/read', {}, 'params.uri'],
      ['resources/read', { uri: ['test://page'] }, 'params.uri'],
      ['resources/read', { uri: 'page' }, 'params.uri'],
      ['resources/list', { cursor: '' }, 'cursor'],
      ['resources/templates/list', { cursor: 1 }, 'params.cursor'],
      ['completion/complete', {}, 'params.argument'],
      ['completion/complete', { ref, argument: 'x' }, 'params.argument'],
      ['completion/complete', { ref, argument: { value: '' } }, 'params.argument.name'],
      ['completion/complete', { ref, argument: { name: 'tone' } }, 'params.argument.value'],
      ['completion/complete', { argument }, 'params.ref'],
      ['completion/complete', { ref: { type: 'ref/other', name: 'x' }, argument }, 'params.ref'],
      ['completion/complete', { ref: { type: 'ref/prompt' }, argument }, 'params.ref'],
      ['completion/complete', { ref: { type: 'ref/resource' }, argument }, 'params.ref'],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'other' }, argument }, 'other'],
      ['completion/complete', { ref, argument: { name: 'other', value: '' } }, 'other'],
      ['completion/complete', { ref, argument, context: [] }, 'params.context'],
      ['completion/complete', { ref, argument, context: { arguments: { name: 5 } } }, 'params.context.arguments.name'],
    ])('of %s are refused with -32602 and HTTP 200, naming the field: %j', async (method, params, field) => {
      const error = await client.error(method, params)
      expect(error).toMatchObject({ status: 200, code: -32602 })
      expect(error.message).toContain(field)
    })

    test.each([undefined, null, {}])('of a tool may be left out: arguments %j', async (args) => {
      const params = args === undefined ? { name: 'echo' } : { name: 'echo', arguments: args }
      const { result } = await client.request('tools/call', params, { unchecked: true })
      expect(result?.content[0]?.text).toBe('{}')
    })

    test('of a list may carry a null cursor', async () => {
      const { result } = await client.request('tools/list', { cursor: null }, { unchecked: true })
      expect(result?.tools).toHaveLength(1)
    })

    test('with keys that Object has are ordinary keys', async () => {
      const args = JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":3}') as JsonObject
      const { result } = await client.call('echo', args)
      expect(JSON.parse(result.content[0]!.text!)).toEqual(args)
    })
  },
  { fetcher },
)

describe('a retry', () => {
  test.each([
    ['tools/call', { name: 'echo' }],
    ['prompts/get', { name: 'hello' }],
    ['resources/read', { uri: 'test://page' }],
  ])('of %s names the field that has another type', async (method, params) => {
    const client = modern(fetcher)
    for (const field of ['inputResponses', 'requestState']) {
      const error = await client.error(method, { ...params, [field]: 5 })
      expect(error).toMatchObject({ status: 200, code: -32602 })
      expect(error.message).toContain(`params.${field}`)
    }
  })
})
