// What the workers with change notifications are asked, as bytes, and what correct answers are.
import assert from 'node:assert/strict'
import { encodeGet, encodePost } from './lib/http-client.mjs'

const version = '2026-07-28'
/** The same for all: a worker without a library sends everybody the same text. */
const requestId = 7
const subscriptionId = 'io.modelcontextprotocol/subscriptionId'
const envelope = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** What everybody listens to. */
export const sharedUri = 'bench://change/shared'

/** Listener number `i`, which has a network address of its own: anonymous callers are counted, and spread, by that. */
export function encodeListen(i) {
  const notifications = { toolsListChanged: true, resourceSubscriptions: [sharedUri, `bench://change/${i}`] }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'user-agent': 'bench',
    'cf-connecting-ip': `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`,
    'mcp-protocol-version': version,
    'mcp-method': 'subscriptions/listen',
  }
  const params = { notifications, _meta: envelope }
  const message = { jsonrpc: '2.0', id: requestId, method: 'subscriptions/listen', params }
  return encodePost('/mcp', headers, JSON.stringify(message))
}

/** A request that is no part of the protocol: it has the worker do something for the benchmark. */
export function encodeCommand(path, query = {}) {
  return encodeGet(`${path}?${new URLSearchParams(query)}`, { 'user-agent': 'bench' })
}

/** @throws when a stream does not begin with the acknowledgement, or with more than it */
export function verifyBeginning(worker, text) {
  check(worker, 'a request to listen', text, () => {
    assert.match(text, /^HTTP\/1.1 200 [^]*\r\ncontent-type: *text\/event-stream/i)
    const [message, ...others] = messagesOf(text)
    assert.equal(message.method, 'notifications/subscriptions/acknowledged')
    assert.equal(message.params._meta[subscriptionId], requestId)
    assert.deepEqual(others, [])
  })
}

/** @throws when what a stream was sent is anything but `least` to `most` times that the shared resource changed */
export function verifyChanges(worker, text, least, most) {
  check(worker, 'a change', text, () => {
    const messages = messagesOf(text)
    const isBetween = messages.length >= least && messages.length <= most
    assert.ok(isBetween, `a listener is told ${messages.length} times instead of ${least} to ${most}`)
    for (const { method, params } of messages) {
      assert.equal(method, 'notifications/resources/updated')
      assert.equal(params.uri, sharedUri)
      assert.equal(params._meta[subscriptionId], requestId)
    }
  })
}

function messagesOf(text) {
  return text
    .matchAll(/^data: (.*)$/gm)
    .map(([, data]) => JSON.parse(data))
    .toArray()
}

function check(worker, what, text, verify) {
  try {
    verify()
  } catch (error) {
    throw new Error(`${worker} answers ${what} wrongly: ${error.message}\n  got ${text.slice(0, 600)}`, {
      cause: error,
    })
  }
}
