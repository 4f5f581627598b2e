// Choices that look random and are the same for the same seed, so that a failure can be looked for again.

/** A source of choices (mulberry32). */
export function createRandom(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (below) => Math.floor(next() * below)
  const between = (low, high) => low + int(high - low + 1)
  const chance = (share) => next() < share
  const pick = (list) => list[int(list.length)]
  /** `[[weight, value], …]` */
  const weighted = (entries) => {
    let at = next() * entries.reduce((sum, [weight]) => sum + weight, 0)
    return (entries.find(([weight]) => (at -= weight) < 0) ?? entries.at(-1))[1]
  }
  const bytes = (length) => Buffer.from(Array.from({ length }, () => int(256)))
  return { int, between, chance, pick, weighted, bytes }
}
