// One tool call, from its POST over every connection it takes to its end; questions are answered on the way.

import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../../src/limits.ts'
import { bodyOf } from './http.mjs'
import { Transcript } from './transcript.mjs'

const deadlineMs = 60_000
/** How long a client waits before it comes back; a server's `retry:` is obeyed up to here, to save time. */
const retryCapMs = 200

export class Call {
  /** What came of it: 'result', 'interrupted', or 'unknown' when the connection broke before there was a cursor. */
  outcome
  text
  transcript
  /** The numbers that were answered, by question. */
  answers = {}
  attempts = 0
  gets = 0
  /** Kills and crashes while it ran, and since its question was answered. */
  faults = 0
  kills = 0
  faultsAfterAnswer = 0
  #client
  #name
  #args
  #options
  #faultsBefore
  #killsBefore
  #faultsAtAnswer
  #answering = []
  #asked = {}
  #connections = 0
  #signal = AbortSignal.timeout(deadlineMs)

  /** @param args the arguments of an attempt, by its number. `headers` gives those of a connection, by its number; `cuts` is how often connections are cut besides */
  constructor(
    client,
    name,
    args,
    { mayRepeat = !name.endsWith('_once'), phase, onAsk, onLog, headers, cuts = 0 } = {},
  ) {
    this.#client = client
    this.#name = name
    this.#args = args
    this.#options = { mayRepeat, phase, onAsk, onLog, headers, cuts }
    this.#faultsBefore = client.world.faults
    this.#killsBefore = client.world.server.kills
  }

  async run() {
    const { world } = this.#client
    try {
      while (this.outcome === undefined) await this.#attempt()
      await Promise.all(this.#answering)
    } catch (error) {
      if (!this.#signal.aborted) throw error
      this.outcome = 'hung'
    }
    world.activity.set(this)
    this.faults = world.faults - this.#faultsBefore
    this.kills = world.server.kills - this.#killsBefore
    this.faultsAfterAnswer = this.#faultsAtAnswer === undefined ? 0 : world.faults - this.#faultsAtAnswer
    this.#check()
    return this
  }

  #check() {
    const { ledger } = this.#client.world
    const what = () =>
      `${this.#name}: ${this.outcome} ${this.text ?? ''} after ${this.faults} faults, ${this.kills} kills, ${this.gets} GETs`
    ledger.count(`calls: ${this.outcome}`)
    ledger.check('every call ends', this.outcome !== 'hung' && this.outcome !== 'lost', what)
    ledger.check('no stream is asked for in a loop', this.gets <= this.kills + this.#options.cuts, what)
    const mayBeCut = this.faults > (this.#options.mayRepeat ? limits.callAttempts : 0)
    const rule = 'only what may not be repeated, or was too often, is interrupted'
    if (this.outcome === 'interrupted') ledger.check(rule, mayBeCut, what)
    const counts = Object.entries(this.#asked)
    for (const [question, ids] of counts)
      ledger.check('each question is asked once', ids.size === 1, () => `${question} ${ids.size} times: ${what()}`)
  }

  async #attempt() {
    const { world } = this.#client
    this.transcript = new Transcript(this.#client)
    this.attempts++
    world.activity.set(this, 'calling')
    const params = { name: this.#name, arguments: this.#args(this.attempts), _meta: { progressToken: 'p' } }
    const response = await this.#client.post({ method: 'tools/call', params }, this.#connection())
    if (response) await this.#receive(response)
    if (this.outcome !== undefined) return
    while (this.transcript.cursor !== undefined && this.outcome === undefined) await this.#resume()
    if (this.outcome !== undefined) return
    // Without a cursor there is no way back: only what may be repeated is sent again.
    if (!this.#options.mayRepeat) this.outcome = 'unknown'
    await this.#client.backOff()
  }

  /** What the next connection is made with. */
  #connection() {
    return { signal: this.#signal, headers: this.#options.headers?.(this.#connections++) }
  }

  async #receive(response) {
    if (response.headers['content-type'].startsWith('text/event-stream')) return this.#follow(response)
    const text = await bodyOf(response)
    if (text !== undefined) this.#take(JSON.parse(text))
  }

  async #follow(response) {
    const { activity } = this.#client.world
    activity.set(this, this.#options.phase)
    const retryMs = await this.transcript.read(response, (message) => this.#take(message))
    if (this.outcome !== undefined) return
    activity.set(this, 'resuming')
    await (retryMs === undefined ? this.#client.backOff() : sleep(Math.min(retryMs, retryCapMs)))
  }

  async #resume() {
    const { world } = this.#client
    const response = await this.#client.get(this.transcript.cursor, this.#connection())
    if (!response) return this.#client.backOff()
    this.gets++
    world.ledger.count('resumes')
    if (response.statusCode === 200) return this.#follow(response)
    this.outcome = 'lost'
    this.text = `GET answered ${response.statusCode}`
    response.resume()
  }

  #take(message) {
    if (message.method === 'elicitation/create') return void this.#answering.push(this.#answer(message))
    if (message.method === 'notifications/message') this.#options.onLog?.(message.params.data)
    if (message.method !== undefined) return
    const { ledger } = this.#client.world
    ledger.check('a call has one answer', this.outcome === undefined, () => JSON.stringify(message))
    ledger.check('no internal error', message.error === undefined, () => JSON.stringify(message))
    this.text = message.result?.content[0].text ?? JSON.stringify(message.error)
    const isInterrupted = message.result?.isError === true && this.text.startsWith('The call was interrupted')
    this.outcome = isInterrupted ? 'interrupted' : 'result'
  }

  /** Answers a question after a while, and again until the answer was taken. */
  async #answer({ id, params: { message } }) {
    const { world } = this.#client
    const operation = {}
    const isNew = this.#asked[message] === undefined
    const ids = (this.#asked[message] ??= new Set())
    ids.add(id)
    world.activity.set(this)
    world.activity.set(operation, 'asking')
    if (isNew) await this.#options.onAsk?.()
    await sleep(world.random.chance(0.3) ? 0 : world.random.between(0, 250))
    const number = (this.answers[message] ??= world.random.between(1, 1_000_000))
    for (;;) {
      world.activity.set(operation, 'answering')
      const result = { action: 'accept', content: { number } }
      const response = await this.#client.post({ id, result }, { signal: this.#signal })
      if (response) {
        const { statusCode } = response
        response.resume()
        world.ledger.check('answers are taken', statusCode === 202, () => `an answer got ${statusCode}`)
        break
      }
      await this.#client.backOff()
    }
    this.#faultsAtAnswer ??= world.faults
    world.activity.set(operation)
    if (this.outcome === undefined) world.activity.set(this, 'answered')
  }
}
