// One legacy session: its calls, their streams, asks and recovery. Nothing is stored before it must be.
// Asks wait as rows and sockets hibernate, so a session that waits holds no memory.
// @see 2025-11-25 basic/transports

import { DurableObject } from 'cloudflare:workers'
import { ownerOf } from '../src/http/legacy-tasks.ts'
import { isStandalone } from '../src/http/session.ts'
import { CLOSE, SESSION_PROTOCOL, STANDALONE, type SessionCall, type SessionReply } from '../src/http/session-call.ts'
import { logOf } from '../src/config.ts'
import { limits } from '../src/limits.ts'
import { failure, report } from '../src/observability/sink.ts'
import { ProtocolError } from '../src/protocol/errors.ts'
import { isObject, type JsonObject, type JsonRpcAnswer } from '../src/protocol/json-rpc.ts'
import { notificationMessage, resultMessage } from '../src/protocol/messages.ts'
import { isAtLeast, type LogLevel } from '../src/protocol/meta.ts'
import {
  changeNotification,
  isListTopic,
  isTaskTopic,
  LIST_TOPICS,
  subjectOf,
  type Topic,
} from '../src/protocol/topic.ts'
import { noteToken } from '../src/server/access-token.ts'
import { fingerprint } from '../src/server/canonical.ts'
import type { Server } from '../src/server/define-server.ts'
import { ToolError } from '../src/server/errors.ts'
import type { Auth } from '../src/server/ports.ts'
import { missingScopes, scopesFor } from '../src/server/scopes.ts'
import { answerFrom, timedOut, withAnswer } from '../src/server/journal.ts'
import { LISTEN_PROTOCOL } from '../src/server/listen-port.ts'
import { TASK_PROTOCOL, type TaskUpdate } from '../src/server/task-port.ts'
import { Connections } from './connections.ts'
import { EventLog, fits, NEVER, type StoredAsk, type StoredCall } from './event-log.ts'
import type { Following } from './hub-store.ts'
import { listenPort, type Hubs } from './listen-port.ts'
import { LiveCall, type CallHost, type OpenAsk } from './live-call.ts'
import { authOf, interruptedMessage, mayRepeat, OWN_METHODS, refused } from './session-methods.ts'
import { Streams } from './streams.ts'
import { taskPort } from './task-port.ts'
import { TaskWaits, type WaitsHost } from './task-waits.ts'

/** The class of session objects for one server. Its public methods are what the Worker calls. */
export function createSessionObject(server: Server, hubs: Hubs = listenPort()) {
  return class SessionObject extends DurableObject<Cloudflare.Env> {
    readonly #session = new Session(server, this.ctx, this.env, hubs)

    /** Answers a request, or says which stream its answer will be on. */
    request(call: SessionCall, token?: string): Promise<SessionReply> {
      return this.#session.request(call, token)
    }

    /** Takes a notification. @returns false when the session has ended */
    notified(method: string, params: JsonObject): boolean {
      return this.#session.notified(method, params)
    }

    /** Takes the answer to an ask. @returns false when the session has ended, or the scopes it needs */
    answered(answer: JsonRpcAnswer, auth?: Auth): Promise<boolean | readonly string[]> {
      return this.#session.answered(answer, auth)
    }

    /** News of a task. @returns false when the stream waits for it no longer */
    taskChanged(update: TaskUpdate): boolean {
      return this.#session.taskChanged(update)
    }

    /** A notification of a task that was made in this session. */
    taskSaid(taskId: string, method: string, params: JsonObject): void {
      this.#session.taskSaid(taskId, method, params)
    }

    /** Takes changes of what this session follows. Undefined from an object of another version. */
    changed(protocol: number, topics: readonly Topic[]): Following[] | undefined {
      return protocol === LISTEN_PROTOCOL ? this.#session.changed(topics) : undefined
    }

    /** Tells the client that the page of a link is done. */
    completed(elicitationId: string): void {
      this.#session.completed(elicitationId)
    }

    /** Ends the session. @returns false when it had ended before */
    end(expiresAt: number): Promise<boolean> {
      return this.#session.close(expiresAt)
    }

    /** An upgrade connects to `?stream=&after=`; other answers say by their status why not. */
    override async fetch(request: Request): Promise<Response> {
      const { searchParams } = new URL(request.url)
      if (Number(searchParams.get('protocol')) !== SESSION_PROTOCOL) return new Response(null, { status: 503 })
      const after = searchParams.get('after') ?? undefined
      const { 0: client, 1: socket } = new WebSocketPair()
      const status = await this.#session.connect(socket, Number(searchParams.get('stream')), after)
      return status === undefined
        ? new Response(null, { status: 101, webSocket: client })
        : new Response(null, { status })
    }

    override webSocketClose(socket: WebSocket, code: number): void {
      // The other end is gone, and the runtime has answered it; there is nothing this session has to do.
      void socket
      void code
    }

    override alarm(): Promise<void> {
      return this.#session.alarm()
    }
  }
}

export class Session implements CallHost, WaitsHost {
  readonly server: Server
  readonly env: Cloudflare.Env
  readonly tasks = taskPort()
  readonly #hubs: Hubs
  readonly #state: DurableObjectState
  readonly #connections: Connections
  readonly #log: EventLog
  readonly #streams: Streams
  readonly #waits: TaskWaits
  /** The calls whose handler runs in this instance. */
  readonly #live = new Set<LiveCall>()
  /** Who waits in this instance for the answer to which ask of which stream. */
  readonly #waiting = new Map<string, { stream: number; resolve: (raw: unknown) => void }>()
  /** Connections of the standalone stream that are not there yet. */
  #coming = 0
  /** When the alarm is set to ring, as far as this instance knows. */
  #alarmAt = Number.POSITIVE_INFINITY

  constructor(server: Server, state: DurableObjectState, env: Cloudflare.Env, hubs: Hubs) {
    this.server = server
    this.env = env
    this.#hubs = hubs
    this.#state = state
    this.#connections = new Connections(state)
    this.#log = new EventLog(state.storage)
    this.#streams = new Streams(this.#log, this.#connections, {
      recover: () => this.#recover(),
      warn: (message) => report({ event: 'warning', message }, logOf(env)),
    })
    this.#waits = new TaskWaits(this, this.#log)
  }

  /** Answers a request. @param token the one its caller came with: kept no longer than its handler runs */
  async request(call: SessionCall, token?: string): Promise<SessionReply> {
    if (token !== undefined) noteToken(authOf(call), token)
    if (this.#log.endedUntil !== undefined) return { kind: 'gone' }
    if (call.protocol !== SESSION_PROTOCOL) return { kind: 'busy' }
    this.#touch()
    const { request } = call
    if (request.method === 'ping') return { kind: 'final', message: resultMessage(request.id, '{}'), status: 200 }
    if (OWN_METHODS.has(request.method)) return this.#answerOwn(call)
    if (request.method === 'tasks/result' && call.takesStream) return this.#awaitTask(call)
    const parked = this.#log.runningStreams().filter((stream) => !this.#liveOf(stream)).length
    if (this.#live.size + parked >= limits.sessionCalls) {
      return refused(
        request,
        new ProtocolError('InvalidRequest', 'Invalid request: too many calls of this session at once'),
      )
    }
    const live = new LiveCall(this, call)
    this.#live.add(live)
    return live.start()
  }

  async #awaitTask(call: SessionCall): Promise<SessionReply> {
    try {
      return await this.#waits.request(call)
    } catch (error) {
      if (!(error instanceof ProtocolError)) this.report(error, call)
      if (!(error instanceof ProtocolError) || error.kind === 'Unavailable') return { kind: 'busy' }
      return refused(call.request, error)
    }
  }

  /** Takes a notification. @returns false when the session has ended */
  notified(method: string, params: JsonObject): boolean {
    if (this.#log.endedUntil !== undefined) return false
    if (method === 'notifications/cancelled') this.#cancel(params['requestId'], params['reason'])
    return true
  }

  /**
   * Takes the answer to an ask. Unknown, late and second answers are ignored.
   * @param auth who answers
   * @returns false when the session has ended, or the scopes that the call needs which asked: the answer is not taken then
   */
  async answered({ id, result, error }: JsonRpcAnswer, auth?: Auth): Promise<boolean | readonly string[]> {
    if (this.#log.endedUntil !== undefined) return false
    const ask = typeof id === 'string' ? this.#log.ask(id) : undefined
    if (!ask) return true
    const raw = error ? { refused: messageOf(error) } : answerFrom(result)
    const stored = this.#log.call(ask.stream)
    const needed = auth && stored ? await this.#scopesOf(stored, auth) : []
    if (auth && missingScopes(this.server, auth, needed).length > 0) return needed
    // Somebody may have answered meanwhile.
    if (!this.#log.ask(ask.id)) return true
    if (stored?.task == null) this.#settle(ask, raw)
    else await this.#waits.answered(ask, stored, raw)
    return true
  }

  /** What a token must be good for that goes on with a call. */
  async #scopesOf(stored: StoredCall, auth: Auth): Promise<readonly string[]> {
    const { method, params } = callOf(stored).request
    if (stored.task !== null) return (await this.tasks.scopesOf(this.env, ownerOf(auth), stored.task)) ?? []
    // Also of a tool that is hidden from a token which is good for less.
    if (method === 'tools/call') return this.server.tools.get(params['name'] as string)?.scopes ?? []
    return scopesFor(this.server, auth, method, params)
  }

  /** Takes news of a task that a stream waits for. @returns false when it waits no longer */
  taskChanged({ protocol, stream, taskId, snapshot }: TaskUpdate): boolean {
    // A newer version: the stream stays until it is asked again, when both are of one.
    if (protocol !== TASK_PROTOCOL) return true
    return this.#log.endedUntil === undefined && this.#waits.changed(stream, taskId, snapshot)
  }

  /** Sends what a task says: where its result is waited for, else on the standalone stream. */
  taskSaid(taskId: string, method: string, params: JsonObject): void {
    if (this.#log.endedUntil !== undefined) return
    if (method === 'notifications/message') {
      const threshold = this.logLevel
      if (threshold === undefined || !isAtLeast(params['level'] as LogLevel, threshold)) return
    }
    if (!this.#waits.said(taskId, method, params)) this.#announce(method, params)
  }

  /** Ends the session: what runs is aborted, and only that fact is kept, for as long as the id would be valid. */
  async close(expiresAt: number): Promise<boolean> {
    if (this.#log.endedUntil !== undefined) return false
    for (const call of this.#live) call.cancel('the session ended')
    this.#connections.closeAll(CLOSE.finished, 'the session ended')
    await this.#clear()
    this.#log.set('ended', String(expiresAt))
    await this.#state.storage.setAlarm(expiresAt)
    return true
  }

  /** Deletes everything, the tables and the alarm too. */
  #clear(): Promise<void> {
    this.#alarmAt = Number.POSITIVE_INFINITY
    return this.#log.deleteAll()
  }

  /**
   * Connects a socket to a stream.
   * @returns the status that says why not: 404 ended, 503 the hub cannot be reached, else as `Streams.connect` says
   */
  async connect(
    socket: WebSocket,
    stream: number,
    after: string | undefined,
  ): Promise<400 | 404 | 405 | 503 | undefined> {
    // What comes from here on is for this connection, also before it is there, unless an older one takes it.
    const from = this.#log.lastSequence(STANDALONE)
    if (isStandalone(stream, after) && !(await this.#followFirst())) return 503
    if (this.#log.endedUntil !== undefined) return 404
    this.#touch()
    const refusal = this.#streams.connect(socket, stream, after, from)
    // A client that comes back may have missed the end of the task it waits for.
    if (refusal === undefined && after !== undefined) void this.#checkWait(after)
    return refusal
  }

  async #checkWait(cursor: string): Promise<void> {
    try {
      await this.#waits.check(Number(cursor.split('.')[1]))
    } catch {
      // The task cannot be reached now. It tells by itself, or the client comes back again.
    }
  }

  /** The id of this session's object. */
  get id(): string {
    return this.#state.id.toString()
  }

  beginWait(call: SessionCall, taskId: string): number {
    const stream = this.#log.begin(storable(call), {}, taskId)
    this.#streams.begin(stream, call.primes)
    this.#keep()
    return stream
  }

  callOf(stored: StoredCall): SessionCall {
    return callOf(stored)
  }

  isLeft(stream: number): boolean {
    return !this.#connections.isOpen(stream) && !this.#streams.isAwaited(stream)
  }

  get logLevel(): LogLevel | undefined {
    return this.#log.setting('level') as LogLevel | undefined
  }

  begin({ call }: LiveCall, memory: JsonObject): number {
    const stream = this.#log.begin(storable(call), memory)
    this.#streams.begin(stream, call.primes)
    this.#arm(Date.now() + limits.leaseMs)
    return stream
  }

  publish(stream: number, message: string, instead?: string): void {
    this.#streams.publish(stream, message, instead)
  }

  ask(stream: number, { key, wire, request: { method, params }, ttlMs }: OpenAsk): Promise<unknown> {
    const asks = this.#log.asks()
    const open = asks.find((known) => known.stream === stream && known.wire === wire)
    const id = open?.id ?? crypto.randomUUID()
    if (!open) {
      if (asks.filter(({ expires_at }) => expires_at !== NEVER).length >= limits.sessionAsks)
        throw new ToolError(`The user cannot be asked now: ${limits.sessionAsks} asks of this session are open already`)
      const expires_at = Date.now() + ttlMs
      this.#log.addAsk({ id, stream, key, wire, method, expires_at })
      this.publish(stream, JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) }))
      this.#arm(expires_at)
    }
    return new Promise((resolve) => this.#waiting.set(id, { stream, resolve }))
  }

  remember(stream: number, memory: JsonObject): void {
    this.#log.remember(stream, memory)
  }

  end(call: LiveCall, state: 'finished' | 'cancelled'): void {
    this.#live.delete(call)
    if (call.stream !== undefined) this.endStream(call.stream, state)
  }

  poll(stream: number): void {
    this.#streams.poll(stream)
  }

  publishTopics(topics: readonly Topic[]): Promise<void> {
    return this.#hubs.publish(this.env, topics)
  }

  /** Asks the hub to be told of what the client of this session wants to know. @returns false when it cannot be reached */
  async follow(topics: readonly Topic[] = this.#watched()): Promise<boolean> {
    if (this.#log.endedUntil !== undefined) return true
    try {
      if (topics.length > 0) await this.#hubs.follow(this.env, this.id, topics)
      return true
    } catch (error) {
      report(failure(error, {}), logOf(this.env))
      return false
    }
  }

  #watched(): Topic[] {
    const lists = LIST_TOPICS.filter((list) => this.server.families.has(list))
    return [...lists, ...this.#log.subscriptions().map((uri) => `resource ${uri}` as const)]
  }

  /** The same before its client is connected, so that nothing is missed between. */
  async #followFirst(): Promise<boolean> {
    this.#coming++
    try {
      return await this.follow()
    } finally {
      this.#coming--
    }
  }

  /**
   * Takes changes of what this session follows, also for a client that is away: it finds them when it comes back.
   * @returns what it does with each from now on: a client that is away needs to hear of a thing only once
   */
  changed(topics: readonly Topic[]): Following[] {
    return topics.map((topic) => {
      if (this.#log.endedUntil !== undefined || isTaskTopic(topic)) return 'leave'
      if (!isListTopic(topic) && !this.#log.isSubscribed(subjectOf(topic))) return 'leave'
      const { method, params } = changeNotification(topic)
      this.#keepForStandalone(notificationMessage(method, params))
      return this.#coming > 0 || this.#connections.isOpen(STANDALONE) ? 'follow' : 'wait'
    })
  }

  report(error: unknown, { requestId, request: { method, params }, trace }: SessionCall): void {
    const { name } = params
    const called = typeof name === 'string' && { name: name.slice(0, 128) }
    const about = { requestId, method, ...called, ...(trace && { traceId: trace.traceId }) }
    report(failure(error, about), logOf(this.env))
  }

  /** An id that leads back to this session. */
  mintId(): string {
    return `${crypto.randomUUID()}.${this.id}`
  }

  /** Tells the client that started it that a link's page is done. @see 2025-11-25 client/elicitation, Completion */
  completed(elicitationId: string): void {
    if (this.#log.endedUntil !== undefined) return
    const method = 'notifications/elicitation/complete'
    const asking = this.#log.running().find(({ memory }) => {
      const asks = parse(memory)['a']
      return isObject(asks) && Object.values(asks).some((ask) => isObject(ask) && ask['id'] === elicitationId)
    })
    // Of all messages about a task this one has no place for the mark of its task.
    if (asking) this.publish(asking.stream, notificationMessage(method, { elicitationId }))
    else this.#announce(method, { elicitationId })
  }

  waitUntil(work: Promise<unknown>): void {
    this.#state.waitUntil(work)
  }

  /** Sends on the standalone stream, if its client listens there or has told this session to keep something. */
  #announce(method: string, params: JsonObject): void {
    if (!this.#connections.isOpen(STANDALONE) && !this.#log.keepsMore) return
    this.#keepForStandalone(notificationMessage(method, params))
  }

  #keepForStandalone(message: string): void {
    this.publish(STANDALONE, message)
    this.#keep()
  }

  async #answerOwn(call: SessionCall): Promise<SessionReply> {
    const { request, requestId } = call
    const { method, params } = request
    try {
      OWN_METHODS.get(method)!(this.#log, this.server, params, authOf(call))
    } catch (error) {
      if (error instanceof ProtocolError) return refused(request, error)
      // Thrown by what says who may see a resource, which an author wrote.
      this.report(error, call)
      return refused(request, new ProtocolError('InternalError', `Internal error (request ${requestId})`))
    }
    if (this.#log.exists) this.#keep()
    const isWatch = method === 'resources/subscribe'
    if (isWatch && !(await this.follow([`resource ${params['uri'] as string}`]))) return { kind: 'busy' }
    return { kind: 'final', message: resultMessage(request.id, '{}'), status: 200 }
  }

  /** Gives an ask its answer: to the handler that runs here, waiting for it or on its way there, else to one entered again. */
  #settle(ask: StoredAsk, raw: unknown): void {
    const call = this.#log.call(ask.stream)
    this.#log.dropAsk(ask.id)
    if (call?.state !== 'running') return
    if (call.memory !== null) this.#log.remember(ask.stream, withAnswer(parse(call.memory), ask.key, ask.wire, raw))
    const live = this.#liveOf(ask.stream)
    live?.answered(ask.key, ask.wire, raw)
    this.#waiting.get(ask.id)?.resolve(raw)
    this.#waiting.delete(ask.id)
    if (!live) this.#enter(this.#log.call(ask.stream)!)
  }

  /** Cancels the one running request of that id and type; anything else is ignored. */
  #cancel(requestId: unknown, reason: unknown): void {
    const why = typeof reason === 'string' ? reason.slice(0, 200) : 'cancelled by the client'
    const live = [...this.#live].filter(({ call }) => call.request.id === requestId)
    const parked = this.#parked().filter((stored) => callOf(stored).request.id === requestId)
    if (live.length + parked.length !== 1) return
    live[0]?.cancel(why)
    if (parked[0]) this.endStream(parked[0].stream, 'cancelled')
  }

  endStream(stream: number, state: 'finished' | 'cancelled'): void {
    const now = Date.now()
    this.#log.end(stream, state, now)
    // Nobody answers them any more, and each would hold its whole handler for as long as this instance lives.
    for (const [id, waiting] of this.#waiting) if (waiting.stream === stream) this.#waiting.delete(id)
    this.#waits.forget(stream)
    this.#connections.close(stream, CLOSE.finished, state)
    this.#arm(now + limits.streamGraceMs)
  }

  /** Calls that run but have no handler in this instance: they wait for answers, or lost it. */
  #parked(): StoredCall[] {
    return this.#log.running().filter(({ stream }) => !this.#liveOf(stream))
  }

  #liveOf(stream: number): LiveCall | undefined {
    return [...this.#live].find((call) => call.stream === stream)
  }

  /** Enters a handler again, from what its journal remembers and its stream has already said, where that could be kept. */
  #enter(stored: StoredCall): void {
    if (stored.memory === null || callOf(stored).isCut) return this.#interrupt(stored)
    const memory = { ...parse(stored.memory), ...this.#alreadySaid(stored.stream) }
    const live = new LiveCall(this, callOf(stored), { stream: stored.stream, memory })
    this.#live.add(live)
    this.#arm(Date.now() + limits.leaseMs)
    live.resume()
  }

  /** What was emitted is in the log, so it needs no bookkeeping of its own. */
  #alreadySaid(stream: number): JsonObject {
    const said: JsonObject & { l: string[] } = { l: [] }
    for (const { text } of this.#log.after(stream, 0)) {
      const { method, params } = parse(text || null) as { method?: string; params?: JsonObject }
      if (method === 'notifications/progress') said['p'] = params?.['progress']
      if (method === 'notifications/message') said.l.push(fingerprint(params))
    }
    return said
  }

  /** Finds calls whose handler died with an earlier instance of this object: repeats them if that is harmless, or ends them. */
  #recover(): void {
    const asks = this.#log.asks()
    for (const stored of this.#parked()) {
      if (stored.task !== null || asks.some(({ stream }) => stream === stored.stream)) continue
      if (stored.attempts >= limits.callAttempts || !mayRepeat(this.server, callOf(stored).request)) {
        this.#interrupt(stored)
        continue
      }
      this.#log.countAttempt(stored.stream)
      this.#enter(stored)
    }
  }

  #interrupt(stored: StoredCall): void {
    this.publish(stored.stream, interruptedMessage(callOf(stored).request))
    this.endStream(stored.stream, 'finished')
  }

  /** Ends what is over, recovers what was lost, and says when to look again. */
  async alarm(): Promise<void> {
    const now = Date.now()
    this.#alarmAt = Number.POSITIVE_INFINITY
    const endedUntil = this.#log.endedUntil
    if (endedUntil !== undefined) {
      return now >= endedUntil ? this.#clear() : this.#state.storage.setAlarm(endedUntil)
    }
    try {
      for (const ask of this.#log.asks()) if (now >= ask.expires_at) this.#expire(ask)
      this.#giveUp(now)
      this.#recover()
      this.#log.prune(now)
      this.#streams.prune()
    } finally {
      const next = this.#nextAlarm(now)
      if (next === undefined) await this.#clear()
      else this.#arm(Math.max(next, now + 1))
    }
  }

  /** Ends handlers that never settle: each would ring this alarm and hold its place for ever. */
  #giveUp(now: number): void {
    const asking = new Set(this.#log.asks().map(({ stream }) => stream))
    for (const call of this.#live)
      if (now - call.workingSince >= limits.callMs && !asking.has(call.stream ?? STANDALONE)) call.giveUp()
  }

  /** An ask nobody answered counts as cancelled. @see 2025-11-25 basic/lifecycle, Timeouts */
  #expire(ask: StoredAsk): void {
    this.publish(ask.stream, notificationMessage('notifications/cancelled', { requestId: ask.id, reason: 'timed out' }))
    this.#settle(ask, timedOut(ask.method))
  }

  /** When something has to be done next, or undefined when nothing is kept any more. */
  #nextAlarm(now: number): number | undefined {
    const times = this.#log.asks().flatMap(({ expires_at }) => (expires_at === NEVER ? [] : [expires_at]))
    const oldestEnd = this.#log.oldestEnd()
    if (oldestEnd !== undefined) times.push(oldestEnd + limits.streamGraceMs)
    if (this.#log.isWorking) times.push(now + limits.leaseMs)
    if (times.length === 0 && this.#log.keepsMore) {
      const idleAt = Number(this.#log.setting('touched') ?? 0) + limits.sessionIdleMs
      if (now < idleAt) times.push(idleAt)
      else if (this.#connections.isAnyOpen) times.push(now + limits.sessionIdleMs)
    }
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Makes sure the alarm rings at `time` or before. Written together with the rows that need it. */
  #arm(time: number): void {
    if (this.#alarmAt <= time && this.#alarmAt > Date.now()) return
    const next = Math.min(time, this.#nextAlarm(Date.now()) ?? time)
    this.#alarmAt = next
    void this.#state.storage.setAlarm(next)
  }

  /**
   * Notes that this session keeps something of its own, for as long as it is used. Rarely: a write for each use would cost
   * more than what it protects.
   */
  #keep(): void {
    const now = Date.now()
    const before = Number(this.#log.setting('touched') ?? 0)
    if (now - before <= limits.sessionIdleMs / 2) return
    this.#log.set('touched', String(now))
    this.#arm(now + limits.sessionIdleMs)
    // One that only sends requests is followed for as long as it does.
    if (before > 0 && this.#log.subscriptions().length > 0) this.#state.waitUntil(this.follow())
  }

  #touch(): void {
    if (this.#log.setting('touched') !== undefined) this.#keep()
  }
}

/** A call as it is kept. One that is too large is kept without its parameters, and cannot be entered again. */
type KeptCall = SessionCall & { isCut?: true }

function storable(call: SessionCall): string {
  const text = JSON.stringify(call)
  return fits(text)
    ? text
    : JSON.stringify({ ...call, request: { ...call.request, params: {} }, isCut: true } satisfies KeptCall)
}

function callOf({ call }: StoredCall): KeptCall {
  return JSON.parse(call) as KeptCall
}

function parse(text: string | null): JsonObject {
  return text === null ? {} : (JSON.parse(text) as JsonObject)
}

/** What an error says. Whatever else a client sends there is no text. */
function messageOf({ message }: JsonObject): string {
  return typeof message === 'string' ? message : 'an error'
}
