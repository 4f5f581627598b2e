// The order of the whole ladder: a request that breaks one rung and every later one is refused by the first.
// @see basic/transports/streamable-http, Server Validation

import * as z from 'zod'
import { expect, test } from 'vitest'
import { defineTool } from '../../src/server/index.ts'
import { LADDER } from '../../src/protocol/era.ts'
import { modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { CAPABILITIES, envelope, message, post, VERSION } from '../http/post.ts'

let calls = 0
const guarded = defineTool('guarded', {
  description: 'Needs a capability, a header and an argument.',
  inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }), size: z.int() }),
  requires: ['elicitation.form'],
  handler: () => `call ${++calls}`,
})
const client = modern(serve({ tools: [guarded] }))

/** Breaks capability, `Mcp-Param-*` and the parameters. */
const BROKEN = { name: 'guarded', arguments: { region: 'eu', size: 'none' } }
const FORMS = { elicitation: {} }

const call = (meta: JsonObject, params: JsonObject = BROKEN, method = 'tools/call'): JsonObject =>
  message(method, { ...params, _meta: meta })

/** For each rung a request that passes everything above it and breaks it and everything below that can be broken too. */
const ROWS: { [rung: string]: { body: unknown; headers?: Record<string, string>; expected: string } } = {
  json: {
    body: '{"jsonrpc":"1.0","id":1,"method":"nope","params":{"_meta":{',
    headers: { 'mcp-protocol-version': '1900-01-01' },
    expected: '400 -32700 Parse error: the body is not JSON',
  },
  shape: {
    body: { ...call({ [VERSION]: '1900-01-01' }, {}, 'nope'), jsonrpc: '1.0' },
    headers: { 'mcp-protocol-version': '2026-07-28' },
    expected: '400 -32600 Invalid request: "jsonrpc" must be "2.0"',
  },
  agreement: {
    body: call({ [VERSION]: '1900-01-01' }, {}, 'nope'),
    headers: { 'mcp-protocol-version': '2026-07-28' },
    expected: "400 -32020 Header mismatch: MCP-Protocol-Version is '2026-07-28', the body says '1900-01-01'",
  },
  version: {
    body: call({ [VERSION]: '1900-01-01' }, {}, 'nope'),
    headers: { 'mcp-protocol-version': '1900-01-01' },
    expected: "400 -32022 Unsupported protocol version: '1900-01-01'",
  },
  envelope: {
    body: call({ [VERSION]: '2026-07-28' }, {}, 'nope'),
    headers: { 'mcp-protocol-version': '2026-07-28' },
    expected: `400 -32602 Invalid params: params._meta["${CAPABILITIES}"] is required: an object`,
  },
  headers: {
    body: call(envelope(), {}, 'nope'),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'other' },
    expected: "400 -32020 Header mismatch: Mcp-Method is 'other', the body says 'nope'",
  },
  method: {
    body: call(envelope(), {}, 'prompts/get'),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'prompts/get' },
    expected: '404 -32601 Method not found: prompts/get',
  },
  capability: {
    body: call(envelope()),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'guarded' },
    expected: '400 -32021 Missing required client capability: elicitation.form',
  },
  'param-headers': {
    body: call(envelope({ [CAPABILITIES]: FORMS })),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'guarded' },
    expected: '400 -32020 Header mismatch: Mcp-Param-Region is missing',
  },
  params: {
    body: call(envelope({ [CAPABILITIES]: FORMS }), { name: 'guarded', arguments: 'none' }),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'guarded' },
    expected: '200 -32602 Invalid params: params.arguments must be an object',
  },
}

test.each(Object.entries(ROWS))(
  'a request that breaks "%s" and what comes after is refused there',
  async (_rung, row) => {
    const { status, messages } = await post(client, row.body, row.headers)
    const { code, message } = messages[0]?.error ?? {}
    expect(`${status} ${code} ${message}`).toBe(row.expected)
    expect(calls).toBe(0)
  },
)

test('every rung of the ladder has a row, in its order', () => {
  expect(Object.keys(ROWS)).toEqual(LADDER.map(({ rung }) => rung))
})

test('a request that breaks nothing reaches the handler', async () => {
  const asking = modern(serve({ tools: [guarded] }), { capabilities: FORMS })
  const { result } = await asking.call('guarded', { region: 'eu', size: 1 })
  expect(result.content[0]?.text).toBe('call 1')
})
