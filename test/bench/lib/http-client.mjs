// A keep-alive HTTP/1.1 client on raw sockets. It costs the machine little, so that two processes fit on two cores,
// and sends exactly the bytes it is given: every worker under test receives the same request.
import { once } from 'node:events'
import { connect } from 'node:net'

const headEnd = Buffer.from('\r\n\r\n')
const responseTimeoutMs = 10_000

/** The bytes of one POST. */
export function encodePost(path, headers, body) {
  const payload = Buffer.from(body)
  return Buffer.concat([encodeHead('POST', path, { ...headers, 'content-length': payload.length }), payload])
}

export function encodeGet(path, headers) {
  return encodeHead('GET', path, headers)
}

/** `host` is the same for every worker, whatever port it listens on. */
function encodeHead(method, path, headers) {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
}

/**
 * One keep-alive connection; `exchange` resolves with the next complete response. One exchange at a time.
 * workerd closes a connection that was idle for five seconds: the next exchange opens another.
 */
export async function openConnection(port) {
  let channel = await openChannel(port)
  return {
    async exchange(bytes) {
      if (channel.isClosed()) channel = await openChannel(port)
      return channel.exchange(bytes)
    },
    close: () => channel.close(),
  }
}

async function openChannel(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let pending
  let received = Buffer.alloc(0)

  const settle = (error, response) => {
    const waiting = pending
    pending = undefined
    clearTimeout(waiting?.timer)
    if (error) waiting?.reject(error)
    else waiting?.resolve(response)
  }
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const parsed = parseResponse(received)
    if (!parsed) return
    received = received.subarray(parsed.end)
    settle(undefined, parsed)
  })
  socket.on('error', settle)
  socket.on('close', () => settle(new Error(`connection to port ${port} closed`)))
  await once(socket, 'connect')

  const giveUp = () => {
    settle(new Error(`no response from port ${port} within ${responseTimeoutMs} ms`))
    socket.destroy()
  }
  return {
    exchange: (bytes) =>
      new Promise((resolve, reject) => {
        pending = { resolve, reject, timer: setTimeout(giveUp, responseTimeoutMs) }
        socket.write(bytes)
      }),
    isClosed: () => socket.destroyed || socket.readableEnded,
    close: () => socket.destroy(),
  }
}

/** Sends `count` requests over the given connections, to each its own bytes, and hands every response to `check`. */
export async function drive(connections, bytes, count, check) {
  let left = count
  await Promise.all(
    connections.map(async (connection, i) => {
      while (left-- > 0) check(await connection.exchange(bytes[i]))
    }),
  )
}

function parseResponse(buffer) {
  const headLength = buffer.indexOf(headEnd)
  if (headLength < 0) return undefined
  const head = buffer.latin1Slice(0, headLength)
  const start = headLength + headEnd.length
  const status = Number(head.slice(9, 12))
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length) {
    const end = start + Number(length[1])
    return buffer.length < end ? undefined : { status, head, body: buffer.subarray(start, end), end }
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return parseChunked(buffer, start, status, head)
  return { status, head, body: buffer.subarray(start, start), end: start }
}

function parseChunked(buffer, start, status, head) {
  const parts = []
  for (let at = start; ;) {
    const lineEnd = buffer.indexOf('\r\n', at, 'latin1')
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(buffer.latin1Slice(at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (buffer.length < next) return undefined
    if (size === 0) return { status, head, body: Buffer.concat(parts), end: next }
    parts.push(buffer.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = next
  }
}
