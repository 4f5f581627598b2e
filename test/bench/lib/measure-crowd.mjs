// Takes what thousands of listeners on one workerd cost: while nothing happens, when something changes, when much does, and
// when their hub dies. They are at two Workers over one hub.
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeCommand, sharedUri, verifyChanges } from '../listen-scenarios.mjs'
import { createCrowd } from './crowd.mjs'
import { usedHeapsKb } from './heap.mjs'
import { openConnection } from './http-client.mjs'
import { fileLimit, residentKb } from './measure-idle.mjs'
import { quantile, shuffled } from './stats.mjs'
import { cpuNs, startWorkerd } from './workerd.mjs'

/** Opened before the first sample, so that what is loaded once does not count. */
const warmStreams = 100
/** One of so many is at the second Worker, or of two. */
const few = 100
const half = 2
/** An object is evicted after ten seconds without work. */
const evictedAfterMs = 13_000
/** Every stream writes one comment in this time. */
const keepAliveMs = 25_000
const settleMs = 5
/** Past the 200 ms in which changes are told together. */
const pauseMs = 250
/** Nothing comes for this long after the last change of a burst has been told. */
const quietMs = 600
const pollMs = 50
const returnMs = 60_000
/** Files that are no streams. */
const spareFiles = 500

/**
 * `{ [worker]: figures }`, of all builds at the same time, in slices that are interleaved. Few listeners are at the second
 * Worker: workerd runs both on one thread, and taking turns between two wakes all who wait for one of them each time.
 */
export async function measureCrowds(builds, size, progress) {
  const held = []
  const count = Math.min(size.listeners, mostListeners(builds.length))
  try {
    for (const build of builds) {
      progress(`opening ${count} listeners: ${build.name}`)
      held.push(await openFirst(build, count))
    }
    await sleep(evictedAfterMs)
    for (const one of held) await openRest(one)
    progress('waiting until their hubs sleep, and for a comment on each stream')
    await sleep(evictedAfterMs)
    await measureIdle(held)
    progress(`${size.rounds} changes, and ${size.bursts} bursts of ${size.burst}`)
    await measureChanges(held, size.rounds)
    await interleave(held, size.bursts, (one) => measureBurst(one, size.burst))
    progress(`killing their hubs ${size.kills} times`)
    const withHub = held.filter(({ hasHub }) => hasHub)
    await interleave(withHub, size.kills, measureKills)
    return figuresOf(held)
  } finally {
    await stop(held)
  }
}

/** The same of changes alone, where every second listener is at the second Worker. */
export async function measureHalves(builds, size, progress) {
  const held = []
  const count = Math.min(size.listeners, mostListeners(builds.length))
  try {
    for (const build of builds) {
      progress(`opening ${count} listeners, half of them at each Worker: ${build.name}`)
      const one = await start(build, half)
      held.push(one)
      await one.crowd.open(one.portOf, count)
    }
    progress(`${size.halfRounds} changes`)
    await measureChanges(held, size.halfRounds)
    return figuresOf(held)
  } finally {
    await stop(held)
  }
}

/** In every round each of them, in another order. */
async function interleave(held, rounds, measure) {
  for (let round = 1; round <= rounds; round++) for (const one of shuffled(held)) await measure(one, round)
}

async function measureChanges(held, rounds) {
  for (const one of held) await measureChange(one)
  const delays = new Map(held.map((one) => [one, []]))
  await interleave(held, rounds, async (one, round) => {
    const { delaysMs, ...figures } = await measureChange(one, round)
    one.figures.changes.push(figures)
    delays.get(one).push(...delaysMs)
  })
  for (const one of held) one.figures.delayMs = at(delays.get(one))
}

/** Each stream is a file here and one there. */
function mostListeners(workers) {
  return Math.floor((fileLimit('self') - spareFiles) / workers)
}

function figuresOf(held) {
  return Object.fromEntries(held.map(({ name, figures }) => [name, figures]))
}

async function stop(held) {
  for (const { crowd, connections, watching } of held)
    for (const each of [crowd, ...connections, watching]) each.close()
  await Promise.all(held.map(({ worker }) => worker.stop()))
}

async function start({ name, serve, hasHub = true, isPatient = false }, nth) {
  const worker = await startWorkerd(serve, { isInspected: true })
  try {
    const [first, second, watching] = await Promise.all(
      [worker.port, worker.secondPort, worker.port].map((port) => openConnection(port)),
    )
    const portOf = (i) => (hasHub && i % nth === nth - 1 ? worker.secondPort : worker.port)
    const figures = { changes: [], bursts: [], kills: [] }
    const connections = [first, second]
    return { name, worker, hasHub, isPatient, crowd: createCrowd(name), connections, watching, portOf, figures }
  } catch (error) {
    await worker.stop()
    throw error
  }
}

async function openFirst(build, count) {
  const one = await start(build, few)
  try {
    const { worker, crowd, portOf } = one
    await crowd.open(portOf, warmStreams)
    one.part = Math.ceil((count - warmStreams) / 2)
    const cpuBefore = cpuNs(worker.pid)
    const startedAt = performance.now()
    await crowd.open(portOf, one.part)
    one.figures.opensPerSecond = one.part / ((performance.now() - startedAt) / 1_000)
    one.figures.openUs = (cpuNs(worker.pid) - cpuBefore) / 1_000 / one.part
    return one
  } catch (error) {
    await stop([one])
    throw error
  }
}

/** As many again. */
async function openRest(one) {
  one.before = await memory(one)
  await one.crowd.open(one.portOf, one.part)
}

/** Without garbage, and without waking a hub. */
async function memory({ worker, connections }) {
  const poke = () => Promise.all(connections.map((connection) => connection.exchange(encodeCommand('/nothing'))))
  const heapsKb = await usedHeapsKb(worker, poke)
  return { heapKb: heapsKb[0] + heapsKb[1], residentKb: residentKb(worker.pid) }
}

/** An allocator keeps what objects needed while they were awake: what counts is what the last listeners added to that. */
async function measureIdle(held) {
  const before = held.map(({ worker }) => cpuNs(worker.pid))
  await sleep(keepAliveMs)
  held.forEach(({ worker, crowd, figures }, i) => {
    figures.commentUs = (cpuNs(worker.pid) - before[i]) / 1_000 / crowd.size
  })
  for (const one of held) {
    const { crowd, figures, before, part } = one
    const now = await memory(one)
    figures.listeners = crowd.size
    figures.idleKb = (now.residentKb - before.residentKb) / part
    figures.idleHeapKb = (now.heapKb - before.heapKb) / part
    figures.processMb = now.residentKb / 1_024
    if (!one.hasHub) {
      figures.crossed = await measureCrossing(one)
      continue
    }
    // What was awake while they came has been there for longer.
    figures.wasAsleep = (await hubs(one)).every(({ bornMs }) => Date.now() - bornMs < evictedAfterMs)
    await publish(one, 0)
    await crowd.told()
    figures.hubHeapKb = ((await memory(one)).heapKb - now.heapKb) / crowd.size
    figures.crossed = 1
  }
}

/** The share of listeners at the other Worker that are told of a change, where no hub brings it to all. */
async function measureCrossing(one) {
  const { name, worker, crowd } = one
  const others = createCrowd(name)
  try {
    const count = Math.ceil(crowd.size / few)
    await others.open(() => worker.secondPort, count)
    others.forget()
    crowd.forget()
    await publish(one, 0)
    await crowd.told()
    await crowd.quiet(quietMs)
    return others.times.length / count
  } finally {
    others.close()
  }
}

/** One change that everybody listens to, said at one Worker and the other in turn. */
async function measureChange(one, round = 0) {
  const { name, worker, crowd } = one
  crowd.forget()
  const client = process.cpuUsage()
  const cpuBefore = cpuNs(worker.pid)
  const startedAt = performance.now()
  const answered = publish(one, round).then(() => performance.now() - startedAt)
  await crowd.told()
  const answeredMs = await answered
  await sleep(settleMs)
  const us = (cpuNs(worker.pid) - cpuBefore) / 1_000 / crowd.size
  const { user, system } = process.cpuUsage(client)
  const delaysMs = crowd.times.map((time) => time - startedAt)
  await sleep(pauseMs)
  for (const text of crowd.texts()) verifyChanges(name, text, 1, 1)
  return { us, clientUs: (user + system) / crowd.size, answeredMs, delaysMs, lastMs: delaysMs.at(-1) }
}

/** The same change many times at once, half of them at each Worker. */
async function measureBurst({ name, worker, hasHub, crowd, figures }, count) {
  const portOf = (i) => (hasHub && i % 2 === 1 ? worker.secondPort : worker.port)
  const publishers = await Promise.all(Array.from({ length: count }, (_, i) => openConnection(portOf(i))))
  crowd.forget()
  const cpuBefore = cpuNs(worker.pid)
  const startedAt = performance.now()
  const bytes = encodeCommand('/publish', { uri: sharedUri })
  await Promise.all(publishers.map(async (connection) => check(name, await connection.exchange(bytes))))
  await crowd.told()
  await crowd.quiet(quietMs)
  const cpuMs = (cpuNs(worker.pid) - cpuBefore) / 1e6
  for (const connection of publishers) connection.close()
  for (const text of crowd.texts()) verifyChanges(name, text, 1, count)
  const { times } = crowd
  figures.bursts.push({ cpuMs, lastMs: times.at(-1) - startedAt, messages: times.length / crowd.size })
}

/** Once as it is, with a change while nobody is there to hear of it; once with all coming back as fast as they can. */
async function measureKills(one, round) {
  const { name, crowd, isPatient, figures } = one
  if (isPatient) {
    const { backMs, halfMs } = await kill(one, round, true)
    await crowd.told()
    for (const text of crowd.texts()) verifyChanges(name, text, 1, 2)
    figures.kills.push({ isAtOnce: false, backMs, halfMs })
    await comeBackWithin(one, { ms: 1 })
  }
  const { backMs, us } = await kill(one, round, false)
  figures.kills.push({ isAtOnce: true, backMs, us })
  if (isPatient) await comeBackWithin(one)
  // All are there, and once.
  await measureChange(one)
}

async function kill(one, round, isMissing) {
  const { name, worker, crowd, watching } = one
  crowd.forget()
  const cpuBefore = cpuNs(worker.pid)
  const startedAt = performance.now()
  check(name, await watching.exchange(encodeCommand('/kill')))
  const [back] = await Promise.all([allBack(one, startedAt), isMissing && publish(one, round)])
  return { ...back, us: (cpuNs(worker.pid) - cpuBefore) / 1_000 / crowd.size }
}

async function allBack(one, startedAt) {
  const { name, crowd } = one
  let halfMs
  for (;;) {
    const listeners = (await hubs(one)).reduce((sum, hub) => sum + hub.listeners, 0)
    const backMs = performance.now() - startedAt
    if (listeners >= crowd.size / 2) halfMs ??= backMs
    if (listeners >= crowd.size) return { backMs, halfMs }
    if (backMs > returnMs) throw new Error(`${name}: ${listeners} of ${crowd.size} listeners came back to their hub`)
    await sleep(pollMs)
  }
}

/** The time over which listeners come back is a limit of both Workers; without one it is what it was. */
async function comeBackWithin({ name, connections }, query) {
  for (const connection of connections) check(name, await connection.exchange(encodeCommand('/reattach', query)))
}

async function hubs({ name, watching }) {
  const response = await watching.exchange(encodeCommand('/hubs'))
  check(name, response)
  return JSON.parse(response.body.toString('utf8'))
}

async function publish({ name, hasHub, connections }, round) {
  const connection = connections[hasHub ? round % connections.length : 0]
  check(name, await connection.exchange(encodeCommand('/publish', { uri: sharedUri })))
}

function at(values) {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99) }
}

function check(name, { status, body }) {
  if (status === 200 || status === 204) return
  throw new Error(`${name} does not do what it is asked: ${status} ${body.toString('utf8').slice(0, 400)}`)
}
