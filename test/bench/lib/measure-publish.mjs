// Takes what it costs to say that something changed while nobody listens, by the number of hubs that have to store it.
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeCommand, sharedUri } from '../listen-scenarios.mjs'
import { openConnection } from './http-client.mjs'
import { settleMs } from './measure.mjs'
import { median, quantile, shuffled, spread } from './stats.mjs'
import { cpuNs, startWorkerd } from './workerd.mjs'

const warmup = 200
const bytes = encodeCommand('/publish', { uri: sharedUri })

/** `{ [worker]: { cpuUs, spread, p50Ms, p99Ms, processes } }`, one process of each, in slices that are interleaved. */
export async function measurePublishes(builds, { publishRounds, publishes }, progress) {
  progress(`publishing to ${builds.map(({ name }) => name).join(', ')}`)
  const running = []
  try {
    for (const { name, serve } of builds) {
      const worker = await startWorkerd(serve)
      running.push({ name, worker, roundsUs: [], tookMs: [] })
      running.at(-1).connection = await openConnection(worker.port)
    }
    for (const one of running) await publish(one, warmup)
    for (let round = 0; round < publishRounds; round++)
      for (const one of shuffled(running)) await measureSlice(one, publishes)
    return Object.fromEntries(running.map(({ name, roundsUs, tookMs }) => [name, summarise(roundsUs, tookMs)]))
  } finally {
    for (const { connection } of running) connection?.close()
    await Promise.all(running.map(({ worker }) => worker.stop()))
  }
}

async function measureSlice(one, count) {
  const { worker, roundsUs, tookMs } = one
  await sleep(settleMs)
  const cpuBefore = cpuNs(worker.pid)
  tookMs.push(...(await publish(one, count)))
  await sleep(settleMs)
  roundsUs.push((cpuNs(worker.pid) - cpuBefore) / 1_000 / count)
}

/** One after the other. */
async function publish({ name, connection }, count) {
  const tookMs = []
  for (let i = 0; i < count; i++) {
    const before = performance.now()
    const { status, body } = await connection.exchange(bytes)
    if (status !== 204) throw new Error(`${name} does not publish: ${status} ${body.toString('utf8').slice(0, 400)}`)
    tookMs.push(performance.now() - before)
  }
  return tookMs
}

function summarise(roundsUs, tookMs) {
  const [p50Ms, p99Ms] = [0.5, 0.99].map((q) => quantile(tookMs, q))
  return { cpuUs: median(roundsUs), spread: spread(roundsUs), p50Ms, p99Ms, processes: [roundsUs] }
}
