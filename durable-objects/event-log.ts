// The event log of one session: streams, their events, and what running calls remember. One row written per event.
// Tables are made on the first write; reading an object that never wrote leaves nothing behind.

import { STANDALONE } from '../src/http/session-call.ts'
import { limits } from '../src/limits.ts'
import type { JsonObject } from '../src/protocol/json-rpc.ts'

/** Events of one stream; the key of an event is `stream * STRIDE + sequence`, so one integer key serves both. */
const STRIDE = 2 ** 20

export type CallState = 'running' | 'finished' | 'cancelled'

/** One event. An empty text primes a client with an id and carries no message. */
export interface StoredEvent {
  sequence: number
  text: string
}

/** A call that became a stream. */
export interface StoredCall {
  stream: number
  state: CallState
  /** What is needed to enter its handler again, JSON; empty when it has ended. */
  call: string
  /** What its journal remembers, JSON; null when that was too large to keep. */
  memory: string | null
  /** How often its handler was entered again because its object had died. */
  attempts: number
  /** The task it waits for, instead of running a handler; null for an ordinary call. */
  task: string | null
  /** ms since the epoch; null while it runs. */
  ended_at: number | null
}

/** An ask that waits for its answer. */
export interface StoredAsk {
  /** The id of the request on the wire. */
  id: string
  stream: number
  /** The handler's key, and the key of this attempt. */
  key: string
  wire: string
  method: string
  expires_at: number
}

/** Numbered steps: step n makes version n of version n - 1. A step that was deployed stays as it is; add another. */
const SCHEMA = [
  `create table call (
     stream integer primary key autoincrement, state text not null, call text not null, memory text, ended_at integer,
     attempts integer not null default 0
   );
   create table event (id integer primary key, text text not null);
   create table ask (
     id text primary key, stream integer not null, key text not null, wire text not null, method text not null,
     expires_at integer not null
   ) without rowid;
   create table setting (name text primary key, value text not null) without rowid;
   create table subscription (uri text primary key) without rowid;`,
  `alter table call add column task text;`,
]

/** When an ask of a task expires: the task says so itself. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** Settings that alone are no reason to keep a log. */
const OWN_SETTINGS = `('schema', 'epoch', 'touched')`

/** The epoch of a log that does not exist yet. */
const NO_EPOCH = '0'

const encoder = new TextEncoder()

export class EventLog {
  readonly #storage: DurableObjectStorage
  #exists: boolean | undefined
  #epoch: string | undefined
  /** The last sequence of each stream that was written in this instance. */
  readonly #last = new Map<number, number>()
  /** What is kept, counted once and kept up to date. */
  #size: { events: number; bytes: number } | undefined

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /** True if this session has ever stored something. */
  get exists(): boolean {
    this.#exists ??= this.#openExisting()
    return this.#exists
  }

  #openExisting(): boolean {
    const { sql } = this.#storage
    if (sql.exec(`select 1 from sqlite_master where name = 'setting'`).toArray().length === 0) return false
    this.#migrate(Number(sql.exec(`select value from setting where name = 'schema'`).one()['value']))
    return true
  }

  #migrate(from: number): void {
    if (from === SCHEMA.length) return
    this.#storage.transactionSync(() => {
      for (const step of SCHEMA.slice(from)) this.#storage.sql.exec(step)
      this.#storage.sql.exec(`insert or replace into setting values ('schema', ?)`, String(SCHEMA.length))
    })
  }

  /** Deletes everything the object stores, the tables and the alarm too. */
  deleteAll(): Promise<void> {
    this.#exists = this.#epoch = this.#size = undefined
    this.#last.clear()
    return this.#storage.deleteAll()
  }

  /** Tells this log from one of the same session that was deleted before, whose numbers it uses again. */
  get epoch(): string {
    if (!this.exists) return NO_EPOCH
    this.#epoch ??= this.setting('epoch')!
    return this.#epoch
  }

  /** The end of a deleted session: nothing but the time until which its id is remembered. */
  get endedUntil(): number | undefined {
    const value = this.setting('ended')
    return value === undefined ? undefined : Number(value)
  }

  setting(name: string): string | undefined {
    if (!this.exists) return undefined
    return this.#rows<{ value: string }>('select value from setting where name = ?', name)[0]?.value
  }

  set(name: string, value: string): void {
    this.#write('insert or replace into setting values (?, ?)', name, value)
  }

  /** Begins a stream for a call and returns its number, which no other stream of the session ever has. */
  begin(call: string, memory: JsonObject, task: string | null = null): number {
    const row = [call, storable(memory), task]
    this.#write(`insert into call (state, call, memory, task) values ('running', ?, ?, ?)`, ...row)
    return this.#rows<{ id: number }>('select last_insert_rowid() as id')[0]!.id
  }

  call(stream: number): StoredCall | undefined {
    return this.exists ? this.#rows<StoredCall & Row>('select * from call where stream = ?', stream)[0] : undefined
  }

  /** The number of the newest stream there ever was. */
  newestStream(): number {
    if (!this.exists) return STANDALONE
    return this.#rows<{ seq: number }>(`select seq from sqlite_sequence where name = 'call'`)[0]?.seq ?? STANDALONE
  }

  /** The calls that have not ended. */
  running(): StoredCall[] {
    return this.exists ? this.#rows<StoredCall & Row>(`select * from call where state = 'running'`) : []
  }

  /** The streams of the calls that have not ended. Those that wait for a task run no handler, and are no calls here. */
  runningStreams(): number[] {
    if (!this.exists) return []
    const running = `select stream from call where state = 'running' and task is null`
    return this.#rows<{ stream: number }>(running).map(({ stream }) => stream)
  }

  /** Which stream waits for which task, newest last. */
  waits(): { stream: number; task: string }[] {
    if (!this.exists) return []
    const waiting = `select stream, task from call where state = 'running' and task is not null order by stream`
    return this.#rows<{ stream: number; task: string }>(waiting)
  }

  /** True while a call runs that does not wait for an answer or a task. */
  get isWorking(): boolean {
    const working = `select 1 from call where state = 'running' and task is null and stream not in (select stream from ask) limit 1`
    return this.exists && this.#rows(working).length > 0
  }

  remember(stream: number, memory: JsonObject): void {
    this.#write('update call set memory = ? where stream = ?', storable(memory), stream)
  }

  /** Counts one more entry of a handler whose object had died. */
  countAttempt(stream: number): void {
    this.#write('update call set attempts = attempts + 1 where stream = ?', stream)
  }

  end(stream: number, state: CallState, now: number): void {
    this.#write(
      `update call set state = ?, ended_at = ?, call = '', memory = null where stream = ?`,
      state,
      now,
      stream,
    )
    this.#write('delete from ask where stream = ?', stream)
  }

  /**
   * Appends an event. One that is too large is kept as `instead`, or as a place without a message.
   * @returns its sequence, or undefined when the stream has no place left
   */
  append(stream: number, text: string, instead = ''): number | undefined {
    const sequence = this.lastSequence(stream) + 1
    if (sequence >= STRIDE) return undefined
    const kept = fits(text) ? text : instead
    const size = this.#measure()
    this.#write('insert into event values (?, ?)', stream * STRIDE + sequence, kept)
    this.#last.set(stream, sequence)
    size.events++
    size.bytes += byteLength(kept)
    this.#pruneToCaps()
    return sequence
  }

  lastSequence(stream: number): number {
    const known = this.#last.get(stream)
    if (known !== undefined) return known
    const last = this.#readLast(stream)
    this.#last.set(stream, last)
    return last
  }

  #readLast(stream: number): number {
    if (!this.exists) return 0
    const range = [stream * STRIDE, (stream + 1) * STRIDE]
    const [row] = this.#rows<{ id: number | null }>('select max(id) as id from event where id > ? and id < ?', ...range)
    return (row?.id ?? 0) % STRIDE
  }

  /** What came after a sequence, in order. */
  after(stream: number, sequence: number): StoredEvent[] {
    if (!this.exists) return []
    const range = [stream * STRIDE + sequence, (stream + 1) * STRIDE]
    const rows = this.#rows<{ id: number; text: string }>(
      'select * from event where id > ? and id < ? order by id',
      ...range,
    )
    return rows.map(({ id, text }) => ({ sequence: id % STRIDE, text }))
  }

  addAsk({ id, stream, key, wire, method, expires_at }: StoredAsk): void {
    this.#write('insert into ask values (?, ?, ?, ?, ?, ?)', id, stream, key, wire, method, expires_at)
  }

  ask(id: string): StoredAsk | undefined {
    return this.exists ? this.#rows<StoredAsk & Row>('select * from ask where id = ?', id)[0] : undefined
  }

  /** When the next finished stream may be dropped. */
  oldestEnd(): number | undefined {
    if (!this.exists) return undefined
    return this.#rows<{ at: number | null }>('select min(ended_at) as at from call')[0]?.at ?? undefined
  }

  asks(): StoredAsk[] {
    return this.exists ? this.#rows<StoredAsk & Row>('select * from ask') : []
  }

  dropAsk(id: string): void {
    this.#write('delete from ask where id = ?', id)
  }

  subscribe(uri: string): void {
    this.#write('insert or ignore into subscription values (?)', uri)
  }

  unsubscribe(uri: string): void {
    if (this.exists) this.#write('delete from subscription where uri = ?', uri)
  }

  subscriptions(): string[] {
    return this.exists ? this.#rows<{ uri: string }>('select uri from subscription').map(({ uri }) => uri) : []
  }

  isSubscribed(uri: string): boolean {
    return this.exists && this.#rows('select 1 from subscription where uri = ?', uri).length > 0
  }

  /** True while something is kept that does not belong to a call. */
  get keepsMore(): boolean {
    if (!this.exists) return false
    const waits = `call where state = 'running' and task is not null`
    const what = [`setting where name not in ${OWN_SETTINGS}`, 'subscription', 'event', waits].map(
      (from) => `select 1 from ${from}`,
    )
    return this.#rows(`${what.join(' union all ')} limit 1`).length > 0
  }

  countSubscriptions(): number {
    return this.exists ? this.#rows<{ n: number }>('select count(*) as n from subscription')[0]!.n : 0
  }

  /** Drops streams whose grace is over, then the oldest finished ones and the oldest standalone events over the caps. */
  prune(now: number): void {
    if (!this.exists) return
    for (const { stream } of this.#rows<{ stream: number }>(
      'select stream from call where ended_at <= ?',
      now - limits.streamGraceMs,
    )) {
      this.#drop(stream)
    }
  }

  #pruneToCaps(): void {
    while (this.#isOverCaps()) {
      // A list that changes all the time must not push out what calls came to.
      if (this.#isMostlyStanding && this.#dropOldest(STRIDE)) continue
      const [oldest] = this.#rows<{ stream: number }>(
        `select stream from call where state <> 'running' order by ended_at limit 1`,
      )
      if (oldest) this.#drop(oldest.stream)
      else if (!this.#dropOldest()) return
    }
  }

  #isOverCaps(): boolean {
    const { events, bytes } = this.#measure()
    return events > limits.sessionEvents || bytes > limits.sessionEventBytes
  }

  #measure(): { events: number; bytes: number } {
    if (!this.exists) return (this.#size = { events: 0, bytes: 0 })
    this.#size ??= this.#rows<{ events: number; bytes: number }>(
      'select count(*) as events, coalesce(sum(length(cast(text as blob))), 0) as bytes from event',
    )[0]!
    return this.#size
  }

  #drop(stream: number): void {
    this.#write('delete from event where id > ? and id < ?', stream * STRIDE, (stream + 1) * STRIDE)
    this.#write('delete from call where stream = ?', stream)
    this.#last.delete(stream)
    this.#size = undefined
  }

  /** True while the standalone stream, whose events have the lowest ids, has most of them. */
  get #isMostlyStanding(): boolean {
    const [row] = this.#rows<{ events: number }>('select count(*) as events from event where id < ?', STRIDE)
    return row!.events > limits.sessionEvents / 2
  }

  /**
   * Drops a tenth of what is kept, oldest first, but never the newest event of a stream, which its numbering needs.
   * @param below only events with smaller ids
   */
  #dropOldest(below: number = Number.MAX_SAFE_INTEGER): boolean {
    const { rowsWritten } = this.#storage.sql.exec(
      `delete from event where id in (
         select id from event where id < ? and id not in (select max(id) from event group by id / ${STRIDE})
         order by id limit ?
       )`,
      below,
      Math.ceil(limits.sessionEvents / 10),
    )
    this.#size = undefined
    return rowsWritten > 0
  }

  #rows<T extends Row>(query: string, ...bindings: SqlStorageValue[]): T[] {
    return this.#storage.sql.exec<T>(query, ...bindings).toArray()
  }

  #write(query: string, ...bindings: SqlStorageValue[]): void {
    if (!this.exists) {
      this.#migrate(0)
      this.#exists = true
      this.#storage.sql.exec(`insert into setting values ('epoch', ?)`, Date.now().toString(36))
    }
    this.#storage.sql.exec(query, ...bindings)
  }
}

/** A journal's memory as it is kept, or null when it is too large: then the call cannot be entered again. */
function storable(memory: JsonObject): string | null {
  const text = JSON.stringify(memory)
  return fits(text) ? text : null
}

/** True if a text is small enough for a row. */
export function fits(text: string): boolean {
  return byteLength(text) <= limits.eventBytes
}

/** The bytes of a text as UTF-8. */
export function byteLength(text: string): number {
  return encoder.encode(text).byteLength
}

type Row = Record<string, SqlStorageValue>
