// The streams of one session: what is stored of them, who is connected, and where a client that comes back goes on.
// @see 2025-11-25 basic/transports, Resumability and Redelivery; Multiple Connections

import { CLOSE, STANDALONE } from '../src/http/session-call.ts'
import { send, type Connections } from './connections.ts'
import { fits, type EventLog } from './event-log.ts'

interface Place {
  stream: number
  sequence: number
}

interface Refused {
  status: 400 | 405
}

/** What streams need of their session. */
export interface StreamsHost {
  /** Sees to calls that lost their handler, before one of them is looked at. */
  recover(): void
  /** Tells the operator. */
  warn(message: string): void
}

export class Streams {
  readonly #log: EventLog
  readonly #connections: Connections
  readonly #host: StreamsHost
  /** Streams whose first connection, still to come, is told to come back later. */
  readonly #sendAway = new Set<number>()
  /** Streams whose first connection is still to come, and what was too large to be stored for it, by sequence. */
  readonly #awaited = new Map<number, Map<number, string>>()

  /** The newest event of the standalone stream that a connection took in this instance. */
  #taken = 0

  constructor(log: EventLog, connections: Connections, host: StreamsHost) {
    this.#log = log
    this.#connections = connections
    this.#host = host
  }

  /** Begins the stream of a call. @param primes true if it begins with an id */
  begin(stream: number, primes: boolean): void {
    this.#awaited.set(stream, new Map())
    if (primes) this.#log.append(stream, '')
  }

  /** Stores a message and sends it. @param instead what is stored if it is too large */
  publish(stream: number, message: string, instead?: string): void {
    const sequence = this.#log.append(stream, message, instead)
    const isKept = sequence !== undefined && fits(message)
    if (!isKept) this.#host.warn(`an event of ${message.length} characters was too large to keep`)
    if (!isKept && sequence !== undefined) this.#awaited.get(stream)?.set(sequence, message)
    const cursor = sequence === undefined ? {} : { cursor: this.#cursor({ stream, sequence }) }
    const isTaken = this.#connections.deliver(stream, { ...cursor, text: message })
    if (isTaken && stream === STANDALONE && sequence !== undefined) this.#taken = sequence
  }

  /** Sends the client of a stream away, to come back for the rest. */
  poll(stream: number): void {
    if (this.#connections.isOpen(stream)) this.#connections.close(stream, CLOSE.poll, 'come back later')
    else this.#sendAway.add(stream)
  }

  /** True for a stream whose first connection is still to come. */
  isAwaited(stream: number): boolean {
    return this.#awaited.has(stream)
  }

  /** Forgets streams that are not kept any more and were never connected to. */
  prune(): void {
    for (const stream of [...this.#awaited.keys(), ...this.#sendAway]) {
      if (this.#log.call(stream)) continue
      this.#awaited.delete(stream)
      this.#sendAway.delete(stream)
    }
  }

  /**
   * Connects a socket to a stream and sends what came after a cursor.
   * @param stream where to begin without a cursor: at the beginning of a call, or on the standalone stream from now on
   * @param from or there from this sequence on
   * @returns the status that says why not: 405 nothing will come any more, 400 no such place
   */
  connect(socket: WebSocket, stream: number, after: string | undefined, from?: number): 400 | 405 | undefined {
    const place = after === undefined ? this.#beginning(stream, from) : this.#placeAfter(after)
    if ('status' in place) return place.status
    this.#connections.accept(socket, place.stream)
    // Without a cursor a connection that drops before the first event could not be made again from this place.
    if (after === undefined && stream === STANDALONE) send(socket, { cursor: this.#cursor(place), text: '' })
    this.#replay(socket, place)
    if (place.stream !== STANDALONE && this.#log.call(place.stream)?.state !== 'running')
      socket.close(CLOSE.finished, 'complete')
    else if (this.#sendAway.delete(place.stream)) socket.close(CLOSE.poll, 'come back later')
    return undefined
  }

  /** Sends what came after a place. */
  #replay(socket: WebSocket, { stream, sequence: from }: Place): void {
    const large = this.#awaited.get(stream)
    this.#awaited.delete(stream)
    for (const { sequence, text } of this.#log.after(stream, from)) {
      send(socket, { cursor: this.#cursor({ stream, sequence }), text: large?.get(sequence) ?? text })
    }
  }

  #beginning(stream: number, from?: number): Place | Refused {
    // What an older connection took meanwhile is not sent twice.
    if (stream === STANDALONE)
      return { stream, sequence: Math.max(from ?? this.#log.lastSequence(stream), this.#taken) }
    this.#host.recover()
    return this.#log.call(stream) ? { stream, sequence: 0 } : { status: 405 }
  }

  #placeAfter(cursor: string): Place | Refused {
    const [epoch, ...numbers] = cursor.split('.')
    const [stream, sequence] = numbers.map(Number) as [number, number]
    const isCurrent = epoch === this.#log.epoch
    if (stream !== STANDALONE) return isCurrent ? this.#callAfter(stream, sequence) : { status: 405 }
    // All that is kept came after what an earlier log had. After a place that never was there is nothing yet.
    return { stream, sequence: isCurrent ? sequence : 0 }
  }

  #callAfter(stream: number, sequence: number): Place | Refused {
    if (stream > this.#log.newestStream()) return { status: 400 }
    this.#host.recover()
    const call = this.#log.call(stream)
    if (!call) return { status: 405 }
    const last = this.#log.lastSequence(stream)
    if (sequence > last) return { status: 400 }
    // A 200 that ends at once would make clients ask again for ever.
    return call.state !== 'running' && sequence === last ? { status: 405 } : { stream, sequence }
  }

  #cursor({ stream, sequence }: Place): string {
    return `${this.#log.epoch}.${stream}.${sequence}`
  }
}
