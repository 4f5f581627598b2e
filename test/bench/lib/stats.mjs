// Small statistics for small samples: medians and quartiles, so that one disturbed round does not move a figure.
export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const low = Math.floor(at)
  const high = Math.ceil(at)
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low)
}

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

export const median = (values) => quantile(values, 0.5)

/** Half the distance between the quartiles, as a share of the median. */
export const spread = (values) => (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / median(values)

export function shuffled(values) {
  const result = [...values]
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[result[i], result[j]] = [result[j], result[i]]
  }
  return result
}
