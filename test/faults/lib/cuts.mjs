// Connections cut at every byte of every event while the producer still writes: the pieces make the whole.

import { setTimeout as sleep } from 'node:timers/promises'
import { Activity } from './activity.mjs'
import { Client } from './client.mjs'
import { startCutProxy } from './cut-proxy.mjs'
import { createRandom } from '../../support/random.mjs'
import { KillableServer } from './server.mjs'
import { replay } from './audit.mjs'

const atOnce = 10
const numbers = { n: 5, everyMs: 24 }
/** A stream that goes on for long after it was cut a few times. */
const long = { n: 80, everyMs: 16 }
/** More than are replaced before the older ones are kept open. */
const longCuts = 6
/** What was under way when a newer connection began may still arrive on the older one, but not for longer than this. */
const skewMs = 400

export async function runCuts({ bundleDir, ledger, seed }) {
  const server = new KillableServer(bundleDir)
  await server.start()
  const proxy = await startCutProxy(server.port)
  const world = { server, ledger, activity: new Activity(), random: createRandom(seed), faults: 0 }
  try {
    const suite = new Cuts(world, proxy)
    const whole = await suite.uncut()
    const plans = [
      ...offsets(suite.longest, 1).map((offset) => ({ from: 1, offset, side: 'both' })),
      ...offsets(suite.shortest, 1).map((offset) => ({ from: 0, offset, side: 'both' })),
      ...offsets(suite.longest, 4).map((offset) => ({ from: 1, offset, side: 'client' })),
    ]
    await inParallel(plans, (plan) => suite.cut(plan, whole))
    const longPlans = Array.from({ length: atOnce }, (_, i) => ({ from: 1, offset: 10 * i, side: 'client' }))
    await inParallel(longPlans, (plan) => suite.cutLong(plan))
    suite.checkCoverage(whole.length)
  } finally {
    proxy.stop()
    await server.stop()
  }
}

class Cuts {
  #world
  #proxy
  #runs = 0
  /** Every place that was cut: `event:offset`. */
  #places = new Set()
  /** How long each event is at least: what marks a session is not equally long in each. */
  #lengths = []

  constructor(world, proxy) {
    this.#world = world
    this.#proxy = proxy
  }

  /** The events as they are when nobody interferes, without what differs between sessions. */
  async uncut() {
    const { call } = await this.#call(numbers, () => ({}))
    return call.transcript.events.map(({ raw }) => anonymous(raw))
  }

  async cut({ from, offset, side }, whole) {
    const { ledger } = this.#world
    const run = String(++this.#runs)
    // Where the event that gives the first cursor is cut, there is nothing to come back with: that call is sent again.
    const isFirst = from === 0
    const headers = (connection) => {
      const last = this.#proxy.connections.findLast((one) => one.run === run)
      // An event that was cut has to come through on the next connection; after a whole one the next may be cut.
      const first = last?.cut?.isWhole ? 0 : from
      return { 'x-run': run, ...((connection === 0 || !isFirst) && { 'x-cut': `${first}:${offset}:${side}` }) }
    }
    const { call, client } = await this.#call(numbers, headers)
    const connections = this.#proxy.connections.filter((connection) => connection.run === run)
    const seen = call.transcript.events.map(({ raw }) => raw)
    await this.#checkStored(client, call, seen)
    const isSame = seen.map(anonymous).join('') === whole.join('')
    ledger.check('the pieces of a cut stream are the uncut one, byte for byte', isSame, () => seen.join(''))
    const ours = connections.filter(({ sent }) => sent.some(({ raw }) => seen.includes(raw)))
    this.#checkConnections(seen, ours)
    this.#countPlaces(connections, isFirst)
    const cuts = connections.filter(({ cut }) => cut).length
    ledger.check('each cut costs one connection', call.gets <= cuts, () => `${call.gets} GETs, ${cuts} cuts`)
  }

  /** Cut connections that the server believes in must not be fed beside the new one. */
  async cutLong({ from, offset, side }) {
    const run = String(++this.#runs)
    const headers = (connection) => ({
      'x-run': run,
      ...(connection < longCuts && { 'x-cut': `${from}:${offset}:${side}` }),
    })
    const { call, client } = await this.#call(long, headers)
    const seen = call.transcript.events.map(({ raw }) => raw)
    await this.#checkStored(client, call, seen)
    this.#checkConnections(
      seen,
      this.#proxy.connections.filter((connection) => connection.run === run),
    )
  }

  async #call(args, headers) {
    const client = await new Client(this.#world, { port: this.#proxy.port }).open()
    client.backOff = () => sleep(1)
    const call = await client.call('count', () => args, { phase: 'streaming', headers, cuts: Number.POSITIVE_INFINITY })
    call.transcript.events.forEach(
      ({ raw }, i) => (this.#lengths[i] = Math.min(raw.length, this.#lengths[i] ?? Infinity)),
    )
    return { client, call }
  }

  async #checkStored(client, call, seen) {
    const { ledger } = this.#world
    const { transcript } = await replay(client, call.transcript.stream)
    const stored = transcript.events.map(({ raw }) => raw).join('')
    ledger.check('the pieces of a cut stream are what was stored', seen.join('') === stored, () => seen.join(''))
  }

  /** What reached the client came over one connection, and is sent on one. */
  #checkConnections(seen, connections) {
    const { ledger } = this.#world
    for (const raw of seen) {
      const carriers = connections.filter(({ sent }) => sent.some((event) => event.raw === raw && event.isDelivered))
      ledger.check('each event reached its client over one connection', carriers.length === 1, () => raw)
    }
    connections.forEach(({ sent, lastEventId }, i) => {
      const isNew = sent.every(({ id }) => sequenceOf(id) > sequenceOf(lastEventId))
      ledger.check('a connection brings only what is new to its client', isNew, () => `${lastEventId}: ${sent[0]?.id}`)
      // Once a newer connection is answered, the server sends nothing more on this one.
      const until = Math.min(...connections.slice(i + 1).map(({ answeredAt }) => answeredAt)) + skewMs
      const late = sent.filter(({ at }) => at > until)
      ledger.check('nothing is sent on two connections', late.length === 0, () =>
        late.map(({ id, at }) => `${id} ${(at - until + skewMs).toFixed()} ms late`).join(),
      )
    })
  }

  #countPlaces(connections, isFirst) {
    const { ledger } = this.#world
    const ends = connections.flatMap(({ sent }) =>
      sent.filter(({ raw }) => raw.includes('"result"')).map(({ at }) => at),
    )
    for (const { cut, sent, lastEventId, echoes } of connections) {
      if (!cut) continue
      const event = (isFirst ? 0 : sequenceOf(lastEventId)) + cut.index - echoes
      this.#places.add(`${event}:${cut.offset}`)
      ledger.count('cuts')
      if (cut.at < Math.min(...ends)) ledger.count('cuts while the producer wrote')
      ledger.count('events swallowed by cuts', sent.filter(({ isDelivered }) => !isDelivered).length)
    }
  }

  get longest() {
    return Math.max(...this.#lengths)
  }

  /** The first event, which only gives a cursor. */
  get shortest() {
    return this.#lengths[0]
  }

  /** The end of an event is also the beginning of the next. */
  checkCoverage(events) {
    const { ledger } = this.#world
    const lengths = this.#lengths.slice(0, events)
    const due = lengths.flatMap((length, event) => Array.from({ length }, (_, offset) => `${event}:${offset}`))
    const missed = due.filter((place) => !this.#places.has(place))
    ledger.count('byte boundaries', due.length)
    ledger.check('every byte boundary was cut at', missed.length === 0, () => missed.join(' '))
  }
}

/** An event without what differs from call to call: what marks its session and stream, and the id of the request. */
function anonymous(raw) {
  return raw.replace(/^id: .*\.(\d+)$/m, 'id: $1').replace(/"id":\d+,"result"/, '"id":1,"result"')
}

function offsets(last, stride) {
  return Array.from({ length: Math.floor(last / stride) + 1 }, (_, i) => i * stride)
}

function sequenceOf(id) {
  return id === undefined ? 0 : Number(id.split('.').at(-1))
}

async function inParallel(items, run) {
  const left = [...items]
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
