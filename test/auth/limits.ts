// Other limits for a while, so that a test need not wait for those that people do not mind.

import { onTestFinished } from 'vitest'
import { limits } from '../../src/limits.ts'

/** Changes limits. @returns what puts them back */
export function changeLimits(changed: Partial<typeof limits>): () => void {
  const before = { ...limits }
  Object.assign(limits, changed)
  return () => void Object.assign(limits, before)
}

/** The same until the test is over. */
export function withLimits(changed: Partial<typeof limits>): void {
  onTestFinished(changeLimits(changed))
}
