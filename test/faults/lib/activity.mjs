// What the clients are doing right now, so that a kill can be aimed at a phase and be counted for those it met.

export class Activity {
  #now = new Map()
  #waiting = new Set()

  /** Says what `operation` (any object) does now; without a phase it is over. */
  set(operation, phase) {
    if (phase === undefined) return this.#now.delete(operation)
    this.#now.set(operation, phase)
    for (const wake of this.#waiting) wake()
  }

  /** The phases something is in. */
  phases() {
    return new Set(this.#now.values())
  }

  /** Resolves as soon as something is in `phase`, or with false after `ms`. */
  async until(phase, ms) {
    for (const end = Date.now() + ms; !this.phases().has(phase);) {
      const left = end - Date.now()
      if (left <= 0) return false
      await this.#change(left)
    }
    return true
  }

  #change(ms) {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#waiting.add(wake)
    })
  }
}
