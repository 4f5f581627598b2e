// What is logged, as types. Never arguments, answers, tokens or header values.

import type { LogLevel } from '../protocol/meta.ts'

/** One line of the operator's log. */
export type Event = RequestEvent | TaskEvent | MessageEvent | RefusedEvent | FailureEvent | WarningEvent

/** A request was answered, or its stream began. */
export interface RequestEvent {
  event: 'request'
  requestId: string
  method: string
  /** The tool or prompt that was called. */
  name?: string
  era?: 'modern' | 'legacy'
  version?: string
  /** HTTP status. */
  status: number
  /** JSON-RPC error code, when the answer is an error. */
  code?: number
  /** True if the answer became a stream. */
  stream?: true
  ms: number
  client?: string
  principal: string
  traceId?: string
}

/** A task was made, or came to its end. Its id is no business of the log: who knows it may read the task. */
export interface TaskEvent {
  event: 'task'
  /** The request it was made by. */
  requestId: string
  /** The tool. */
  name: string
  status: string
  principal: string
  /** Since it was made. */
  ms: number
}

/** What a handler said with `ctx.log` in a task whose client takes no messages. */
export interface MessageEvent {
  event: 'message'
  requestId: string
  name: string
  level: LogLevel
  logger?: string
  data: unknown
}

/** An access token was not taken. */
export interface RefusedEvent {
  event: 'refused'
  /** In more words than its bearer gets. */
  reason: string
}

/** Something failed whose text the caller does not see. */
export interface FailureEvent {
  event: 'failure'
  requestId?: string
  method?: string
  name?: string
  traceId?: string
  error: string
  stack?: string
}

/** A definition or setting works, but will not please somebody. */
export interface WarningEvent {
  event: 'warning'
  message: string
}
