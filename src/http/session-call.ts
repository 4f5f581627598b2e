// What passes between the Worker and a session's object. Both may be one version apart, so it carries a number.

import type { JsonRpcRequest } from '../protocol/json-rpc.ts'
import type { Auth, Trace } from '../server/ports.ts'
import type { SessionFacts } from './session-id.ts'

/** Raised when what passes between Worker and object changes; an object that does not know it ends gracefully. */
export const SESSION_PROTOCOL = 1

/** The standalone stream of a session. Streams of calls count from 1. */
export const STANDALONE = 0

/** One request of a session. Kept with a call that becomes a stream, to enter its handler again. */
export interface SessionCall {
  protocol: typeof SESSION_PROTOCOL
  facts: SessionFacts
  /** Who sends it, of the same principal as the session. */
  auth: Auth
  request: JsonRpcRequest
  requestId: string
  trace?: Trace
  /** True if the client takes streams. */
  takesStream: boolean
  /** True if streams begin with an id and say when to come back (2025-11-25). */
  primes: boolean
}

/** How an object answers a request. */
export type SessionReply =
  | { kind: 'final'; message: string; status: number; code?: number }
  | { kind: 'stream'; stream: number }
  | { kind: 'cancelled' }
  /** The session has ended. */
  | { kind: 'gone' }
  /** The object is of another version; ask again. */
  | { kind: 'busy' }

/** Why an object closed a connection of a stream. Anything else means it broke and should be made again. */
export const CLOSE = {
  /** The stream is complete. */
  finished: 1000,
  /** A newer connection took over. */
  replaced: 4001,
  /** The client should come back later. */
  poll: 4002,
} as const

/** One event on its way to the Worker. Without a text it only says where the stream is. */
export interface SessionFrame {
  /** Its place, for `after`. Absent when the event cannot be replayed. */
  cursor?: string
  text: string
}
