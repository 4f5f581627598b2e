// The journal of a modern call: what earlier rounds learnt comes sealed with the client and goes back with it.
// A round ends when an ask is open, every started step has settled, and one macrotask brought no new ask.
// @see basic/patterns/mrtr

import { limits } from '../limits.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import { fingerprint } from './canonical.ts'
import { AskError } from './errors.ts'
import { describeIssues } from './json-schema.ts'
import type { Ask, InputRequest, Journal, Suspension } from './ports.ts'

/** What is remembered of one ask: the fingerprint of its request, how often it was sent, its id and its raw answer. */
interface AskRecord {
  request: string
  attempt: number
  id?: string
  answer?: unknown
}

/** What travels in `requestState`. Raw answers, so that every entry validates and converts them again. */
interface Memory {
  rounds: number
  asks: Map<string, AskRecord>
  /** `[]` stands for undefined. */
  steps: Map<string, readonly unknown[]>
  /** The highest progress reported so far. */
  progress: number | undefined
  /** Fingerprints of log messages sent so far. */
  logs: string[]
}

const NEVER = new Promise<never>(() => {})

/** A journal for one round. */
export class RoundJournal implements Journal {
  /** Resolves when the round ended with open asks. */
  readonly suspended: Promise<Suspension>
  readonly #memory: Memory
  readonly #replayedLogs: string[]
  readonly #responses: JsonObject
  readonly #used = new Set<string>()
  readonly #open: { [key: string]: InputRequest } = Object.create(null)
  #suspend!: (suspension: Suspension) => void
  #running = 0
  #activity = 0
  #ended = false

  /** @param memory as a former round's suspension gave it; @param responses what the client answered, unchecked */
  constructor(memory: JsonObject | undefined, responses: JsonObject) {
    this.#memory = readMemory(memory ?? {})
    this.#replayedLogs = [...this.#memory.logs]
    this.#responses = responses
    this.suspended = new Promise((resolve) => (this.#suspend = resolve))
  }

  async ask(ask: Ask): Promise<unknown> {
    if (this.#ended) return NEVER
    this.#use(ask.key)
    const wasSeen = this.#memory.asks.has(ask.key)
    const record = this.#recordOf(ask)
    const request = ask.request(record.id ?? '')
    const answer = await this.#busy(() => this.#answerOf(ask, record, request, wasSeen))
    if (answer) return answer.value
    this.#open[wireKey(ask.key, record.attempt)] = request
    this.#settle()
    return NEVER
  }

  async step(key: string, run: () => unknown): Promise<unknown> {
    if (this.#ended) return NEVER
    this.#use(key)
    const known = this.#memory.steps.get(key)
    if (known) return structuredClone(known[0])
    return this.#busy(async () => {
      const value: unknown = await run()
      const stored = value === undefined ? [] : [toJson(key, value)]
      this.#memory.steps.set(key, stored)
      return structuredClone(stored[0])
    })
  }

  shouldEmit(method: string, params: JsonObject): boolean {
    if (this.#ended) return false
    if (method === 'notifications/progress') return this.#isNewProgress(params['progress'] as number)
    const log = fingerprint(params)
    const replayed = this.#replayedLogs.indexOf(log)
    if (replayed === -1) this.#memory.logs.push(log)
    else this.#replayedLogs.splice(replayed, 1)
    return replayed === -1
  }

  #isNewProgress(progress: number): boolean {
    if (progress <= (this.#memory.progress ?? Number.NEGATIVE_INFINITY)) return false
    this.#memory.progress = progress
    return true
  }

  #use(key: string): void {
    if (this.#used.has(key)) throw new TypeError(`cannot use the key '${key}' twice in one call`)
    this.#used.add(key)
  }

  #recordOf(ask: Ask): AskRecord {
    const id = ask.needsId ? (this.#memory.asks.get(ask.key)?.id ?? crypto.randomUUID()) : undefined
    const request = fingerprint(shapeOf(ask.request(id ?? '')))
    const known = this.#memory.asks.get(ask.key)
    if (known?.request === request) return known
    // A request that changed since it was answered is a new one: its answer was to something else.
    const attempt = (known?.attempt ?? 0) + 1
    if (attempt > limits.askAttempts) throw new AskError(ask.key, `The ask "${ask.key}" is another one on every entry`)
    const record: AskRecord = { request, attempt, ...(id !== undefined && { id }) }
    this.#memory.asks.set(ask.key, record)
    return record
  }

  /** The answer, wrapped, or undefined when the client still has to give one. */
  async #answerOf(
    ask: Ask,
    record: AskRecord,
    request: InputRequest,
    wasSeen: boolean,
  ): Promise<{ value: unknown } | undefined> {
    const isFresh = record.answer === undefined
    const key = wireKey(ask.key, record.attempt)
    // An answer may come unasked, but not to a link the client has never been shown.
    if (isFresh && (!Object.hasOwn(this.#responses, key) || (ask.needsId && !wasSeen))) return undefined
    const raw = isFresh ? this.#responses[key] : record.answer
    const checked = await ask.validate(raw)
    if (checked.ok) {
      record.answer = raw
      return { value: checked.value }
    }
    delete record.answer
    record.attempt++
    if (record.attempt <= limits.askAttempts) return undefined
    const problem = describeIssues(checked.issues)
    throw new AskError(ask.key, `No answer to "${ask.key}" fitted what was asked (${request.method}):\n${problem}`)
  }

  async #busy<T>(run: () => Promise<T>): Promise<T> {
    this.#running++
    this.#activity++
    try {
      return await run()
    } finally {
      this.#running--
      this.#settle()
    }
  }

  #settle(): void {
    if (this.#ended || this.#running > 0 || Object.keys(this.#open).length === 0) return
    const seen = ++this.#activity
    setTimeout(() => {
      if (this.#ended || this.#running > 0 || this.#activity !== seen) return
      this.#ended = true
      this.#memory.rounds++
      this.#suspend({ inputRequests: { ...this.#open }, memory: writeMemory(this.#memory) })
    }, 0)
  }

  /** Ends the journal because the handler returned: nothing more is remembered or emitted. */
  close(): void {
    this.#ended = true
  }

  /** True when this call has gone through more rounds than any honest handler needs. */
  get isExhausted(): boolean {
    return this.#memory.rounds >= limits.askRounds
  }
}

/** The key on the wire: an ask repeated after a misfit gets a new one, so that no client answers it from a cache. */
function wireKey(key: string, attempt: number): string {
  return attempt === 1 ? key : `${key}:${attempt}`
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

function readMemory({ r, a, s, p, l }: JsonObject): Memory {
  return {
    rounds: typeof r === 'number' ? r : 0,
    asks: new Map(isObject(a) ? (Object.entries(a) as [string, AskRecord][]) : []),
    steps: new Map(isObject(s) ? (Object.entries(s) as [string, unknown[]][]) : []),
    progress: typeof p === 'number' ? p : undefined,
    logs: Array.isArray(l) ? (l as string[]) : [],
  }
}

function writeMemory({ rounds, asks, steps, progress, logs }: Memory): JsonObject {
  return {
    r: rounds,
    a: Object.fromEntries(asks),
    ...(steps.size > 0 && { s: Object.fromEntries(steps) }),
    ...(progress !== undefined && { p: progress }),
    ...(logs.length > 0 && { l: logs }),
  }
}
