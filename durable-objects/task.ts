// One task: its state, its handler's runs, and who is told of what. It is stored before its handle is answered, and runs
// detached: neither awaited by an alarm nor kept by `waitUntil`. One alarm serves lease, sleep, expiry and retry.
// @see ext-tasks; 2025-11-25 basic/utilities/tasks

import { DurableObject } from 'cloudflare:workers'
import { logOf } from '../src/config.ts'
import { CLOSE } from '../src/http/session-call.ts'
import { limits } from '../src/limits.ts'
import { failure, report } from '../src/observability/sink.ts'
import { clip } from '../src/protocol/clip.ts'
import { ProtocolError } from '../src/protocol/errors.ts'
import type { JsonObject } from '../src/protocol/json-rpc.ts'
import { legacyTask, relatedTo, statusOf } from '../src/protocol/legacy/tasks.ts'
import type { LogLevel } from '../src/protocol/meta.ts'
import type { TaskOutcome, TaskSnapshot, TaskState } from '../src/protocol/task.ts'
import type { Topic } from '../src/protocol/topic.ts'
import type { Server } from '../src/server/define-server.ts'
import { digestOf } from '../src/server/canonical.ts'
import { ToolError } from '../src/server/errors.ts'
import { answerFrom, timedOut, type AskRecord, type JournalChange } from '../src/server/journal.ts'
import type { ListenPort } from '../src/server/listen-port.ts'
import { isAnonymous, type Ask, type InputRequest } from '../src/server/ports.ts'
import { Publisher } from '../src/server/publisher.ts'
import { TASK_PROTOCOL, type TaskCall, type TaskOwner, type TaskUpdate } from '../src/server/task-port.ts'
import { cancelled, created, done, expiryOf, isFinal, reported, STATUS_CHARS, waiting } from '../src/server/tasks.ts'
import { byteLength } from './event-log.ts'
import { listenPort } from './listen-port.ts'
import { callObject, principalObject, sessionObject, setAlarm, type SessionStub } from './objects.ts'
import { TaskRun, type RunHost } from './task-run.ts'
import { TaskStore, type StoredTaskAsk, type TaskRecord, type Watcher } from './task-store.ts'

/** The class of task objects for one server. Its public methods are what others call. */
export function createTaskObject(server: Server, hubs: ListenPort = listenPort()) {
  return class TaskObject extends DurableObject<Cloudflare.Env> {
    readonly #task = new Task(server, this.ctx, this.env, hubs)

    /** Stores the task. Undefined from an object that is a version behind. */
    create(call: TaskCall): TaskState | undefined {
      return call.protocol === TASK_PROTOCOL ? this.#task.create(call) : undefined
    }

    /** Forgets a task that was made, and whose handle nobody gets. */
    discard(): Promise<void> {
      return this.#task.discard()
    }

    /** Lets it run. */
    start(): void {
      this.#task.start()
    }

    get(owner: TaskOwner): TaskSnapshot | undefined {
      return this.#task.get(owner)
    }

    /** What a token of its owner must be good for. */
    scopesOf(owner: TaskOwner): readonly string[] | undefined {
      return this.#task.scopesOf(owner)
    }

    /** Publishes its changes from now on. @returns false for who is not its owner */
    listen(owner: TaskOwner): boolean {
      return this.#task.listen(owner)
    }

    /** Gives answers, unless one is too large to keep. */
    answer(owner: TaskOwner, responses: JsonObject): { tooLarge?: string } | undefined {
      return this.#task.answer(owner, responses)
    }

    cancel(owner: TaskOwner): { before: TaskSnapshot; now: TaskSnapshot } | undefined {
      return this.#task.cancel(owner)
    }

    /** Takes the answer of a session's client to one ask. */
    answered(owner: TaskOwner, key: string, raw: unknown): void {
      this.#task.answered(owner, key, raw)
    }

    /** Tells a stream of a session of everything until the end. */
    watch(owner: TaskOwner, watcher: Watcher, waits: readonly number[]): Promise<TaskSnapshot | undefined> {
      return this.#task.watch(owner, watcher, waits)
    }

    /** An upgrade waits for the end of the task: notifications, then a close with 1000. 404 for who is not its owner. */
    override fetch(request: Request): Response {
      const query = new URL(request.url).searchParams
      const owner = { principal: query.get('principal'), form: query.get('form') } as TaskOwner
      if (!this.#task.get(owner)) return new Response(null, { status: 404 })
      const { 0: client, 1: socket } = new WebSocketPair()
      this.#task.connect(socket)
      return new Response(null, { status: 101, webSocket: client })
    }

    override webSocketClose(socket: WebSocket, code: number): void {
      // The other end is gone, and the runtime has answered it; a task goes on without it.
      void socket
      void code
    }

    override alarm(): Promise<void> {
      return this.#task.alarm()
    }
  }
}

/** Notifications on their way to a session; a session that is slow misses what comes on top, and no task waits for it. */
const QUEUED = 100

/** An answer up to this size is always taken, such as one that declines. */
const SMALL_BYTES = 256

export class Task implements RunHost {
  readonly server: Server
  readonly env: Cloudflare.Env
  readonly #state: DurableObjectState
  readonly #store: TaskStore
  readonly #hubs: ListenPort
  readonly #publisher: Publisher
  /** The run that lives in this instance. What any other one does is ignored. */
  #run: TaskRun | undefined
  /** The last call of each session that was told something. */
  readonly #telling = new Map<string, Promise<unknown>>()
  #queued = 0
  #announcing: ReturnType<typeof setTimeout> | undefined
  #hasExpired = false
  /** Counts changes, so that one that comes while others are told of the last is not taken for told. */
  #changes = 0
  /** When the alarm is set to ring, as far as this instance knows. */
  #alarmAt = Number.POSITIVE_INFINITY

  constructor(server: Server, state: DurableObjectState, env: Cloudflare.Env, hubs: ListenPort) {
    this.server = server
    this.env = env
    this.#state = state
    this.#store = new TaskStore(state.storage)
    this.#hubs = hubs
    this.#publisher = new Publisher({
      publish: (topics) => hubs.publish(env, topics),
      waitUntil: (work) => state.waitUntil(work),
      report: (error) => this.report(error),
    })
  }

  /** Stores the task and the alarm that will run it. Creating the same one again changes nothing. */
  create(call: TaskCall): TaskState {
    const known = this.#store.record
    if (known) return known.state
    const { form, auth, session, requestId, params, ttlMs, pollIntervalMs } = call
    const { scopes } = this.server.tools.get(params['name'] as string) ?? {}
    const record: TaskRecord = {
      form,
      principal: auth.principal,
      ...(session !== undefined && { session }),
      requestId,
      name: params['name'] as string,
      ...(scopes && { scopes }),
      state: created(Date.now(), ttlMs, pollIntervalMs),
      attempts: 0,
      isParked: false,
      isUntold: false,
      answerBytes: 0,
    }
    this.#store.create(record, call)
    this.#arm()
    this.#log('created')
    return record.state
  }

  discard(): Promise<void> {
    this.#run?.end('the task was discarded')
    this.#run = undefined
    return this.#store.deleteAll()
  }

  /** Runs a task that has not run yet. */
  start(): void {
    const record = this.#store.record
    if (record && !isFinal(record.state) && !record.isParked && record.attempts === 0) this.#enter()
  }

  get(owner: TaskOwner): TaskSnapshot | undefined {
    return this.#owned(owner) && this.#snapshot()
  }

  scopesOf(owner: TaskOwner): readonly string[] | undefined {
    const record = this.#owned(owner)
    return record && this.#scopesOf(record)
  }

  /** As its tool says now, or said when the task was made: a tool that is gone must not open what it did. */
  #scopesOf({ name, scopes = [] }: TaskRecord): readonly string[] {
    const tool = this.server.tools.get(name)
    return tool ? (tool.scopes ?? []) : scopes
  }

  /** Publishes its changes from now on: most tasks nobody listens for, and they publish none. */
  listen(owner: TaskOwner): boolean {
    const record = this.#owned(owner)
    if (record && !record.isListened && !isFinal(record.state)) this.#store.save({ isListened: true })
    return record !== undefined
  }

  /** Gives answers by the keys they were asked under, all of them or none. Others are ignored. */
  answer(owner: TaskOwner, responses: JsonObject): { tooLarge?: string } | undefined {
    const record = this.#owned(owner)
    if (!record) return undefined
    if (record.state.phase !== 'input_required') return {}
    const answered = this.#store.openAsks().filter(({ ask }) => Object.hasOwn(responses, ask.key))
    const large = this.#firstTooLarge(answered.map(({ ask }) => [ask.key, responses[ask.key]]))
    if (large !== undefined) return { tooLarge: large }
    this.#settle(answered.map((open) => [open, answerFrom(responses[open.ask.key])]))
    return {}
  }

  /** The key of the first answer that is too large, alone or with all there were. */
  #firstTooLarge(answers: readonly [key: string, raw: unknown][]): string | undefined {
    let bytes = this.#store.record!.answerBytes
    const large = answers.find(([, raw]) => {
      const own = bytesOf(raw)
      bytes += own
      return own > limits.eventBytes || (own > SMALL_BYTES && bytes > limits.taskStepBytes)
    })
    return large?.[0]
  }

  /** Takes the answer of a session's client to one ask; the first one counts. */
  answered(owner: TaskOwner, key: string, raw: unknown): void {
    if (this.#owned(owner)?.state.phase !== 'input_required') return
    const open = this.#store.openAsks().find(({ ask }) => ask.key === key)
    if (!open) return
    const isTooLarge = this.#firstTooLarge([[key, raw]]) !== undefined
    this.#settle([[open, isTooLarge ? { refused: 'the answer is too large to be kept' } : raw]])
  }

  cancel(owner: TaskOwner): { before: TaskSnapshot; now: TaskSnapshot } | undefined {
    const record = this.#owned(owner)
    if (!record) return undefined
    const before = this.#snapshot()
    if (!isFinal(record.state)) {
      const run = this.#run
      this.#end(cancelled(record.state, Date.now()))
      run?.end('the client cancelled the task')
    }
    return { before, now: this.#snapshot() }
  }

  /** @param waits the streams of that session that wait for this task now: others have ended, and are not told */
  async watch(owner: TaskOwner, watcher: Watcher, waits: readonly number[]): Promise<TaskSnapshot | undefined> {
    const record = this.#owned(owner)
    if (!record) return undefined
    for (const known of this.#store.watchers()) {
      // A newer one may have overtaken this list.
      const isKnown = known.session === watcher.session && known.stream <= Math.max(...waits)
      if (isKnown && !waits.includes(known.stream)) this.#store.dropWatcher(known)
    }
    if (!isFinal(record.state)) this.#store.addWatcher(watcher)
    // What was said before comes before: the end of a task ends the stream.
    await this.#telling.get(watcher.session)
    return this.get(owner)
  }

  connect(socket: WebSocket): void {
    this.#state.acceptWebSocket(socket)
    if (isFinal(this.#store.record!.state)) socket.close(CLOSE.finished, 'the task is at its end')
  }

  async alarm(): Promise<void> {
    this.#alarmAt = Number.POSITIVE_INFINITY
    const record = this.#store.record
    if (!record) return
    const now = Date.now()
    if (now >= expiryOf(record.state)) return this.#expire()
    try {
      if (!isFinal(record.state)) this.#goOn(now)
      if (this.#store.record?.isUntold) this.#tell()
    } finally {
      this.#arm()
    }
  }

  /** Wakes the handler, or enters it where it is not alive although there is something to do. */
  #goOn(now: number): void {
    const late = this.#store.openAsks().filter(({ expiresAt = Infinity }) => now >= expiresAt)
    this.#settle(late.map((open) => [open, timedOut(open.ask.method)]))
    const { isParked, wakeAt = Infinity } = this.#store.record!
    if (isParked && now < wakeAt) return
    if (isParked) this.#store.save({ isParked: false, attempts: 0 })
    if (this.#run) this.#run.wake(now)
    else this.#enter()
  }

  /** Enters the handler, unless that was tried too often for nothing. */
  #enter(): void {
    if (this.#run || this.#hasExpired || isFinal(this.#store.record!.state)) return
    const attempts = this.#store.record!.attempts + 1
    if (attempts > limits.taskAttempts) {
      const problem = `The task was given up: it was interrupted ${limits.taskAttempts} times without getting on`
      return this.#finish({ error: new ProtocolError('InternalError', problem).encode('modern') })
    }
    this.#store.save({ attempts, isParked: false })
    this.#run = new TaskRun(this, this.#store.call, this.#store.memory())
    this.#arm()
    this.#run.start()
  }

  opened(run: TaskRun, wire: string, request: InputRequest, { key, ttlMs }: Ask, record: AskRecord): void {
    if (run !== this.#run) return
    const known = this.#store.ask(key)
    if (known?.isOpen && known.ask.key === wire) return
    const all = this.#store.asks()
    if (all.filter(([, { isOpen }]) => isOpen).length >= limits.taskAsks) {
      throw new ToolError(`The user cannot be asked now: ${limits.taskAsks} asks of this task are open already`)
    }
    const now = Date.now()
    this.#store.putAsk(key, {
      record,
      ask: { key: wire, ...request },
      isOpen: true,
      turn: all.length,
      ...(Number.isFinite(ttlMs) && { expiresAt: now + ttlMs }),
    })
    this.#moved({ attempts: 0 }, waiting(this.#store.record!.state, true, now))
  }

  changed(run: TaskRun, change: JournalChange): void {
    // Answers were stored when they came.
    if (run === this.#run && 'step' in change) this.#store.addStep(change.step, change.value)
  }

  slept(run: TaskRun, key: string, ms: number): number {
    const known = this.#store.sleepUntil(key)
    if (known !== undefined || run !== this.#run) return known ?? Infinity
    const until = Date.now() + ms
    this.#store.addSleep(key, until)
    return until
  }

  sleeping(run: TaskRun): void {
    if (run === this.#run) this.#arm()
  }

  parked(run: TaskRun): void {
    if (run !== this.#run) return
    this.#store.save({ isParked: true, attempts: 0, wakeAt: run.wakeAt })
    this.#arm()
  }

  unparked(run: TaskRun): void {
    if (run !== this.#run) return
    this.#store.save({ isParked: false })
    this.#arm()
  }

  reported(run: TaskRun, progress: number, message: string): void {
    if (run !== this.#run) return
    const state = reported(this.#store.record!.state, clip(message, STATUS_CHARS), Date.now())
    this.#store.save({ state, progress, attempts: 0 })
    if (this.#store.record!.isListened) this.#announceSoon()
  }

  emitted(run: TaskRun, method: string, params: JsonObject): void {
    if (run !== this.#run) return
    const { form, requestId, name, session } = this.#store.record!
    if (method !== 'notifications/message') return this.#say(method, relatedTo(this.#id, params))
    this.#store.logs = run.journal.logs
    // Only in a session a client can say which messages it wants.
    if (form !== 'extension' && session !== undefined) return this.#tellSession(method, relatedTo(this.#id, params))
    const { level, data, logger } = params as { level: LogLevel; data: unknown; logger?: string }
    const about = { requestId, name, level, data, ...(logger !== undefined && { logger }) }
    report({ event: 'message', ...about }, logOf(this.env))
  }

  notify(topic: Topic): void {
    this.#publisher.notify(topic)
  }

  published(): Promise<void> {
    return this.#publisher.settled()
  }

  ended(run: TaskRun, outcome: TaskOutcome): void {
    if (run !== this.#run) return
    // If the end cannot be stored, another entry comes to it again.
    this.#run = undefined
    this.#finish(outcome)
  }

  /** An id for a link. One of a session leads back to it. */
  mintId(): string {
    const { session } = this.#store.record ?? {}
    return session === undefined ? crypto.randomUUID() : `${crypto.randomUUID()}.${session}`
  }

  report(error: unknown): void {
    const { requestId, name } = this.#store.record ?? {}
    const about = { ...(requestId !== undefined && { requestId }), ...(name !== undefined && { name }) }
    report(failure(error, { ...about, method: 'tools/call' }), logOf(this.env))
  }

  waitUntil(work: Promise<unknown>): void {
    this.#state.waitUntil(work)
  }

  get #id(): string {
    return this.#state.id.toString()
  }

  /** The task, for its owner in its form. */
  #owned({ principal, form }: TaskOwner): TaskRecord | undefined {
    const record = this.#store.record
    // Its alarm may ring late.
    const isAlive = record !== undefined && Date.now() < expiryOf(record.state)
    return isAlive && record.principal === principal && record.form === form ? record : undefined
  }

  #snapshot(): TaskSnapshot {
    const record = this.#store.record!
    const { state } = record
    const asks = state.phase === 'input_required' ? this.#store.openAsks().map(({ ask }) => ask) : []
    const outcome = state.phase === 'done' ? this.#store.outcome : undefined
    return { state, asks, ...(outcome && { outcome }), scopes: this.#scopesOf(record) }
  }

  /**
   * Gives asks their answers: to the handler that waits for them here, or to one entered again. All are stored before it
   * runs, since it may ask something else in their place at once.
   */
  #settle(answers: readonly (readonly [StoredTaskAsk & { key: string }, unknown])[]): void {
    if (answers.length === 0) return
    let { answerBytes } = this.#store.record!
    for (const [{ key, ...open }, raw] of answers) {
      this.#store.putAsk(key, { ...open, isOpen: false })
      this.#store.putAnswer(key, raw)
      answerBytes += bytesOf(raw)
    }
    const isAsking = this.#store.openAsks().length > 0
    const state = waiting(this.#store.record!.state, isAsking, Date.now())
    this.#moved({ attempts: 0, isParked: false, answerBytes }, state)
    this.#arm()
    const run = this.#run
    if (!run) return this.#enter()
    for (const [{ key, ask }, raw] of answers) run.answered(key, ask.key, raw)
  }

  #finish(outcome: TaskOutcome): void {
    this.#store.outcome = outcome
    this.#end(done(this.#store.record!.state, outcome, Date.now()))
  }

  #end(state: TaskState): void {
    this.#run = undefined
    this.#moved({}, state, !isAnonymous(this.#store.record!))
    for (const socket of this.#state.getWebSockets()) socket.close(CLOSE.finished, 'the task is at its end')
    this.#log(state.phase === 'done' ? statusOf(state, this.#store.outcome) : state.phase)
    this.#arm()
  }

  /** Stores a change and tells everybody who waits for it. */
  #moved(change: Partial<TaskRecord>, state: TaskState, hasToTell = false): void {
    const before = this.#store.record!
    const isUntold = hasToTell || before.isListened === true || this.#store.watchers().length > 0
    this.#store.save({ ...change, state, isUntold })
    // The id is in the parameters, so no mark is needed. @see 2025-11-25 basic/utilities/tasks, Task Notifications
    if (before.state.phase !== state.phase)
      this.#say('notifications/tasks/status', legacyTask(this.#id, this.#snapshot()))
    if (isUntold) this.#tell()
  }

  /** Publishes that it changed. Who listens reads what it is then. */
  #announce(): Promise<void> {
    return this.#hubs.publish(this.env, [`task ${this.#id}`])
  }

  /** The same for what may also be missed, such as progress, and not more often than it is delivered. */
  #announceSoon(): void {
    if (this.#announcing !== undefined) return
    this.#announcing = setTimeout(() => {
      this.#announcing = undefined
      this.#announce().catch((error: unknown) => this.report(error))
    }, limits.hubWindowMs)
  }

  /** Sends a notification to whoever listens: the session, and clients without one that wait for the result. */
  #say(method: string, params: JsonObject): void {
    if (this.#store.record!.form === 'extension') return
    const message = JSON.stringify({ method, params })
    for (const socket of this.#state.getWebSockets()) if (socket.readyState === WebSocket.OPEN) socket.send(message)
    this.#tellSession(method, params)
  }

  #tellSession(method: string, params: JsonObject): void {
    const { session } = this.#store.record!
    if (session !== undefined) this.#queue(session, (object) => object.taskSaid(this.#id, method, params))
  }

  /** Tells streams that wait for this task what it has come to, and the principal when it is over. */
  #tell(): void {
    void this.#tellAll(++this.#changes)
  }

  async #tellAll(turn: number): Promise<void> {
    const record = this.#store.record!
    // If something newer is to be told when the turn comes, that will do.
    const told = this.#store.watchers().map((watcher) =>
      this.#inOrder(watcher.session, async () => {
        if (turn === this.#changes) await this.#tellOne(watcher)
      }),
    )
    if (record.isListened) told.push(this.#announce())
    if (isFinal(record.state) && !isAnonymous(record)) told.push(this.#close(record.principal))
    const isUntold = (await Promise.allSettled(told)).some(({ status }) => status === 'rejected')
    // Whoever could not be reached is told when the alarm rings.
    if (isUntold || turn !== this.#changes || !this.#store.record) return
    this.#store.save({ isUntold: false })
    this.#arm()
  }

  /** Tells a stream what is so now: what was so when it was to be told may be over. */
  async #tellOne(watcher: Watcher): Promise<void> {
    const update: TaskUpdate = {
      protocol: TASK_PROTOCOL,
      taskId: this.#id,
      stream: watcher.stream,
      ...(this.#store.record && !this.#hasExpired && { snapshot: this.#snapshot() }),
    }
    const waits = await callObject(
      () => sessionObject(this.env, watcher.session),
      async (object) => object.taskChanged(update),
      true,
    )
    if (!waits) this.#store.dropWatcher(watcher)
  }

  async #close(principal: string): Promise<void> {
    const digest = await digestOf(principal)
    await callObject(
      () => principalObject(this.env, digest),
      async (object) => object.closed(this.#id),
      true,
    )
  }

  /** Sends something to a session; what cannot be sent is lost, as notifications may be. */
  #queue(session: string, send: (object: SessionStub) => Promise<unknown>): void {
    if (this.#queued >= QUEUED) return
    this.#queued++
    this.#inOrder(session, () => callObject(() => sessionObject(this.env, session), send, false))
      .catch(() => {})
      .finally(() => this.#queued--)
  }

  /** Calls a session when the calls before are done, so that it hears everything in order and no other one waits. */
  #inOrder<T>(session: string, call: () => Promise<T>): Promise<T> {
    const called = (this.#telling.get(session) ?? Promise.resolve()).then(call)
    this.#telling.set(
      session,
      called.catch(() => {}),
    )
    return called
  }

  /** Ends what lived too long. Nothing can write afterwards, and the id is one that never was. */
  async #expire(): Promise<void> {
    const run = this.#run
    this.#run = undefined
    if (!isFinal(this.#store.record!.state)) this.#log('expired')
    for (const socket of this.#state.getWebSockets()) socket.close(CLOSE.finished, 'the task expired')
    this.#hasExpired = true
    // Who cannot be reached asks again itself when its client comes back.
    await Promise.allSettled(
      this.#store.watchers().map((watcher) => this.#inOrder(watcher.session, () => this.#tellOne(watcher))),
    )
    run?.end('the task expired')
    await this.#store.deleteAll()
    if (run) this.#state.abort('the task expired', { retryAlarm: false })
  }

  /** Makes sure the alarm rings when something has to be done next: never later, and not earlier once nothing runs. */
  #arm(): void {
    const record = this.#store.record
    if (!record) return
    const now = Date.now()
    const next = Math.max(this.#next(record, now), now + 1)
    const isIdle = record.isParked || isFinal(record.state)
    const isSoonEnough = this.#alarmAt > now && this.#alarmAt <= next
    if (next === this.#alarmAt || (isSoonEnough && !isIdle)) return
    this.#alarmAt = next
    setAlarm(this.#state.storage, next)
  }

  #next({ state, isParked, wakeAt = Infinity, isUntold }: TaskRecord, now: number): number {
    const times = [expiryOf(state)]
    if (isUntold) times.push(now + limits.leaseMs)
    if (isFinal(state)) return Math.min(...times)
    if (isParked) times.push(wakeAt)
    else times.push(now + limits.leaseMs, this.#run?.wakeAt ?? Infinity)
    if (state.phase === 'input_required') {
      for (const { expiresAt = Infinity } of this.#store.openAsks()) times.push(expiresAt)
    }
    return Math.min(...times)
  }

  #log(status: string): void {
    const { requestId, name, principal, state } = this.#store.record!
    const ms = Date.now() - Date.parse(state.createdAt)
    report({ event: 'task', requestId, name, status, principal, ms }, logOf(this.env))
  }
}

function bytesOf(raw: unknown): number {
  return byteLength(JSON.stringify(raw) ?? '')
}
