// Publishers publish and listeners listen, spread over two Workers, while hubs are crashed, the server is killed and
// connections are cut. Whatever was answered has to be known to everybody in the end; so are evicted hubs judged, and what
// is stored of it all is gone after its time.

import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../../src/limits.ts'
import { createRandom } from '../../support/random.mjs'
import { CRASH_POINTS } from '../crash-points.ts'
import { Activity } from './activity.mjs'
import { startCutProxy } from './cut-proxy.mjs'
import { alarmsOf, contentsOf, objectsOf, readObjects } from './disk.mjs'
import { bodyOf, exchange, isCut } from './http.mjs'
import { checkOutput, Tally } from './kills.mjs'
import { LISTS, PlainListener, ResumingListener, SessionListener } from './listen-clients.mjs'
import { delaysOf, judge } from './listen-judge.mjs'
import { checkJudge } from './listen-judge-check.mjs'
import { KillableServer } from './server.mjs'
import { LegacyClient, ModernClient } from './task-clients.mjs'

/** Where a kill is aimed, and how many ms later it falls at most. */
const AIMS = [
  ['publishing', 15],
  ['answered', 250],
  ['attaching', 30],
  ['resuming', 100],
  ['away', 500],
]
const aimMs = 300
/** What strikes, and how often: at first only the hub is hit, and no client may notice. */
const SMOOTH = [
  [75, 'crash'],
  [25, 'crash now'],
]
const ROUGH = [
  [40, 'crash'],
  [10, 'crash now'],
  [10, 'crash a session'],
  [15, 'kill'],
  [25, 'leave'],
]
const pauseMs = [30, 350]
const smoothRounds = 5
const roughRounds = 9
const tasksPerRound = 3
/** After this no round begins any more, so that a busy machine gets to the end as well. */
const roundsMs = 75_000
/** Until everybody knows everything. A stream looks for its hub again after some seconds at most. */
const settleMs = 15_000
const aliveMs = 10_000
/** The platform evicts after ten seconds without work. */
const evictedMs = 12_500
/** `limits.leaseMs` as the worker has it, and what makes telling a session take longer. */
const leaseMs = 1_000
const farMs = 3_200
const SHARDS = 2
const KINDS = [PlainListener, ResumingListener, SessionListener]
const ITEMS = Array.from({ length: 16 }, (_, i) => `item://${100 + i}`)
const TOPICS = [...LISTS, ...ITEMS]
/** How something is published. */
const WAYS = ['in the first Worker', 'in the second Worker', 'in a session', 'in a task', 'outside of a handler']
/** A task that somebody listens to. */
const PLAN = [
  { kind: 'step', name: 'before', ms: 50 },
  { kind: 'sleep', name: 'sleep', ms: 400 },
  { kind: 'step', name: 'after', ms: 50 },
]
/** What is logged of a hub that crashes again and again: a call is tried three times. */
const refusals = /^\{"event":"failure",.*"error":"(Error: a crash was asked for|ProtocolError: [^"]*: try again)".*\n/gm
/** What the platform says of an object that is crashed in its alarm. */
const crashNoise = /^.*jsg\.Error: a crash was asked for\n(?:stack: .*\n)?/gm

/** @returns how many faults met what */
export async function runListen({ bundleDir, ledger, changes, seed }) {
  checkJudge(ledger)
  const [rows] = await Promise.all([
    struck({ bundleDir, ledger, changes, seed }),
    evicted({ bundleDir, ledger, seed }),
    narrow({ bundleDir, ledger, seed }),
    expired({ bundleDir, ledger, seed }),
  ])
  return rows
}

async function struck({ bundleDir, ledger, changes, seed }) {
  const world = newWorld({ bundleDir, ledger, seed })
  const { server } = world
  const tally = new Tally()
  await server.start()
  world.proxies = await Promise.all(server.ports.map((port) => startCutProxy(port)))
  try {
    await listen(world, 8, true)
    const rounds = smoothRounds + roughRounds
    const end = Date.now() + roundsMs
    for (let i = 0; i < rounds && world.isWell && Date.now() < end; i++) {
      const strikes = i < smoothRounds ? SMOOTH : ROUGH
      await round(world, {
        changes: changes / rounds,
        strikes,
        tally,
        last: CRASH_POINTS[(seed + i) % CRASH_POINTS.length],
      })
    }
    await probe(world)
    await stop(world)
  } finally {
    for (const proxy of world.proxies) proxy.stop()
    await server.stop()
  }
  finish(world)
  const delays = delaysOf(world)
  for (const [name, share] of [
    ['the half', 0.5],
    ['99 of 100', 0.99],
    ['all', 1],
  ]) {
    ledger.count(
      `listen: ms from an answer until ${name} know`,
      Math.round(delays.at(Math.ceil(share * delays.length) - 1)),
    )
  }
  return tally.rows()
}

/**
 * `rows` is what the judge is told, `newest` the newest version of each topic that was answered, `crashes` those of hubs
 * since the server was started; `isWell` until somebody is not told.
 */
function newWorld({ bundleDir, ledger, seed, vars = {} }) {
  const all = { LISTEN_SHARDS: String(SHARDS), RESUMABLE_LISTEN: 'on', ...vars }
  const server = new KillableServer(bundleDir, { vars: all, workers: 2 })
  const world = { server, ledger, activity: new Activity(), random: createRandom(seed), faults: 0, rows: [] }
  Object.assign(world, { listeners: [], watchers: [], publishers: new Map(), newest: new Map(), crashes: {} })
  Object.assign(world, { runs: 0, tasks: 0, isRough: false, isWell: true })
  world.note = (row) => world.rows.push({ id: world.rows.length + 1, at: performance.now(), ...row })
  world.versions = new Versions(world)
  return world
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

/** Begins to listen: so many of each kind, some of them as somebody, half of them over connections that may be cut. */
async function listen(world, each, mayBeCut) {
  const { random } = world
  for (const Kind of KINDS) {
    for (let i = 0; i < each; i++) {
      const topics = TOPICS.filter(() => random.chance(0.45))
      const who = i % 3 === 0 ? {} : { principal: `${Kind.name}-${i}` }
      const about = { name: `${Kind.name}-${i}`, topics, mayBeCut: mayBeCut && i % 2 === 0, seed: random.int(2 ** 31) }
      world.listeners.push(new Kind(world, { ...about, ...who }))
    }
  }
  for (const listener of world.listeners) listener.start()
  await Promise.all(world.listeners.map(({ ready }) => ready))
}

/** Publishes for a while, strikes meanwhile and at the end, and waits until everybody knows everything. */
async function round(world, { changes, strikes, tally, last }) {
  const { random } = world
  world.isRough = strikes === ROUGH
  let isOver = false
  const tasks = Array.from({ length: tasksPerRound }, (_, i) => watchTask(world, i))
  const working = publish(world, Math.ceil(changes)).finally(() => (isOver = true))
  while (!isOver) await strike(world, random.weighted(strikes), tally)
  await working
  // Nothing comes after these changes that would hide their loss: the same thing again and again, and then one by itself.
  const [often, once] = [random.pick(TOPICS), random.pick(TOPICS)]
  await Promise.all(WAYS.map((way) => changeIn(world, way, often)))
  // A call is tried again at once, a session only after a second.
  const times = random.between(1, last.includes('told') || last.includes('alarm') ? 3 : 8)
  await crash(world, { point: last, times, afterMs: random.pick([0, 5, 50, 150]) })
  await changeIn(world, random.pick(WAYS), once)
  if (world.isRough && random.chance(0.6)) await (random.chance(0.5) ? kill(world) : strike(world, 'kill', tally))
  world.isRough = false
  await Promise.all(tasks)
  await settle(world, settleMs)
}

/** Makes a task and listens until it has ended. */
async function watchTask(world, i) {
  const { random, ledger } = world
  const Kind = i % 2 === 0 ? PlainListener : ResumingListener
  const [seed, end] = [random.int(2 ** 31), random.pick(['result', 'isError', 'error'])]
  await sleep(random.between(0, 1_500))
  const name = `task-${++world.tasks}`
  const client = new ModernClient(world)
  let task
  while (!task) task = await client.create('job', { key: `${name}-${seed}`, plan: PLAN, end })
  const listener = new Kind(world, { name, topics: [], taskId: task.taskId, mayBeCut: true, seed })
  world.watchers.push(listener)
  listener.start()
  const late = Date.now() + settleMs
  while (listener.outcome === undefined && Date.now() < late) await sleep(20)
  const isRight = listener.outcome === (end === 'error' ? 'failed' : 'completed')
  ledger.check('who listens to a task is told of its end', isRight, () => `${name}: ${listener.outcome}`)
  ledger.count('listen: tasks')
  await listener.stop()
}

/** Changes all kinds of things in all kinds of ways. */
async function publish(world, changes) {
  const { random } = world
  const left = Array.from({ length: changes }, () => random.pick(TOPICS))
  const work = WAYS.map(async (way) => {
    const publisher = await publisherFor(world, way)
    for (let topic = left.pop(); topic !== undefined; topic = left.pop()) {
      await change(world, topic, publisher)
      await sleep(random.between(20, 300))
    }
  })
  await Promise.all(work)
}

/** Changes everything once, in one of all ways. */
async function changeAll(world) {
  await Promise.all(TOPICS.map((topic, i) => changeIn(world, WAYS[i % WAYS.length], topic)))
}

async function changeIn(world, way, topic) {
  await change(world, topic, await publisherFor(world, way))
}

function publisherFor(world, way) {
  const { publishers } = world
  if (!publishers.has(way)) publishers.set(way, newPublisher(world, way))
  return publishers.get(way)
}

/** Changes a topic. Gives the version, or undefined where nobody knows whether it was. */
async function newPublisher(world, way) {
  const { ports } = world.server
  if (way === 'outside of a handler') {
    return { waits: true, change: (topic) => changeOutside(world, ports[1], topic) }
  }
  const client =
    way === 'in a session'
      ? new LegacyClient(world)
      : new ModernClient(world, { port: ports[way === 'in the first Worker' ? 0 : 1] })
  await client.open()
  if (way === 'in a task') return { change: (topic) => changeInTask(client, topic) }
  const change = async (topic) => {
    const { result, error } = (await client.askOrNot('tools/call', { name: 'change', arguments: { topic } })) ?? {}
    world.ledger.check('no internal error', error === undefined, () => JSON.stringify(error))
    return result && result.isError !== true ? Number(result.content[0].text) : undefined
  }
  return { change }
}

async function changeInTask(client, topic) {
  const { taskId } = (await client.create('change_in_task', { topic })) ?? {}
  for (const end = Date.now() + settleMs; taskId !== undefined && Date.now() < end; await sleep(50)) {
    const { status, outcome } = (await client.look(taskId)) ?? {}
    if (status === 'completed') return Number(outcome.text)
    if (status !== 'working') return undefined
  }
  return undefined
}

/** The same as code outside of a handler does. */
async function changeOutside({ ledger }, port, topic) {
  try {
    const response = await exchange({ port, method: 'POST', path: `/change?topic=${encodeURIComponent(topic)}` })
    const text = await bodyOf(response)
    if (text === undefined) return undefined
    ledger.check('no 5xx but 503', response.statusCode === 200, () => `/change: ${response.statusCode} ${text}`)
    return response.statusCode === 200 ? Number(text) : undefined
  } catch (error) {
    if (!isCut(error)) throw error
    return undefined
  }
}

async function change(world, topic, publisher) {
  const { activity, newest } = world
  const operation = {}
  const from = world.note({ event: 'publishes', topic })
  activity.set(operation, 'publishing')
  const began = performance.now()
  const version = await publisher.change(topic)
  const tookMs = performance.now() - began
  activity.set(operation, version === undefined ? undefined : 'answered')
  setTimeout(() => activity.set(operation), 2 * limits.hubWindowMs)
  if (version === undefined) return world.ledger.count('listen: changes that were not answered')
  // An answer waits for so long until its changes are stored.
  const isStored = publisher.waits === true || tookMs < limits.publishWaitMs
  world.note({ event: 'published', topic, version, from, isStored })
  if (isStored) newest.set(topic, Math.max(version, newest.get(topic) ?? 0))
}

async function strike(world, kind, tally) {
  const { random, activity, listeners } = world
  await sleep(random.between(...pauseMs))
  switch (kind) {
    case 'leave':
      return random.pick(listeners).leave()
    case 'kill': {
      const [phase, jitterMs] = random.pick(AIMS)
      await activity.until(phase, aimMs)
      await sleep(random.between(0, jitterMs))
      await noteCrashes(world)
      tally.add('kills', activity.phases())
      return kill(world)
    }
    case 'crash a session':
      world.ledger.count('listen: crashes of a session')
      return crashSession(world, random.pick(listeners.filter(({ kind }) => kind === 'session')))
    case 'crash now':
      tally.add('crashes', activity.phases())
      return crash(world, { shard: random.int(SHARDS) })
    default:
      return crash(world, { point: random.pick(CRASH_POINTS), afterMs: random.pick([0, 5, 50, 150]) })
  }
}

/** @param downMs how long it is down at least */
async function kill(world, downMs = 0) {
  world.crashes = {}
  world.ledger.count('listen: kills')
  world.note({ event: 'kill' })
  await world.server.kill(() => sleep(downMs))
  world.note({ event: 'up' })
}

/** Crashes a hub at once, or the next that comes to a point, and notes those that were. */
async function crash(world, args) {
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
const noteCrashes = (world) => crash(world, {})

/** Ends the object of a session, and leaves the Worker that holds its stream. */
async function crashSession(world, { name, client }) {
  world.note({ event: 'hit', listener: name })
  const response = await client.post({ method: 'tools/call', params: { name: 'crash', arguments: {} } })
  response?.resume()
}

/** Waits until everybody knows of all that was answered. */
async function settle(world, ms) {
  const { listeners, newest } = world
  const isKnown = ({ isStopped, topics, known }) =>
    isStopped || topics.every((topic) => (known.get(topic) ?? 0) >= (newest.get(topic) ?? 0))
  const end = Date.now() + ms
  while (!listeners.every(isKnown) && Date.now() < end) await sleep(20)
  world.isWell &&= listeners.every(isKnown)
  world.note({ event: 'settled' })
}

/** Nothing is struck any more, and everything changes once. */
async function probe(world) {
  await crash(world, { isEnough: true })
  world.note({ event: 'probe' })
  await changeAll(world)
  await settle(world, aliveMs)
}

async function stop({ listeners }) {
  await Promise.all(listeners.map((listener) => listener.stop()))
}

/** Judges what there was, when the server has stopped. */
function finish({ rows, listeners, watchers, ledger, server }) {
  const all = [...listeners, ...watchers].map(({ name, kind, topics }) => ({ name, kind, topics }))
  judge({ rows, listeners: all }, ledger)
  for (const output of server.outputs) checkOutput(ledger, output.replaceAll(crashNoise, '').replaceAll(refusals, ''))
}

/** Hubs that are evicted while everybody listens, and woken by what is then crashed or not. */
async function evicted({ bundleDir, ledger, seed }) {
  const world = newWorld({ bundleDir, ledger, seed })
  const { server } = world
  const client = () => new ModernClient(world)
  const born = async () => JSON.parse((await client().tool('hubs', {})).content[0].text)
  await server.start()
  try {
    await listen(world, 2, false)
    for (const point of [undefined, 'when a change is stored', 'as a listener comes']) {
      const before = await born()
      // Not by asking a hub, which would wake it.
      await sleep(evictedMs / 2)
      await crash(world, { point })
      await sleep(evictedMs / 2)
      if (point === 'as a listener comes') for (const listener of world.listeners.slice(1)) listener.leave()
      await changeAll(world)
      await settle(world, aliveMs)
      await noteCrashes(world)
      const after = await born()
      const isEvicted = after.every((one, shard) => one !== before[shard])
      ledger.check('a hub is evicted while everybody only listens', isEvicted, () => `${before}, ${after}`)
    }
    world.note({ event: 'probe' })
    await changeAll(world)
    await settle(world, aliveMs)
    await stop(world)
  } finally {
    await server.stop()
  }
  finish(world)
}

/** Moments that chance seldom meets. */
async function narrow({ bundleDir, ledger, seed }) {
  const world = newWorld({ bundleDir, ledger, seed })
  await world.server.start()
  try {
    await listen(world, 3, false)
    await killAfterAnswers(world)
    await killBeforeAlarm(world)
    await crashAfterAlarm(world)
    await stop(world)
  } finally {
    await world.server.stop()
  }
  finish(world)
}

/** An answer says that a change is stored, also where that took several attempts. */
async function killAfterAnswers(world) {
  for (const way of WAYS) {
    await crash(world, { point: 'before a change is stored', times: 3 })
    await changeIn(world, way, 'tools')
    await kill(world)
    await settle(world, aliveMs)
  }
}

/** Sessions are told by the alarm when their hub died before, also where somebody else comes to a hub whose alarm is late. */
async function killBeforeAlarm(world) {
  for (const topic of LISTS) {
    await crash(world, { point: 'before a session is told', times: 3 })
    await changeIn(world, 'outside of a handler', topic)
    await kill(world, leaseMs + 500)
    await settle(world, aliveMs)
  }
}

/** The same where the hub dies after its alarm has rung, as telling takes longer. */
async function crashAfterAlarm(world) {
  await crash(world, { far: farMs })
  for (const topic of LISTS) {
    await changeIn(world, 'outside of a handler', topic)
    await sleep(leaseMs + (farMs / 2 - leaseMs) / 2)
    for (let shard = 0; shard < SHARDS; shard++) await crash(world, { shard })
    await settle(world, aliveMs)
  }
}

/** Limits that let a session and a change be forgotten within seconds. */
const SHORT = { hubReplayMs: 4_000, sessionIdleMs: 10_000, streamGraceMs: 2_000 }
/** All that is kept is kept for one time and a half at most; alarms ring a little later. */
const gone = 1.5 * SHORT.sessionIdleMs + 2_500

/** What hubs and sessions store is gone after its time, over crashes and a kill; who comes back then is told of everything. */
async function expired({ bundleDir, ledger, seed }) {
  const world = newWorld({ bundleDir, ledger, seed, vars: { LIMITS: JSON.stringify(SHORT) } })
  const { server } = world
  await server.start()
  try {
    await listen(world, 2, false)
    await changeAll(world)
    await crash(world, { point: 'before a session is told' })
    await changeAll(world)
    await settle(world, aliveMs)
    await kill(world)
    await changeAll(world)
    await settle(world, aliveMs)
    const { listeners } = world
    const sessions = listeners.filter(({ kind }) => kind === 'session')
    const others = listeners.filter(({ kind }) => kind !== 'session')
    for (const session of sessions) await session.stop()
    for (const one of others) one.leave(gone)
    await changeAll(world)
    await sleep(gone)
    await settle(world, aliveMs)
    for (const one of others) await one.stop()
    await sleep(gone)
  } finally {
    await server.stop()
  }
  finish(world)
  for (const className of ['ListenHubObject', 'SessionObject']) checkGone(server, className, ledger)
}

function checkGone({ stateDir }, className, ledger) {
  const ids = objectsOf(stateDir, className)
  readObjects(stateDir, className, ids, (id, db) => {
    const left = contentsOf(db)
    const detail = () => `${className} ${id} ${JSON.stringify(left)}`
    ledger.check('nothing is stored of changes after their time', Object.keys(left).length === 0, detail)
  })
  const alarms = alarmsOf(stateDir, className)
  ledger.check('no alarm is set for changes after their time', alarms.length === 0, () => `${className} ${alarms}`)
  ledger.count(`listen: ${className}s looked into`, ids.length)
}
