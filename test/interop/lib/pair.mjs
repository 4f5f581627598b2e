// A server as two Workers over the objects of the first, behind one that sends requests to them in turn: whatever a client
// does, its requests, streams and sessions cross isolates.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startWrangler } from '../../support/server.mjs'

const { unstable_readConfig: readConfig } = createRequire(import.meta.url)('wrangler')
const front = fileURLToPath(new URL('../../support/front.ts', import.meta.url))

/** Starts the server of a wrangler.toml on wrangler dev. `folder` takes the configurations; others are passed on. */
export function startPair({ config, folder, vars, ...options }) {
  const paths = writeConfigs(readConfig({ config }, { hideWarnings: true }), folder, vars)
  const [first, ...others] = paths
  return startWrangler({ ...options, config: first, args: others.map((path) => `--config=${path}`) })
}

function writeConfigs(read, folder, vars) {
  const { name, main, compatibility_date, compatibility_flags, keep_names, durable_objects, exports } = read
  const common = { compatibility_date, compatibility_flags }
  const worker = { ...common, main, keep_names, vars: { ...read.vars, ...vars } }
  const theirs = durable_objects.bindings.map((binding) => ({ ...binding, script_name: name }))
  const second = `${name}-second`
  const services = [
    { binding: 'first', service: name },
    { binding: 'second', service: second },
  ]
  const configs = {
    front: { ...common, name: `${name}-front`, main: front, services },
    first: { ...worker, name, durable_objects, exports },
    second: { ...worker, name: second, durable_objects: { bindings: theirs } },
  }
  mkdirSync(folder, { recursive: true })
  return Object.entries(configs).map(([file, content]) => {
    const path = join(folder, `${file}.json`)
    writeFileSync(path, JSON.stringify(content))
    return path
  })
}
