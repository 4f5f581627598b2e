// A server with two Workers over the same hubs, those who listen to it, and what can be done to it.

import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../support/random.mjs'
import { Activity } from './activity.mjs'
import { checkOutput } from './kills.mjs'
import { LISTS, PlainListener, ResumingListener, SessionListener } from './listen-clients.mjs'
import { judge } from './listen-judge.mjs'
import { KillableServer } from './server.mjs'
import { ModernClient } from './task-clients.mjs'

export const SHARDS = 2
const ITEMS = Array.from({ length: 16 }, (_, i) => `item://${100 + i}`)
/** What changes: lists, and things that can be read. */
export const TOPICS = [...LISTS, ...ITEMS]
const KINDS = [PlainListener, ResumingListener, SessionListener]
/** Of all topics a listener asks for so many. */
const topicShare = 0.45
/** How far away sessions are: enough for something to happen meanwhile. */
const nearMs = 50
/** What is logged of a hub that crashes again and again: a call is tried three times. */
const refusals = /^\{"event":"failure",.*"error":"(Error: a crash was asked for|ProtocolError: [^"]*: try again)".*\n/gm
/** What the platform says of an object that is crashed in its alarm. */
const crashNoise = /^.*jsg\.Error: a crash was asked for\n(?:stack: .*\n)?/gm

/**
 * `rows` is what the judge is told, `newest` the newest version of each topic that was answered, `crashes` those of hubs
 * since the server was started; `isWell` until somebody is not told.
 */
export function newWorld({ bundleDir, ledger, seed, vars = {} }) {
  const all = { LISTEN_SHARDS: String(SHARDS), RESUMABLE_LISTEN: 'on', FAR_MS: String(nearMs), ...vars }
  const server = new KillableServer(bundleDir, { vars: all, workers: 2 })
  const world = { server, ledger, activity: new Activity(), random: createRandom(seed), faults: 0, rows: [] }
  Object.assign(world, { listeners: [], watchers: [], publishers: new Map(), newest: new Map(), crashes: {} })
  Object.assign(world, { runs: 0, tasks: 0, isRough: false, isWell: true })
  world.note = (row) => world.rows.push({ id: world.rows.length + 1, at: performance.now(), ...row })
  world.versions = new Versions(world)
  return world
}

/** Begins to listen: so many of each kind, some of them as somebody, half of them over connections that may be cut. */
export async function listen(world, each, mayBeCut) {
  const { random } = world
  for (const Kind of KINDS) {
    for (let i = 0; i < each; i++) {
      const topics = TOPICS.filter(() => random.chance(topicShare))
      const who = i % 3 === 0 ? {} : { principal: `${Kind.name}-${i}` }
      const about = { name: `${Kind.name}-${i}`, topics, mayBeCut: mayBeCut && i % 2 === 0, seed: random.int(2 ** 31) }
      world.listeners.push(new Kind(world, { ...about, ...who }))
    }
  }
  for (const listener of world.listeners) listener.start()
  await Promise.all(world.listeners.map(({ ready }) => ready))
}

/** Waits until everybody knows of all that was answered. */
export async function settle(world, ms) {
  const { listeners, newest } = world
  const isKnown = ({ isStopped, topics, known }) =>
    isStopped || topics.every((topic) => (known.get(topic) ?? 0) >= (newest.get(topic) ?? 0))
  const end = Date.now() + ms
  while (!listeners.every(isKnown) && Date.now() < end) await sleep(20)
  world.isWell &&= listeners.every(isKnown)
  world.note({ event: 'settled' })
}

export async function stop({ listeners }) {
  await Promise.all(listeners.map((listener) => listener.stop()))
}

/** Judges what there was, when the server has stopped. */
export function finish({ rows, listeners, watchers, ledger, server }) {
  const all = [...listeners, ...watchers].map(({ name, kind, topics }) => ({ name, kind, topics }))
  judge({ rows, listeners: all }, ledger)
  for (const output of server.outputs) checkOutput(ledger, output.replaceAll(crashNoise, '').replaceAll(refusals, ''))
}

/** @param downMs how long it is down at least */
export async function kill(world, downMs = 0) {
  world.crashes = {}
  world.ledger.count('listen: kills')
  world.note({ event: 'kill' })
  await world.server.kill(() => sleep(downMs))
  world.note({ event: 'up' })
}

/** Crashes a hub at once, or the next that comes to a point, and notes those that were. */
export async function crash(world, args) {
  const { kills } = world.server
  const message = await new ModernClient(world).askOrNot('tools/call', { name: 'crash_hub', arguments: args })
  if (!message?.result || world.server.kills !== kills) return
  const crashes = JSON.parse(message.result.content[0].text)
  for (const [point, times] of Object.entries(crashes)) {
    for (let known = world.crashes[point] ?? 0; known < times; known++) {
      world.note({ event: 'crash' })
      world.ledger.count(`listen: hub crashes ${point}`)
    }
  }
  world.crashes = crashes
}

/** Notes the crashes until now: when it is killed the server forgets them. */
export const noteCrashes = (world) => crash(world, {})

/** Ends the object of a session, and leaves the Worker that holds its stream. */
export async function crashSession(world, { name, client }) {
  world.note({ event: 'hit', listener: name })
  const response = await client.post({ method: 'tools/call', params: { name: 'crash', arguments: {} } })
  response?.resume()
}

/** What there is by now, looked up for everybody together: each sees what was there when it asked. */
class Versions {
  #world
  #client
  #last = Promise.resolve()
  #next

  constructor(world) {
    this.#world = world
  }

  read() {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined
      return (this.#last = this.#look())
    })
    return this.#next
  }

  async #look() {
    this.#client ??= new ModernClient(this.#world)
    const { content } = await this.#client.tool('effects', { prefix: 'topic/' })
    const entries = Object.entries(JSON.parse(content[0].text))
    return Object.fromEntries(entries.map(([key, version]) => [key.slice('topic/'.length), version]))
  }
}
