// The part of the benchmark about tasks: one created, one asked for, and a thousand that wait.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { encodeCall, openSession, verifyCall } from '../session-scenarios.mjs'
import { taskScenarios, verifyTaskResponse } from '../task-scenarios.mjs'
import { buildWorker, readSettings, varyWorker } from './build.mjs'
import { collect, measureScenario } from './measure.mjs'
import { measureWaiting } from './measure-waiting.mjs'
import { startWorkerd } from './workerd.mjs'

const waitingPart = 'waiting tasks'

export const taskParts = [...taskScenarios.map(({ name }) => name), waitingPart]

const session = 'session'
/** Who takes part beside `floor` and `ours`; an identified caller has too few open tasks for one that sleeps. */
const others = {
  'create quick task': ['running', 'unlogged', 'identified'],
  'create sleeping task': ['running', 'unlogged'],
  'get working task': ['unlogged', session],
  'get completed task': ['unlogged', session],
}

export async function measureTasks({ root, size, parts }, directory, progress) {
  const builds = await buildAll(listWorkers(root), directory, progress)
  // Before any are created: what is created sleeps, and goes to sleep, while others are measured.
  const scenarios = taskScenarios.filter(({ name }) => parts.includes(name)).toReversed()
  const cpu =
    scenarios.length > 0 &&
    (await collect(size.processes, (i) => {
      progress(`measuring tasks, process ${i} of ${size.processes} of each worker`)
      return measureProcesses(builds, scenarios, size)
    }))
  const waiting = parts.includes(waitingPart) && (await measureWaiting(builds, size, progress))
  return { ...size, ...(cpu && { cpu }), ...(waiting && { waiting }) }
}

/** All store on disk. */
function listWorkers(root) {
  const shipped = readSettings(join(root, 'wrangler.toml'))
  const main = (file) => fileURLToPath(new URL(`../workers/${file}`, import.meta.url))
  const settings = (objects) => ({ ...shipped, objects, disk: true })
  const { KEY_RING, SESSION, TASK, PRINCIPAL, LISTEN_HUB } = shipped.objects
  return [
    { name: 'floor', main: main('task-floor.ts'), settings: settings({ TASK: 'FloorObject' }) },
    { name: 'ours', main: main('tasks.ts'), settings: settings({ KEY_RING, SESSION, TASK, PRINCIPAL, LISTEN_HUB }) },
  ]
}

async function buildAll(workers, directory, progress) {
  const builds = []
  for (const worker of workers) {
    progress(`bundling ${worker.name} for tasks`)
    const build = await buildWorker(worker, join(directory, 'tasks'), { isWeighed: false })
    const vary = (name, vars) => {
      const { settings } = worker
      return varyWorker({ name, settings: { ...settings, vars: { ...settings.vars, ...vars } } }, build)
    }
    const variants =
      worker.name === 'floor'
        ? [vary('running', { RUN: 'on' })]
        : [vary('unlogged', { LOG: 'off' }), vary('identified', { CALLER: 'bench' })]
    builds.push(build, ...variants)
  }
  return builds
}

/** All scenarios, on one process of each worker. */
async function measureProcesses(builds, scenarios, size) {
  const running = []
  try {
    for (const { name, serve } of builds) running.push({ name, ...(await startWorkerd(serve)) })
    const all = [...running, { ...running.find(({ name }) => name === 'ours'), name: session }]
    const measured = {}
    for (const scenario of scenarios) {
      const able = ['floor', 'ours', ...others[scenario.name]]
      const workers = all.filter(({ name }) => able.includes(name))
      measured[scenario.name] = await measureScenario(
        { ...scenario, prepare: prepare(scenario) },
        workers,
        size,
        verify,
      )
    }
    return Object.fromEntries(Object.entries(measured).toReversed())
  } finally {
    await Promise.all(running.map((worker) => worker.stop()))
  }
}

/** A call in a session of `ours` stands beside the requests that read a task: each is one object call. */
function prepare(scenario) {
  return async ({ name }, connection) =>
    name === session ? encodeCall(await openSession(connection)) : scenario.prepare(connection)
}

function verify(worker, scenario, response) {
  if (worker === session) verifyCall(worker, { name: 'session call' }, response)
  else verifyTaskResponse(worker, scenario, response)
}
