// What the server logs, for tests that look for what must not be there.

import { expect, vi } from 'vitest'

export interface Log {
  /** Everything so far, as one text. */
  text(): string
  /** Fails if a token or one of its parts is there. */
  expectNoneOf(token: string): void
  restore(): void
}

/** Takes what goes to the console from now on. */
export function watchLog(): Log {
  // Kept here, since a spy forgets its calls when the next test begins.
  const lines: string[] = []
  const methods = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) => {
    return vi.spyOn(console, name).mockImplementation((...values: unknown[]) => void lines.push(values.join(' ')))
  })
  const text = (): string => lines.join('\n')
  return {
    text,
    expectNoneOf(token) {
      // Shorter parts are words that say nothing.
      for (const part of [token, ...token.split('.')]) if (part.length > 20) expect(text()).not.toContain(part)
    },
    restore: () => methods.forEach((method) => method.mockRestore()),
  }
}
