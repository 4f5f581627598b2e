// Publishers publish and listeners listen, spread over two Workers, while hubs are crashed, the server is killed and
// connections are cut. Whatever was answered has to be known to everybody in the end; so are evicted hubs judged, and what
// is stored of it all is gone after its time.

import { setTimeout as sleep } from 'node:timers/promises'
import { CRASH_POINTS } from '../crash-points.ts'
import { startCutProxy } from './cut-proxy.mjs'
import { alarmsOf, contentsOf, objectsOf, readObjects } from './disk.mjs'
import { Tally } from './kills.mjs'
import { LISTS, PlainListener, ResumingListener } from './listen-clients.mjs'
import { delaysOf } from './listen-judge.mjs'
import { checkJudge } from './listen-judge-check.mjs'
import { changeAll, changeIn, publish, WAYS } from './listen-publish.mjs'
import {
  crash,
  crashSession,
  finish,
  kill,
  listen,
  newWorld,
  noteCrashes,
  settle,
  SHARDS,
  stop,
  TOPICS,
} from './listen-world.mjs'
import { ModernClient } from './task-clients.mjs'

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
/** Until everybody knows everything. What fails again and again is tried less and less often: the platform's alarms too. */
const settleMs = 25_000
const aliveMs = 10_000
/** The platform evicts after ten seconds without work. */
const evictedMs = 12_500
/** `limits.leaseMs` as the worker has it, and what makes telling a session take longer. */
const leaseMs = 1_000
const farMs = 3_200
/** A task that somebody listens to. */
const PLAN = [
  { kind: 'step', name: 'before', ms: 50 },
  { kind: 'sleep', name: 'sleep', ms: 400 },
  { kind: 'step', name: 'after', ms: 50 },
]

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
      const last = CRASH_POINTS[(seed + i) % CRASH_POINTS.length]
      await round(world, { changes: changes / rounds, strikes, tally, last })
    }
    await probe(world)
    await stop(world)
  } finally {
    for (const proxy of world.proxies) proxy.stop()
    await server.stop()
  }
  finish(world)
  countDelays(world)
  return tally.rows()
}

/** How long it takes until who listens knows of a change, faults and all. */
function countDelays(world) {
  const delays = delaysOf(world)
  const share = (part) => Math.round(delays[Math.ceil(part * delays.length) - 1])
  world.ledger.count('listen: ms from an answer until half of them know', share(0.5))
  world.ledger.count('listen: ms from an answer until 99 of 100 know', share(0.99))
  world.ledger.count('listen: ms from an answer until all know', share(1))
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
  await crash(world, { isEnough: true, point: last, times, afterMs: random.pick([0, 5, 50, 150]) })
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

/** Nothing is struck any more, and everything changes once. */
async function probe(world) {
  await crash(world, { isEnough: true })
  world.note({ event: 'probe' })
  await changeAll(world)
  await settle(world, aliveMs)
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
