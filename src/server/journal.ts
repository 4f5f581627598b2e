// What one call remembers of its asks and steps, and how a handler that is entered again is answered from it.
// Where the memory is kept, and how an open ask reaches the client, is its host's business.

import { limits } from '../limits.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import { fingerprint } from './canonical.ts'
import { AskError } from './errors.ts'
import { describeIssues, type Validation } from './json-schema.ts'
import type { Ask, InputRequest, Journal } from './ports.ts'

/** What is remembered of one ask: the fingerprint of its request, how often it was sent, its id and its raw answer. */
export interface AskRecord {
  request: string
  attempt: number
  id?: string
  answer?: unknown
}

/** An answer that is an error of the client, as it is remembered. */
export interface RefusedAnswer {
  refused: string
}

/** What was added: a checked answer, or the result of a step as it is kept, `[]` for undefined. */
export type JournalChange = { ask: string } | { step: string; value: readonly unknown[] }

/** The keeper of a journal. */
export interface JournalHost {
  /** A raw answer that came before it was waited for, or undefined. */
  early(key: string): unknown
  /**
   * Asks the client under `wire`, the key of this attempt; resolves with the raw answer, if this entry of the handler
   * lives to see it.
   */
  open(wire: string, request: InputRequest, ask: Ask, record: AskRecord): Promise<unknown>
  /** An id nobody can guess, for a link. */
  mintId(): string
  /** An answer or the result of a step was added. */
  changed?(change: JournalChange): void
  /** Waits until a sleep is over, if that should hold no memory. Otherwise the sleep is a step that takes its time. */
  sleep?(key: string, ms: number): Promise<unknown>
  /** A step or a check begins to run, and none did. */
  busy?(): void
  /** Nothing runs any more: every step that was started has settled. */
  idle?(): void
}

/** A promise of its own for each that waits: a shared one would hold on to every handler that ever did. */
const never = (): Promise<never> => new Promise(() => {})

/** The journal of one entry of a handler. Raw answers are kept, so that every entry validates and converts them again. */
export class CallJournal implements Journal {
  readonly #host: JournalHost
  readonly #asks: Map<string, AskRecord>
  /** `[]` stands for undefined. */
  readonly #steps: Map<string, readonly unknown[]>
  readonly #logs: string[]
  readonly #replayedLogs: string[]
  #progress: number | undefined
  readonly #used = new Set<string>()
  #sleeps = 0
  #running = 0
  /** True while a step's function runs up to its first await. */
  #isInStep = false
  #activity = 0
  #isClosed = false

  /** @param memory as `memory` gave it in an earlier entry */
  constructor(memory: JsonObject | undefined, host: JournalHost) {
    const { a, s, p, l } = memory ?? {}
    this.#host = host
    this.#asks = new Map(isObject(a) ? (Object.entries(a) as [string, AskRecord][]) : [])
    this.#steps = new Map(isObject(s) ? (Object.entries(s) as [string, unknown[]][]) : [])
    this.#progress = typeof p === 'number' ? p : undefined
    this.#logs = Array.isArray(l) ? (l as string[]) : []
    this.#replayedLogs = [...this.#logs]
  }

  async ask(ask: Ask): Promise<unknown> {
    if (this.#isClosed) return never()
    // The round cannot end before the step does, nor the step before the round has.
    if (this.#isInStep) throw new TypeError(`cannot ask "${ask.key}" inside a step: ask first, then run the step`)
    this.#use(ask.key)
    const wasSeen = this.#asks.has(ask.key)
    const record = this.#recordOf(ask)
    const request = ask.request(record.id ?? '')
    // An answer may come unasked, but not to a link the client has never been shown.
    let mayBeEarly = !ask.needsId || wasSeen
    for (;;) {
      const key = wireKey(ask.key, record.attempt)
      const raw =
        record.answer ??
        (mayBeEarly ? this.#host.early(key) : undefined) ??
        (await this.#host.open(key, request, ask, record))
      if (this.#isClosed) return never()
      const checked = await this.#busy(() => this.#check(ask, raw))
      if (checked.ok) {
        record.answer = raw
        this.#host.changed?.({ ask: ask.key })
        return checked.value
      }
      delete record.answer
      record.attempt++
      mayBeEarly = true
      if (record.attempt > limits.askAttempts) {
        const problem = describeIssues(checked.issues)
        throw new AskError(ask.key, `No answer to "${ask.key}" fitted what was asked (${request.method}):\n${problem}`)
      }
    }
  }

  /** Notes the raw answer to an ask that was sent as `wire`, by this entry or an earlier one. */
  answered(key: string, wire: string, raw: unknown): void {
    const record = this.#asks.get(key)
    if (record && wireKey(key, record.attempt) === wire) record.answer = raw
  }

  async #check(ask: Ask, raw: unknown): Promise<Validation> {
    if (isRefused(raw)) throw new AskError(ask.key, `The client did not answer "${ask.key}": ${raw.refused}`)
    // A handler may change what it is given, but not what is remembered.
    return ask.validate(structuredClone(raw))
  }

  async step(key: string, run: () => unknown): Promise<unknown> {
    if (this.#isClosed) return never()
    this.#use(key)
    const known = this.#steps.get(key)
    if (known) return structuredClone(known[0])
    return this.#busy(async () => {
      const value: unknown = await this.#inStep(run)
      const stored = value === undefined ? [] : [toJson(key, value)]
      if (this.#isClosed) return never()
      this.#steps.set(key, stored)
      this.#host.changed?.({ step: key, value: stored })
      return structuredClone(stored[0])
    })
  }

  async sleep(ms: number, key: string | undefined, signal: () => AbortSignal): Promise<void> {
    if (!(Number.isFinite(ms) && ms >= 0)) throw new RangeError(`cannot sleep for ${ms} ms`)
    const name = key ?? `sleep#${++this.#sleeps}`
    if (!this.#host.sleep) return void (await this.step(name, () => scheduler.wait(ms, { signal: signal() })))
    if (this.#isClosed) return never()
    this.#use(name)
    if (!this.#steps.has(name)) await this.#host.sleep(name, ms)
    if (this.#isClosed) return never()
  }

  #inStep(run: () => unknown): unknown {
    const before = this.#isInStep
    this.#isInStep = true
    try {
      return run()
    } finally {
      this.#isInStep = before
    }
  }

  shouldEmit(method: string, params: JsonObject): boolean {
    if (this.#isClosed) return false
    if (method === 'notifications/progress') return this.#isNewProgress(params['progress'] as number)
    // As it is sent, so that it is known again when it is read from a log.
    const log = fingerprint(JSON.parse(JSON.stringify(params)))
    const replayed = this.#replayedLogs.indexOf(log)
    if (replayed === -1) this.#logs.push(log)
    else this.#replayedLogs.splice(replayed, 1)
    return replayed === -1
  }

  /** What to remember until the next entry. */
  memory(): JsonObject {
    return {
      a: Object.fromEntries(this.#asks),
      ...(this.#steps.size > 0 && { s: Object.fromEntries(this.#steps) }),
      ...(this.#progress !== undefined && { p: this.#progress }),
      ...(this.#logs.length > 0 && { l: this.#logs }),
    }
  }

  /** The fingerprints of the log messages that were sent. */
  get logs(): readonly string[] {
    return this.#logs
  }

  /** True while a step or a check runs. */
  get isBusy(): boolean {
    return this.#running > 0
  }

  /** Grows with everything that happens, so that a reader can tell whether anything did. */
  get activity(): number {
    return this.#activity
  }

  /** Ends this entry: nothing more is asked, run, remembered or emitted. */
  close(): void {
    this.#isClosed = true
  }

  #isNewProgress(progress: number): boolean {
    if (progress <= (this.#progress ?? Number.NEGATIVE_INFINITY)) return false
    this.#progress = progress
    return true
  }

  #use(key: string): void {
    this.#activity++
    // Storage would change it, and what is stored under it would not be found again.
    if (!key.isWellFormed()) throw new TypeError('cannot use a key that is not well-formed Unicode')
    if (this.#used.has(key)) throw new TypeError(`cannot use the key '${key}' twice in one call`)
    this.#used.add(key)
  }

  #recordOf(ask: Ask): AskRecord {
    const id = ask.needsId ? (this.#asks.get(ask.key)?.id ?? this.#host.mintId()) : undefined
    const request = fingerprint(shapeOf(ask.request(id ?? '')))
    const known = this.#asks.get(ask.key)
    if (known?.request === request) return known
    // A request that changed since it was answered is a new one: its answer was to something else.
    const attempt = (known?.attempt ?? 0) + 1
    if (attempt > limits.askAttempts) throw new AskError(ask.key, `The ask "${ask.key}" is another one on every entry`)
    const record: AskRecord = { request, attempt, ...(id !== undefined && { id }) }
    this.#asks.set(ask.key, record)
    return record
  }

  async #busy<T>(run: () => Promise<T>): Promise<T> {
    if (this.#running === 0 && !this.#isClosed) this.#host.busy?.()
    this.#running++
    this.#activity++
    try {
      return await run()
    } finally {
      this.#running--
      if (this.#running === 0) this.#host.idle?.()
    }
  }
}

/** What stands for the answer to an ask nobody answered in time: a form or link counts as cancelled. */
export function timedOut(method: string): unknown {
  return method === 'elicitation/create' ? { action: 'cancel' } : { refused: 'timed out' }
}

/** A raw answer as a client gave it. Null, or what looks like the mark of a refusal, fits nothing and is asked again. */
export function answerFrom(raw: unknown): unknown {
  return raw === null || isRefused(raw) ? {} : raw
}

function isRefused(raw: unknown): raw is RefusedAnswer {
  return isObject(raw) && typeof raw['refused'] === 'string' && Object.keys(raw).length === 1
}

/** A memory in which the ask that was sent as `wire` has its raw answer, unless it has been replaced by another. */
export function withAnswer(memory: JsonObject, key: string, wire: string, raw: unknown): JsonObject {
  const asks = isObject(memory['a']) ? memory['a'] : {}
  const record = asks[key] as AskRecord | undefined
  if (!record || wireKey(key, record.attempt) !== wire) return memory
  return { ...memory, a: { ...asks, [key]: { ...record, answer: raw } } }
}

/**
 * The key on the wire: an ask repeated after a misfit gets a new one, so that no client answers it from a cache. A key that
 * itself ends like one is always numbered: the second attempt of `a` and the first of `a:2` are never the same.
 */
function wireKey(key: string, attempt: number): string {
  return attempt === 1 && !/:\d+$/.test(key) ? key : `${key}:${attempt}`
}

/** What makes a request the same one: not its wording, which may carry a count or a date. */
function shapeOf({ method, params = {} }: InputRequest): JsonObject {
  return { method, mode: params['mode'], schema: params['requestedSchema'] }
}

function toJson(key: string, value: unknown): unknown {
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError(`cannot store the result of step '${key}': it is not JSON`)
  return JSON.parse(text)
}
