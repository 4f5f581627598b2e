// What one task stores, as entries of its object's key-value store: no tables, so a task that never was leaves nothing.
// Large values are cut into pieces. Nothing here decides anything.

import { limits } from '../src/limits.ts'
import type { JsonObject } from '../src/protocol/json-rpc.ts'
import type { TaskAsk, TaskForm, TaskOutcome, TaskState } from '../src/protocol/task.ts'
import type { AskRecord } from '../src/server/journal.ts'
import type { TaskCall } from '../src/server/task-port.ts'

/** The entry `task`: everything about it that changes, and whose it is. */
export interface TaskRecord {
  form: TaskForm
  principal: string
  /** The object of the session it was made in. */
  session?: string
  /** The request it was made by, and its tool: for the log. */
  requestId: string
  name: string
  /** Those of the tool when the task was made. */
  scopes?: readonly string[]
  state: TaskState
  /** The last progress that was reported. */
  progress?: number
  /** Entries of the handler in a row that got nowhere. */
  attempts: number
  /** True while the handler only waits for answers and sleeps; false if it works, or did when its object died. */
  isParked: boolean
  /** When a parked handler has slept enough, in ms since the epoch; Infinity when it only waits for answers. */
  wakeAt?: number
  /** True once a client listens for its changes, which are published from then on. */
  isListened?: true
  /** True while somebody has not been told of the last change. */
  isUntold: boolean
  /** Of all answers there were. */
  answerBytes: number
}

/** An entry `ask:…`, by the handler's key. */
export interface StoredTaskAsk {
  /** What the journal remembers of it, without its answer, which is an entry of its own: `answer:…`. */
  record: AskRecord
  /** Its last attempt. */
  ask: TaskAsk
  isOpen: boolean
  /** Counts asks, so that the oldest can be told. */
  turn: number
  /** ms since the epoch; absent: as long as the task. */
  expiresAt?: number
}

/** Who waits for a task: a stream of a session. */
export interface Watcher {
  session: string
  stream: number
}

/** A piece of a large value; an entry may have 2 MB. */
const PIECE_BYTES = 1_500_000
const encoder = new TextEncoder()
const decoder = new TextDecoder()

export class TaskStore {
  readonly #storage: DurableObjectStorage
  #record: TaskRecord | undefined
  #call: TaskCall | undefined
  #outcome: TaskOutcome | undefined
  /** True until something was remembered of a task that was made in this instance: there is nothing to read. */
  #isNew = false
  /** What a run remembers, counted when it began. */
  readonly #kept = { steps: 0, bytes: 0 }

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /** Undefined for a task that never was, or is not any more. */
  get record(): TaskRecord | undefined {
    this.#record ??= this.#storage.kv.get<TaskRecord>('task')
    return this.#record
  }

  /** Changes a task, unless it is gone: nothing brings one back. */
  save(change: Partial<TaskRecord>): void {
    const { record } = this
    if (!record) return
    this.#record = { ...record, ...change }
    this.#storage.kv.put('task', this.#record)
  }

  create(record: TaskRecord, call: TaskCall): void {
    this.#putLarge('call', call)
    this.#call = call
    this.#isNew = true
    this.#record = record
    this.#storage.kv.put('task', record)
  }

  get call(): TaskCall {
    this.#call ??= this.#getLarge('call') as TaskCall
    return this.#call
  }

  get outcome(): TaskOutcome | undefined {
    this.#outcome ??= this.#getLarge('outcome') as TaskOutcome | undefined
    return this.#outcome
  }

  set outcome(outcome: TaskOutcome) {
    this.#putLarge('outcome', outcome)
    this.#outcome = outcome
  }

  /**
   * Keeps the result of a step.
   * @throws {RangeError} when it, or all of them together, are too large
   */
  addStep(key: string, value: readonly unknown[]): void {
    const bytes = encoder.encode(JSON.stringify(value))
    const room = Math.min(limits.eventBytes, limits.taskStepBytes - this.#kept.bytes)
    if (bytes.byteLength > room) {
      throw new RangeError(`the result of step '${key}' has ${bytes.byteLength} bytes, and only ${room} can be kept`)
    }
    this.#count(key, bytes.byteLength)
    this.#storage.kv.put(`step:${key}`, bytes)
  }

  /** When a sleep ends, if it has begun. */
  sleepUntil(key: string): number | undefined {
    return this.#storage.kv.get<number>(`sleep:${key}`)
  }

  addSleep(key: string, until: number): void {
    this.#count(key, 0)
    this.#storage.kv.put(`sleep:${key}`, until)
  }

  #count(key: string, bytes: number): void {
    const kept = this.#kept
    if (kept.steps >= limits.taskSteps) throw new RangeError(`'${key}' is over the ${limits.taskSteps} steps of a task`)
    kept.steps++
    kept.bytes += bytes
    if (this.record!.attempts > 0) this.save({ attempts: 0 })
  }

  /** Keeps an ask, without an answer to its last attempt. */
  putAsk(key: string, ask: StoredTaskAsk): void {
    this.#storage.kv.put(`ask:${key}`, ask)
    this.#storage.kv.delete(`answer:${key}`)
  }

  /** Keeps the raw answer to an ask. As text its size is known, which that of an object is not. */
  putAnswer(key: string, raw: unknown): void {
    this.#storage.kv.put(`answer:${key}`, encoder.encode(JSON.stringify(raw)))
  }

  #records(): [string, AskRecord][] {
    const answers = new Map(this.#list<Uint8Array>('answer:'))
    return this.asks().map(([key, { record }]) => {
      const bytes = answers.get(key)
      return [key, bytes ? { ...record, answer: parse(bytes) } : record]
    })
  }

  ask(key: string): StoredTaskAsk | undefined {
    return this.#storage.kv.get<StoredTaskAsk>(`ask:${key}`)
  }

  /** Every ask there was, by the handler's key. */
  asks(): [string, StoredTaskAsk][] {
    return this.#list<StoredTaskAsk>('ask:')
  }

  /** The open asks, oldest first, with the handler's key. */
  openAsks(): (StoredTaskAsk & { key: string })[] {
    const open = this.asks().flatMap(([key, stored]) => (stored.isOpen ? [{ ...stored, key }] : []))
    return open.toSorted((a, b) => a.turn - b.turn)
  }

  set logs(fingerprints: readonly string[]) {
    this.#storage.kv.put('logs', fingerprints)
  }

  /** What a journal begins with. */
  memory(): JsonObject {
    const isNew = this.#isNew
    this.#isNew = false
    if (isNew) return {}
    const { progress } = this.record!
    const steps = this.#list<Uint8Array>('step:')
    this.#kept.steps = steps.length + this.#list('sleep:').length
    this.#kept.bytes = steps.reduce((sum, [, { byteLength }]) => sum + byteLength, 0)
    return {
      a: Object.fromEntries(this.#records()),
      s: Object.fromEntries(steps.map(([key, bytes]) => [key, parse(bytes)])),
      ...(progress !== undefined && { p: progress }),
      l: this.#storage.kv.get('logs') ?? [],
    }
  }

  watchers(): Watcher[] {
    return this.#list<Watcher>('watcher:').map(([, watcher]) => watcher)
  }

  addWatcher(watcher: Watcher): void {
    this.#storage.kv.put(watcherKey(watcher), watcher)
  }

  dropWatcher(watcher: Watcher): void {
    this.#storage.kv.delete(watcherKey(watcher))
  }

  /** Deletes everything, the alarm too. */
  deleteAll(): Promise<void> {
    this.#record = this.#call = this.#outcome = undefined
    return this.#storage.deleteAll()
  }

  #list<T>(prefix: string): [string, T][] {
    return Array.from(this.#storage.kv.list<T>({ prefix }), ([key, value]) => [key.slice(prefix.length), value])
  }

  #putLarge(name: string, value: unknown): void {
    const bytes = encoder.encode(JSON.stringify(value))
    for (let piece = 0; piece * PIECE_BYTES < bytes.byteLength; piece++) {
      const from = piece * PIECE_BYTES
      this.#storage.kv.put(`${name}:${String(piece).padStart(4, '0')}`, bytes.slice(from, from + PIECE_BYTES))
    }
  }

  #getLarge(name: string): unknown {
    const pieces = this.#list<Uint8Array>(`${name}:`).map(([, bytes]) => bytes)
    if (pieces.length === 0) return undefined
    return parse(pieces.length === 1 ? pieces[0]! : joined(pieces))
  }
}

function watcherKey({ session, stream }: Watcher): string {
  return `watcher:${session}:${stream}`
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.byteLength
  }
  return whole
}

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(decoder.decode(bytes))
}
