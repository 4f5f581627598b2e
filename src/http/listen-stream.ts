// One stream of `subscriptions/listen`, held by the Worker and fed by a hub's socket, which lets the hub sleep meanwhile.
// If the socket breaks it is made again from where it was, and the client notices nothing. It ends in good order, with the
// answer to its request, or because the client left. @see basic/patterns/subscriptions

import { limits } from '../limits.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { RequestId } from '../protocol/json-rpc.ts'
import type { Implementation } from '../protocol/meta.ts'
import { acknowledgedMessage, listenEndMessage, taggedMessage, type ListenFilter } from '../protocol/modern/listen.ts'
import { detailedTask } from '../protocol/modern/tasks.ts'
import type { TaskSnapshot } from '../protocol/task.ts'
import { changeNotification, isTaskTopic, subjectOf, type Topic } from '../protocol/topic.ts'
import type { HubFrame, ListenRefusal } from '../server/listen-port.ts'
import { isFinal } from '../server/tasks.ts'
import { openSse, remainingMs, type SseStream } from './sse.ts'

/** What a stream is about, and how it gets what it needs. */
export interface ListenOptions {
  /** The id of the request, which marks every message. */
  id: RequestId
  serverInfo: Implementation
  /** What is agreed to, tasks aside. */
  filter: ListenFilter
  /** The same as topics. */
  topics: readonly Topic[]
  /** The tasks that were asked for, where that was done and there are tasks at all. */
  taskIds: readonly string[] | undefined
  /** Where the client was before. */
  after: number | undefined
  /** When the token ends it was asked for with, ms since the epoch. */
  endsAt?: number | undefined
  /** The event id of a cursor, for clients that want ids. */
  eventId?: (cursor: number) => string
  /** Connects to the hub. @throws when it cannot be reached */
  attach(topics: readonly Topic[], after: number | undefined): Promise<WebSocket | ListenRefusal>
  /** True for a task of the caller, which from now on says when it changes. @throws when it cannot be reached */
  ownsTask(taskId: string): Promise<boolean>
  /** What a task of the caller is now. @throws when it cannot be reached */
  readTask(taskId: string): Promise<TaskSnapshot | undefined>
}

export class ListenStream {
  readonly #options: ListenOptions
  /** What the client is told of. Exact, where the hub only compares numbers. */
  readonly #wanted: Set<Topic>
  /** What has changed and is not told yet, oldest first. */
  readonly #untold = new Set<Exclude<Topic, `task ${string}`>>()
  #isTelling = false
  /** The same of tasks: what each is then is read when it is its turn. */
  readonly #untoldTasks = new Set<`task ${string}`>()
  #isReading = false
  #out: SseStream | undefined
  #age: ReturnType<typeof setTimeout> | undefined
  #socket: WebSocket | undefined
  /** Everything up to it has been told, and everything up to the other one is known. */
  #cursor: number | undefined
  #seen: number | undefined
  /** What came before the stream began. */
  #early: HubFrame[] = []
  #listeners = 0
  /** Attempts to connect since the last time that the hub said something. */
  #attempt = 0
  #isOver = false

  constructor(options: ListenOptions) {
    this.#options = options
    this.#cursor = options.after
    this.#wanted = new Set([...options.topics, ...(options.taskIds ?? []).map((id) => `task ${id}` as const)])
  }

  /** The bytes of the stream, once it has begun. */
  get body(): ReadableStream<Uint8Array> {
    return this.#out!.body
  }

  /**
   * Connects, and begins with the acknowledgement. What changes while the tasks are looked at is kept until then.
   * @returns why there is no stream
   * @throws {ProtocolError} Unavailable
   */
  async begin(): Promise<ListenRefusal | undefined> {
    const socket = await this.#connect()
    if (typeof socket === 'string') return socket
    try {
      if (!(await this.#join(socket))) throw new ProtocolError('Unavailable', 'Nobody can listen now: try again')
      this.#open(await this.#ownTasks())
    } catch (error) {
      this.#leave()
      throw error
    }
    return undefined
  }

  /** The tasks that are the caller's; the others are not spoken of. What they are now is read when it is their turn. */
  async #ownTasks(): Promise<string[]> {
    const { taskIds = [], ownsTask } = this.#options
    const owned = await Promise.all(taskIds.map(ownsTask))
    for (const [i, taskId] of taskIds.entries()) if (!owned[i]) this.#wanted.delete(`task ${taskId}`)
    return taskIds.filter((_, i) => owned[i])
  }

  #open(ownTasks: readonly string[]): void {
    const { id, filter, taskIds } = this.#options
    this.#out = openSse(limits.idleKeepAliveMs, () => this.#leave())
    // Jittered, so that streams which began together do not end together.
    const ageMs = Math.min(limits.streamMaxAgeMs * (0.9 + Math.random() / 5), remainingMs(this.#options.endsAt))
    this.#age = setTimeout(() => this.#end(), ageMs)
    const early = this.#early
    this.#early = []
    this.#seen = this.#cursor ??= early[0]!.cursor
    this.#send(acknowledgedMessage(id, taskIds ? { ...filter, taskIds: [...ownTasks] } : filter))
    this.#tell(ownTasks.map((taskId) => `task ${taskId}` as const))
    for (const frame of early) this.#receive(frame)
    if (!this.#socket) void this.#reattach()
  }

  /** @throws {ProtocolError} Unavailable */
  async #connect(): Promise<WebSocket | ListenRefusal> {
    try {
      return await this.#options.attach([...this.#wanted], this.#cursor)
    } catch (cause) {
      throw Object.assign(new ProtocolError('Unavailable', 'Nobody can listen now: try again'), { cause })
    }
  }

  /** Takes a socket. @returns true when its first frame is here, false if it broke before */
  #join(socket: WebSocket): Promise<boolean> {
    this.#socket = socket
    return new Promise((resolve) => {
      socket.addEventListener('message', ({ data }) => {
        if (socket !== this.#socket) return
        this.#receive(JSON.parse(data as string) as HubFrame)
        resolve(true)
      })
      socket.addEventListener('close', () => {
        resolve(false)
        if (socket !== this.#socket) return
        this.#socket = undefined
        // Whatever the reason: a deploy, an eviction, an error. Only who holds a stream ends it.
        if (this.#out) void this.#reattach()
      })
      socket.accept()
    })
  }

  #receive(frame: HubFrame): void {
    if (this.#isOver) return
    this.#attempt = 0
    if (!this.#out) return void this.#early.push(frame)
    const { cursor, topics = [], isAll, isPing, listeners } = frame
    if (listeners !== undefined) this.#listeners = listeners
    if (isPing) return this.#out.comment()
    this.#seen = cursor
    this.#tell(isAll ? this.#wanted : topics.filter((topic) => this.#wanted.has(topic)))
  }

  /**
   * Tells the client, as fast as it reads: what changes again before it was told is told once, so a slow client misses
   * nothing and takes no memory.
   */
  #tell(topics: Iterable<Topic>): void {
    for (const topic of topics) {
      if (isTaskTopic(topic)) this.#untoldTasks.add(topic)
      else this.#untold.add(topic)
    }
    if (!this.#isTelling) void this.#tellAll()
    if (!this.#isReading) void this.#readTasks()
  }

  async #tellAll(): Promise<void> {
    this.#isTelling = true
    for (const topic of this.#untold) {
      if (!(await this.#hasRoom())) return
      this.#untold.delete(topic)
      // Only with the last of them everything up to there is told.
      if (this.#untold.size === 0) this.#cursor = this.#seen
      const { method, params } = changeNotification(topic)
      this.#send(taggedMessage(this.#options.id, method, params))
    }
    this.#cursor = this.#seen
    this.#isTelling = false
  }

  /** Sends what tasks are now, one after the other. Lists and resources do not wait for them. */
  async #readTasks(): Promise<void> {
    this.#isReading = true
    for (const topic of this.#untoldTasks) {
      if (!(await this.#hasRoom())) return
      this.#untoldTasks.delete(topic)
      // It may have come to its end meanwhile.
      if (this.#wanted.has(topic)) await this.#readTask(subjectOf(topic))
    }
    this.#isReading = false
  }

  /** Waits until the client has read. @returns false when it does not, or has left */
  async #hasRoom(): Promise<boolean> {
    const isDrained = await this.#out!.drained(limits.streamStallMs)
    if (!isDrained) this.#out!.cut()
    return isDrained
  }

  async #readTask(taskId: string): Promise<void> {
    for (let attempt = 1; !this.#isOver; attempt++) {
      try {
        return this.#sendTask(taskId, await this.#options.readTask(taskId))
      } catch {
        // Its object is restarting. A client that comes back is told by another stream.
        if (attempt > ATTEMPTS_AT_TASK) return this.#end()
        await scheduler.wait(500 * attempt * (1 + Math.random()))
      }
    }
  }

  #sendTask(taskId: string, snapshot: TaskSnapshot | undefined): void {
    const { id, serverInfo } = this.#options
    // What has come to its end says no more, nor does what has expired.
    if (!snapshot || isFinal(snapshot.state)) this.#wanted.delete(`task ${taskId}`)
    if (snapshot) this.#send(taggedMessage(id, 'notifications/tasks', detailedTask(taskId, snapshot, serverInfo)))
  }

  #send(message: string): void {
    if (!this.#isOver) this.#out?.send(message, this.#options.eventId?.(this.#cursor!))
  }

  /** Makes the connection again. After a deploy all of a shard break at once, so they come back one by one. */
  async #reattach(): Promise<void> {
    while (this.#attempt < limits.listenAttempts) {
      const among = this.#attempt === 0 ? Math.max(200, this.#listeners) : 1_000 * 2 ** this.#attempt
      this.#attempt++
      await scheduler.wait(Math.random() * Math.min(among, limits.reattachMs))
      if (this.#isOver) return
      const socket = await this.#connect().catch(() => undefined)
      if (socket === 'moved') return this.#end()
      if (socket === undefined || typeof socket === 'string') continue
      if (this.#isOver) return leave(socket)
      // If it breaks again, that is seen to there.
      return void this.#join(socket)
    }
    this.#end()
  }

  /** Ends the stream with the answer to its request: the client may listen again. */
  #end(): void {
    if (this.#isOver) return
    this.#send(listenEndMessage(this.#options.id, this.#options.serverInfo))
    const out = this.#out
    this.#leave()
    out?.end()
  }

  /** Frees everything, at once. */
  #leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#age)
    this.#socket?.close(LISTENER_LEFT, 'the client went away')
    this.#socket = undefined
  }
}

/** Closes a socket that came too late. One that was not accepted cannot be closed. */
function leave(socket: WebSocket): void {
  socket.accept()
  socket.close(LISTENER_LEFT, 'the client went away')
}

/** How a listener closes its socket. A hub never does: one that breaks is made again. */
const LISTENER_LEFT = 1000

/** How often a task that cannot be reached is tried before its stream ends. */
const ATTEMPTS_AT_TASK = 5
