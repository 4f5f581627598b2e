// One entry of a task's handler: it runs detached from every request, and what it says and remembers goes through its
// host. A run that only waits for answers and sleeps is parked: it may be forgotten and entered again.

import { dispatch } from '../src/server/dispatch.ts'
import { withoutMissing } from '../src/http/legacy.ts'
import { limits } from '../src/limits.ts'
import { ProtocolError } from '../src/protocol/errors.ts'
import type { JsonObject } from '../src/protocol/json-rpc.ts'
import type { TaskOutcome } from '../src/protocol/task.ts'
import type { Server } from '../src/server/define-server.ts'
import { CallJournal, type AskRecord, type JournalChange } from '../src/server/journal.ts'
import type { Topic } from '../src/protocol/topic.ts'
import type { Ask, Call, InputRequest } from '../src/server/ports.ts'
import type { TaskCall } from '../src/server/task-port.ts'
import { byteLength } from './event-log.ts'

/** The task a run belongs to. It ignores whoever is not its present run. */
export interface RunHost {
  readonly server: Server
  readonly env: Cloudflare.Env
  /** Notes an ask and shows it to the client. */
  opened(run: TaskRun, wire: string, request: InputRequest, ask: Ask, record: AskRecord): void
  changed(run: TaskRun, change: JournalChange): void
  /** Notes a sleep. @returns when it is over, in ms since the epoch */
  slept(run: TaskRun, key: string, ms: number): number
  /** A sleep has begun, which somebody has to end. */
  sleeping(run: TaskRun): void
  /** The handler waits for nothing but answers and sleeps. */
  parked(run: TaskRun): void
  /** A parked handler works again, though nothing it waited for has come. */
  unparked(run: TaskRun): void
  reported(run: TaskRun, progress: number, message: string): void
  emitted(run: TaskRun, method: string, params: JsonObject): void
  notify(topic: Topic): void
  /** Settles when what was said to have changed is stored where it is told from. */
  published(): Promise<void>
  ended(run: TaskRun, outcome: TaskOutcome): void
  mintId(): string
  report(error: unknown): void
  waitUntil(work: Promise<unknown>): void
}

export class TaskRun {
  readonly journal: CallJournal
  readonly #host: RunHost
  readonly #call: TaskCall
  readonly #controller = new AbortController()
  /** Who waits for the answer to which attempt of an ask. */
  readonly #asking = new Map<string, (raw: unknown) => void>()
  /** Who waits for the end of which sleep. */
  readonly #sleeping = new Map<string, { until: number; wake: () => void }>()
  #isParked = false
  #isOver = false

  constructor(host: RunHost, call: TaskCall, memory: JsonObject) {
    this.#host = host
    this.#call = call
    this.journal = new CallJournal(memory, {
      early: () => undefined,
      mintId: () => host.mintId(),
      open: (wire, request, ask, record) => {
        host.opened(this, wire, request, ask, record)
        return this.#waiting(new Promise((resolve) => this.#asking.set(wire, resolve)))
      },
      changed: (change) => host.changed(this, change),
      sleep: (key, ms) => this.#sleep(key, ms),
      busy: () => this.#unpark(),
      idle: () => this.#settle(),
    })
  }

  /** Enters the handler. */
  start(): void {
    this.#run()
      .then(async (outcome) => {
        await this.#host.published()
        if (!this.#isOver) this.#host.ended(this, outcome)
      })
      // What cannot be stored is tried again by the next entry.
      .catch((error: unknown) => this.#host.report(error))
  }

  /** Goes on with the answer to an ask. */
  answered(key: string, wire: string, raw: unknown): void {
    // The handler, entered again by another answer, may not have come to this question yet.
    this.journal.answered(key, wire, raw)
    this.#isParked = false
    this.#asking.get(wire)?.(raw)
    this.#asking.delete(wire)
    this.#settle()
  }

  /** When the next sleep is over, in ms since the epoch; Infinity when there is none. */
  get wakeAt(): number {
    return Math.min(...Array.from(this.#sleeping.values(), ({ until }) => until))
  }

  /** Goes on after the sleeps that are over. */
  wake(now: number): void {
    this.#isParked = false
    for (const [key, { until, wake }] of this.#sleeping) {
      if (until > now) continue
      this.#sleeping.delete(key)
      wake()
    }
    this.#settle()
  }

  /** Ends this entry: nothing more of it is heard. The handler sees its signal abort. */
  end(reason: string): void {
    this.#isOver = true
    this.journal.close()
    this.#controller.abort(new DOMException(reason, 'AbortError'))
  }

  async #sleep(key: string, ms: number): Promise<unknown> {
    const until = this.#host.slept(this, key, ms)
    if (until <= Date.now()) return undefined
    const slept = new Promise<void>((wake) => this.#sleeping.set(key, { until, wake }))
    this.#host.sleeping(this)
    return this.#waiting(slept)
  }

  #waiting<T>(wait: Promise<T>): Promise<T> {
    this.#settle()
    return wait
  }

  /** Parked is a handler whose steps have settled, and which one macrotask brought nothing new. */
  #settle(): void {
    if (this.#isOver || this.journal.isBusy || !this.#isWaiting) return
    const seen = this.journal.activity
    setTimeout(() => {
      if (this.#isOver || this.journal.isBusy || !this.#isWaiting) return
      if (this.journal.activity !== seen) return this.#settle()
      this.#isParked = true
      this.#host.parked(this)
    }, 0)
  }

  /** It was doing something that is no step, such as a fetch, and comes to a step. */
  #unpark(): void {
    if (!this.#isParked) return
    this.#isParked = false
    this.#host.unparked(this)
  }

  get #isWaiting(): boolean {
    return this.#asking.size + this.#sleeping.size > 0
  }

  async #run(): Promise<TaskOutcome> {
    const { form, requestId } = this.#call
    const era = form === 'extension' ? 'modern' : 'legacy'
    const { server } = this.#host
    try {
      const run = async (): Promise<JsonObject> => (await dispatch(server, this.#toCall(era))).result
      const result = await (era === 'modern' ? run() : withoutMissing('tools/call', run))
      return storable(result)
    } catch (error) {
      if (error instanceof ProtocolError && isSmall(error.encode(era))) return { error: error.encode(era) }
      this.#host.report(error)
      return { error: new ProtocolError('InternalError', `Internal error (request ${requestId})`).encode(era) }
    }
  }

  #toCall(era: Call['era']): Call {
    const { version, params, requestId, client, auth, trace, progressToken, prepared } = this.#call
    const host = this.#host
    return {
      era,
      version,
      method: 'tools/call',
      params,
      requestId,
      client,
      auth,
      isAdmitted: true,
      env: host.env,
      ...(trace && { trace }),
      ...(progressToken !== undefined && { progressToken }),
      ...(prepared && { prepared }),
      // Whoever hears of it may still not want it.
      logLevel: 'debug',
      journal: this.journal,
      askTtlMs: Number.POSITIVE_INFINITY,
      port: {
        emit: (method, emitted) => this.#isOver || host.emitted(this, method, emitted),
        status: (progress, message) => this.#isOver || host.reported(this, progress, message),
        signal: () => this.#controller.signal,
        waitUntil: (work) => host.waitUntil(work),
        notify: (topic) => host.notify(topic),
        report: (error) => this.#isOver || host.report(error),
      },
    }
  }
}

function isSmall(error: JsonObject): boolean {
  return JSON.stringify(error).length <= limits.eventBytes
}

/** A result as it is kept, or one that says why it cannot be. @throws {TypeError} for what is no JSON */
function storable(result: JsonObject): TaskOutcome {
  const bytes = byteLength(JSON.stringify(result))
  if (bytes <= limits.taskResultBytes) return { result }
  const text = `The result has ${bytes} bytes, and only ${limits.taskResultBytes} can be kept: ask for less at once.`
  return { result: { content: [{ type: 'text', text }], isError: true } }
}
