// The matrix of what the suite must have seen on the wire: revision × method × kind. Pure.

import { LEGACY, MODERN } from './revisions.ts'
import type { Revision } from './revisions.ts'

declare module 'vitest' {
  interface TaskMeta {
    wireCells?: string[]
  }
}

/** `task` is a result that hands out a task; `request` and `notification` are the server's. */
export type CellKind = 'result' | 'error' | 'input_required' | 'task' | 'request' | 'notification'

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

const LEGACY_TASKS = ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']
const MODERN_TASKS = ['tasks/get', 'tasks/update', 'tasks/cancel']

/** What comes on the stream of `subscriptions/listen`. */
const LISTENED = [
  'notifications/subscriptions/acknowledged',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/tasks',
]

const EXPECTED: { revisions: readonly Revision[]; kind: CellKind; methods: string[] }[] = [
  { revisions: [MODERN], kind: 'result', methods: ['server/discover', ...SHARED] },
  { revisions: [MODERN], kind: 'input_required', methods: ['tools/call', 'prompts/get', 'resources/read'] },
  { revisions: [MODERN], kind: 'notification', methods: ['notifications/progress', 'notifications/message'] },
  { revisions: [MODERN], kind: 'result', methods: ['subscriptions/listen'] },
  { revisions: [MODERN], kind: 'error', methods: ['subscriptions/listen'] },
  { revisions: [MODERN], kind: 'notification', methods: LISTENED },
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
  {
    revisions: ['2025-11-25'],
    kind: 'notification',
    methods: ['notifications/elicitation/complete', 'notifications/tasks/status'],
  },
  { revisions: ['2025-11-25', MODERN], kind: 'task', methods: ['tools/call'] },
  { revisions: ['2025-11-25'], kind: 'result', methods: LEGACY_TASKS },
  { revisions: ['2025-11-25'], kind: 'error', methods: LEGACY_TASKS },
  { revisions: [MODERN], kind: 'result', methods: MODERN_TASKS },
  { revisions: [MODERN], kind: 'error', methods: MODERN_TASKS },
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
