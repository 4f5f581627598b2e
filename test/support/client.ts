// The HTTP client of every test. It speaks one revision, and judges every message of every answer by that revision's
// published schema with closed objects; what does not conform throws a WireViolation.

import { describe } from 'vitest'
import { createClient } from './wire/create-client.ts'
import type { Client, Fetcher, LegacyClient, ModernClient } from './wire/create-client.ts'
import type { ClientOptions } from './wire/envelope.ts'
import { MODERN, REVISIONS } from './wire/revisions.ts'
import type { LegacyRevision, Revision } from './wire/revisions.ts'
import { worker } from './wire/worker.ts'

export { encodeHeaderValue } from './wire/headers.ts'
export { LEGACY, MODERN, REVISIONS } from './wire/revisions.ts'
export { WireViolation } from './wire/violation.ts'
export { legacySession } from './wire/session.ts'
export { TASKS } from './wire/task-client.ts'
export { RELATED_TASK } from './wire/task-rules.ts'
export { worker } from './wire/worker.ts'
export type * from './wire/session.ts'
export type * from './wire/session-stream.ts'
export type { Answer, Answered } from './wire/answers.ts'
export type * from './wire/create-client.ts'
export type { ClientOptions, RequestOptions } from './wire/envelope.ts'
export type { RawExchange, RawInit } from './wire/raw.ts'
export type * from './wire/results.ts'
export type { CallTaskOptions } from './wire/task-client.ts'
export type { Id, JsonObject, LegacyRevision, Message, Revision, RpcError } from './wire/revisions.ts'

/** A client of revision 2026-07-28. */
export function modern(fetcher: Fetcher, options: ClientOptions = {}): ModernClient {
  return createClient(fetcher, MODERN, options)
}

/** A client of an older revision, without a session. */
export function legacy(fetcher: Fetcher, revision: LegacyRevision, options: ClientOptions = {}): LegacyClient {
  return createClient(fetcher, revision, options)
}

export interface EraOptions extends ClientOptions {
  since?: Revision
  until?: Revision
  /** By default the Worker under test. */
  fetcher?: Fetcher
}

/** Describes the same behaviour once per revision, with the revision in the name. */
export function describeEras(
  title: string,
  body: (client: Client, revision: Revision) => void,
  options: EraOptions = {},
): void {
  const { since = REVISIONS[0], until = MODERN, fetcher = worker, ...rest } = options
  for (const revision of REVISIONS.filter((each) => each >= since && each <= until)) {
    describe(`${title} [${revision}]`, () => body(createClient(fetcher, revision, rest), revision))
  }
}
