// Tasks of many steps in both forms while the server is killed under them, until every one has ended and expired. What they
// did is read from disk, where a witness wrote it down, and judged; so is what is left of them.

import { setTimeout as sleep } from 'node:timers/promises'
import { Activity } from './activity.mjs'
import { contentsOf, alarmsOf, objectsOf, readObjects } from './disk.mjs'
import { checkOutput, Tally } from './kills.mjs'
import { createRandom } from '../../support/random.mjs'
import { KillableServer } from './server.mjs'
import { Actor, LIFE_MS, perform } from './task-actors.mjs'
import { LegacyClient, ModernClient } from './task-clients.mjs'
import { judge } from './task-judge.mjs'
import { checkJudge } from './task-judge-check.mjs'
import { plansFor } from './task-plans.mjs'

/** Where a kill is aimed, and how many ms later it falls at most. */
const AIMS = [
  ['creating', 15],
  ['created', 40],
  ['working', 300],
  ['sleeping', 400],
  ['asking', 300],
  ['answering', 6],
  ['cancelling', 6],
  ['expiring', 1_500],
  ['waiting on a stream', 300],
  ['resuming', 40],
]
const aimMs = 400
/** Without a pause now and then a task would never get on, and be given up. */
const pauseMs = [50, 700]
/** After this nothing is struck any more, so that a busy machine gets to the end as well. */
const strikesMs = 40_000
const crashShare = 0.25
/** Clients of each form, each with one task at a time. */
const lanes = 12
/** The platform evicts after ten seconds without work. */
const evictedMs = 12_500
/** What is done within a lease or two is done by then. */
const SETTLED_MS = 3_000
/** What the platform says when an object is crashed in its alarm. */
const crashNoise = /^.*jsg\.Error: a crash was asked for\n(?:stack: .*\n)?/gm
const CLIENTS = { extension: ModernClient, '2025-11-25': LegacyClient }
/** Each way to wait for a task, and who does. */
const FLOWS = [
  ['extension', ModernClient],
  ['poll', LegacyClient],
  ['stream', LegacyClient],
]

/** @returns how many faults met what */
export async function runTasks({ bundleDir, ledger, tasks, seed }) {
  checkJudge(ledger)
  const [rows] = await Promise.all([killed({ bundleDir, ledger, tasks, seed }), evicted({ bundleDir, ledger, seed })])
  return rows
}

async function killed({ bundleDir, ledger, tasks, seed }) {
  const server = new KillableServer(bundleDir)
  const world = newWorld({ server, ledger, seed })
  const tally = new Tally()
  await server.start()
  try {
    await overRestart(world)
    let isOver = false
    const working = work(world, plansFor(seed, tasks)).finally(() => (isOver = true))
    const end = Date.now() + strikesMs
    while (!isOver && Date.now() < end) await strike(world, tally, () => isOver)
    await working
    await settle(world)
    await expire(world)
  } finally {
    await server.stop()
  }
  await checkLeft(world)
  const { sights } = world
  judge({ sights: [...witnessed(server), ...sights].toSorted((a, b) => a.id - b.id), tasks: world.tasks }, ledger)
  for (const output of server.outputs) checkOutput(ledger, output.replaceAll(crashNoise, ''))
  ledger.count('tasks: kills', server.kills)
  return tally.rows()
}

/**
 * `sights` are those of the harness, `tasks` what the judge is told, `open` those whose client waits for them, `over` what
 * was on disk of those at their end.
 */
function newWorld({ server, ledger, seed }) {
  const common = { activity: new Activity(), random: createRandom(seed), faults: 0 }
  return { server, ledger, ...common, tasks: [], open: new Set(), sights: [], over: new Map() }
}

/** Lanes of clients take one plan after the other, half of them as somebody. */
async function work(world, plans) {
  const work = Object.entries(CLIENTS).flatMap(([form, TaskClient]) => {
    const own = plans.filter((plan) => plan.form === form)
    return Array.from({ length: lanes }, async (_, i) => {
      const client = new TaskClient(world, i % 2 === 0 ? {} : { principal: `somebody-${i % 3}` })
      await client.open()
      for (let plan = own.shift(); plan; plan = own.shift()) await perform(client, plan)
    })
  })
  await Promise.all(work)
}

async function strike(world, tally, isOver) {
  const { random, activity, server } = world
  await sleep(random.between(...pauseMs))
  const [phase, jitterMs] = random.pick(AIMS)
  const share = random.int(1_000)
  const isCrash = random.chance(crashShare)
  await activity.until(phase, aimMs)
  await sleep(random.between(0, jitterMs))
  if (isOver()) return
  const open = [...world.open]
  const struck = open[share % open.length]
  if (isCrash && struck) {
    tally.add('crashes', activity.phases())
    return crash(world, struck)
  }
  tally.add('kills', activity.phases())
  await server.kill(() => noteKill(world))
}

/** Ends the object of one task, and leaves the server. */
async function crash(world, { taskId, key }) {
  await new ModernClient(world).askOrNot('tools/call', { name: 'crash_task', arguments: { taskId, key } })
  world.ledger.count('tasks: crashes')
}

/** What the judge has to know of a kill: when it was among the sights, what was stored, and what had ended. */
function noteKill({ server, sights, over }) {
  const last = witnessed(server).at(-1)?.id ?? 0
  const { stateDir } = server
  // What is at its end changes no more but by going.
  const ids = objectsOf(stateDir, 'TaskObject').filter((id) => !over.has(id))
  const stored = readObjects(stateDir, 'TaskObject', ids, (id, db) => {
    const task = storedTask(db)
    if (task.isOver) over.set(id, task)
    return task.key === undefined ? undefined : [task.key, task]
  })
  const id = last + 0.5 + sights.length / 1e6
  sights.push({ id, task: '', run: 0, event: 'kill', stored: Object.fromEntries(stored) })
}

/**
 * What a task has on disk: the key of its plan, the values of its steps, the ends of its sleeps as they are stored, and what
 * it came to.
 */
function storedTask(db) {
  const rows = db.rows('_cf_KV').map(({ key, value }) => [key, Buffer.from(value).toString('latin1')])
  const texts = Object.fromEntries(rows)
  const [, key] = /"key":"([^"]+)"/.exec(texts['call:0000'] ?? '') ?? []
  const below = (prefix, read) => {
    const own = rows.filter(([key]) => key.startsWith(prefix))
    return Object.fromEntries(own.map(([key, text]) => [key.slice(prefix.length), read(text)]))
  }
  const steps = below('step:', (text) => Number(/\[(\d+)\]/.exec(text)[1]))
  const sleeps = below('sleep:', (text) => text)
  const end = texts['outcome:0000'] ?? /The client cancelled/.exec(texts['task'] ?? '')?.[0]
  const isGivenUp = end?.includes('The task was given up') ?? false
  return { key, steps, sleeps, hasEnded: end !== undefined, isGivenUp, isOver: rows.length === 0 || end !== undefined }
}

/** Everything the witness has seen, from disk. */
function witnessed({ stateDir }) {
  return readObjects(stateDir, 'WitnessObject', objectsOf(stateDir, 'WitnessObject'), (_, db) =>
    db.rows('sight'),
  ).flat()
}

/** Tasks that wait, sleep and work while the server is killed, and are answered by who comes back. */
async function overRestart(world) {
  const { server, ledger } = world
  const plan = [
    { kind: 'step', name: 'before', ms: 10 },
    { kind: 'ask', name: 'question' },
    { kind: 'step', name: 'after', ms: 10 },
  ]
  const asking = FLOWS.flatMap(([flow, TaskClient]) => {
    return [undefined, 'somebody-0'].map(async (principal, i) => {
      const client = new TaskClient(world, { principal })
      await client.open()
      const form = client.form
      const about = {
        name: `restart-${flow}-${i}`,
        form,
        flow,
        plan,
        end: 'result',
        fate: 'ends',
        holds: flow === 'stream',
        seed: i,
      }
      const actor = new Actor(client, about)
      await actor.create()
      const following = flow === 'stream' ? actor.follow() : undefined
      while ((await actor.look()).status !== 'input_required') await sleep(20)
      return { actor, following, flow }
    })
  })
  const all = await Promise.all(asking)
  await server.kill(() => noteKill(world))
  const rule = 'a task that waits for input over a restart and is answered afterwards completes'
  const ends = all.map(async ({ actor, following, flow }) => {
    await (following ?? actor.follow())
    world.open.delete(actor)
    world.activity.set(actor)
    const { outcome } = actor.record
    ledger.check(rule, outcome?.status === 'completed', () => `${flow}: ${JSON.stringify(outcome)}`)
  })
  await Promise.all(ends)
}

/** When all have ended, those that a principal has open are no more than those whose client never got a handle. */
async function settle(world) {
  const { server, ledger, over } = world
  await sleep(SETTLED_MS)
  await server.kill(() => noteKill(world))
  const { stateDir } = server
  const read = (_, db) => db.rows('task')
  const rows = readObjects(stateDir, 'PrincipalObject', objectsOf(stateDir, 'PrincipalObject'), read).flat()
  for (const { id, is_open } of rows) {
    const { hasEnded, key } = over.get(id) ?? {}
    if (hasEnded) ledger.check('a task that ended does not count as open', is_open === 0, () => key)
    else
      ledger.count(
        `tasks: ${key === undefined ? 'not known to their client' : 'still open'}, but counted by their principal`,
      )
  }
}

/** Waits until every task has lived its time, those too whose client never got the handle. */
async function expire(world) {
  await sleep(Math.max(0, world.lastMadeAt + LIFE_MS + SETTLED_MS - Date.now()))
  const clients = new Map()
  for (const { key, form, taskId, principal } of world.tasks) {
    if (taskId === undefined) continue
    const who = `${form} ${principal}`
    const client = clients.get(who) ?? new CLIENTS[form](world, { principal })
    if (!clients.has(who)) await client.open()
    clients.set(who, client)
    const seen = await client.look(taskId)
    world.ledger.check('the id of an expired task is that of none', seen === undefined, () => `${key}: ${seen?.raw}`)
  }
}

/** Tasks whose objects are evicted, on a server that is not killed, while they sleep or wait for their answer. */
async function evicted({ bundleDir, ledger, seed }) {
  const server = new KillableServer(bundleDir)
  const world = newWorld({ server, ledger, seed })
  await server.start()
  try {
    const first = { kind: 'step', name: 'before', ms: 10 }
    const last = { kind: 'step', name: 'after', ms: 10 }
    const waits = {
      sleep: { kind: 'sleep', name: 'sleep', ms: evictedMs },
      ask: { kind: 'ask', name: 'ask' },
      // Both are answered at the same moment.
      asks: { kind: 'asks', name: 'asks' },
    }
    const actors = FLOWS.flatMap(([flow, TaskClient]) => {
      return Object.entries(waits).map(async ([name, stage]) => {
        const client = new TaskClient(world)
        await client.open()
        const about = { form: client.form, flow, end: 'result', fate: 'ends', holds: false, seed: 0 }
        const thinkMs = flow === 'stream' ? evictedMs : 0
        const actor = new Actor(client, {
          ...about,
          thinkMs,
          name: `evicted-${flow}-${name}`,
          plan: [first, stage, last],
        })
        await actor.create()
        if (flow !== 'stream') await sleep(evictedMs)
        await actor.follow()
      })
    })
    await Promise.all(actors)
  } finally {
    await server.stop()
  }
  const sights = witnessed(server)
  judge({ sights, tasks: world.tasks, mayEvict: true }, ledger)
  for (const { key } of world.tasks) {
    const runs = sights.filter(({ task, event }) => task === key && event === 'enter').length
    ledger.check('a task goes on after the eviction of its object', runs === 2, () => `${key}: ${runs} runs`)
  }
  for (const output of server.outputs) checkOutput(ledger, output)
}

/** After their time nothing is stored of tasks, nor rings an alarm, whether or not their client ever knew of them. */
async function checkLeft({ server, ledger }) {
  const { stateDir } = server
  for (const className of ['TaskObject', 'PrincipalObject']) {
    const ids = objectsOf(stateDir, className)
    readObjects(stateDir, className, ids, (id, db) => {
      const left = contentsOf(db)
      const isEmpty = Object.keys(left).length === 0
      ledger.check(
        'nothing is stored of a task after its time',
        isEmpty,
        () => `${className} ${id} ${JSON.stringify(left)}`,
      )
    })
    const alarms = alarmsOf(stateDir, className)
    ledger.check('no alarm is set for a task after its time', alarms.length === 0, () => `${className} ${alarms}`)
    ledger.count(`tasks: ${className}s looked into`, ids.length)
  }
}
