// Takes CPU per request and time to first answer. Interleaves the workers in small slices, because other work on the
// machine drifts by tens of per cent within seconds: a ratio is only taken between slices of the same round.
import { setTimeout as sleep } from 'node:timers/promises'
import { drive, openConnection } from './http-client.mjs'
import { mean, median, shuffled, spread } from './stats.mjs'
import { cpuNs, startWorkerd } from './workerd.mjs'

export const connectionCount = 2
/** Work that goes on after a response is sent still belongs to its slice. */
export const settleMs = 2

/**
 * Measures one scenario on running workers: `{ [worker]: { roundsUs, perSecond } }`, a figure for each round.
 * What is sent is `scenario.bytes`, or what `scenario.prepare(worker, connection)` makes for each connection; with
 * `scenario.settleMs` more of the work after its responses belongs to a slice. `scenario.warmed` is called when all are
 * warm; `worker.warmup` is for one that needs another number of requests for that.
 */
export async function measureScenario(scenario, workers, { rounds, requests, warmup }, verify) {
  const cells = []
  for (const worker of workers) cells.push(await openCell(scenario, worker, worker.warmup ?? warmup, verify))
  scenario.warmed?.()
  try {
    for (let round = 0; round < rounds; round++) {
      for (const cell of shuffled(cells)) await measureSlice(cell, requests)
    }
  } finally {
    for (const { connections } of cells) connections.forEach((connection) => connection.close())
  }
  return Object.fromEntries(cells.map(({ worker, roundsUs, perSecond }) => [worker.name, { roundsUs, perSecond }]))
}

/** Takes `measure`, `{ [scenario]: { [worker]: … } }`, on several processes of each worker and summarises per worker. */
export async function collect(processes, measure) {
  const taken = []
  for (let i = 1; i <= processes; i++) taken.push(await measure(i))
  const perWorker = (scenario) => (name) => [name, summarise(taken.map((scenarios) => scenarios[scenario][name]))]
  return Object.fromEntries(
    Object.entries(taken[0]).map(([scenario, workers]) => [
      scenario,
      Object.fromEntries(Object.keys(workers).map(perWorker(scenario))),
    ]),
  )
}

/** One worker's figures from several processes. Two processes of the same bundle differ by up to a tenth. */
function summarise(processes) {
  const all = processes.flatMap(({ roundsUs }) => roundsUs)
  return {
    cpuUs: median(all),
    spread: spread(all),
    requestsPerSecond: median(processes.flatMap(({ perSecond }) => perSecond)),
    processes: processes.map(({ roundsUs }) => roundsUs),
  }
}

/** The ratio of two summaries, taken round by round so that drift cancels out: of all processes, and per process. */
export function ratio(summary, base) {
  const perProcess = summary.processes.map((rounds, i) =>
    median(rounds.map((us, round) => us / base.processes[i][round])),
  )
  return { mean: mean(perProcess), low: Math.min(...perProcess), high: Math.max(...perProcess) }
}

/** The same for what a summary costs more than another, in µs. */
export function difference(summary, base) {
  const perProcess = summary.processes.map((rounds, i) =>
    median(rounds.map((us, round) => us - base.processes[i][round])),
  )
  return { mean: mean(perProcess), low: Math.min(...perProcess), high: Math.max(...perProcess) }
}

/** Spawns each worker `spawns` times: `{ [worker]: { wallMs, cpuMs, wallSpread } }` until the first correct answer. */
export async function measureStartUps(builds, request, spawns, verify) {
  const taken = Object.fromEntries(builds.map(({ name }) => [name, { wallMs: [], cpuMs: [] }]))
  for (let round = 0; round < spawns; round++) {
    for (const build of shuffled(builds)) {
      const { wallMs, cpuMs } = await startOnce(build, request, verify)
      taken[build.name].wallMs.push(wallMs)
      taken[build.name].cpuMs.push(cpuMs)
    }
  }
  const entries = Object.entries(taken)
  return Object.fromEntries(
    entries.map(([name, { wallMs, cpuMs }]) => [
      name,
      { wallMs: median(wallMs), cpuMs: median(cpuMs), wallSpread: spread(wallMs) },
    ]),
  )
}

async function openCell(scenario, worker, warmup, verify) {
  const connections = await Promise.all(Array.from({ length: connectionCount }, () => openConnection(worker.port)))
  const { prepare = () => scenario.bytes } = scenario
  const bytes = await Promise.all(connections.map((connection) => prepare(worker, connection)))
  const first = await connections[0].exchange(bytes[0])
  verify(worker.name, scenario, first)
  const check = createCheck(worker.name, scenario.name, first)
  await drive(connections, bytes, warmup, check)
  return { worker, connections, bytes, check, settle: scenario.settleMs ?? settleMs, roundsUs: [], perSecond: [] }
}

async function measureSlice({ worker, connections, bytes, check, settle, roundsUs, perSecond }, requests) {
  await sleep(settle)
  const cpuBefore = cpuNs(worker.pid)
  const before = performance.now()
  await drive(connections, bytes, requests, check)
  const seconds = (performance.now() - before) / 1_000
  await sleep(settle)
  roundsUs.push((cpuNs(worker.pid) - cpuBefore) / 1_000 / requests)
  perSecond.push(requests / seconds)
}

/** The same question gets an answer of the same length: anything else is not what was verified. */
function createCheck(worker, scenario, verified) {
  return ({ status, body }) => {
    if (status === verified.status && body.length === verified.body.length) return
    throw new Error(`${worker} changed its answer to ${scenario}: ${status} ${body.toString('utf8').slice(0, 400)}`)
  }
}

async function startOnce({ name, serve }, request, verify) {
  const before = performance.now()
  const worker = await startWorkerd(serve)
  try {
    const connection = await openConnection(worker.port)
    const response = await connection.exchange(request.bytes)
    const wallMs = performance.now() - before
    const cpuMs = cpuNs(worker.pid) / 1e6
    connection.close()
    verify(name, request, response)
    return { wallMs, cpuMs }
  } finally {
    await worker.stop()
  }
}
