// The part of the benchmark about change notifications: thousands of listeners at two Workers over one hub, and what it
// costs to publish to more hubs than one.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildWorker, readSettings, varyWorker } from './build.mjs'
import { measureCrowds, measureHalves } from './measure-crowd.mjs'
import { measurePublishes } from './measure-publish.mjs'

const crowdPart = 'listeners'
const publishPart = 'publishing'

export const listenParts = [crowdPart, publishPart]

const shardCounts = [2, 4, 8]

export async function measureListen({ root, size, parts }, directory, progress) {
  const workers = listWorkers(root)
  const builds = []
  for (const worker of workers) {
    progress(`bundling ${worker.name} for listeners`)
    const { hasHub, isPatient } = worker
    const build = await buildWorker(worker, join(directory, 'listen'), { isWeighed: false })
    builds.push({ ...build, hasHub, isPatient })
  }
  const has = (part) => parts.includes(part)
  const crowd = has(crowdPart) && (await measureCrowds(builds, size, progress))
  const crossing = builds.filter(({ hasHub }) => hasHub !== false)
  const halves = has(crowdPart) && (await measureHalves(crossing, size, progress))
  const publishing = has(publishPart) && (await measurePublishes(publishers(workers, builds), size, progress))
  return { ...size, ...(crowd && { crowd, halves }), ...(publishing && { publishing }) }
}

/** Each is two Workers of the same code, the second over the objects of the first, which store on disk. */
function listWorkers(root) {
  const shipped = readSettings(join(root, 'wrangler.toml'))
  const main = (file) => fileURLToPath(new URL(`../workers/${file}`, import.meta.url))
  const settings = (objects) => ({ ...shipped, objects, disk: true, isTwice: true })
  const { LISTEN_HUB } = shipped.objects
  return [
    { name: 'floor', main: main('listen-floor.ts'), settings: settings({ HUB: 'FloorHub' }) },
    { name: 'ours', main: main('listen.ts'), settings: settings({ LISTEN_HUB }), isPatient: true },
    { name: 'sdk', main: main('listen-sdk.ts'), settings: settings({}), hasHub: false },
  ]
}

/** The floor and ours, and ours with more hubs. */
function publishers(workers, builds) {
  const of = (all, name) => all.find((each) => each.name === name)
  const { settings } = of(workers, 'ours')
  const ours = of(builds, 'ours')
  const withShards = (count) => {
    const vars = { ...settings.vars, LISTEN_SHARDS: count }
    return varyWorker({ name: `ours, ${count} shards`, settings: { ...settings, vars } }, ours)
  }
  return [of(builds, 'floor'), ours, ...shardCounts.map(withShards)]
}
