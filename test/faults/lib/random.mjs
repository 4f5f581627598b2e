// Numbers that look random and are the same for the same seed, so that a failure can be looked for again.

/** A source of numbers (mulberry32). */
export function createRandom(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low, high) => low + Math.floor(next() * (high - low + 1))
  return { next, between, chance: (share) => next() < share, pick: (list) => list[between(0, list.length - 1)] }
}
