// Records what a client really sends and gets: a pass-through proxy in front of a server, one for each client.
// It changes nothing: headers and bytes go through as they come, and what one side drops is dropped on the other.
// Only `cut()` breaks a connection, on both sides.
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { brotliDecompressSync, unzipSync, zstdDecompressSync } from 'node:zlib'

const decoders = { br: brotliDecompressSync, gzip: unzipSync, deflate: unzipSync, zstd: zstdDecompressSync }

/** A proxy to `origin`. `exchanges` holds one entry per HTTP request, oldest first; they fill up as bytes arrive. */
export async function recordWire(origin) {
  const exchanges = []
  const server = createServer((incoming, outgoing) => {
    const exchange = new Exchange(incoming)
    exchanges.push(exchange)
    pass(new URL(origin), incoming, outgoing, exchange)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://localhost:${server.address().port}/mcp`,
    /** Where the server is, for others than the client: what they do is not recorded. */
    direct: `${origin}/mcp`,
    exchanges,
    /** The exchanges that sent this JSON-RPC method. */
    calls: (method) => exchanges.filter(({ messages }) => messages.some((message) => message.method === method)),
    /** The GETs of the endpoint. */
    gets: () => exchanges.filter(({ method, path }) => method === 'GET' && path === '/mcp'),
    /** The session of the last handshake; some clients shake hands first on their own account. */
    sessionId() {
      return this.calls('initialize').at(-1)?.answerHeaders['mcp-session-id']
    },
    stop() {
      server.closeAllConnections()
      return new Promise((closed) => server.close(closed))
    },
  }
}

/** The exchanges of a wire that called this tool. */
export function callsOf(wire, tool) {
  return wire.calls('tools/call').filter(({ messages }) => messages.some(({ params }) => params.name === tool))
}

class Exchange {
  status = 0
  answerHeaders = {}
  /** The client left before the answer was complete. */
  isDropped = false
  sent = []
  received = []
  encoding
  startedAt = Date.now()
  endedAt
  /** Breaks the connection, as a network does. */
  cut = () => {}

  constructor({ method, url, headers }) {
    this.method = method
    this.path = url
    this.headers = headers
  }

  /** The revision named in the header. */
  get revision() {
    return this.headers['mcp-protocol-version']
  }

  get ms() {
    return this.endedAt - this.startedAt
  }

  /** The JSON-RPC messages that were sent. */
  get messages() {
    const text = Buffer.concat(this.sent).toString()
    return text === '' ? [] : [JSON.parse(text)].flat()
  }

  /** The answer as text. */
  get answer() {
    const bytes = Buffer.concat(this.received)
    const decode = decoders[this.encoding]
    return (decode ? decode(bytes) : bytes).toString()
  }

  /** The cursor the client came back with. */
  get lastEventId() {
    return this.headers['last-event-id']
  }

  get sessionId() {
    return this.headers['mcp-session-id']
  }

  /** True while the answer is a stream that goes on. */
  get isOpen() {
    return this.status === 200 && this.endedAt === undefined
  }

  /** The JSON-RPC messages of an answer that is a stream, as far as they have come. */
  get streamed() {
    return [...this.answer.matchAll(/^data: (.+)$/gm)].map(([, json]) => JSON.parse(json))
  }
}

function pass({ port }, incoming, outgoing, exchange) {
  const { method, url: path, headers } = incoming
  const onward = request({ host: '127.0.0.1', port, method, path, headers })
  onward.on('response', (answer) => {
    exchange.status = answer.statusCode
    exchange.answerHeaders = answer.headers
    exchange.encoding = answer.headers['content-encoding']
    outgoing.writeHead(answer.statusCode, answer.headers)
    // Or a stream on which nothing happens would not begin.
    outgoing.flushHeaders()
    answer.on('data', (chunk) => exchange.received.push(chunk))
    answer.on('error', () => outgoing.destroy())
    answer.pipe(outgoing)
  })
  onward.on('error', () => outgoing.destroy())
  exchange.cut = () => outgoing.destroy()
  outgoing.on('close', () => {
    exchange.endedAt = Date.now()
    exchange.isDropped = !outgoing.writableFinished
    onward.destroy()
  })
  incoming.on('data', (chunk) => exchange.sent.push(chunk))
  incoming.pipe(onward)
}
