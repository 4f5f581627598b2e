// One shard of the change notifications: every change comes here, and whoever listens is told. An idle shard sleeps, with
// its sockets, and stores nothing per listener. Sessions are told by calls, since an object's own sockets would keep it
// awake. @see basic/patterns/subscriptions

import { DurableObject } from 'cloudflare:workers'
import { logOf, shardsOf } from '../src/config.ts'
import { limits } from '../src/limits.ts'
import { failure, report } from '../src/observability/sink.ts'
import { LIST_TOPICS, type ListTopic, type Topic } from '../src/protocol/topic.ts'
import type { Server } from '../src/server/define-server.ts'
import { listMarks } from '../src/server/list-marks.ts'
import { LISTEN_PROTOCOL, type HubFrame, type ListMarks } from '../src/server/listen-port.ts'
import { within } from '../src/server/within.ts'
import { HubStore, type DueSession, type Following } from './hub-store.ts'
import { Listeners } from './listeners.ts'
import { parseAttach, REFUSAL_STATUS } from './listen-attach.ts'
import { callObject, sessionObject, setAlarm } from './objects.ts'

/** The class of listen hubs for one server. Its public methods are what others call. */
export function createListenHubObject(server: Server) {
  return class ListenHubObject extends DurableObject<Cloudflare.Env> {
    readonly #hub = new Hub(server, this.ctx, this.env)

    /** Takes changes. They are stored when this returns. @returns false from a shard of another version */
    publish(protocol: number, topics: readonly Topic[]): boolean {
      if (protocol !== LISTEN_PROTOCOL) return false
      this.#hub.publish(topics)
      return true
    }

    /** Notes that a session is to be told of changes. @returns false from a shard of another version */
    follow(protocol: number, session: string, topics: readonly Topic[]): boolean {
      if (protocol !== LISTEN_PROTOCOL) return false
      this.#hub.follow(session, topics)
      return true
    }

    /** An upgrade listens; other answers say by their status why not. */
    override fetch(request: Request): Response {
      return this.#hub.connect(request)
    }

    override webSocketClose(socket: WebSocket): void {
      this.#hub.closed(socket)
    }

    override webSocketError(socket: WebSocket): void {
      this.#hub.closed(socket)
    }

    override alarm(): Promise<void> {
      return this.#hub.alarm()
    }
  }
}

/** What telling one listener takes of the object's time, twice over. The clock does not move meanwhile. */
const TELLING_MS = 0.2

/** How long a session is waited for: it may be busy with a call, and others are to be told too. */
const TELLING_ENOUGH_MS = 5_000

class Hub {
  readonly #server: Server
  readonly #state: DurableObjectState
  readonly #env: Cloudflare.Env
  readonly #store: HubStore
  readonly #listeners: Listeners
  /** What changed and is not delivered yet, with its turn. */
  readonly #undelivered = new Map<Topic, number>()
  readonly #changedAgain = new Set<Topic>()
  /** When the next delivery may be: what changes until then is delivered together. */
  #pausedUntil = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** True while sessions are being told, and when something has become due meanwhile. */
  #isTelling = false
  #hasMore = false
  /** The sessions that are being told just now, and whether they have asked to be told meanwhile. */
  readonly #beingTold = new Map<string, boolean>()
  /** True once this instance has compared its lists with those of the last one. */
  #isCompared = false
  #alarmAt = Number.POSITIVE_INFINITY

  constructor(server: Server, state: DurableObjectState, env: Cloudflare.Env) {
    this.#server = server
    this.#state = state
    this.#env = env
    this.#store = new HubStore(state.storage)
    this.#listeners = new Listeners(state)
  }

  publish(topics: readonly Topic[]): void {
    this.#compareLists()
    this.#changed(topics)
  }

  #changed(topics: readonly Topic[]): void {
    const now = Date.now()
    for (const topic of topics) {
      const turn = this.#store.changed(topic, now)
      // A row that says so already is not written for each change, but once when all of them are delivered.
      this.#store.markDue(topic, true)
      if (this.#isTelling || this.#undelivered.has(topic)) this.#changedAgain.add(topic)
      this.#undelivered.set(topic, turn)
    }
    this.#arm(now + limits.hubReplayMs)
    // Sessions are told by the alarm, should this instance die before.
    if (this.#store.hasDue) this.#armLease(now)
    // Not here, even if it is due: who publishes does not wait for it.
    this.#timer ??= setTimeout(() => this.#deliver(), Math.max(0, this.#pausedUntil - now))
  }

  #deliver(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const now = Date.now()
    const changes = [...this.#undelivered]
    this.#undelivered.clear()
    // Who is being told just now is told of what was so before.
    for (const topic of this.#changedAgain) this.#store.markDue(topic, false)
    this.#changedAgain.clear()
    // Everything up to this turn has been told with it, so that is where a listener may go on.
    const told = this.#listeners.tell(changes, this.#store.turn(now))
    this.#pausedUntil = now + Math.max(limits.hubWindowMs, told * TELLING_MS)
    this.#tellSoon()
  }

  connect(request: Request): Response {
    const asked = parseAttach(request)
    const { shard, owner, limit, topics, after, lists, isKnown } = asked
    if (!isKnown || shard >= shardsOf(this.#env)) return refuse('moved')
    this.#compareLists()
    const refusal = this.#listeners.refuse(owner, limit, topics)
    if (refusal) {
      if (refusal === 'owner') this.#listeners.ping(owner, this.#store.turn(Date.now()), Date.now())
      return refuse(refusal)
    }
    const { 0: client, 1: socket } = new WebSocketPair()
    const frame = this.#firstFrame(topics, after, lists)
    this.#listeners.accept(socket, owner, topics, frame.cursor)
    this.#listeners.send(socket, { ...frame, listeners: this.#listeners.count })
    return new Response(null, { status: 101, webSocket: client })
  }

  /** What a listener has missed. */
  #firstFrame(keys: readonly number[], after: number | undefined, lists: ListMarks): HubFrame {
    const now = Date.now()
    const about = { cursor: this.#store.turn(now) }
    const changed = after === undefined ? [] : this.#store.changedAfter(after, keys, now)
    if (!changed) return { ...about, isAll: true }
    // Whoever holds the stream may be of another version, and its client know other lists.
    const topics = [...new Set<Topic>([...changed, ...this.#otherThan(lists)])]
    return topics.length > 0 ? { ...about, topics } : about
  }

  closed(socket: WebSocket): void {
    this.#listeners.closed(socket)
  }

  follow(session: string, topics: readonly Topic[]): void {
    this.#compareLists()
    const now = Date.now()
    this.#arm(this.#store.follow(session, topics, now))
    if (this.#beingTold.has(session)) this.#beingTold.set(session, true)
  }

  /** A definition that is not the last one's is a change, whoever published it. */
  #compareLists(): void {
    if (this.#isCompared) return
    this.#isCompared = true
    const before = this.#store.setting('lists')
    const lists = JSON.stringify(listMarks(this.#server))
    if (before === lists) return
    this.#store.set('lists', lists)
    this.#arm(Date.now() + limits.hubReplayMs)
    if (before !== undefined) this.#changed(this.#otherThan(JSON.parse(before) as ListMarks))
  }

  #otherThan(lists: ListMarks): ListTopic[] {
    const own = listMarks(this.#server)
    return LIST_TOPICS.filter((list) => lists[list] !== own[list])
  }

  #tellSoon(): void {
    this.#hasMore = true
    if (this.#isTelling || !this.#store.hasDue) return
    this.#armLease(Date.now())
    this.#isTelling = true
    this.#tellSessions()
      .catch((error: unknown) => report(failure(error, {}), logOf(this.#env)))
      .finally(() => (this.#isTelling = false))
  }

  /** Tells all sessions that are due, some at a time. One that cannot be reached is told when the alarm rings. */
  async #tellSessions(): Promise<void> {
    while (this.#hasMore) {
      // Those up to there had their turn, and have it again after the others.
      let after = this.#store.setting('brokeOffAt') ?? ''
      this.#hasMore = after !== ''
      if (this.#hasMore) this.#store.set('brokeOffAt', '')
      for (let batch = this.#store.due(after); batch.length > 0; batch = this.#store.due(after)) {
        after = batch.at(-1)!.session
        const told = await Promise.allSettled(batch.map((due) => this.#tellSession(due)))
        const failed = told.filter((one) => one.status === 'rejected')
        if (failed[0]) report(failure(failed[0].reason, {}), logOf(this.#env))
        // Then it is not the sessions: an event of the platform may make only so many calls. Where it was is stored, since
        // this object sleeps until its alarm rings.
        if (failed.length === limits.hubSessions) return this.#store.set('brokeOffAt', after)
      }
    }
  }

  async #tellSession({ session, due }: DueSession): Promise<void> {
    this.#beingTold.set(session, false)
    try {
      const following = await within(TELLING_ENOUGH_MS, this.#call(session, due))
      // Of another version: when the alarm rings both may be of one.
      if (!following) return
      // What it says was so before it came back. It has the event, so being told again would add nothing.
      const isBack = this.#beingTold.get(session)
      for (const [i, one] of due.entries()) {
        const said = following[i] ?? 'leave'
        // It changed after it was told: it is told again.
        if (this.#changedAgain.has(one.topic) || (isBack && said === 'leave')) continue
        this.#store.told(session, one, isBack ? 'follow' : said)
      }
    } finally {
      this.#beingTold.delete(session)
    }
  }

  #call(session: string, due: DueSession['due']): Promise<Following[] | undefined> {
    const topics = due.map(({ topic }) => topic)
    return callObject(
      () => sessionObject(this.#env, session),
      async (object) => object.changed(LISTEN_PROTOCOL, topics),
      true,
    )
  }

  async alarm(): Promise<void> {
    this.#alarmAt = Number.POSITIVE_INFINITY
    if (this.#timer !== undefined) this.#deliver()
    const now = Date.now()
    const next = this.#store.prune(now)
    if (next !== undefined) this.#arm(Math.max(next, now + 1))
    else {
      // With the lists goes what the next instance compares: listeners bring their own, and there are no sessions.
      this.#isCompared = false
      await this.#store.deleteAll()
    }
    if (!this.#store.hasDue) return
    // Also while sessions are being told, which may take longer than this: this instance may die meanwhile.
    this.#armLease(now)
    this.#tellSoon()
  }

  /** Set at once, with the rows that need it: nothing else tells sessions when this instance dies. */
  #armLease(now: number): void {
    if (this.#alarmAt <= now + limits.leaseMs && this.#alarmAt > now) return
    this.#alarmAt = now + limits.leaseMs
    setAlarm(this.#state.storage, this.#alarmAt)
  }

  /** Makes sure the alarm rings at `time` or before. */
  #arm(time: number): void {
    if (this.#alarmAt <= time && this.#alarmAt > Date.now()) return
    this.#alarmAt = time
    void this.#armStored(time)
  }

  /** One that an earlier instance set may ring earlier, or be overdue: it rings still, unless it is set anew. */
  async #armStored(time: number): Promise<void> {
    const stored = await this.#state.storage.getAlarm()
    if (stored !== null && stored <= time) {
      this.#alarmAt = Math.min(this.#alarmAt, stored)
      return
    }
    if (this.#alarmAt === time) setAlarm(this.#state.storage, time)
  }
}

function refuse(refusal: keyof typeof REFUSAL_STATUS): Response {
  return new Response(null, { status: REFUSAL_STATUS[refusal] })
}
