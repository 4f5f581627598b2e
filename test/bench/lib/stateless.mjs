// The part of the benchmark that needs no session: CPU per request, bundle sizes, start-up.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { firstRequest, verifyResponse } from '../scenarios.mjs'
import { createToolList } from '../workers/answers.ts'
import { convertTools } from '../workers/tools.ts'
import { buildWorker, readSettings, varyWorker } from './build.mjs'
import { collect, measureScenario, measureStartUps } from './measure.mjs'
import { startWorkerd } from './workerd.mjs'

/** All are built and run with the settings of this repository's wrangler.toml, so that only the code differs. */
export function listWorkers(root, toolCount) {
  const config = join(root, 'wrangler.toml')
  const shipped = readSettings(config)
  const settings = { ...shipped, objects: {} }
  const main = (name) => fileURLToPath(new URL(`../workers/${name}.ts`, import.meta.url))
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

export async function measureStateless({ toolCount, size, workers, scenarios }, directory, progress) {
  const { tools } = createToolList(convertTools(toolCount))
  const verify = (worker, scenario, response) =>
    verifyResponse(worker, scenario, response, worker !== 'shipped' && tools)
  const builds = []
  for (const worker of workers) {
    progress(`bundling ${worker.name}`)
    builds.push(await buildWorker(worker, directory))
  }
  const cells = [...builds, ...createVariants(workers, builds)]
  const cpu = await collect(size.processes, (i) => {
    progress(`measuring, process ${i} of ${size.processes} of each worker`)
    return measureProcesses(cells, scenarios, size, verify)
  })
  progress(`starting each worker ${size.spawns} times`)
  const startUp = await measureStartUps(builds, firstRequest, size.spawns, verify)
  const sizes = builds.map(({ name, gzipBytes, minifiedGzipBytes }) => [name, { gzipBytes, minifiedGzipBytes }])
  return { ...size, toolCount, cpu, sizes: Object.fromEntries(sizes), startUp }
}

/** `unlogged` is `ours` without its log, to show what a line per request costs. */
function createVariants(workers, builds) {
  const ours = builds.find(({ name }) => name === 'ours')
  if (!ours) return []
  const { settings } = workers.find(({ name }) => name === 'ours')
  return [varyWorker({ name: 'unlogged', settings: { ...settings, vars: { ...settings.vars, LOG: 'off' } } }, ours)]
}

/** All scenarios, on one process of each worker. */
async function measureProcesses(built, scenarios, size, verify) {
  const running = []
  try {
    for (const { name, serve } of built) running.push({ name, ...(await startWorkerd(serve)) })
    const measured = {}
    for (const scenario of scenarios) {
      const able = running.filter(({ name }) => !(scenario.needsBenchTools && name === 'shipped'))
      measured[scenario.name] = await measureScenario(scenario, able, size, verify)
    }
    return measured
  } finally {
    await Promise.all(running.map((worker) => worker.stop()))
  }
}
