// Well-formed requests to the server of worker.ts, in every revision, and how a request becomes bytes.
import { isObject, plain, Raw, toText } from './json.mjs'

export const MODERN = '2026-07-28'
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26']
/** The last one is a client that names no version. */
export const REVISIONS = [MODERN, ...LEGACY, null]
/** What a client declares that takes tasks, and that tasks are told apart by. */
export const TASKS = 'io.modelcontextprotocol/tasks'
/** What a client declares that comes back to where it left off, and where it may say where that is. */
export const RESUMABLE = 'dev.mcp-edge/resumable-listen'
export const CURSOR = 'dev.mcp-edge/cursor'

const form = { action: 'accept', content: { sure: true, name: 'Ann', size: 2 } }

/** Arguments that each tool takes. */
export const TOOLS = {
  add: {
    a: 1,
    b: 2,
    note: 'n',
    mode: 'fast',
    tags: ['t'],
    amounts: { x: 1 },
    nested: { deep: { leaf: true } },
    choice: { kind: 'n', n: 1 },
  },
  echo: { text: 'hello', more: { of: ['it'] } },
  strict: { id: 'abc', count: 3 },
  route: { region: 'eu-west', count: 7, dry: true, where: { zone: 'b' } },
  bare: {},
  ask: { topic: 'weather' },
  ask_link: {},
  ask_briefly: {},
  ask_oddly: {},
  needy: {},
  chatty: { times: 2 },
  touch: { uris: ['fuzz://fixed', 'fuzz://item/1'], lists: true },
  boom: { how: 'throw' },
  errand: { topic: 'errand', ms: 10, asks: true, how: 'tool' },
  booking: { topic: 'booking' },
  raw_objects: {
    id: 'x',
    kind: 'a',
    fixed: { deep: [1, 'two', null] },
    closed: { one: 1 },
    mapped: { a_b: 1 },
    counted: { a: 1 },
    'x-y': 'z',
  },
  raw_arrays: { tuple: ['a', 1, true], set: [1, 'a', null], some: [1, 7], rest: ['a'], numbers: [1, 2] },
  raw_strings: {
    'date-time': '2026-07-28T10:00:00Z',
    uri: 'https://example.com/a',
    regex: '^a$',
    email: 'a@example.com',
  },
  raw_numbers: { integer: 3, open: 0.5, cents: 1.25, either: 'abc' },
  raw_tree: { expression: { op: 'not', of: { op: 'minus', of: 1 } } },
  raw_logic: {
    method: 'phone',
    phone: '+1 234',
    tree: { value: 1, children: [{ value: 2 }] },
    money: { units: 1 },
    one: 3,
    any: 'abc',
    not: 1,
  },
}

const tool = (name) => ({ method: 'tools/call', params: { name, arguments: TOOLS[name] } })

/** Calls that every revision has. The last one of a method says the most. */
export const CALLS = [
  ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'].map((method) => ({
    method,
    params: {},
  })),
  ...Object.keys(TOOLS)
    .toSorted((a, b) => Object.keys(TOOLS[a]).length - Object.keys(TOOLS[b]).length)
    .map(tool),
  { method: 'prompts/get', params: { name: 'asking_prompt' } },
  { method: 'prompts/get', params: { name: 'raw_prompt', arguments: { id: '1', toString: 'x' } } },
  { method: 'prompts/get', params: { name: 'review', arguments: { id: '1', tone: 'blunt' } } },
  ...['broken', 'fixed', 'bytes', 'tree/me/a/b', 'ask/1', 'item/1'].map((path) => ({
    method: 'resources/read',
    params: { uri: `fuzz://${path}` },
  })),
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/resource', uri: 'fuzz://item/{id}' }, argument: { name: 'id', value: '' } },
  },
  {
    method: 'completion/complete',
    params: {
      ref: { type: 'ref/prompt', name: 'review' },
      argument: { name: 'id', value: 'i' },
      context: { arguments: { tone: 'kind' } },
    },
  },
]

const MODERN_CALLS = [...CALLS, { method: 'server/discover', params: {} }]
const LEGACY_CALLS = [
  ...CALLS,
  { method: 'ping' },
  {
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { sampling: {} },
      clientInfo: { name: 'fuzz', version: '1' },
    },
  },
]

/** Calls of one revision. @param known what the server handed out: the calls it has about tasks */
export function callsOf(revision, { calls }) {
  return [...(revision === MODERN ? MODERN_CALLS : LEGACY_CALLS), ...(calls[revision] ?? [])]
}

/** Calls that may end in questions, and answers to the first questions of each. */
export const ASKING = [
  { ...tool('ask'), answers: { form } },
  { ...tool('ask_link'), answers: { link: { action: 'accept' } } },
  { ...tool('ask_briefly'), answers: { form } },
  { ...tool('ask_oddly'), answers: { toString: form } },
  { ...tool('booking'), answers: { form } },
  { method: 'prompts/get', params: { name: 'asking_prompt' }, answers: { form } },
  { method: 'resources/read', params: { uri: 'fuzz://ask/1' }, answers: { form } },
]

export const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
  extensions: { [TASKS]: {}, [RESUMABLE]: {} },
}

const META = 'io.modelcontextprotocol/'

/** The message of a call: with the envelope of `revision`, if it has one. */
export function messageOf({ method, params }, revision, id = 1) {
  if (revision !== MODERN) return { jsonrpc: '2.0', id, method, ...(params && { params }) }
  const _meta = {
    [`${META}protocolVersion`]: MODERN,
    [`${META}clientInfo`]: { name: 'fuzz', version: '1' },
    [`${META}clientCapabilities`]: CAPABILITIES,
    progressToken: 'p',
    [`${META}logLevel`]: 'info',
  }
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } }
}

/** The headers of somebody the server knows by name; of nobody, none. */
export function authorization(principal) {
  return ['ann', 'bob'].includes(principal) ? [['Authorization', `Bearer ${principal}`]] : []
}

const PARAM_HEADERS = { Region: ['region'], Count: ['count'], 'Dry-Run': ['dry'], Zone: ['where', 'zone'] }

/** The headers that fit a message, as far as it can be mirrored at all. */
export function headersOf(message, revision) {
  const headers = [
    ['Host', 'localhost'],
    ['Content-Type', 'application/json'],
    ['Accept', 'application/json, text/event-stream'],
  ]
  if (revision !== null) headers.push(['MCP-Protocol-Version', revision])
  if (revision !== MODERN || !isObject(message)) return headers
  const { method, params } = plain(message)
  const mirror = (name, value) => {
    const text = headerText(value)
    // The runtime's parser takes no more than 128 KiB of headers.
    if (text !== undefined && text.length < 50_000) headers.push([name, text])
  }
  if (typeof method === 'string') mirror('Mcp-Method', /^[\x21-\x7e]+$/.test(method) ? method : method.slice(0, 1))
  if (!isObject(params)) return headers
  mirror('Mcp-Name', nameOf(method, params))
  if (params.name === 'route') {
    for (const [name, path] of Object.entries(PARAM_HEADERS)) {
      mirror(
        `Mcp-Param-${name}`,
        path.reduce((at, key) => (isObject(at) ? at[key] : undefined), params.arguments),
      )
    }
  }
  return headers
}

function nameOf(method, { name, uri, taskId }) {
  if (method === 'resources/read') return uri
  return typeof method === 'string' && method.startsWith('tasks/') ? taskId : name
}

/** A value as a header carries it, or undefined for one that no header mirrors. */
export function headerText(value) {
  const text = value instanceof Raw ? parsed(value) : value
  if (typeof text === 'number' || typeof text === 'boolean') return String(text)
  if (typeof text !== 'string') return undefined
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?')
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

function parsed({ text }) {
  try {
    return JSON.parse(text)
  } catch {
    // Raw text may be no JSON at all.
    return undefined
  }
}

/** A POST with this message. `revision` decides the headers. */
export function post(group, message, revision, more = {}) {
  return {
    group,
    method: 'POST',
    target: '/mcp',
    headers: headersOf(message, revision),
    body: Buffer.from(toText(message)),
    ...more,
  }
}

/** The trace of the request with this number, by which notes of handlers and lines of the log are found again. */
export function traceIdOf(index) {
  return (index + 1).toString(16).padStart(32, '0')
}

/** The bytes to send. Header values are latin1. `index` adds a trace, unless the request has one. */
export function toBytes({ raw, method, target, headers, body, chunks }, index) {
  if (raw) return index === undefined ? raw : withTrace(raw, index)
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  if (index !== undefined && !headers.some(([name]) => name.toLowerCase() === 'traceparent'))
    lines.push(traceLine(index))
  if (chunks) lines.push('Transfer-Encoding: chunked')
  else if (body && !headers.some(([name]) => name.toLowerCase() === 'content-length'))
    lines.push(`Content-Length: ${body.length}`)
  const head = Buffer.from(
    `${method} ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`,
    'latin1',
  )
  return Buffer.concat([head, ...(chunks ? inChunks(body, chunks) : body ? [body] : [])])
}

function traceLine(index) {
  return `traceparent: 00-${traceIdOf(index)}-00000000000000ff-01`
}

/** Puts the trace in front of the first `Content-Type`, whose place raw requests keep. */
function withTrace(raw, index) {
  const at = raw.indexOf('Content-Type')
  if (at === -1) return raw
  return Buffer.concat([raw.subarray(0, at), Buffer.from(`${traceLine(index)}\r\n`), raw.subarray(at)])
}

function inChunks(body, size) {
  const parts = []
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return [...parts, Buffer.from('0\r\n\r\n')]
}
