// What must hold, how often it was looked at, and every time it did not.

const shown = 8

export class Ledger {
  #rules = new Map()
  /** Numbers for the table. */
  counts = {}

  /** Notes that `rule` was checked; `detail` says what was wrong, if it was. */
  check(rule, isKept, detail = () => '') {
    const known = this.#rules.get(rule) ?? { checks: 0, broken: [] }
    this.#rules.set(rule, known)
    known.checks++
    if (isKept) return
    known.broken.push(detail())
    if (known.broken.length <= shown) console.error(`  broken: ${rule}: ${known.broken.at(-1)}`)
  }

  count(name, by = 1) {
    this.counts[name] = (this.counts[name] ?? 0) + by
  }

  print() {
    for (const [rule, { checks, broken }] of this.#rules) {
      console.log(`  ${broken.length === 0 ? 'ok  ' : 'FAIL'} ${rule} (${checks})`)
      for (const detail of broken.slice(0, shown)) console.log(`       ${detail}`)
      if (broken.length > shown) console.log(`       and ${broken.length - shown} more`)
    }
  }

  /** One result per rule. A rule that was never looked at is not in the sum. */
  get sum() {
    const failed = [...this.#rules.values()].filter(({ broken }) => broken.length > 0).length
    return { passed: this.#rules.size - failed, failed }
  }
}
