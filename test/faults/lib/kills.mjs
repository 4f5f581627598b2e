// Episodes: sessions do what clients do while the server is killed under them; then everything is audited.

import { setTimeout as sleep } from 'node:timers/promises'
import { Activity } from './activity.mjs'
import * as actors from './actors.mjs'
import { audit } from './audit.mjs'
import { Client, LATEST } from './client.mjs'
import { createRandom } from '../../support/random.mjs'
import { KillableServer } from './server.mjs'

/** Where a kill is aimed, and how many ms later it falls at most. */
const AIMS = [
  ['calling', 20],
  ['streaming', 400],
  ['before an ask', 20],
  ['asking', 150],
  ['answering', 5],
  ['answered', 500],
  ['quiet', 400],
  ['resuming', 30],
  ['idle', 300],
]
const aimMs = 400
const killsPerEpisode = 3
/** Crashes of one object come on top of the kills, which end the Worker too. */
const crashShare = 0.4
const keptDead = 4
/** What the platform says when a kill came between storing an alarm and scheduling it; it schedules it then, or rings it. */
const expected = /warning: NOSENTRY SQLite alarm (handler canceled|overdue, running despite AlarmManager mismatch)/

/** @returns the table's rows: what was hit how often */
export async function runKills({ bundleDir, ledger, kills, seed }) {
  const server = new KillableServer(bundleDir)
  const world = { server, ledger, activity: new Activity(), random: createRandom(seed), faults: 0 }
  const tally = new Tally()
  await server.start()
  try {
    const elder = await new Client(world).open()
    await elder.repeat('resources/subscribe', { uri: 'item://50' })
    elder.listen()
    const dead = []
    while (server.kills < kills) await episode(world, { kills, tally, elder, dead })
    await elder.listener.stop()
    await audit(elder)
  } finally {
    await server.stop()
  }
  for (const output of server.outputs) checkOutput(ledger, output)
  return tally.rows()
}

async function episode(world, { kills, tally, elder, dead }) {
  const { random } = world
  const versions = [LATEST, LATEST, random.pick(['2025-06-18', LATEST])]
  const clients = await Promise.all(versions.map((version) => new Client(forked(world), { version }).open()))
  const [first, second, third] = clients
  const work = [
    actors.watch(first),
    actors.count(first),
    ...[actors.ask, actors.count, actors.wait].map((act) => act(second)),
    ...[actors.askBoth, actors.ask, actors.wait].map((act) => act(third)),
    actors.ask(elder),
    actors.poke(elder),
    actors.abandon(third),
  ]
  let isOver = false
  const working = Promise.all(work).finally(() => (isOver = true))
  const budget = Math.min(killsPerEpisode, kills - world.server.kills)
  for (let kill = 0; kill < budget && !isOver; kill++) await strike(world, tally, clients, () => isOver)
  await working
  await Promise.all(clients.map((client) => audit(client)))
  await bury(world, random.pick(clients), dead)
  await idleStrike(world, kills, tally)
}

/** Actors draw numbers of their own, so that what one does depends less on how fast another is. */
function forked(world) {
  const random = createRandom(world.random.between(0, 2 ** 31))
  return Object.create(world, { random: { value: random } })
}

async function strike(world, tally, clients, isOver) {
  const { random, activity, server } = world
  const [phase, jitterMs] = random.pick(AIMS)
  await activity.until(phase, aimMs)
  await sleep(random.between(0, jitterMs))
  if (isOver()) return
  world.faults++
  if (random.chance(crashShare)) {
    tally.add('crashes', activity.phases())
    const crashed = crash(random.pick(clients))
    await sleep(random.between(0, 300))
    if (isOver()) return crashed
    world.faults++
  }
  tally.add('kills', activity.phases())
  await server.kill()
}

/** A kill while nothing is open but the one stream that is open from the first episode to the last. */
async function idleStrike({ server, activity, random }, kills, tally) {
  if (server.kills >= kills || random.chance(0.5) || !(await activity.until('idle', aimMs))) return
  tally.add('kills', activity.phases().size === 1 ? new Set(['nothing but idle']) : activity.phases())
  await server.kill()
}

/** Ends the object of a session, and leaves the Worker that holds its streams. */
async function crash(client) {
  const params = { name: 'crash', arguments: {} }
  const response = await client.post({ method: 'tools/call', params })
  response?.resume()
}

/** Ends a session; that one and those before stay dead. */
async function bury(world, client, dead) {
  const { ledger } = world
  const status = await client.end()
  ledger.check('a session can be ended', status === 204 || status === 404, () => `DELETE answered ${status}`)
  dead.push(client)
  if (dead.length > keptDead) dead.splice(world.random.between(0, keptDead), 1)
  for (const one of dead) await checkDead(ledger, one)
}

async function checkDead(ledger, client) {
  const answers = [
    await client.post({ method: 'tools/list' }),
    await client.get(),
    ...(client.tag === undefined ? [] : [await client.get(`${client.tag}1.0`)]),
    await client.send('DELETE', {}),
  ]
  for (const response of answers) {
    response?.resume()
    const status = response?.statusCode
    ledger.check('a session that ended stays ended', status === 404, () => `${response?.req.method} got ${status}`)
  }
}

/** What a server printed. */
export function checkOutput(ledger, output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !expected.test(line))
  ledger.check('nothing is wrong in the log', lines.length === 0, () => lines.slice(0, 5).join('\n       '))
}

/** How many faults met something in which phase. */
export class Tally {
  #rows = new Map()

  add(kind, phases) {
    for (const phase of phases.size > 0 ? phases : ['nothing']) {
      const row = this.#rows.get(phase) ?? { kills: 0, crashes: 0 }
      this.#rows.set(phase, row)
      row[kind]++
    }
  }

  rows() {
    return [...this.#rows].map(([phase, row]) => ({ phase, ...row })).toSorted((a, b) => b.kills - a.kills)
  }
}
