// The rows of one client: what it did, and whether what came back was right.
import { setTimeout as sleep } from 'node:timers/promises'

const rowTimeoutMs = 20_000

/** Collects rows. A row must end within `rowTimeoutMs`, or its own limit; none of the methods throws. */
export function createRows() {
  const rows = []
  const table = {
    /**
     * Adds a row. `work` returns what to print; what it throws makes the row fail. `limitMs` is for what takes as long as
     * it takes.
     */
    async add(name, work, limitMs = rowTimeoutMs) {
      rows.push({ name, ...(await outcomeOf(work, limitMs)) })
    },
    /**
     * Adds a row, unless `client.cannot` has an entry for it: then the row neither passes nor fails. An entry is the
     * reason, or a function that checks what happens instead, on this wire, and returns the reason.
     */
    async play(client, name, work, wire) {
      const reason = client.cannot?.[name]
      if (reason === undefined) return table.add(name, work)
      const { outcome, detail } = await outcomeOf(async () => (typeof reason === 'string' ? reason : reason(wire)))
      rows.push({ name, outcome: outcome === 'passed' ? 'cannot' : outcome, detail })
    },
  }
  return { rows, table }
}

async function outcomeOf(work, limitMs = rowTimeoutMs) {
  const limit = new AbortController()
  const late = sleep(limitMs, undefined, { signal: limit.signal }).then(() => {
    throw new Error(`no answer within ${limitMs / 1000} s`)
  })
  late.catch(() => {})
  try {
    return { outcome: 'passed', detail: await Promise.race([work(), late]) }
  } catch (error) {
    return { outcome: 'failed', detail: messageOf(error) }
  } finally {
    limit.abort()
  }
}

export function messageOf(error) {
  return error instanceof Error ? error.message : JSON.stringify(error)
}
