// The matrix of what the suite must have seen on the wire: revision × method × kind. Pure.

import { LEGACY, MODERN } from './revisions.ts'
import type { Revision } from './revisions.ts'

declare module 'vitest' {
  interface TaskMeta {
    wireCells?: string[]
  }
}

export type CellKind = 'result' | 'error' | 'input_required' | 'notification'

const SHARED = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
]

const EXPECTED: { revisions: readonly Revision[]; kind: CellKind; methods: string[] }[] = [
  { revisions: [MODERN], kind: 'result', methods: ['server/discover', ...SHARED] },
  { revisions: [MODERN], kind: 'input_required', methods: ['tools/call', 'prompts/get', 'resources/read'] },
  { revisions: [MODERN], kind: 'notification', methods: ['notifications/progress', 'notifications/message'] },
  { revisions: LEGACY, kind: 'result', methods: ['initialize', 'ping', ...SHARED] },
  { revisions: LEGACY, kind: 'notification', methods: ['notifications/progress'] },
]

export function cell(revision: Revision, method: string, kind: CellKind): string {
  return `${revision} ${method} ${kind}`
}

export function expectedCells(): string[] {
  return EXPECTED.flatMap(({ revisions, kind, methods }) =>
    revisions.flatMap((revision) => methods.map((method) => cell(revision, method, kind))),
  )
}

export function unseenCells(seen: ReadonlySet<string>): string[] {
  return expectedCells().filter((expected) => !seen.has(expected))
}
