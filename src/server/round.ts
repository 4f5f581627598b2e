// The journal of a modern call: what earlier rounds learnt comes sealed with the client and goes back with it.
// A round ends when an ask is open, every started step has settled, and one macrotask brought no new ask.
// @see basic/patterns/mrtr

import { limits } from '../limits.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { answerFrom, CallJournal } from './journal.ts'
import type { InputRequest, Suspension } from './ports.ts'

/** One round of a call. */
export class Round {
  readonly journal: CallJournal
  /** Called when the round ended with open asks. */
  suspended: (suspension: Suspension) => void = () => {}
  readonly #open: { [key: string]: InputRequest } = Object.create(null)
  readonly #rounds: number
  #isOver = false

  /** @param memory as a former round's suspension gave it; @param responses what the client answered, unchecked */
  constructor(memory: JsonObject | undefined, responses: JsonObject) {
    this.#rounds = typeof memory?.['r'] === 'number' ? memory['r'] : 0
    this.journal = new CallJournal(memory, {
      early: (key) => (Object.hasOwn(responses, key) ? answerFrom(responses[key]) : undefined),
      mintId: () => crypto.randomUUID(),
      open: (key, { method, params }) => {
        this.#open[key] = { method, ...(params && { params }) }
        this.#settle()
        return new Promise(() => {})
      },
      idle: () => this.#settle(),
    })
  }

  /** True when this call has gone through more rounds than any honest handler needs. */
  get isExhausted(): boolean {
    return this.#rounds + 1 >= limits.askRounds
  }

  /** Ends the round: whatever an abandoned handler still does is dropped. */
  close(): void {
    this.#isOver = true
    this.journal.close()
  }

  #settle(): void {
    if (this.#isOver || this.journal.isBusy || Object.keys(this.#open).length === 0) return
    const seen = this.journal.activity
    setTimeout(() => {
      if (this.#isOver || this.journal.isBusy) return
      if (this.journal.activity !== seen) return this.#settle()
      this.close()
      this.suspended({ inputRequests: { ...this.#open }, memory: { ...this.journal.memory(), r: this.#rounds + 1 } })
    }, 0)
  }
}
