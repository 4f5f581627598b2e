// What the tests of 2025-11-25 tasks share: callers with and without a session, streams that wait on `tasks/result`, and
// sessions that die.

import { runInDurableObject } from 'cloudflare:test'
import { describe, vi } from 'vitest'
import { legacy, RELATED_TASK } from '../support/client.ts'
import type {
  ClientOptions,
  Fetcher,
  JsonObject,
  LegacyClient,
  Message,
  RequestOptions,
  Session,
  SessionStream,
} from '../support/client.ts'
import { CAPABILITIES, sessionOf, stubOf, type OwnSession } from '../sessions/support.ts'
import { as } from './support.ts'

export const TASKS_REVISION = '2025-11-25'

/** A session of a client that can be asked anything. */
export function taskSession(fetcher: Fetcher, options: ClientOptions = {}): Promise<OwnSession> {
  return sessionOf(fetcher, TASKS_REVISION, { capabilities: CAPABILITIES[TASKS_REVISION], ...options })
}

/** A session of one principal; the server has to be served with `authenticate: byHeader`. */
export function sessionAs(fetcher: Fetcher, principal: string): Promise<OwnSession> {
  return taskSession(fetcher, { headers: as(principal) })
}

/** The same behaviour in a session and without one. */
export function describeCallers(
  title: string,
  body: (open: (fetcher: Fetcher, options?: ClientOptions) => Promise<LegacyClient>) => void,
): void {
  describe(`${title} [in a session]`, () => body(taskSession))
  describe(`${title} [without a session]`, () =>
    body(async (fetcher, options) => legacy(fetcher, TASKS_REVISION, options)))
}

/** `_meta` of what belongs to a task. */
export const related = (taskId: string): { _meta: JsonObject } => ({ _meta: { [RELATED_TASK]: { taskId } } })

/** A stream that waits for a task. */
export function waitOn(session: Session, taskId: string, options?: RequestOptions): Promise<SessionStream> {
  return session.stream('tasks/result', { taskId }, options)
}

/** How many streams of a session have a connection, as far as its object knows. */
export function openStreams(session: OwnSession): Promise<number> {
  return runInDurableObject(
    stubOf(session),
    (_object, state) => state.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN).length,
  )
}

/** The messages of a stream so far. */
export const messagesOf = ({ read }: SessionStream): Message[] => read.flatMap(({ message }) => message ?? [])

/** Those that are neither asks nor the end, without the news of the status. */
export const notificationsOf = (stream: SessionStream): Message[] =>
  messagesOf(stream).filter(({ method, id }) => method !== undefined && id === undefined && method !== STATUS)

export const STATUS = 'notifications/tasks/status'
export const CANCELLED = 'notifications/cancelled'
export const PROGRESS = 'notifications/progress'

export const isMethod =
  (wanted: string) =>
  ({ method }: Message): boolean =>
    method === wanted

/** The id of the request that a `notifications/cancelled` takes back. */
export const takenBack = ({ params }: Message): unknown => params?.['requestId']

const CRASH = 'the test killed this session'

/** The object of a session dies. What it had written is there. */
export async function crashSession(session: OwnSession): Promise<void> {
  await runInDurableObject(stubOf(session), async (_object, state) => {
    await state.storage.sync()
    state.abort(CRASH)
  }).catch((error: unknown) => {
    if (!String(error).includes(CRASH)) throw error
  })
}

/** Whatever calls this method of objects of a class meanwhile fails: they cannot be reached. */
export async function unreachable(
  stub: DurableObjectStub<undefined>,
  method: string,
  during: () => Promise<void>,
): Promise<void> {
  const spy = await runInDurableObject(stub, (object) => {
    const methods = Object.getPrototypeOf(object) as { [name: string]: () => unknown }
    return vi.spyOn(methods, method).mockImplementation(() => {
      throw new Error('the object cannot be reached')
    })
  })
  try {
    await during()
  } finally {
    spy.mockRestore()
  }
}
