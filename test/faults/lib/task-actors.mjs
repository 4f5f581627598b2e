// What a client does with one task, and what it was told. What must have become of the task is for the judge.

import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../support/random.mjs'
import { NO_SUCH_TASK, outcomeOf } from './task-clients.mjs'
import { TaskWait } from './task-wait.mjs'

/** How long tasks are to live. The tools `job` and `brief` say the same to clients that cannot ask for it. */
export const LIFE_MS = 30_000
export const BRIEF_MS = 2_500
/** A task is gone this long after its time at the latest: the server may be down when its alarm should ring. */
const GONE_MS = 8_000
const FINAL = ['completed', 'failed', 'cancelled']
const PHASES = { sleep: 'sleeping', ask: 'asking', asks: 'asking' }

/** Does one plan with a client. @returns when nothing more will come of it */
export async function perform(client, plan) {
  const task = new Actor(client, plan)
  await task.create()
  try {
    await task.follow()
  } finally {
    client.world.activity.set(task)
    client.world.open.delete(task)
  }
}

/** One task and its client. */
export class Actor {
  taskId
  key
  /** What the judge is told, for each attempt to make it. */
  record
  #client
  #plan
  #random
  #expiresAt
  #answering = new Map()

  constructor(client, plan) {
    this.#client = client
    this.#plan = plan
    this.#random = createRandom(plan.seed)
  }

  /** Makes the task. One whose handle was cut off goes on without a client, so another is made. */
  async create() {
    const { world, form } = this.#client
    const { plan, end, fate } = this.#plan
    for (let attempt = 1; this.taskId === undefined; attempt++) {
      this.key = `${this.#plan.name}.${attempt}`
      this.record = { key: this.key, form, plan, end, fate: 'untold', answers: {} }
      world.tasks.push(this.record)
      world.lastMadeAt = Date.now()
      world.activity.set(this, 'creating')
      const isBrief = fate === 'expires'
      const job = { key: this.key, plan, end }
      const made = await this.#client.create(isBrief ? 'brief' : 'job', job, isBrief ? BRIEF_MS : LIFE_MS)
      if (!made) {
        await this.#client.backOff()
        continue
      }
      this.taskId = made.taskId
      this.#expiresAt = made.expiresAt
      this.record.fate = fate
      this.record.taskId = this.taskId
      this.record.principal = this.#client.principal
    }
    world.ledger.count('tasks')
    world.open.add(this)
    world.activity.set(this, 'created')
  }

  /** Sees the task to its end. */
  async follow() {
    const { fate, form } = this.#plan
    if (fate === 'expires') return this.#expire()
    if (form !== 'extension' && this.#client.principal !== undefined) await this.#checkListed()
    const cancelling = fate === 'cancelled' && this.#cancel()
    if (form === 'extension') await this.#poll()
    else await this.#result()
    await cancelling
    this.record.kills = this.#client.world.server.kills
    await Promise.all(this.#answering.values())
    await this.#lookAgain()
  }

  /** Whoever is known to the server finds its own tasks again. */
  async #checkListed() {
    const ids = await this.#client.list()
    this.#client.world.ledger.check('a task is listed', ids.includes(this.taskId), () => `${this.key}: ${ids.length}`)
  }

  /** Polls until the end, answering what is asked. */
  async #poll(isEnough = () => false) {
    for (;;) {
      const seen = await this.look()
      if (!seen) return undefined
      if (FINAL.includes(seen.status)) this.record.outcome = seen.outcome
      if (FINAL.includes(seen.status) || isEnough(seen)) return seen
      this.#says(seen.statusMessage)
      for (const { key, name } of seen.asks) this.answer(name, key)
      await sleep(this.#random.between(100, 400))
    }
  }

  /** Reads the task, which is there for as long as it was promised. */
  async look() {
    const { ledger } = this.#client.world
    const seen = await this.#client.look(this.taskId)
    const isPromised = Date.now() < this.#expiresAt
    const detail = () => `${this.key} (${this.#plan.form}) ${JSON.stringify(this.record.outcome)}`
    if (isPromised) ledger.check('a task whose handle was given is there', seen !== undefined, detail)
    return seen
  }

  /** 2025-11-25: waits for the result on a stream, from the beginning or from when the client has to. */
  async #result() {
    const { flow } = this.#plan
    if (flow === 'poll') await this.#poll(({ status }) => status === 'input_required')
    if (flow === 'again') await this.#leave()
    const { result, error } = (await this.#untilGone(this.#newWait())) ?? {}
    const seen = await this.look()
    this.record.outcome = outcomeOf(seen?.status, result, error)
    if (seen?.status === 'cancelled') this.#checkCancelled(error)
  }

  /** What somebody who waits is told, or nothing in all the time that the task may be there. */
  async #untilGone(wait) {
    const timer = setTimeout(() => wait.stop(), Math.max(0, this.#expiresAt + GONE_MS - Date.now()))
    try {
      return await wait.run()
    } finally {
      clearTimeout(timer)
    }
  }

  #newWait() {
    const { world } = this.#client
    return new TaskWait(this.#client, this.taskId, {
      onAsk: (id, name) => this.answer(name, id),
      onProgress: (message) => this.#says(message),
      phase: (phase) => world.activity.set(this, phase),
    })
  }

  /** Begins to wait, and leaves. */
  async #leave() {
    const wait = this.#newWait()
    const waiting = wait.run()
    await sleep(this.#random.between(50, 1_000))
    wait.stop()
    await waiting
  }

  /** Answers a question after a while, once the next kill is over where it holds its answers. */
  answer(name, key) {
    const id = `${name} ${key}`
    if (!this.#answering.has(id)) this.#answering.set(id, this.#answer(name, key))
  }

  async #answer(name, key) {
    const { world } = this.#client
    const { ledger } = world
    const operation = {}
    world.activity.set(operation, 'asking')
    const { kills } = world.server
    const number = (this.record.answers[name] ??= this.#random.between(1, 1_000_000))
    if (this.#plan.holds) await this.#untilKilled(kills)
    await sleep(this.#plan.thinkMs ?? (this.#random.chance(0.3) ? 0 : this.#random.between(0, 300)))
    world.activity.set(operation, 'answering')
    await (this.#plan.form === 'extension' ? this.#update(key, number) : this.#send(key, number))
    world.activity.set(operation)
    ledger.count(`tasks: answers ${kills < world.server.kills ? 'after a kill since the question' : 'before any kill'}`)
  }

  async #untilKilled(kills) {
    const { server } = this.#client.world
    for (const end = Date.now() + 4_000; server.kills === kills && Date.now() < end;) await sleep(20)
  }

  async #update(key, number) {
    const { error } = await this.#client.answer(this.taskId, key, number)
    this.#client.world.ledger.check('answers are taken', error === undefined, () => JSON.stringify(error))
  }

  async #send(id, number) {
    const result = { action: 'accept', content: { number } }
    for (;;) {
      const response = await this.#client.post({ id, result })
      response?.resume()
      const { statusCode } = response ?? {}
      if (response) {
        this.#client.world.ledger.check('answers are taken', statusCode === 202, () => `an answer got ${statusCode}`)
        return
      }
      await this.#client.backOff()
    }
  }

  /** Cancels the task at some moment. From the acknowledgement on nothing of it may begin. */
  async #cancel() {
    const { world } = this.#client
    await sleep(this.#random.between(50, 2_500))
    const operation = {}
    world.activity.set(operation, 'cancelling')
    await this.#client.cancel(this.taskId)
    await this.#client.tool('mark', { key: this.key, event: 'cancelled' })
    world.activity.set(operation)
    const { status } = (await this.look()) ?? {}
    world.ledger.check(
      'a task that was cancelled is at its end',
      FINAL.includes(status),
      () => `${this.key}: ${status}`,
    )
  }

  #checkCancelled(error) {
    const isFine = error?.code === -32603
    this.#client.world.ledger.check('a cancelled task has no result', isFine, () => JSON.stringify(error))
    this.record.outcome = { status: 'cancelled' }
  }

  /** A task that lives too short for its plan: gone soon after its time, and for good. */
  async #expire() {
    const { world } = this.#client
    const { ledger } = world
    world.activity.set(this, 'expiring')
    const { form, flow } = this.#plan
    const waiting = form !== 'extension' && flow !== 'poll' ? this.#untilGone(this.#newWait()) : undefined
    let seen = await this.look()
    for (const end = this.#expiresAt + GONE_MS; seen && Date.now() < end; seen = await this.look()) {
      await sleep(this.#random.between(100, 400))
    }
    ledger.check('a task is gone after its time', seen === undefined, () => `${this.key}: ${JSON.stringify(seen)}`)
    ledger.count('tasks: expired')
    const told = await waiting
    const isTold = !waiting || told?.error?.code === NO_SUCH_TASK
    ledger.check('who waits for a task that expires is told', isTold, () => `${this.key}: ${JSON.stringify(told)}`)
    await Promise.all(this.#answering.values())
    await this.#client.tool('mark', { key: this.key, event: 'expired' })
  }

  /** What is final stays as it is, kills or not. */
  async #lookAgain() {
    const { ledger } = this.#client.world
    const before = await this.look()
    await sleep(this.#random.between(0, 1_500))
    const after = await this.look()
    if (!before || !after) return
    const detail = () => `${this.key}: ${before.raw}, then ${after.raw}`
    ledger.check('what is final stays as it is', before.raw === after.raw, detail)
  }

  #says(message) {
    this.#client.world.activity.set(this, PHASES[message] ?? 'working')
  }
}
