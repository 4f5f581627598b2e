// What a client has seen of one stream over all its connections: every event once, in order, of this stream only.

import { isCut } from './http.mjs'
import { readEvents } from './sse.mjs'

export class Transcript {
  events = []
  /** The id to come back with. */
  cursor
  #client
  #last
  #place

  constructor(client) {
    this.#client = client
    /** Resolves once there is a cursor: from then on nothing may be missed. */
    this.placed = new Promise((resolve) => (this.#place = resolve))
  }

  /** Reads a body to its end or until it breaks. @returns the `retry:` it ended with */
  async read(response, onMessage) {
    let retryMs
    try {
      for await (const event of readEvents(response)) {
        retryMs = event.retryMs
        if (event.isEvent) this.#take(event, onMessage)
      }
    } catch (error) {
      if (!isCut(error)) throw error
    }
    return retryMs
  }

  #take(event, onMessage) {
    const { ledger } = this.#client.world
    this.#client.tag ??= event.tag
    const isOurs = event.tag === this.#client.tag && (this.#last === undefined || event.stream === this.#last.stream)
    ledger.check('no event is from another stream or session', isOurs, () => event.raw)
    // An empty event that says where the client is is not stored; the one that begins a call is.
    const isPlace =
      event.message === undefined && (event.stream === 0 || event.sequence === 0 || event.id === this.cursor)
    const due = this.#last === undefined ? event.sequence : this.#last.sequence + 1
    if (!isPlace)
      ledger.check('no event is lost, twice or out of order', event.sequence === due, () => `${event.id}, not ${due}`)
    this.#last = event
    this.cursor = event.id
    this.#place()
    if (isPlace) return
    this.events.push(event)
    ledger.count('events')
    if (event.message) onMessage(event.message)
  }

  get stream() {
    return this.#last?.stream
  }
}
