// How many tool calls one caller has made in the window that is open: one object a caller, asked before each call where
// `QUOTA` is set. It may be called in one way only, `TAKE`.

import { createDurable } from 'itty-durable/itty-durable.js'

/** What came of asking for calls. */
export interface Taken {
  /** True when the calls were refused: none of them counts. */
  isOver: boolean
  /** Calls left until then. */
  left: number
  /** When the window ends and everything is free again, ms since the epoch. */
  resetsAt: number
}

/** Where calls are taken. The arguments of `take` travel as JSON in a header, as itty-durable has it. */
export const TAKE = { url: 'https://quota/do/call/take', argumentsHeader: 'do-content' } as const

/**
 * itty-durable keeps the public fields of an object as one entry, `data`, and calls a method by its name in a path. It is
 * made for objects whose callers may do everything, so three things are closed here:
 *
 * - `fetch` knows one path. Else a path could call `destroy`, set any field, or read `state`, and with it every secret.
 * - It gets storage and the lock of the platform's state, and no environment: it would copy all bindings and secrets onto
 *   the state, over `storage` if one had that name.
 * - It neither loads before an alarm nor waits for its own `autoPersist`. So the entry is read before anything else happens,
 *   and `take` stores it itself and waits.
 */
export class QuotaObject extends createDurable() {
  // Its public fields are what is stored; the field initialisers run before the entry is read.
  beganAt = 0
  endsAt = 0
  taken = 0
  readonly #storage: DurableObjectStorage

  constructor(state: DurableObjectState) {
    const { storage } = state
    super({ storage, blockConcurrencyWhile: state.blockConcurrencyWhile.bind(state) })
    this.#storage = storage
    void state.blockConcurrencyWhile(() => this.loadFromStorage())
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.url !== TAKE.url) return new Response(null, { status: 404 })
    return super.fetch(request)
  }

  /**
   * Takes calls from what is left, all of them or none. The first ones begin a window.
   * @param count how many calls
   * @param calls how many a window has
   * @param windowMs its length
   */
  async take(count: number, calls: number, windowMs: number): Promise<Taken> {
    const now = Date.now()
    // A setting that became shorter counts at once, one that became longer from the next window.
    const endsAt = Math.min(this.endsAt, this.beganAt + windowMs)
    const isOpen = now < endsAt
    const before = isOpen ? this.taken : 0
    const resetsAt = isOpen ? endsAt : now + windowMs
    if (before + count > calls) return { isOver: true, left: Math.max(0, calls - before), resetsAt }
    // Everything is decided and noted before the first wait, so calls at the same time are counted one after the other.
    this.taken = before + count
    if (!isOpen) {
      this.beganAt = now
      this.endsAt = resetsAt
    }
    await Promise.all([isOpen || this.#storage.setAlarm(resetsAt), this.persist()])
    return { isOver: false, left: calls - before - count, resetsAt }
  }

  /** The window is over: nothing is kept. What is still in memory is of a window that has ended, so it counts no more. */
  async alarm(): Promise<void> {
    if (Date.now() < this.endsAt) await this.#storage.setAlarm(this.endsAt)
    else await this.#storage.deleteAll()
  }
}
