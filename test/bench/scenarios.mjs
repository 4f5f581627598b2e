// What the workers are asked, as bytes that are the same for all of them, and what a correct answer is.
import assert from 'node:assert/strict'
import { encodePost } from './lib/http-client.mjs'

const requestId = 7
const modernVersion = '2026-07-28'
const legacyVersion = '2025-11-25'
const summands = { a: 19, b: 23 }
const sum = summands.a + summands.b

const common = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'user-agent': 'bench',
}
const envelope = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/**
 * `aim` names the worker whose cost is the measure and the largest ratio to it that is aimed for.
 * `verify` gets the result and the tools that must be listed; without `tools` the worker publishes others.
 */
export const scenarios = [
  {
    name: 'tools/call',
    bytes: encodeToolCall(),
    aim: { worker: 'floor', ratio: 1.25 },
    verify: verifyCall,
    needsBenchTools: true,
  },
  {
    name: 'tools/list',
    bytes: encodeModern('tools/list', {}),
    aim: { worker: 'raw', ratio: 1.3 },
    verify: verifyList,
  },
  { name: 'server/discover', bytes: encodeModern('server/discover', {}), verify: verifyDiscovery },
  {
    name: 'legacy tools/call',
    bytes: encodeLegacy('tools/call', { name: 'add', arguments: summands }),
    verify: verifyCall,
    needsBenchTools: true,
  },
]

/** The first request of a start-up: every worker answers it, whatever its tools. */
export const firstRequest = scenarios.find(({ name }) => name === 'server/discover')

/** A modern call. @param headers to send with the usual ones */
export function encodeToolCall(headers = {}) {
  return encodeModern('tools/call', { name: 'add', arguments: summands }, 'add', headers)
}

/** @throws when the response is not the correct answer of `worker` to `scenario` */
export function verifyResponse(worker, scenario, response, tools) {
  const text = response.body.toString('utf8')
  try {
    assert.equal(response.status, 200)
    const message = JSON.parse(
      /\r\ncontent-type: *text\/event-stream/i.test(response.head) ? lastEventData(text) : text,
    )
    assert.equal(message.jsonrpc, '2.0')
    assert.equal(message.id, requestId)
    assert.equal(message.error, undefined)
    scenario.verify(message.result, tools)
  } catch (error) {
    const got = `${response.head.split('\r\n', 1)[0]} ${text.slice(0, 400)}`
    throw new Error(`${worker} answers ${scenario.name} wrongly: ${error.message}\n  got ${got}`, { cause: error })
  }
}

function verifyCall(result) {
  assert.notEqual(result.isError, true)
  assert.deepEqual(result.structuredContent, { sum })
  assert.deepEqual(JSON.parse(result.content[0].text), { sum })
}

function verifyList(result, tools) {
  assert.equal(result.nextCursor, undefined)
  if (!tools) return assert.ok(result.tools.length > 0, 'tools are listed')
  assert.deepEqual(result.tools.map(describe).toSorted(), tools.map(describe).toSorted())
}

function verifyDiscovery(result) {
  assert.ok(result.supportedVersions.includes(modernVersion), `${modernVersion} is supported`)
  assert.ok(result.capabilities.tools, 'tools are declared')
}

/** What must agree about a listed tool; libraries differ in harmless keywords. */
function describe({ name, title, description, inputSchema, outputSchema }) {
  const fields = (schema) => Object.entries(schema.properties).map(([key, { type, anyOf }]) => [key, type ?? anyOf])
  return JSON.stringify([
    name,
    title,
    description,
    fields(inputSchema),
    inputSchema.required ?? [],
    fields(outputSchema),
  ])
}

/** The data of the last event of an SSE body that has any. */
export function lastEventData(text) {
  const events = text.split('\n\n').map((event) => event.split('\n').filter((line) => line.startsWith('data:')))
  const last = events.findLast((lines) => lines.some((line) => line.length > 'data: '.length))
  return last.map((line) => line.slice('data:'.length)).join('\n')
}

function encodeModern(method, params, name, more) {
  const headers = {
    ...common,
    ...more,
    'mcp-protocol-version': modernVersion,
    'mcp-method': method,
    ...(name && { 'mcp-name': name }),
  }
  return encodePost('/mcp', headers, encodeMessage(method, { ...params, _meta: envelope }))
}

function encodeLegacy(method, params) {
  return encodePost('/mcp', { ...common, 'mcp-protocol-version': legacyVersion }, encodeMessage(method, params))
}

function encodeMessage(method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id: requestId, method, params })
}
