// Remembers which cells a test file has seen, in the metadata that Vitest carries from any runtime to its main process.

import { TestRunner } from 'vitest'
import { cell } from './cells.ts'
import type { CellKind } from './cells.ts'
import type { Revision } from './revisions.ts'

const seen = new Set<string>()

/** Outside a test (a `beforeAll`) the cell waits for the next one that a test of the same file records. */
export function recordCell(revision: Revision, method: string, kind: CellKind): void {
  seen.add(cell(revision, method, kind))
  const file = TestRunner.getCurrentTest()?.file
  if (file !== undefined) file.meta.wireCells = [...seen]
}
