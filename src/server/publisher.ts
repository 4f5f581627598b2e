// What one call says has changed, on its way to the hubs: what is said in one turn travels together, each thing once.

import { limits } from '../limits.ts'
import type { Topic } from '../protocol/topic.ts'

/** Where changes go, and what keeps the isolate meanwhile. */
export interface PublisherHost {
  publish(topics: readonly Topic[]): Promise<void>
  waitUntil(work: Promise<unknown>): void
  report(error: unknown): void
}

export class Publisher {
  readonly #host: PublisherHost
  readonly #topics = new Set<Topic>()
  #publishing: Promise<void> | undefined

  constructor(host: PublisherHost) {
    this.#host = host
  }

  /** Something changed. */
  readonly notify = (topic: Topic): void => {
    this.#topics.add(topic)
    if (this.#publishing) return
    this.#publishing = this.#publish()
    this.#host.waitUntil(this.#publishing)
  }

  /**
   * Settles when everything said so far is stored, so that a call which was answered is one whose changes are told. It
   * waits for `limits.publishWaitMs` at most: publishing then goes on behind the answer.
   */
  async settled(): Promise<void> {
    if (!this.#publishing) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const enough = new Promise((resolve) => (timer = setTimeout(resolve, limits.publishWaitMs)))
    await Promise.race([this.#publishing, enough])
    clearTimeout(timer)
  }

  async #publish(): Promise<void> {
    await undefined
    while (this.#topics.size > 0) {
      const topics = [...this.#topics]
      this.#topics.clear()
      try {
        await this.#host.publish(topics)
      } catch (error) {
        this.#host.report(error)
      }
    }
    this.#publishing = undefined
  }
}
