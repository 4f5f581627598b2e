// Judges one answer: what must hold for every request, however broken. Knows the wire, not the server's code;
// only the tables of errors and limits are the server's own.
import { ERRORS } from '../../src/protocol/errors.ts'
import { limits } from '../../src/limits.ts'

const STATUSES = new Set([200, 202, 204, 400, 403, 404, 405, 406, 413, 415])
/** Found out before the body is read, so that the id is not known. */
const BEFORE_BODY = new Set([403, 404, 405, 406, 413, 415])
/** What the runtime's own HTTP parser says before a Worker runs; the last to a method it has never heard of. */
const RUNTIME_STATUSES = new Set([400, 431, 501])

const LEAKS = [
  /inner-words-of-an-exception/,
  /\bat [^\n"]{0,80}\.(?:js|ts|mjs):\d+/,
  /\.(?:js|ts):\d+:\d+/,
  /node_modules|cloudflare-internal|file:\/\/\/\w+\/(?:src|main)/,
  /\b(?:Type|Range|Syntax|Reference|URI|Eval)Error\b/,
  /is not (?:a function|iterable|defined|a constructor)|Cannot (?:read|convert|destructure|set) |URI malformed/,
  /Maximum call stack|Invalid (?:array|string) length|Unexpected token|in JSON at position|exceeds max/,
  /JWE(?:Invalid|Decryption)|JOSE|decryption operation failed/,
]

/** What the server and a judge can both make of the request: `parsed`, or nothing when it is no JSON. */
export function readRequest({ raw, body }) {
  if (raw || !body) return {}
  try {
    const parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return depthOf(parsed, limits.jsonDepth) > limits.jsonDepth ? {} : { parsed }
  } catch {
    // Not JSON, or not UTF-8: what is expected then is decided by the caller.
    return {}
  }
}

function depthOf(value, cap) {
  if (typeof value !== 'object' || value === null) return 0
  if (cap === 0) return 1
  return 1 + Object.values(value).reduce((max, child) => Math.max(max, depthOf(child, cap - 1)), 0)
}

/**
 * `{ problems, messages }`: what is wrong with the answer, and the JSON-RPC messages in it.
 * @param notes `{ era, failures, isOnPurpose }` from the server's log
 */
export function judge(request, answer, notes) {
  const problems = []
  const say = (problem) => void problems.push(problem)
  const end = (messages = []) => ({ problems, messages })
  if (answer.timeout) return (say('no answer in time'), end())
  if (answer.closed) {
    // A request that is not whole may end with its connection, and a reset may overtake the refusal of a body that is
    // still being sent.
    if (!request.raw && request.status !== 413) say('the connection was closed without an answer')
    return end()
  }
  // Left while it waited for a task.
  if (answer.isCut && answer.status === undefined) return end()
  const { status, headers, body } = answer
  const text = body.toString('utf8')
  const type = headers.get('content-type')?.[0] ?? ''
  if (!headers.has('access-control-allow-origin')) {
    if (!RUNTIME_STATUSES.has(status)) say(`the runtime answered ${status}`)
    else if (request.group !== 'framing' && request.group !== 'route' && request.group !== 'header') {
      say('the runtime refused the request')
    }
    return end()
  }
  if (!STATUSES.has(status)) say(`status ${status}`)
  if (request.status !== undefined && status !== request.status) say(`status ${status} instead of ${request.status}`)
  if (answer.rest > 0 && !request.raw) say('bytes after the end of the answer')
  if (status === 405 && !headers.has('allow')) say('405 without Allow')
  if (body.length > sizeOf(request) * 4 + 100_000) {
    say(`an answer of ${body.length} bytes to a request of ${sizeOf(request)}`)
  }
  const words = text.replaceAll(/"requestState":"[^"]*"/g, '')
  for (const leak of LEAKS) if (leak.test(words)) say(`the answer leaks ${leak}`)
  for (const failure of notes.failures) say(`logged as failure: ${failure}`)
  if (body.length === 0) {
    const isGoingOn = answer.isLive || answer.isCut
    const mayBeEmpty = status === 202 || status === 204 || request.method === 'HEAD' || isGoingOn
    if (!mayBeEmpty) say('an empty answer')
    if (answer.isLive && !acceptsStream(request)) say('a stream that was not accepted')
    return end()
  }
  if (status === 202 || status === 204) say(`${status} with a body`)
  if (/^text\/(html|plain)\b/.test(type)) {
    const isPage = status === 404 || request.target !== '/mcp' || (status === 405 && type.startsWith('text/html'))
    if (!isPage) say(`${type} for an MCP request`)
    return end()
  }
  const all = type === 'text/event-stream' ? readStream(request, answer, text, say) : readJson(type, body, say)
  const messages = all.filter((message) => typeof message === 'object' && message !== null)
  if (messages.length < all.length) say('a message that is no object')
  const responses = messages.filter(({ method }) => method === undefined)
  if (messages.length > 0 && responses.length === 0 && !answer.isCut) say('no response among the messages')
  const isListening = OF_CHANGES.test(messages[0]?.method)
  for (const message of messages) checkMessage({ ...request, isListening }, message, status, notes, say)
  checkIds(request, responses, status, say)
  return { problems, messages }
}

function sizeOf({ raw, body, headers }) {
  return (raw ?? body ?? []).length + headers.reduce((sum, header) => sum + header.join().length, 0)
}

function readJson(type, body, say) {
  if (type !== 'application/json') say(`content type '${type}'`)
  try {
    return [JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))].flat()
  } catch {
    say('the body is no JSON')
    return []
  }
}

/** Comments, and events of one `data` line each; in a session they have an `id`, and one without data may begin. */
function readStream(request, { status, isCut }, text, say) {
  if (status !== 200) say(`a stream with status ${status}`)
  if (!acceptsStream(request)) say('a stream that was not accepted')
  if (!text.endsWith('\n\n') && !isCut) say('a stream that ends in the middle of an event')
  const messages = []
  for (const event of text.split('\n\n').slice(0, -1)) {
    const lines = event.split('\n').filter((line) => !line.startsWith(':'))
    if (!lines.every((line) => /^(event: message|id: \S+|retry: \d+|data: ?[^\n]*)$/.test(line)))
      say('a malformed event')
    const [data, ...more] = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim())
    if (more.length > 0) say('an event with several data lines')
    if (!data) continue
    try {
      messages.push(JSON.parse(data))
    } catch {
      say('an event that holds no JSON')
    }
  }
  const last = messages.at(-1)
  if (last && last.method !== undefined && !isCut) say('a stream that ends without its response')
  return messages
}

function acceptsStream({ headers }) {
  const all = headers.filter(([name]) => name.toLowerCase() === 'accept').map(([, value]) => value)
  const accept = all.join(',').toLowerCase()
  if (accept.trim() === '') return true
  return ['text/event-stream', 'text/*', '*/*'].some((media) => accept.includes(media))
}

/** What may be sent beside an answer. */
const NOTIFICATIONS = /^notifications\/(progress|message)$/
/** And where somebody waits for a task, which may ask its client. */
const OF_TASKS = /^notifications\/(progress|message|cancelled|tasks\/status)$/
/** And on a stream of changes. */
const OF_CHANGES =
  /^notifications\/(subscriptions\/acknowledged|(tools|prompts|resources)\/list_changed|resources\/updated|tasks)$/
const ASKS = /^(elicitation\/create|sampling\/createMessage|roots\/list)$/

function checkMessage({ patienceMs, isListening }, message, status, { era, isOnPurpose }, say) {
  if (message.jsonrpc !== '2.0') say('a message that is no JSON-RPC')
  const { jsonrpc: _, id, method, params, result, error, ...others } = message
  if (Object.keys(others).length > 0) say(`a message with ${Object.keys(others).join()}`)
  if (method !== undefined) {
    const isAsk = patienceMs !== undefined && ASKS.test(method)
    const beside = patienceMs === undefined ? NOTIFICATIONS : OF_TASKS
    const isNotification = (isListening ? OF_CHANGES : beside).test(method)
    if (isAsk ? typeof id !== 'string' : !isNotification || id !== undefined) say(`an unknown message ${method}`)
    if (typeof params !== 'object') say(`${method} without params`)
    return
  }
  if ((result === undefined) === (error === undefined)) {
    return say('a response with both or neither of result and error')
  }
  if (result !== undefined) return checkResult(result, status, era, say)
  const { code, message: words, data: _data, ...more } = error
  if (!Number.isInteger(code) || typeof words !== 'string' || Object.keys(more).length > 0) {
    return say('a malformed error')
  }
  const rows = Object.values(ERRORS).filter((row) => row.code === code || (era !== 'modern' && row.legacyCode === code))
  if (rows.length === 0) return say(`the unknown error code ${code}`)
  const statuses = new Set(rows.flatMap((row) => (era === undefined ? [row.modern, row.legacy] : [row[era]])))
  // A batch and a stream carry errors at 200.
  if (status !== 200 && !statuses.has(status)) say(`status ${status} with error ${code}`)
  if (code === ERRORS.InternalError.code && /^internal error/i.test(words) && !isOnPurpose) say('an internal error')
}

function checkResult(result, status, era, say) {
  if (status !== 200) say(`a result with status ${status}`)
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return say('a result that is no object')
  if (era === 'modern' && !['complete', 'input_required', 'task'].includes(result.resultType)) {
    say('a modern result without resultType')
  }
  if (era === 'legacy' && 'resultType' in result) say('a legacy result with resultType')
}

function checkIds(request, responses, status, say) {
  if (request.raw || request.chunks || responses.length === 0) return
  const { parsed } = readRequest(request)
  const given = responses.map(({ id }) => id)
  if (given.some((id) => id !== undefined && !isId(id))) return say('an id that is none')
  if (Array.isArray(parsed)) {
    const asked = parsed.filter(isRequest).map(({ id }) => id)
    const isRefused = responses.length === 1 && given[0] === undefined && status !== 200
    if (!isRefused && JSON.stringify(given) !== JSON.stringify(asked)) {
      say('a batch whose responses do not match its requests')
    }
    return
  }
  if (responses.length !== 1) return say(`${responses.length} responses to one request`)
  const readable = typeof parsed === 'object' && parsed !== null && isId(parsed.id) ? parsed.id : undefined
  const [id] = given
  // -0 is echoed as 0, which is the same number.
  if (id !== undefined && id !== readable && !(id === 0 && Object.is(readable, -0))) {
    say(`the id ${JSON.stringify(id)} instead of ${JSON.stringify(readable)}`)
  }
  const isAnswer = readable !== undefined && parsed.method === undefined
  if (id === undefined && readable !== undefined && !isAnswer && !BEFORE_BODY.has(status)) {
    say('a readable id that is not echoed')
  }
}

const isId = (id) => typeof id === 'string' || Number.isSafeInteger(id)
const isRequest = (value) =>
  typeof value === 'object' && value !== null && value.method !== undefined && value.id !== undefined
