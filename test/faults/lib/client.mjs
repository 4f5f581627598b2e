// A client of one session that speaks bare HTTP: a fresh connection for each request, and what is broken is asked for
// again only where the specification allows it.

import { setTimeout as sleep } from 'node:timers/promises'
import { Call } from './call.mjs'
import { bodyOf, exchange, isCut } from './http.mjs'
import { Listener } from './listener.mjs'

export const LATEST = '2025-11-25'

export class Client {
  #ids = 0
  sessionId
  /** What marks this session's event ids, once one was seen. */
  tag
  /** Every call, for the audit. */
  calls = []

  constructor(world, { version = LATEST, port } = {}) {
    this.world = world
    this.version = version
    this.port = port ?? world.server.port
  }

  /** Begins the session. */
  async open() {
    const clientInfo = { name: 'faults', version: '1' }
    const params = { protocolVersion: this.version, capabilities: { elicitation: {} }, clientInfo }
    const { headers } = await this.repeat('initialize', params)
    this.sessionId = headers['mcp-session-id']
    await this.repeat('logging/setLevel', { level: 'info' })
    return this
  }

  /** What may be repeated, repeated until it is answered. */
  async repeat(method, params) {
    for (;;) {
      const response = await this.post({ method, params })
      const text = response && (await bodyOf(response))
      if (text === undefined) {
        await this.backOff()
        continue
      }
      const message = JSON.parse(text)
      const isFine = response.statusCode === 200 && message.result !== undefined
      this.world.ledger.check('requests that may be repeated succeed', isFine, () => `${method}: ${text}`)
      return { headers: response.headers, result: message.result }
    }
  }

  /** Sends one message. Undefined when the connection broke or the server says it is busy. */
  post({ method, params, id = ++this.#ids, ...answer }, { signal, headers } = {}) {
    const message = method === undefined ? { id, ...answer } : { id, method, ...(params && { params }) }
    const accept = 'application/json, text/event-stream'
    const more = { accept, 'content-type': 'application/json', ...headers }
    return this.send('POST', more, JSON.stringify({ jsonrpc: '2.0', ...message }), signal)
  }

  /** A stream: the standalone one, or what came after an event. */
  get(lastEventId, { signal, headers } = {}) {
    const cursor = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    return this.send('GET', { accept: 'text/event-stream', ...cursor, ...headers }, undefined, signal)
  }

  async send(method, headers, body, signal) {
    const session = this.sessionId === undefined ? {} : { 'mcp-session-id': this.sessionId }
    const all = { ...session, 'mcp-protocol-version': this.version, ...headers }
    try {
      const response = await exchange({ port: this.port, method, headers: all, body, signal })
      const { statusCode } = response
      const isKnown = statusCode < 500 || statusCode === 503
      this.world.ledger.check('no 5xx but 503', isKnown, () => `${method}: ${statusCode}`)
      if (statusCode !== 503) return response
      this.world.ledger.count('503')
      response.resume()
    } catch (error) {
      if (!isCut(error)) throw error
    }
    return undefined
  }

  /** Calls a tool and follows it to its end. */
  call(name, args, options) {
    const call = new Call(this, name, args, options)
    this.calls.push(call)
    return call.run()
  }

  /** Opens the standalone stream and keeps it until `stop`. */
  listen() {
    this.listener = new Listener(this)
    return this.listener
  }

  /** Ends the session. */
  async end() {
    for (;;) {
      const response = await this.send('DELETE', {})
      response?.resume()
      if (response) return response.statusCode
      await this.backOff()
    }
  }

  /** Mostly short, sometimes so long that the server is back before the client is. */
  backOff() {
    const { random } = this.world
    return sleep(random.chance(0.25) ? random.between(200, 500) : random.between(10, 60))
  }
}
