// HTTP/1.1 over bare sockets: sends any bytes and reads one answer. No client library would send what is sent here.
import { connect } from 'node:net'

/** The longest an answer may take. */
export const answerMs = 5_000

/**
 * Sends bytes, reads one answer and resolves to `{ status, headers, body, ms }`, or to `{ closed }` or `{ timeout }`
 * when there was none. `idle` holds connections to use again; without it, a new one is made and half-closed after
 * sending, so that a server that waits for more learns that there is none.
 */
export async function exchange(port, bytes, { method, idle }) {
  const startedAt = performance.now()
  const used = idle?.pop()
  const first = await attempt(used ?? connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }), bytes, {
    method,
    idle,
  })
  // The server may close an idle connection while the request is on its way.
  if (first.closed && first.received === 0 && used) return exchange(port, bytes, { method, idle: [] })
  return { ...first, ms: performance.now() - startedAt }
}

function attempt(socket, bytes, { method, idle }) {
  return new Promise((resolve) => {
    let buffer = Buffer.alloc(0)
    const chunks = []
    const done = (answer, keep) => {
      clearTimeout(timer)
      socket.removeAllListeners()
      socket.on('error', () => socket.destroy())
      if (keep && idle) idle.push(socket)
      else socket.destroy()
      resolve(answer)
    }
    const read = (isEnd) => {
      buffer = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      const answer = parseAnswer(buffer, method, isEnd)
      if (answer) done(answer, !isEnd && answer.rest === 0 && !answer.isLast)
      else if (isEnd) done({ closed: true, received: buffer.length })
    }
    const timer = setTimeout(() => done({ timeout: true, received: buffer.length }), answerMs)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      read(false)
    })
    socket.on('end', () => read(true))
    socket.on('error', () => read(true))
    socket.on('close', () => read(true))
    if (idle) socket.write(bytes)
    else socket.end(bytes)
  })
}

/** The first final answer in the buffer, or undefined while it is incomplete. */
function parseAnswer(buffer, method, isEnd) {
  const headEnd = buffer.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine, ...lines] = buffer.latin1Slice(0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1])
  const start = headEnd + 4
  if (status >= 100 && status < 200) return parseAnswer(buffer.subarray(start), method, isEnd)
  const headers = new Map()
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), line.slice(name.length + 1).trim()])
  }
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

function readChunks(buffer, start) {
  const parts = []
  for (let at = start; ;) {
    const lineEnd = buffer.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(buffer.latin1Slice(at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (buffer.length < next) return undefined
    if (size === 0) return { body: Buffer.concat(parts), end: next }
    parts.push(buffer.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = next
  }
}
