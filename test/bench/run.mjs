// Measures what this repository costs beside a hand-written worker, hono + zod and the official SDK, on bare workerd.
// Reports figures and never asserts them: it fails only when a worker fails or answers wrongly.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildWorker, readSettings, varyWorker } from './lib/build.mjs'
import { measureScenario, measureStartUps, summarise } from './lib/measure.mjs'
import { report } from './lib/report.mjs'
import { startWorkerd } from './lib/workerd.mjs'
import { firstRequest, scenarios, verifyResponse } from './scenarios.mjs'
import { createToolList } from './workers/answers.ts'
import { convertTools } from './workers/tools.ts'

const usage = `usage: npm run bench -- [--quick] [--only NAME]... [--tools COUNT]
  --quick        few rounds: shows that everything runs, the figures are rough
  --only NAME    one scenario, or one worker beside raw and floor
  --tools COUNT  publish COUNT tools instead of 50`

const root = fileURLToPath(new URL('../..', import.meta.url))
const results = join(root, '.results', 'bench')
const sizes = {
  full: { processes: 6, rounds: 20, requests: 40, warmup: 1_500, spawns: 9 },
  quick: { processes: 1, rounds: 10, requests: 40, warmup: 300, spawns: 3 },
}
/** Without these two there are no ratios. */
const bases = ['raw', 'floor']

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

const options = readOptions()
const toolList = createToolList(convertTools(options.toolCount))
const verify = (worker, scenario, response) =>
  verifyResponse(worker, scenario, response, worker !== 'shipped' && toolList.tools)

try {
  process.stdout.write(`${await bench()}\n`)
  process.exit(0)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

async function bench() {
  const builds = await buildAll()
  const cpu = await measureCpu([...builds, ...createVariants(builds)])
  progress(`starting each worker ${options.size.spawns} times`)
  const startUp = await measureStartUps(builds, firstRequest, options.size.spawns, verify)
  const sizes = builds.map(({ name, gzipBytes, minifiedGzipBytes }) => [name, { gzipBytes, minifiedGzipBytes }])
  const outcome = {
    taken: new Date().toISOString(),
    machine: { cores: availableParallelism(), model: cpus()[0]?.model, load: loadavg(), node: process.version },
    ...options.size,
    toolCount: options.toolCount,
    cpu,
    sizes: Object.fromEntries(sizes),
    startUp,
  }
  const { text, aims } = report(outcome, scenarios)
  writeFileSync(join(results, 'latest.json'), JSON.stringify({ ...outcome, aims }, undefined, 2))
  return `${text}\n\nEvery round is in .results/bench/latest.json.`
}

async function buildAll() {
  mkdirSync(results, { recursive: true })
  const builds = []
  for (const worker of options.workers) {
    progress(`bundling ${worker.name}`)
    builds.push(await buildWorker(worker, join(results, 'build')))
  }
  return builds
}

/** `unlogged` is `ours` without its log, to show what a line per request costs. */
function createVariants(builds) {
  const ours = builds.find(({ name }) => name === 'ours')
  if (!ours) return []
  const { settings } = options.workers.find(({ name }) => name === 'ours')
  return [varyWorker({ name: 'unlogged', settings: { ...settings, vars: { ...settings.vars, LOG: 'off' } } }, ours)]
}

async function measureCpu(built) {
  const taken = []
  for (let i = 1; i <= options.size.processes; i++) {
    progress(`measuring, process ${i} of ${options.size.processes} of each worker`)
    taken.push(await measureProcesses(built))
  }
  const perWorker = (scenario) => (name) => [name, summarise(taken.map((scenarios) => scenarios[scenario][name]))]
  return Object.fromEntries(
    Object.entries(taken[0]).map(([scenario, workers]) => [
      scenario,
      Object.fromEntries(Object.keys(workers).map(perWorker(scenario))),
    ]),
  )
}

/** All scenarios, on one process of each worker. */
async function measureProcesses(built) {
  const running = []
  try {
    for (const { name, serve } of built) running.push({ name, ...(await startWorkerd(serve)) })
    const measured = {}
    for (const scenario of options.scenarios) {
      const able = running.filter(({ name }) => !(scenario.needsBenchTools && name === 'shipped'))
      measured[scenario.name] = await measureScenario(scenario, able, options.size, verify)
    }
    return measured
  } finally {
    await Promise.all(running.map((worker) => worker.stop()))
  }
}

function readOptions() {
  const { values } = parse()
  const toolCount = Number(values.tools)
  const workers = listWorkers(toolCount)
  const known = [...workers, ...scenarios].map(({ name }) => name)
  const unknown = values.only.filter((name) => !known.includes(name))
  if (unknown.length > 0) stop(`cannot measure "${unknown[0]}": known are ${known.join(', ')}`)
  if (!Number.isInteger(toolCount) || toolCount < 1)
    stop(`cannot publish "${values.tools}" tools: 1 or more are needed`)
  if (!existsSync('/proc/self/schedstat')) stop('cannot take CPU times: this system has no /proc/<pid>/schedstat')
  const pick = (all) => all.filter(({ name }) => values.only.includes(name))
  const pickedWorkers = pick(workers)
  const pickedScenarios = pick(scenarios)
  return {
    toolCount,
    size: values.quick ? sizes.quick : sizes.full,
    workers:
      pickedWorkers.length === 0
        ? workers
        : workers.filter(({ name }) => bases.includes(name) || values.only.includes(name)),
    scenarios: pickedScenarios.length === 0 ? scenarios : pickedScenarios,
  }
}

/** All are built and run with the settings of this repository's wrangler.toml, so that only the code differs. */
function listWorkers(toolCount) {
  const config = join(root, 'wrangler.toml')
  const shipped = readSettings(config)
  const settings = { ...shipped, objects: {} }
  const main = (name) => fileURLToPath(new URL(`workers/${name}.ts`, import.meta.url))
  const define = { TOOL_COUNT: toolCount }
  const listJson = JSON.stringify(createToolList(convertTools(toolCount)))
  return [
    { name: 'raw', main: main('raw'), define: { TOOL_LIST_JSON: listJson }, settings },
    { name: 'floor', main: main('floor'), define, settings },
    { name: 'sdk', main: main('sdk'), define, settings },
    { name: 'ours', main: main('ours'), define, settings },
    { name: 'shipped', config, settings: shipped },
  ]
}

function parse() {
  const flags = {
    quick: { type: 'boolean' },
    only: { type: 'string', multiple: true, default: [] },
    tools: { type: 'string', default: '50' },
  }
  try {
    return parseArgs({ options: flags })
  } catch (error) {
    return stop(error.message)
  }
}

function stop(message) {
  process.stderr.write(`${message}\n${usage}\n`)
  process.exit(2)
}

function progress(line) {
  process.stderr.write(`${line}\n`)
}
