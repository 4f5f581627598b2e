// The few expensive requests, the same in every run: bodies at and over the limit, and input that is slow to deal with
// wherever work grows faster than the input. `status` is what must be answered.
import { nested, Raw } from './json.mjs'
import { messageOf, MODERN, post, TOOLS } from './requests.mjs'
import { WITH_TASKS } from './tasks.mjs'
import { limits } from '../../src/limits.ts'

const { bodyBytes, uniqueItems } = limits

const request = (message, status, more) => post('size', message, MODERN, { status, ...more })
const message = (method, params) => messageOf({ method, params }, MODERN)
const call = (name, args, more) => message('tools/call', { name, arguments: args, ...more })
const tool = (name, args) => request(call(name, args), 200)
const many = (length, value) => Array.from({ length }, value)
const manyKeys = (length, key, value) => Object.fromEntries(many(length, (_, i) => [key(i), value]))
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

/** @param known what the server handed out */
export function sizes({ tasks }) {
  return [
    ...atTheLimit(),
    ...noMessages(),
    ...longFields(),
    ...badArguments(),
    ...slowHandlers(),
    ...longBlanks(),
    ...largeTasks(tasks),
    ...largeFilters(),
  ]
}

function atTheLimit() {
  const { length } = request(call('echo', { text: '' })).body
  const padded = (bytes) => call('echo', { text: 'x'.repeat(bytes - length) })
  const announced = request(ping, 413)
  announced.headers.push(['Content-Length', String(bodyBytes + 1)])
  return [
    request(padded(bodyBytes), 200),
    request(padded(bodyBytes), 200, { chunks: 65_536 }),
    request(padded(bodyBytes + 1), 413),
    request(padded(bodyBytes + 1), 413, { chunks: 65_536 }),
    request(padded(bodyBytes + 1), 413, { chunks: bodyBytes + 1 }),
    announced,
  ]
}

function noMessages() {
  const fills = [' ', '[', '"', '\\', '{"😀\\[', '0', '-', '[],', '{"a":"\\"'].map((fill) =>
    Buffer.alloc(bodyBytes, fill),
  )
  const list = Buffer.from(`[${'[],'.repeat(bodyBytes / 3 - 1)}[]]`)
  return [...fills, list].map((body) => request(ping, 400, { body }))
}

function longFields() {
  const long = (length) => 'x'.repeat(length)
  const form = { action: 'accept', content: { sure: true, name: 'x', more: long(100_000) } }
  const { headers } = request(call('x', {}))
  const handshake = {
    protocolVersion: long(1_000_000),
    capabilities: {},
    clientInfo: { name: long(1_000_000), version: {} },
  }
  return [
    request({ ...ping, id: long(1_000_000) }),
    request(new Raw(`{"jsonrpc":"2.0","id":${'9'.repeat(1_000_000)},"method":"ping"}`), 400),
    request({ ...ping, method: long(1_000_000) }),
    request({ ...ping, method: 'initialize', params: handshake }),
    request(call(long(3_000_000), {}), undefined, { headers }),
    request(message('tools/list', { cursor: long(3_000_000) }), 200),
    request(message('resources/read', { uri: `fuzz://tree/${'a/'.repeat(limits.uriChars / 2)}` }), 200),
    request(message('prompts/get', { name: 'review', arguments: manyKeys(50_000, (i) => `k${i}`, 'v') }), 200),
    request(call('ask', { topic: 'x' }, { inputResponses: manyKeys(50_000, (i) => `k${i}`, {}) }), 200),
    // Too large to be remembered until the second round.
    request(call('ask', { topic: 'x' }, { inputResponses: { form } }), 200),
  ]
}

function badArguments() {
  const levels = (depth, leaf) => (depth === 0 ? leaf : { op: 'not', of: levels(depth - 1, leaf) })
  return [
    tool('raw_arrays', { numbers: many(200_000, () => 'x') }),
    tool('raw_arrays', { numbers: many(400_000, (_, i) => i) }),
    tool('raw_arrays', { tuple: many(200_000, () => 1) }),
    tool('raw_arrays', { some: many(200_000, () => 8) }),
    tool('raw_arrays', { set: many(400_000, (_, i) => i) }),
    tool('raw_arrays', { set: many(uniqueItems, (_, i) => i) }),
    tool('raw_objects', { id: 'x', mapped: manyKeys(50_000, (i) => `K${i}`, 'x') }),
    tool('raw_objects', { id: 'x', mapped: manyKeys(30, (i) => `${i}${'k'.repeat(100_000)}`, 'x') }),
    tool(
      'raw_objects',
      manyKeys(50_000, (i) => `x-${i}`, 1),
    ),
    tool(
      'raw_logic',
      manyKeys(50_000, (i) => `k${i}`, 1),
    ),
    tool('raw_logic', { tree: { value: 1, children: many(50_000, () => ({ value: 'x' })) } }),
    tool('raw_tree', { expression: levels(limits.jsonDepth - 5, 1) }),
    tool('raw_tree', { expression: levels(limits.jsonDepth - 5, 'x') }),
    tool('add', { a: 1, tags: many(400_000, () => 1) }),
    tool('add', { a: 1, amounts: manyKeys(100_000, (i) => `k${i}`, 'x') }),
    tool('ask', { topic: 'x'.repeat(3_000_000) }),
    tool('echo', { deep: many(2_000, () => nested(limits.jsonDepth - 6)) }),
  ]
}

/** Quiet for longer than an answer may be, for a client that takes streams and for one that does not. */
function slowHandlers() {
  const slow = tool('slow', {})
  const headers = slow.headers.map(([name, value]) => [name, name === 'Accept' ? 'application/json' : value])
  return [slow, { ...slow, headers }]
}

/** A hundred thousand blanks inside a header, which slow trimming would take long over. */
function longBlanks() {
  return ['Mcp-Method', 'Mcp-Name', 'Mcp-Param-Region'].map((blank) => {
    const { headers, ...rest } = request(call('route', TOOLS.route), 400)
    const stretched = headers.map(([name, value]) => {
      return [name, name === blank ? `${value.slice(0, 1)}${' '.repeat(100_000)}${value.slice(1)}` : value]
    })
    return { ...rest, headers: stretched }
  })
}

/** What a task would have to keep, and what is looked for among tasks. */
function largeTasks(tasks) {
  const long = (length) => 'x'.repeat(length)
  const { id: taskId } = tasks.find(({ kind }) => kind === 'patient')
  const update = (inputResponses, more) => request(message('tasks/update', { taskId, inputResponses }), 200, more)
  const form = (length) => ({ action: 'accept', content: { sure: true, name: long(length) } })
  const refuses = 'an answer that is too large to be kept'
  const asTask = (task, args) => {
    const params = { name: 'errand', arguments: args, task }
    return post('size', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, WITH_TASKS, { status: 200 })
  }
  const { headers } = request(message('tasks/get', { taskId }))
  return [
    request(message('tasks/get', { taskId: long(3_000_000) }), 400, { headers }),
    request(message('tasks/get', { taskId: long(40_000) }), 200),
    update({ q0: form(3_000_000) }, { refuses }),
    update({ q4: form(1_000_000), q8: form(limits.eventBytes) }, { refuses }),
    update({ q4: form(1_000_000) }),
    update(manyKeys(50_000, (i) => `q${i}:2`, {})),
    update({ q12: { action: 'accept', content: manyKeys(50_000, (i) => `k${i}`, 1) } }),
    tool('errand', { topic: 'x', more: long(3_500_000) }),
    tool('errand', { topic: 'x', more: many(400_000, (_, i) => i) }),
    asTask({ ttl: 1_000, more: long(3_500_000) }, {}),
    asTask({ ttl: 1_000 }, { topic: long(3_500_000) }),
  ]
}

/** More than anybody may listen to, each of which would be looked for. */
function largeFilters() {
  const listen = (notifications) => request(message('subscriptions/listen', { notifications }), 200)
  return [
    listen({ resourceSubscriptions: many(200_000, (_, i) => `fuzz://item/${i}`) }),
    listen({ resourceSubscriptions: ['x'.repeat(3_000_000)] }),
    listen({ resourceSubscriptions: many(limits.listenResources, (_, i) => `fuzz://item/${i}${'x'.repeat(8_000)}`) }),
    listen({ taskIds: many(50_000, (_, i) => i.toString(16).padStart(64, '0')) }),
    listen(manyKeys(50_000, (i) => `k${i}`, true)),
  ]
}
