// The one error the wire checks throw: which revision, what was wrong, where, and the message itself.

import type { Revision } from './revisions.ts'

const QUOTED_CHARACTERS = 3_000

export class WireViolation extends Error {
  override readonly name = 'WireViolation'

  constructor(revision: Revision, reason: string, quoted?: unknown) {
    super(`${revision}: ${reason}${quoted === undefined ? '' : `\n${quote(quoted)}`}`)
  }
}

function quote(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return text.length > QUOTED_CHARACTERS ? `${text.slice(0, QUOTED_CHARACTERS)}… (${text.length} characters)` : text
}
