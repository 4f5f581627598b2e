// What a listen hub stores: the newest change of each thing, for listeners that come back, and the sessions that are to be
// told. Tables are made on the first write; nothing is stored per listener.

import { limits } from '../src/limits.ts'
import { topicKey, type Topic } from '../src/protocol/topic.ts'

/** A session that has to be told of something. */
export interface DueSession {
  session: string
  /** The turn of the newest change of each topic. */
  due: { topic: Topic; turn: number }[]
}

/** What a session does with a topic from now on. */
export type Following = 'follow' | 'wait' | 'leave'

type Change = {
  topic: Topic
  turn: number
}

/** The clocks of two machines that an object moves between differ by less. */
const SKEW_MS = 60_000

/** `due` of a session that waits: it keeps what it has not sent yet, and needs to hear of no more until it is read. */
const WAITING = -1

const SCHEMA = `
  create table if not exists change (key integer primary key, turn integer not null, topic text not null);
  create table if not exists follower (
    topic text not null, session text not null, due integer, expires_at integer not null, primary key (topic, session)
  ) without rowid;
  create index if not exists follower_due on follower (session) where due > 0;
  create table if not exists setting (name text primary key, value text not null) without rowid;`

export class HubStore {
  readonly #storage: DurableObjectStorage
  #exists: boolean | undefined
  /** The newest change of each topic, oldest first. */
  #changes: Map<number, Change> | undefined
  /** The number of the newest change. It grows with time, so that numbers go on where deleted ones ended. */
  #turn = 0

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  get #hasTables(): boolean {
    this.#exists ??= this.#rows(`select 1 from sqlite_master where name = 'setting'`).length > 0
    return this.#exists
  }

  get #loaded(): Map<number, Change> {
    if (this.#changes) return this.#changes
    this.#changes = new Map()
    const stored = this.#hasTables ? this.#rows<Change & { key: number }>('select * from change order by turn') : []
    for (const { key, turn, topic } of stored) this.#changes.set(key, { turn, topic })
    this.#turn = stored.at(-1)?.turn ?? 0
    return this.#changes
  }

  /**
   * Where a listener goes on that knows of everything there was: the number of the newest change, or of a while ago, so that
   * it is not forgotten sooner than necessary. @param now ms since the epoch
   */
  turn(now: number): number {
    void this.#loaded
    return Math.max(this.#turn, (now - SKEW_MS) * 1000)
  }

  /** Notes that something changed. @returns its turn */
  changed(topic: Topic, now: number): number {
    const changes = this.#loaded
    this.#turn = Math.max(now * 1000, this.#turn + 1)
    const key = topicKey(topic)
    const known = changes.get(key)
    // Something else that has the same number is forgotten for it.
    if (known && known.topic !== topic) this.#forgotten(known.turn)
    changes.delete(key)
    changes.set(key, { topic, turn: this.#turn })
    const row = [key, this.#turn, topic]
    this.#write('insert or replace into change values (?, ?, ?)', ...row)
    if (changes.size > limits.hubChanges) this.#forgetOldest()
    return this.#turn
  }

  /** Notes that who follows a topic has to be told of its newest change. @param isNew true leaves who is to be told already */
  markDue(topic: Topic, isNew: boolean): void {
    const which = isNew ? 'due is null' : '(due is null or due > 0)'
    if (this.#hasTables) this.#write(`update follower set due = ? where topic = ? and ${which}`, this.#turn, topic)
  }

  /** What of some topics changed after a cursor, oldest first; undefined when it is not known any more. */
  changedAfter(cursor: number, keys: Iterable<number>, now: number): Topic[] | undefined {
    if (cursor < this.#floor(now)) return undefined
    const found = Array.from(keys).flatMap((key) => this.#loaded.get(key) ?? [])
    return found
      .filter(({ turn }) => turn > cursor)
      .toSorted((a, b) => a.turn - b.turn)
      .map(({ topic }) => topic)
  }

  /** What came after it is known. */
  #floor(now: number): number {
    return Math.max((now - limits.hubReplayMs) * 1000, Number(this.setting('floor') ?? 0))
  }

  /** Forgets a tenth of what is remembered, oldest first. */
  #forgetOldest(): void {
    const changes = this.#loaded
    let floor = 0
    for (const [key, { turn }] of changes) {
      if (changes.size <= limits.hubChanges * 0.9) break
      changes.delete(key)
      floor = turn
    }
    this.#write('delete from change where turn <= ?', floor)
    this.#forgotten(floor)
  }

  /** Notes that not everything up to a turn is known any more. */
  #forgotten(turn: number): void {
    this.set('floor', String(Math.max(turn, Number(this.setting('floor') ?? 0))))
  }

  setting(name: string): string | undefined {
    if (!this.#hasTables) return undefined
    return this.#rows<{ value: string }>('select value from setting where name = ?', name)[0]?.value
  }

  set(name: string, value: string): void {
    this.#write('insert or replace into setting values (?, ?)', name, value)
  }

  /**
   * Notes that a session is to be told of some topics. Writes only what is not noted yet, or is about to expire.
   * @returns when it expires, in ms since the epoch
   */
  follow(session: string, topics: readonly Topic[], now: number): number {
    // Longer by half than a session keeps something, so that it is rarely noted again and never forgotten before.
    const expires = now + 1.5 * limits.sessionIdleMs
    for (const topic of topics) {
      this.#write(
        `insert into follower values (?, ?, null, ?) on conflict do update set
           due = case when due > 0 then due end, expires_at = excluded.expires_at
         where due = ${WAITING} or expires_at < ?`,
        topic,
        session,
        expires,
        now + limits.sessionIdleMs,
      )
    }
    return expires
  }

  /** Sessions that have to be told something, those after one, in order. */
  due(after: string): DueSession[] {
    if (!this.#hasTables) return []
    const sessions = `select distinct session from follower where due > 0 and session > ? order by session limit ?`
    const rows = this.#rows<{ session: string; topic: Topic; due: number }>(
      `select session, topic, due from follower where due > 0 and session in (${sessions})`,
      after,
      limits.hubSessions,
    )
    const found = new Map<string, DueSession>()
    for (const { session, topic, due } of rows.toSorted((a, b) => a.due - b.due)) {
      const known = found.get(session) ?? { session, due: [] }
      known.due.push({ topic, turn: due })
      found.set(session, known)
    }
    return [...found.values()].toSorted((a, b) => (a.session < b.session ? -1 : 1))
  }

  get hasDue(): boolean {
    return this.#hasTables && this.#rows('select 1 from follower where due > 0 limit 1').length > 0
  }

  /** A session was told of a change, and says what it does from now on. If something came since then, that is still due. */
  told(session: string, { topic, turn }: DueSession['due'][number], following: Following): void {
    if (!this.#hasTables) return
    const row = [topic, session, turn]
    if (following === 'leave')
      return this.#write('delete from follower where topic = ? and session = ? and due = ?', ...row)
    const due = following === 'wait' ? WAITING : null
    this.#write('update follower set due = ? where topic = ? and session = ? and due = ?', due, ...row)
  }

  /** Deletes what is too old. @returns when something has to be deleted next; undefined when nothing is left */
  prune(now: number): number | undefined {
    if (!this.#hasTables) return undefined
    const floor = (now - limits.hubReplayMs) * 1000
    for (const [key, { turn }] of this.#loaded) if (turn <= floor) this.#loaded.delete(key)
    this.#write('delete from change where turn <= ?', floor)
    this.#write('delete from follower where expires_at <= ?', now)
    const [oldest] = this.#loaded.values()
    const [next] = this.#rows<{ at: number | null }>('select min(expires_at) as at from follower')
    const times = [
      ...(oldest ? [Math.ceil(oldest.turn / 1000) + limits.hubReplayMs] : []),
      ...(next?.at ? [next.at] : []),
    ]
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Deletes everything, the tables too. */
  deleteAll(): Promise<void> {
    this.#exists = undefined
    this.#changes = undefined
    this.#turn = 0
    return this.#storage.deleteAll()
  }

  #rows<T extends Record<string, SqlStorageValue>>(query: string, ...bindings: SqlStorageValue[]): T[] {
    return this.#storage.sql.exec<T>(query, ...bindings).toArray()
  }

  #write(query: string, ...bindings: SqlStorageValue[]): void {
    if (!this.#hasTables) {
      this.#storage.sql.exec(SCHEMA)
      this.#exists = true
    }
    this.#storage.sql.exec(query, ...bindings)
  }
}
