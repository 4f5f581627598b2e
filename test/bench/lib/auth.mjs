// The part of the benchmark about authorization: what a tool call costs with a token and without, while the keys and what
// an introspection said are known. Fails if a worker lets a wrong token in, or asks its issuer while it is measured.
import { join } from 'node:path'
import { limits } from '../../../src/limits.ts'
import { authScenarios } from '../auth-scenarios.mjs'
import { listAuthWorkers } from './auth-workers.mjs'
import { buildWorker, varyWorker } from './build.mjs'
import { startIssuer } from './issuer.mjs'
import { collect, measureScenario } from './measure.mjs'
import { startWorkerd } from './workerd.mjs'

export const authParts = authScenarios.map(({ name }) => name)

/** What a worker keeps of its issuer: keys, and what an introspection said. */
const keptThings = 2
/** How long ours keeps it: jose keeps keys twice as long. */
const keptMs = limits.issuerFreshMs

export async function measureAuth({ root, size, parts }, directory, progress) {
  const scenarios = authScenarios.filter(({ name }) => parts.includes(name))
  const issuer = await startIssuer()
  try {
    const workers = listAuthWorkers(root, issuer).filter(({ scenario }) => parts.includes(scenario))
    const processes = []
    for (const worker of workers) {
      progress(`bundling ${worker.name} for authorization`)
      processes.push(...(await build(worker, issuer, join(directory, 'auth'), size)))
    }
    const refreshed = Object.fromEntries(workers.map(({ name }) => [name, 0]))
    const cpu = await collect(size.processes, async (i) => {
      progress(`measuring authorization, process ${i} of ${size.processes} of each worker`)
      const measured = {}
      for (const scenario of scenarios) {
        const own = processes.filter((process) => process.scenario === scenario.name)
        measured[scenario.name] = await measureProcesses(scenario, own, size, issuer, refreshed)
      }
      return measured
    })
    const cells = processes.flatMap((process) => process.cells)
    const asked = workers.map(({ name }) => {
      const { [name]: measured } = refreshed
      return [name, { warmingUp: issuer.countRequests(name) - measured, measured }]
    })
    return { ...size, cpu, cells: describe(cells), asked: Object.fromEntries(asked) }
  } finally {
    issuer.stop()
  }
}

/** Whose cell it is, with which kind of token, and how long that is. */
function describe(cells) {
  return Object.fromEntries(
    cells.map(({ name, worker, kind, token = '' }) => [name, { worker, kind, bytes: token.length }]),
  )
}

/**
 * Bundles a worker for its processes: one without authorization, if it is `open` to that, and one that gets a token of
 * every kind. What is measured of a process are its cells.
 */
async function build({ name, scenario, main, define, kinds, open, closed }, issuer, directory, size) {
  const built = await buildWorker({ name, main, define, settings: closed }, directory, { isWeighed: false })
  const cells = []
  for (const kind of kinds)
    cells.push({ name: `${name} ${kind}`, worker: name, kind, token: await issuer.mint(name, kind) })
  const withTokens = { name, scenario, serve: built.serve, cells }
  if (!open) return [withTokens]
  const { serve } = varyWorker({ name: `${name}-open`, settings: open }, built)
  // One cell, but the process is to be as warm as the other.
  const none = { name: `${name} none`, worker: name, kind: 'none', warmup: size.warmup * kinds.length }
  return [{ name, scenario, serve, cells: [none] }, withTokens]
}

/** One scenario, on one of each process. Adds to `refreshed` how often each worker asked its issuer meanwhile. */
async function measureProcesses(scenario, processes, size, issuer, refreshed) {
  const running = []
  try {
    const startedAt = Date.now()
    for (const { serve, cells } of processes) running.push({ cells, ...(await startWorkerd(serve)) })
    const all = running.flatMap(({ cells, ...process }) => cells.map((cell) => ({ ...process, ...cell })))
    const workers = [...new Set(processes.map(({ name }) => name))]
    let before
    const warmed = () => (before = workers.map(issuer.countRequests))
    const measured = await measureScenario({ ...scenario, warmed }, all, size, scenario.verify)
    const refreshes = keptThings * Math.floor((Date.now() - startedAt) / keptMs)
    workers.forEach((worker, i) => {
      const requests = issuer.countRequests(worker) - before[i]
      if (requests > refreshes) throw new Error(`${worker} asked its issuer ${requests} times for what it knew`)
      refreshed[worker] += requests
    })
    return measured
  } finally {
    await Promise.all(running.map(({ stop }) => stop()))
  }
}
