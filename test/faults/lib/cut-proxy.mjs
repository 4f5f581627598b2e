// A TCP proxy that cuts connections inside an event. It understands just enough HTTP to know where an event is, and
// remembers what the server sent on each connection, also what it swallowed.
//
// A request says where with `x-cut: <from>:<offset>:<side>`: at that offset of the first event, counted from `from` on
// this connection, that is long enough. `both` ends both sides; `client` lets the server believe that all is well.

import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { parseEvent } from './sse.mjs'

/** @returns the port, every connection there was, and how to end it */
export async function startCutProxy(target) {
  const connections = []
  const sockets = new Set()
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      // What breaks on one side is shown to the other by `close`.
      socket.on('error', () => {})
    }
    connections.push(new Connection(client, upstream))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port: server.address().port, connections, stop }
}

class Connection {
  /** What the request said of itself: `x-run`, and the cursor it came with. */
  run
  lastEventId
  /** Events the server sent, in order: `{ id, raw, at, isDelivered }`. */
  sent = []
  /** Where it was cut: `{ index, offset, at }`, and whether that was right after an event. */
  cut
  /** How often it was told where it is. */
  echoes = 0
  /** When the first byte of the answer came. */
  answeredAt
  #client
  #upstream
  #request = ''
  #plan

  constructor(client, upstream) {
    this.#client = client
    this.#upstream = upstream
    const answer = new AnswerReader({
      mayCutAt: (index, offset, isWhole) => this.#mayCutAt(index, offset, isWhole),
      event: (raw) => this.#note(raw),
    })
    client.on('data', (bytes) => this.#ask(bytes))
    upstream.on('data', (bytes) => this.#answer(answer, bytes))
    upstream.on('end', () => client.end())
    upstream.on('close', () => client.destroy())
    client.on('close', () => this.cut || upstream.destroy())
  }

  #ask(bytes) {
    this.#upstream.write(bytes)
    if (this.#request.includes('\r\n\r\n')) return
    this.#request += bytes.toString('latin1')
    const header = (name) => new RegExp(`^${name}: (.*)$`, 'im').exec(this.#request)?.[1].trim()
    this.run = header('x-run')
    this.lastEventId = header('last-event-id')
    const [from, offset, side] = header('x-cut')?.split(':') ?? []
    if (from !== undefined) this.#plan = { from: Number(from), offset: Number(offset), side }
  }

  #answer(answer, bytes) {
    this.answeredAt ??= performance.now()
    const isOpen = this.cut === undefined
    const passed = answer.read(bytes)
    if (isOpen) this.#client.write(bytes.subarray(0, passed))
    if (!isOpen || this.cut === undefined) return
    // After what was let through, so that the client gets those bytes and nothing else.
    this.#client.end()
    this.#client.destroySoon()
    if (this.#plan.side === 'both') this.#upstream.destroy()
  }

  #mayCutAt(index, offset, isWhole) {
    const plan = this.#plan
    if (!plan || this.cut || index < plan.from || offset !== plan.offset) return false
    this.cut = { index, offset, isWhole, at: performance.now() }
    return true
  }

  #note(raw) {
    const { id, isEvent } = parseEvent(raw)
    if (!isEvent) return
    if (id === undefined || id !== this.lastEventId) {
      this.sent.push({ id, raw, at: performance.now(), isDelivered: this.cut === undefined })
      return
    }
    // A resumed stream may begin by repeating where it is: that is not an event of its own.
    this.echoes++
    if (this.#plan) this.#plan.from++
  }
}

const [LF, COLON] = [10, 58]

/** Follows one chunked answer byte by byte. */
class AnswerReader {
  #on
  #state = 'head'
  #line = ''
  #left = 0
  #block = []
  #index = 0

  constructor(on) {
    this.#on = on
  }

  /** @returns how many of these bytes come before the cut, if it is made among them */
  read(bytes) {
    let passed = bytes.length
    for (let i = 0; i < bytes.length; i++) {
      const isCut = this.#state === 'data' && this.#left > 0 && this.#isCutBefore(bytes[i])
      if (isCut) passed = i
      if (this.#take(bytes[i])) passed = i + 1
    }
    return passed
  }

  #isCutBefore(byte) {
    const isComment = (this.#block[0] ?? byte) === COLON
    return !isComment && this.#on.mayCutAt(this.#index, this.#block.length, false)
  }

  /** @returns true if the cut is right after this byte, the last one of an event */
  #take(byte) {
    if (this.#state === 'data' && this.#left > 0) return this.#body(byte)
    this.#line += String.fromCharCode(byte)
    if (byte !== LF) return false
    if (this.#state === 'head') this.#state = this.#line === '\r\n' ? 'size' : 'head'
    else if (this.#state === 'size') [this.#state, this.#left] = ['data', Number.parseInt(this.#line, 16)]
    else this.#state = 'size'
    this.#line = ''
    return false
  }

  #body(byte) {
    this.#left--
    this.#block.push(byte)
    const { length } = this.#block
    if (byte !== LF || this.#block[length - 2] !== LF) return false
    const raw = Buffer.from(this.#block).toString()
    this.#block = []
    if (raw[0] === ':') return false
    this.#on.event(raw)
    return this.#on.mayCutAt(this.#index++, length, true)
  }
}
