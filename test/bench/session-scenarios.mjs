// What the workers with sessions are asked, as bytes, and what a correct answer is.
import assert from 'node:assert/strict'
import { encodeGet, encodePost } from './lib/http-client.mjs'
import { lastEventData } from './scenarios.mjs'

const version = '2025-11-25'
const requestId = 7
const sum = { a: 19, b: 23 }

const common = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'user-agent': 'bench',
}
const handshake = {
  protocolVersion: version,
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
}

/** Initializes on a connection and returns the session id. @param more headers to send with the usual ones */
export async function openSession(connection, more = {}) {
  const { status, head, body } = await connection.exchange(encodeMessage('initialize', handshake, undefined, more))
  const id = /\r\nmcp-session-id: *([^\r]+)/i.exec(head)?.[1]
  assert.ok(id, `initialize gives no session: ${status} ${body.toString('utf8').slice(0, 400)}`)
  await connection.exchange(encode({ jsonrpc: '2.0', method: 'notifications/initialized' }, id, more))
  return id
}

/** A call that is answered at once or, with `events`, one that sends as many events and then its result. */
export function encodeCall(session, events, more = {}) {
  const params =
    events === undefined
      ? { name: 'add', arguments: sum }
      : { name: 'stream', arguments: { count: events }, _meta: { progressToken: 'bench' } }
  return encodeMessage('tools/call', params, session, more)
}

export function encodeListen(session) {
  const sessionHeader = session === undefined ? {} : { 'mcp-session-id': session }
  return encodeGet('/mcp', { accept: 'text/event-stream', 'mcp-protocol-version': version, ...sessionHeader })
}

/** @throws when the response is not the sum */
export function verifyCall(worker, { name }, response) {
  check(worker, name, response, (text) => {
    const { structuredContent } = resultOf(/text\/event-stream/i.test(response.head) ? lastEventData(text) : text)
    assert.deepEqual(structuredContent, { sum: sum.a + sum.b })
  })
}

/** @throws when the response is not every event in order, and then the result */
export function verifyStream(worker, events, response) {
  check(worker, 'the streaming call', response, (text) => {
    const messages = text
      .matchAll(/^data: *(\{.*)$/gm)
      .map(([, data]) => JSON.parse(data))
      .toArray()
    const progress = messages.filter(({ method }) => method === 'notifications/progress')
    assert.deepEqual(
      progress.map(({ params }) => params.progress),
      Array.from({ length: events }, (_, i) => i + 1),
    )
    assert.equal(resultOf(JSON.stringify(messages.at(-1))).content[0].text, 'streamed')
  })
}

function check(worker, scenario, { status, head, body }, verify) {
  const text = body.toString('utf8')
  try {
    assert.equal(status, 200)
    verify(text)
  } catch (error) {
    const got = `${head.split('\r\n', 1)[0]} ${text.slice(0, 400)}`
    throw new Error(`${worker} answers ${scenario} wrongly: ${error.message}\n  got ${got}`, { cause: error })
  }
}

function resultOf(text) {
  const message = JSON.parse(text)
  assert.equal(message.id, requestId)
  assert.equal(message.error, undefined)
  assert.notEqual(message.result.isError, true)
  return message.result
}

function encodeMessage(method, params, session, more) {
  return encode({ jsonrpc: '2.0', id: requestId, method, params }, session, more)
}

function encode(message, session, more) {
  const headers = {
    ...common,
    ...more,
    'mcp-protocol-version': version,
    ...(session !== undefined && { 'mcp-session-id': session }),
  }
  return encodePost('/mcp', headers, JSON.stringify(message))
}
