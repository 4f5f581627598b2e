// Tasks made to be killed: each does what its plan says, and a witness outside of it writes down what its handler does.

import { DurableObject } from 'cloudflare:workers'
import * as z from 'zod'
import { createTaskObject } from '../../durable-objects/task.ts'
import { limits } from '../../src/limits.ts'
import { defineTool, ProtocolError, ToolError, type CallContext, type Server } from '../../src/server/index.ts'

// What a kill interrupts goes on within a second instead of half a minute, so that a minute sees many recoveries.
limits.leaseMs = 1_000

/** One thing a handler did, in the order in which all of them did. `value` is what a step or an answer came to. */
interface Sight {
  task: string
  run: number
  event: string
  what?: string
  value?: number
}

/** Writes down what handlers do. Its numbers only grow. */
export class WitnessObject extends DurableObject<Cloudflare.Env> {
  /** A handler is entered. @returns which run of this task that is */
  enter(task: string, instance: string): number {
    const rows = this.#exists
      ? this.ctx.storage.sql.exec(`select 1 from sight where task = ? and event = 'enter'`, task)
      : undefined
    const run = (rows?.toArray().length ?? 0) + 1
    this.#add({ task, run, event: 'enter' }, instance)
    return run
  }

  /** @returns the number of this sight */
  see(sight: Sight): number {
    return this.#add(sight, null)
  }

  get #exists(): boolean {
    return this.ctx.storage.sql.exec(`select 1 from sqlite_master where name = 'sight'`).toArray().length > 0
  }

  #add({ task, run, event, what, value }: Sight, instance: string | null): number {
    const { sql } = this.ctx.storage
    sql.exec(
      `create table if not exists sight (
         id integer primary key autoincrement, at integer not null, task text not null, run integer not null,
         event text not null, what text, value integer, instance text
       )`,
    )
    const row = [Date.now(), task, run, event, what ?? null, value ?? null, instance]
    const query = 'insert into sight (at, task, run, event, what, value, instance) values (?, ?, ?, ?, ?, ?, ?)'
    return sql.exec<{ id: number }>(`${query} returning id`, ...row).one().id
  }
}

function witness(env: Cloudflare.Env): DurableObjectStub<WitnessObject> {
  return (env as unknown as { WITNESS: DurableObjectNamespace<WitnessObject> }).WITNESS.getByName('witness')
}

/** The object a handler runs in, as its environment has it. */
interface Host {
  id: string
  abort(): void
}

/** Task objects that tell their handlers which instance they are, and can be crashed. */
export function createKillableTaskObject(server: Server) {
  return class TaskObject extends createTaskObject(server) {
    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      const host: Host = { id: crypto.randomUUID(), abort: () => ctx.abort('a crash was asked for') }
      super(ctx, { ...env, HOST: host } as Cloudflare.Env)
    }

    crash(): void {
      this.ctx.abort('a crash was asked for')
    }
  }
}

function hostOf(env: Cloudflare.Env): Host {
  return (env as unknown as { HOST?: Host }).HOST ?? { id: 'inline', abort: () => undefined }
}

const Stage = z.object({
  kind: z.enum(['step', 'pair', 'bare', 'sleep', 'ask', 'asks', 'die']),
  /** Unique in its plan. */
  name: z.string(),
  ms: z.number().default(0),
})

const Job = z.object({
  key: z.string(),
  plan: z.array(Stage),
  /** How it ends: well, with `isError`, or with a JSON-RPC error. */
  end: z.enum(['result', 'isError', 'error']),
})

/** One entry of a job's handler. */
class JobRun {
  /** What each step and each answer came to. */
  readonly values: { [what: string]: number } = {}
  readonly #ctx: CallContext
  readonly #task: string
  readonly #run: number

  constructor(ctx: CallContext, task: string, run: number) {
    this.#ctx = ctx
    this.#task = task
    this.#run = run
  }

  see(event: string, what?: string, value?: number): Promise<number> {
    const about = { ...(what !== undefined && { what }), ...(value !== undefined && { value }) }
    return witness(this.#ctx.env).see({ task: this.#task, run: this.#run, event, ...about })
  }

  async go({ kind, name, ms }: z.infer<typeof Stage>): Promise<void> {
    switch (kind) {
      case 'step':
        return this.#step(name, ms)
      case 'pair':
        await Promise.all([this.#step(`${name}-left`, ms), this.#step(`${name}-right`, ms / 2)])
        return
      case 'bare':
        await this.see('bare', name)
        return scheduler.wait(ms)
      case 'sleep':
        await this.see('waits', name, ms)
        await this.#ctx.sleep(ms, name)
        await this.see('woke', name)
        return
      case 'ask':
        return this.#ask(name)
      case 'asks':
        await Promise.all([this.#ask(`${name}-left`), this.#ask(`${name}-right`)])
        return
      case 'die':
        await this.see('dies', name)
        hostOf(this.#ctx.env).abort()
    }
  }

  /** Its effect is what the witness sees; the number of that sight is its result. */
  async #step(name: string, ms: number): Promise<void> {
    const value = await this.#ctx.step(name, async () => {
      const execution = await this.see('begin', name)
      await scheduler.wait(ms)
      await this.see('did', name)
      return execution
    })
    this.values[name] = value
    // Nothing leaves an object before what it wrote earlier is stored: once this is seen, so is the row of the step.
    await this.see('past', name, value)
  }

  async #ask(name: string): Promise<void> {
    await this.see('waits', name)
    const schema = z.object({ number: z.int() })
    const answer = await this.#ctx.elicit(name, { message: name, schema })
    this.values[name] = answer.action === 'accept' ? answer.content.number : -1
    await this.see('answered', name, this.values[name])
  }
}

/** One lives long enough for any plan, one for none. `lib/task-actors.mjs` knows how long. */
const LIVES = [
  ['job', 30_000],
  ['brief', 2_500],
] as const

const jobs = LIVES.map(([name, ttlMs]) =>
  defineTool(name, {
    description: 'Does what its plan says.',
    inputSchema: Job,
    task: { support: 'optional', ttlMs, pollIntervalMs: 200 },
    async handler({ key, plan, end }, ctx) {
      const run = new JobRun(ctx, key, await witness(ctx.env).enter(key, hostOf(ctx.env).id))
      for (const [i, stage] of plan.entries()) {
        ctx.progress(i, plan.length, stage.kind)
        await run.go(stage)
      }
      await run.see('ends', end)
      const text = JSON.stringify({ key, values: run.values })
      if (end === 'isError') throw new ToolError(text)
      if (end === 'error') throw new ProtocolError('InvalidRequest', text)
      return text
    },
  }),
)

const mark = defineTool('mark', {
  description: 'Has the witness write down what a client knows.',
  annotations: { idempotentHint: true },
  inputSchema: z.object({ key: z.string(), event: z.string() }),
  handler: async ({ key, event }, ctx) => `${await witness(ctx.env).see({ task: key, run: 0, event })}`,
})

const crashTask = defineTool('crash_task', {
  description: 'Ends the object of a task, which is entered again by its alarm.',
  annotations: { idempotentHint: true },
  inputSchema: z.object({ taskId: z.string(), key: z.string() }),
  async handler({ taskId, key }, ctx) {
    // One sight before and one after it: what is between them may have been this crash.
    await witness(ctx.env).see({ task: key, run: 0, event: 'crash' })
    const { TASK } = ctx.env
    const object = TASK.get(TASK.idFromString(taskId)) as unknown as { crash(): Promise<void> }
    await object.crash().catch(() => undefined)
    await witness(ctx.env).see({ task: key, run: 0, event: 'crashed' })
    return 'crashed'
  },
})

export const taskTools = [...jobs, mark, crashTask]
