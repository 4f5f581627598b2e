// Takes the resident memory of a workerd that holds streams on which nothing happens, and the CPU they take meanwhile.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeListen, openSession } from '../session-scenarios.mjs'
import { openConnection } from './http-client.mjs'
import { cpuNs, startWorkerd } from './workerd.mjs'

const atOnce = 32
/** Opened before the first sample, so that what is loaded once does not count. */
const warmStreams = 50
/** They hold streams as what they are variants of. */
const variants = ['unlogged', 'storing']
/** A whole megabyte for each has been seen here; thousands would not fit everywhere. */
const agentShare = 0.1
/** An object is evicted after ten seconds without work. */
const evictedAfterMs = 15_000
const openTimeoutMs = 30_000

/**
 * `{ [worker]: { streams, awakeKb, idleKb, processMb, cpuUsPerMinute } }`, per stream but for the process.
 * An allocator keeps what objects needed while they were awake. So one half of the streams is opened and goes to sleep
 * first: `awakeKb` is what each of these took at once, `idleKb` what each of the other half added to that in the end.
 */
export async function measureIdle(builds, size, progress) {
  const held = []
  try {
    for (const { name, serve } of builds) {
      if (variants.includes(name)) continue
      progress(`opening ${size.idleStreams} streams: ${name}`)
      held.push(await openHalf(name, serve, size))
    }
    await sleep(evictedAfterMs)
    for (const one of held) await openRest(one)
    progress(`waiting for ${size.idleSeconds} s`)
    for (const one of held) one.cpuBefore = cpuNs(one.worker.pid)
    await sleep(size.idleSeconds * 1_000)
    return Object.fromEntries(held.map((one) => [one.name, sample(one, size.idleSeconds)]))
  } finally {
    for (const { sockets } of held) sockets.forEach((socket) => socket.destroy())
    await Promise.all(held.map(({ worker }) => worker.stop()))
  }
}

async function openHalf(name, serve, { idleStreams }) {
  const worker = await startWorkerd(serve)
  try {
    const wanted = name === 'agent' ? idleStreams * agentShare : idleStreams
    const half = Math.ceil(Math.min(wanted, mostStreams(worker.pid)) / 2)
    const warm = await openStreams(name, worker.port, warmStreams)
    const baseKb = residentKb(worker.pid)
    const first = await openStreams(name, worker.port, half)
    const awakeKb = (residentKb(worker.pid) - baseKb) / half
    return { name, worker, half, sockets: [...warm, ...first], awakeKb }
  } catch (error) {
    await worker.stop()
    throw error
  }
}

async function openRest(one) {
  one.asleepKb = residentKb(one.worker.pid)
  one.sockets.push(...(await openStreams(one.name, one.worker.port, one.half)))
}

function sample({ name, worker, half, sockets, awakeKb, asleepKb, cpuBefore }, idleSeconds) {
  const closed = sockets.filter((socket) => socket.destroyed || socket.readableEnded).length
  if (closed > 0) throw new Error(`${name} closed ${closed} of ${sockets.length} idle streams: ${worker.output()}`)
  const residentNow = residentKb(worker.pid)
  const cpuUs = (cpuNs(worker.pid) - cpuBefore) / 1_000
  return {
    streams: 2 * half,
    awakeKb,
    idleKb: (residentNow - asleepKb) / half,
    processMb: residentNow / 1_024,
    cpuUsPerMinute: (cpuUs / sockets.length / idleSeconds) * 60,
  }
}

async function openStreams(name, port, count) {
  const sockets = []
  let left = count
  const open = async () => {
    const connection = await openConnection(port)
    while (left-- > 0) {
      const session = name === 'held' ? undefined : await openSession(connection)
      sockets.push(await openStream(name, port, session))
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: atOnce }, open))
  return sockets
}

/** A GET whose answer has begun. What comes later is thrown away. */
async function openStream(name, port, session) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.write(encodeListen(session))
  const signal = AbortSignal.timeout(openTimeoutMs)
  let head = ''
  while (!head.includes('\r\n\r\n')) head += (await once(socket, 'data', { signal }))[0].toString('latin1')
  if (!/^HTTP\/1.1 200 [^]*\r\ncontent-type: *text\/event-stream/i.test(head))
    throw new Error(`${name} opens no stream: ${head.slice(0, 400)}`)
  socket.on('error', () => socket.destroy())
  socket.resume()
  return socket
}

/** Each stream is a file here, and up to four there while its object and its storage are open. */
function mostStreams(pid) {
  return Math.floor(Math.min(fileLimit('self') - 500, fileLimit(pid) / 4 - 100))
}

export function fileLimit(pid) {
  return Number(/^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1] ?? 1_024)
}

export function residentKb(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1])
}
