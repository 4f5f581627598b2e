// Something of an issuer that is fetched now and then and kept in this isolate: its keys, its metadata.
// A promise of one request may not be awaited in another, so who finds a fetch under way looks until it is over.

import { limits } from '../limits.ts'

export class Refreshing<T> {
  readonly #load: (signal: AbortSignal) => Promise<T>
  #value: { value: T; at: number } | undefined
  #loadingSince = Number.NEGATIVE_INFINITY
  #failedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  /** How many refreshes may be asked for now, as of a time. */
  #budget = { left: limits.issuerRefreshes, at: Number.NEGATIVE_INFINITY }

  /** @param load fetches it. Its signal aborts after `limits.issuerFetchMs` */
  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load
  }

  /**
   * The value, fetched again when it is older than `limits.issuerFreshMs`. Where that fails the one there is lasts until
   * it is `limits.issuerStaleMs` old. @throws what the fetch threw
   */
  async get(): Promise<T> {
    const known = this.#value
    const age = known ? Date.now() - known.at : Number.POSITIVE_INFINITY
    if (known && age >= 0 && age < limits.issuerFreshMs) return known.value
    const isUsable = known && age >= 0 && age < limits.issuerStaleMs
    if (isUsable && (this.#isLoading || this.#hasJustFailed)) return known.value
    try {
      return await this.#loaded()
    } catch (error) {
      if (isUsable) return known.value
      throw error
    }
  }

  /**
   * Fetches the value again because it lacks something. Some times in a row, then once in `limits.issuerRefreshMs`: anybody
   * can make that necessary.
   * @returns the new value, or undefined when it was refreshed too often @throws what the fetch threw
   */
  async refresh(): Promise<T | undefined> {
    if (this.#isLoading) return this.#loaded()
    return this.#take() ? this.#loaded() : undefined
  }

  #take(): boolean {
    const now = Date.now()
    const earned = Math.floor(Math.max(0, now - this.#budget.at) / limits.issuerRefreshMs)
    if (earned > 0) this.#budget = { left: Math.min(limits.issuerRefreshes, this.#budget.left + earned), at: now }
    if (this.#budget.left === 0) return false
    this.#budget.left--
    return true
  }

  async #loaded(): Promise<T> {
    if (this.#isLoading) return this.#awaitOther()
    if (this.#hasJustFailed) throw this.#failure
    const startedAt = Date.now()
    this.#loadingSince = startedAt
    try {
      const value = await this.#load(AbortSignal.timeout(limits.issuerFetchMs))
      this.#value = { value, at: startedAt }
      return value
    } catch (error) {
      this.#failedAt = Date.now()
      this.#failure = error
      throw error
    } finally {
      // Another request may have taken over meanwhile.
      if (this.#loadingSince === startedAt) this.#loadingSince = Number.NEGATIVE_INFINITY
    }
  }

  /** Another request fetches it. That one may be cancelled, with no end to its fetch: then this one takes over. */
  async #awaitOther(): Promise<T> {
    const before = this.#value
    const since = this.#loadingSince
    for (let waited = 0; this.#isLoading && waited < limits.issuerFetchMs + GRACE_MS; waited += LOOK_MS)
      await scheduler.wait(LOOK_MS)
    if (this.#value && this.#value !== before) return this.#value.value
    if (this.#loadingSince === since) this.#loadingSince = Number.NEGATIVE_INFINITY
    return this.#loaded()
  }

  /** A moment longer than a fetch can take, so that who waits sees how it ended. */
  get #isLoading(): boolean {
    return this.#isWithin(this.#loadingSince, limits.issuerFetchMs + GRACE_MS)
  }

  /** So that an issuer that is down is not asked by every request. */
  get #hasJustFailed(): boolean {
    return this.#isWithin(this.#failedAt, limits.issuerBackoffMs)
  }

  #isWithin(since: number, ms: number): boolean {
    const passed = Date.now() - since
    return passed >= 0 && passed < ms
  }
}

const LOOK_MS = 20
const GRACE_MS = 1_000
