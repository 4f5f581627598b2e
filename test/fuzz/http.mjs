// HTTP/1.1 over bare sockets: sends any bytes and reads one answer. No client library would send what is sent here.
import { connect } from 'node:net'

/** The longest an answer may take. */
export const answerMs = 5_000
/** How long a stream of changes is listened to. It would go on for half an hour. */
const listenMs = 60
const ACKNOWLEDGED = '"method":"notifications/subscriptions/acknowledged"'

/**
 * Sends bytes, reads one answer and resolves to `{ status, headers, body, ms }`, or to `{ closed }` or `{ timeout }`
 * when there was none. `idle` holds connections to use again; without it, a new one is made and half-closed after
 * sending, so that a server that waits for more learns that there is none. After `patienceMs` the client leaves, with what
 * it has got by then: `isCut`. So it does soon after a stream of changes has begun.
 */
export async function exchange(port, bytes, { method, idle, patienceMs }) {
  const startedAt = performance.now()
  const used = idle?.pop()
  const first = await attempt(used ?? connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }), bytes, {
    method,
    idle,
    patienceMs,
  })
  // The server may close an idle connection while the request is on its way.
  if (first.closed && first.received === 0 && used) return exchange(port, bytes, { method, idle: [], patienceMs })
  return { ...first, ms: performance.now() - startedAt }
}

function attempt(socket, bytes, { method, idle, patienceMs }) {
  return new Promise((resolve) => {
    let buffer = Buffer.alloc(0)
    const chunks = []
    const done = (answer, keep) => {
      clearTimeout(timer)
      socket.removeAllListeners()
      socket.on('error', () => socket.destroy())
      if (keep && idle) idle.push(socket)
      // Nothing else shows a server at once that its client has left.
      else if (answer.isCut) socket.resetAndDestroy()
      else socket.destroy()
      resolve(answer)
    }
    const read = (isEnd) => {
      buffer = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      const answer = parseAnswer(buffer, method, isEnd)
      if (answer) done(answer, !isEnd && answer.rest === 0 && !answer.isLast)
      else if (isEnd) done({ closed: true, received: buffer.length })
    }
    let isListening = false
    const giveUp = () => {
      done(patienceMs || isListening ? { ...cut(buffer), isListening } : { timeout: true, received: buffer.length })
    }
    let timer = setTimeout(giveUp, patienceMs ?? answerMs)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      read(false)
      if (patienceMs || isListening || !buffer.includes(ACKNOWLEDGED)) return
      isListening = true
      clearTimeout(timer)
      timer = setTimeout(giveUp, listenMs)
    })
    socket.on('end', () => read(true))
    socket.on('error', () => read(true))
    socket.on('close', () => read(true))
    if (idle) socket.write(bytes)
    else socket.end(bytes)
  })
}

/** What there is of an answer that goes on: its head and the beginning of its body, or nothing. */
function cut(buffer) {
  const head = parseHead(buffer)
  if (!head) return { isCut: true }
  const { status, headers, start } = head
  return { status, headers, body: readChunks(buffer, start, true).body, rest: 0, isCut: true }
}

/** The first final answer in the buffer, or undefined while it is incomplete. */
function parseAnswer(buffer, method, isEnd) {
  const head = parseHead(buffer)
  if (!head) return undefined
  const { status, headers, start } = head
  if (status >= 100 && status < 200) return parseAnswer(buffer.subarray(start), method, isEnd)
  const answer = { status, headers, isLast: headers.get('connection')?.[0].toLowerCase() === 'close' }
  const complete = (body, end) => ({ ...answer, body, rest: buffer.length - end })
  if (method === 'HEAD' || status === 204 || status === 304) return complete(Buffer.alloc(0), start)
  // The stream of a GET goes on for ever: its head is the answer.
  if (method === 'GET' && headers.get('content-type')?.[0] === 'text/event-stream') {
    return { ...complete(Buffer.alloc(0), buffer.length), isLast: true, isLive: true }
  }
  const length = headers.get('content-length')?.[0]
  if (length !== undefined) {
    const end = start + Number(length)
    return buffer.length < end ? undefined : complete(buffer.subarray(start, end), end)
  }
  if (headers.get('transfer-encoding')?.[0] === 'chunked') {
    const chunked = readChunks(buffer, start)
    return chunked && complete(chunked.body, chunked.end)
  }
  return isEnd ? { ...complete(buffer.subarray(start), buffer.length), isLast: true } : undefined
}

function parseHead(buffer) {
  const headEnd = buffer.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine, ...lines] = buffer.latin1Slice(0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1])
  const headers = new Map()
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), line.slice(name.length + 1).trim()])
  }
  return { status, headers, start: headEnd + 4 }
}

/** The whole body, or with `isOpen` as much of it as is there. */
function readChunks(buffer, start, isOpen = false) {
  const parts = []
  const open = () => (isOpen ? { body: Buffer.concat(parts) } : undefined)
  for (let at = start; ;) {
    const lineEnd = buffer.indexOf('\r\n', at)
    if (lineEnd === -1) return open()
    const size = Number.parseInt(buffer.latin1Slice(at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (buffer.length < next) return open()
    if (size === 0) return { body: Buffer.concat(parts), end: next }
    parts.push(buffer.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = next
  }
}
