// The matrix of what the suite must have seen on the wire: revision × method × kind. Pure.

import { LEGACY, MODERN } from './revisions.ts'
import type { Revision } from './revisions.ts'

declare module 'vitest' {
  interface TaskMeta {
    wireCells?: string[]
  }
}

/** `request` and `notification` are the server's. */
export type CellKind = 'result' | 'error' | 'input_required' | 'request' | 'notification'

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
  {
    revisions: LEGACY,
    kind: 'result',
    methods: ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'],
  },
  { revisions: LEGACY, kind: 'request', methods: ['sampling/createMessage', 'roots/list'] },
  { revisions: ['2025-06-18', '2025-11-25'], kind: 'request', methods: ['elicitation/create'] },
  {
    revisions: LEGACY,
    kind: 'notification',
    methods: [
      'notifications/progress',
      'notifications/message',
      'notifications/cancelled',
      'notifications/resources/updated',
      'notifications/resources/list_changed',
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
    ],
  },
  { revisions: ['2025-11-25'], kind: 'notification', methods: ['notifications/elicitation/complete'] },
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
