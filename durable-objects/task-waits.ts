// The streams of a session that wait for a task: `tasks/result` of clients that take streams. The task tells what happens;
// its asks go out here, and their answers back to it. A wait holds no memory and no handler.
// @see 2025-11-25 basic/utilities/tasks, Result Retrieval; Associating Task-Related Messages

import { ownerOf, resultOf } from '../src/http/legacy-tasks.ts'
import type { SessionCall, SessionReply } from '../src/http/session-call.ts'
import { limits } from '../src/limits.ts'
import { ProtocolError } from '../src/protocol/errors.ts'
import type { JsonObject, JsonRpcRequest } from '../src/protocol/json-rpc.ts'
import { relatedTo } from '../src/protocol/legacy/tasks.ts'
import { notificationMessage, resultMessage } from '../src/protocol/messages.ts'
import { stringParam } from '../src/protocol/params.ts'
import type { TaskAsk, TaskSnapshot } from '../src/protocol/task.ts'
import { hasCapability } from '../src/protocol/capabilities.ts'
import { needsOf } from '../src/server/asks.ts'
import type { Client } from '../src/server/ports.ts'
import type { TaskPort } from '../src/server/task-port.ts'
import { isFinal, unknownTask } from '../src/server/tasks.ts'
import { NEVER, type EventLog, type StoredAsk, type StoredCall } from './event-log.ts'
import { callObject, taskObject } from './objects.ts'
import { refused, tooLargeMessage } from './session-methods.ts'

/** The session whose streams these are. */
export interface WaitsHost {
  readonly env: Cloudflare.Env
  readonly tasks: TaskPort
  /** The id of the session's object. */
  readonly id: string
  /** Begins a stream that waits for a task, and returns its number. */
  beginWait(call: SessionCall, taskId: string): number
  callOf(stored: StoredCall): SessionCall
  publish(stream: number, message: string, instead?: string): void
  endStream(stream: number, state: 'finished' | 'cancelled'): void
  /** True for a stream that was connected, and is not any more. */
  isLeft(stream: number): boolean
}

export class TaskWaits {
  readonly #host: WaitsHost
  readonly #log: EventLog
  /** The keys of asks that were answered here, by stream: news that crosses an answer must not bring one back. */
  readonly #answered = new Map<number, Set<string>>()

  constructor(host: WaitsHost, log: EventLog) {
    this.#host = host
    this.#log = log
  }

  /** Answers `tasks/result`: at once for a task at its end, else with a stream. @throws {ProtocolError} for bad parameters */
  async request(call: SessionCall): Promise<SessionReply> {
    const { request, facts } = call
    const taskId = stringParam(request.params, 'taskId')
    const snapshot = await this.#host.tasks.get(this.#host.env, ownerOf(facts), taskId)
    // The session may have ended meanwhile.
    if (this.#log.endedUntil !== undefined) return { kind: 'gone' }
    if (!snapshot || isFinal(snapshot.state)) return final(request, taskId, snapshot)
    this.#makeRoom(taskId)
    const stream = this.#host.beginWait(call, taskId)
    try {
      await this.#watch(stream, taskId, call)
    } catch (error) {
      this.#host.endStream(stream, 'cancelled')
      throw error
    }
    return { kind: 'stream', stream }
  }

  /**
   * Makes room for one more wait, where there is none: the first one whose client has left gives way, else the first one for
   * the same task. It is answered, for a client that comes back to it after all.
   * @throws {ProtocolError} when all others are read
   */
  #makeRoom(taskId: string): void {
    const waits = this.#log.waits()
    if (waits.length < limits.sessionWaits) return
    const oldest = waits.find(({ stream }) => this.#host.isLeft(stream)) ?? waits.find(({ task }) => task === taskId)
    const problem = 'Invalid request: too many streams of this session wait for tasks'
    if (!oldest) throw new ProtocolError('InvalidRequest', problem)
    const { request } = this.#host.callOf(this.#log.call(oldest.stream)!)
    this.#host.publish(oldest.stream, refused(request, new ProtocolError('InvalidRequest', problem)).message)
    this.#host.endStream(oldest.stream, 'finished')
  }

  /** Makes sure that the task of a stream knows of it: news may have been lost. */
  async check(stream: number): Promise<void> {
    const stored = this.#log.call(stream)
    if (stored?.state !== 'running' || stored.task === null) return
    await this.#watch(stream, stored.task, this.#host.callOf(stored))
  }

  async #watch(stream: number, taskId: string, { facts }: SessionCall): Promise<void> {
    const { env, id } = this.#host
    const snapshot = (await callObject(
      () => taskObject(env, taskId),
      async (object) => object.watch(ownerOf(facts), { session: id, stream }, this.#streamsOf(taskId)),
      true,
    )) as TaskSnapshot | undefined
    this.changed(stream, taskId, snapshot)
  }

  /** The streams that wait for a task, newest last. */
  #streamsOf(taskId: string): number[] {
    return this.#log.waits().flatMap(({ stream, task }) => (task === taskId ? [stream] : []))
  }

  /** Takes news of a task. @returns false when the stream waits for it no longer */
  changed(stream: number, taskId: string, snapshot: TaskSnapshot | undefined): boolean {
    const stored = this.#log.call(stream)
    if (stored?.state !== 'running' || stored.task !== taskId) return false
    const { request, facts } = this.#host.callOf(stored)
    this.#show(stream, taskId, snapshot?.asks ?? [], facts.client)
    if (snapshot && !isFinal(snapshot.state)) return true
    this.#host.publish(stream, final(request, taskId, snapshot).message, tooLargeMessage(request))
    this.#host.endStream(stream, 'finished')
    return false
  }

  /** True for an ask that this client can be asked, and has not answered. */
  #isFor({ capabilities }: Client, stream: number, ask: TaskAsk): boolean {
    if (this.#answered.get(stream)?.has(ask.key)) return false
    return needsOf(ask).every((name) => hasCapability(capabilities, name))
  }

  /** Asks what is not asked on this stream yet, and takes back what has been answered elsewhere. */
  #show(stream: number, taskId: string, asks: readonly TaskAsk[], client: Client): void {
    const shown = this.#log.asks().filter((ask) => ask.stream === stream)
    for (const { id, wire } of shown) {
      if (asks.some(({ key }) => key === wire)) continue
      this.#log.dropAsk(id)
      if (this.#answered.get(stream)?.has(wire)) continue
      const params = relatedTo(taskId, { requestId: id, reason: 'answered elsewhere' })
      this.#host.publish(stream, notificationMessage('notifications/cancelled', params))
    }
    for (const ask of asks) {
      const { key, method, params = {}, elicitationId } = ask
      if (shown.some(({ wire }) => wire === key) || !this.#isFor(client, stream, ask)) continue
      const id = crypto.randomUUID()
      // The task says when an ask is over, so here it never is.
      this.#log.addAsk({ id, stream, key, wire: key, method, expires_at: NEVER })
      const asked = relatedTo(taskId, elicitationId === undefined ? params : { ...params, elicitationId })
      if (elicitationId !== undefined) this.#rememberLink(stream, key, elicitationId)
      this.#host.publish(stream, JSON.stringify({ jsonrpc: '2.0', id, method, params: asked }))
    }
  }

  /** Kept like a handler's own asks, to tell this stream when the page of the link is done. */
  #rememberLink(stream: number, key: string, id: string): void {
    const memory = JSON.parse(this.#log.call(stream)?.memory ?? '{}') as { a?: JsonObject }
    this.#log.remember(stream, { a: { ...memory.a, [key]: { id } } })
  }

  /** A stream has ended; its number may be used again when everything was deleted. */
  forget(stream: number): void {
    this.#answered.delete(stream)
  }

  /** Sends a notification of a task on the newest stream that waits for it, if it can be on one somebody reads. */
  said(taskId: string, method: string, params: JsonObject): boolean {
    const streams = this.#streamsOf(taskId)
    const stream = streams.findLast((each) => !this.#host.isLeft(each)) ?? streams.at(-1)
    if (stream !== undefined) this.#host.publish(stream, notificationMessage(method, params))
    return stream !== undefined
  }

  /** Takes an answer to the task that asked. The ask stays answerable until the task has it. */
  async answered({ id, stream, wire }: StoredAsk, stored: StoredCall, raw: unknown): Promise<void> {
    const { facts } = this.#host.callOf(stored)
    const answered = this.#answered.get(stream) ?? new Set()
    this.#answered.set(stream, answered.add(wire))
    try {
      await callObject(
        () => taskObject(this.#host.env, stored.task!),
        async (object) => object.answered(ownerOf(facts), wire, raw),
        true,
      )
      this.#log.dropAsk(id)
    } catch (error) {
      answered.delete(wire)
      throw error
    }
  }
}

/** The end of a `tasks/result`. */
function final(
  request: JsonRpcRequest,
  taskId: string,
  snapshot: TaskSnapshot | undefined,
): Extract<SessionReply, { kind: 'final' }> {
  try {
    if (!snapshot) throw unknownTask()
    const result = JSON.stringify(resultOf(taskId, snapshot))
    return { kind: 'final', message: resultMessage(request.id, result), status: 200 }
  } catch (error) {
    if (error instanceof ProtocolError) return refused(request, error)
    throw error
  }
}
