// Takes CPU per event and events per second of calls that stream, in slices that are interleaved like those of measure.mjs.
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './http-client.mjs'
import { connectionCount, settleMs } from './measure.mjs'
import { shuffled } from './stats.mjs'
import { cpuNs } from './workerd.mjs'

/** `{ [worker]: { roundsUs, perSecond } }` per event. Each slice streams in fresh sessions, so that none is at its caps. */
export async function measureStreams(scenario, workers, { rounds, events }) {
  const taken = Object.fromEntries(workers.map(({ name }) => [name, { roundsUs: [], perSecond: [] }]))
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const worker of shuffled(workers)) {
      const { us, perSecond } = await measureSlice(scenario, worker, events)
      if (round === 0) continue
      taken[worker.name].roundsUs.push(us)
      taken[worker.name].perSecond.push(perSecond)
    }
  }
  return taken
}

async function measureSlice(scenario, worker, events) {
  const connections = await Promise.all(Array.from({ length: connectionCount }, () => openConnection(worker.port)))
  try {
    const sessions = await Promise.all(connections.map((connection) => scenario.prepare(connection)))
    // What the first stream of a session costs once, such as its tables, is no cost of an event.
    await streamAll(scenario, worker, connections, sessions, 1)
    await sleep(settleMs)
    const cpuBefore = cpuNs(worker.pid)
    const before = performance.now()
    await streamAll(scenario, worker, connections, sessions, events)
    const seconds = (performance.now() - before) / 1_000
    await sleep(settleMs)
    const delivered = events * connections.length
    return { us: (cpuNs(worker.pid) - cpuBefore) / 1_000 / delivered, perSecond: delivered / seconds }
  } finally {
    connections.forEach((connection) => connection.close())
  }
}

async function streamAll(scenario, worker, connections, sessions, events) {
  const calls = connections.map(async (connection, i) => {
    const response = await connection.exchange(scenario.encode(sessions[i], events))
    scenario.verify(worker.name, events, response)
  })
  await Promise.all(calls)
}
