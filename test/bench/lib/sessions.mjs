// The part of the benchmark about sessions: a call in one, a streaming call in one, and streams on which nothing happens.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { encodeCall, openSession, verifyCall, verifyStream } from '../session-scenarios.mjs'
import { buildWorker, readSettings, varyWorker } from './build.mjs'
import { measureIdle } from './measure-idle.mjs'
import { collect, measureScenario } from './measure.mjs'
import { measureStreams } from './measure-streams.mjs'
import { startWorkerd } from './workerd.mjs'

export const sessionParts = ['session call', 'session stream', 'idle streams']

const agentPackage = 'agents'

const callScenario = {
  name: 'session call',
  prepare: async ({ isStateless }, connection) => encodeCall(isStateless ? undefined : await openSession(connection)),
}
const streamScenario = {
  name: 'session stream',
  prepare: (connection) => openSession(connection),
  encode: (session, events) => encodeCall(session, events),
  verify: verifyStream,
}

export async function measureSessions({ root, size, parts }, directory, progress) {
  const agent = findAgent()
  const builds = await buildAll(listWorkers(root, agent), directory, progress)
  const has = (part) => parts.includes(part)
  const isBusy = has('session call') || has('session stream')
  const measured =
    isBusy &&
    (await collect(size.processes, (i) => {
      progress(`measuring sessions, process ${i} of ${size.processes} of each worker`)
      return measureProcesses(builds, parts, size)
    }))
  const idle = has('idle streams') && (await measureIdle(builds, size, progress))
  return { ...size, agent, ...(measured && { cpu: measured }), ...(idle && { idle }) }
}

/** All have the same objects at hand and store on disk; `held` and `agent` take part where they can. */
function listWorkers(root, agent) {
  const shipped = readSettings(join(root, 'wrangler.toml'))
  const settings = (objects) => ({ ...shipped, objects, disk: true })
  const main = (file) => fileURLToPath(new URL(`../workers/${file}`, import.meta.url))
  const alias = { 'cloudflare:email': main('no-email.ts') }
  const { KEY_RING, SESSION, LISTEN_HUB } = shipped.objects
  return [
    { name: 'held', main: main('held.ts'), settings: settings({}) },
    { name: 'object', main: main('object.ts'), settings: settings({ BARE: 'BareObject' }) },
    { name: 'ours', main: main('sessions.ts'), settings: settings({ KEY_RING, SESSION, LISTEN_HUB }) },
    ...(agent ? [{ name: 'agent', main: main('agent.mjs'), alias, settings: settings({ AGENT: 'BenchAgent' }) }] : []),
  ]
}

async function buildAll(workers, directory, progress) {
  const builds = []
  for (const worker of workers) {
    progress(`bundling ${worker.name} for sessions`)
    const build = await buildWorker(worker, join(directory, 'sessions'), { isWeighed: false })
    builds.push(build, ...createVariants(worker, build))
  }
  return builds
}

/** `unlogged` is `ours` without its log; `storing` is `object` that stores the events it sends. */
function createVariants({ name, settings }, build) {
  const vary = (variant, vars) => varyWorker({ name: variant, settings: { ...settings, vars } }, build)
  if (name === 'ours') return [vary('unlogged', { ...settings.vars, LOG: 'off' })]
  return name === 'object' ? [vary('storing', { STORE: 'on' })] : []
}

/** The version of Cloudflare's agents that is installed, or undefined. */
function findAgent() {
  const require = createRequire(import.meta.url)
  try {
    const entry = require.resolve(agentPackage)
    return JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8')).version
  } catch (error) {
    // Not a dependency of this clone.
    if (error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Calls and streams, on one process of each worker that has sessions. */
async function measureProcesses(builds, parts, size) {
  const running = []
  try {
    for (const { name, serve } of builds) if (name !== 'held') running.push({ name, ...(await startWorkerd(serve)) })
    const stateless = { ...running.find(({ name }) => name === 'ours'), name: 'stateless', isStateless: true }
    const measured = {}
    const without = (name) => running.filter((worker) => worker.name !== name)
    if (parts.includes(callScenario.name)) {
      const callers = [...without('storing'), stateless]
      measured[callScenario.name] = await measureScenario(callScenario, callers, size, verifyCall)
    }
    if (parts.includes(streamScenario.name))
      measured[streamScenario.name] = await measureStreams(streamScenario, without('unlogged'), size)
    return measured
  } finally {
    await Promise.all(running.map((worker) => worker.stop()))
  }
}
