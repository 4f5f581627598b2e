// Bundles workers as `wrangler deploy` would upload them, and weighs them. Uploads nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { unstable_readConfig as readConfig } from 'wrangler'
import { writeConfig } from './workerd.mjs'

const require = createRequire(import.meta.url)
const wranglerProgram = join(dirname(require.resolve('wrangler/package.json')), 'bin', 'wrangler.js')

/** What a wrangler.toml says about building and running a worker. Bare workerd has no rate limits, so those are off. */
export function readSettings(config) {
  const read = readConfig({ config }, { hideWarnings: true })
  const bindings = read.durable_objects.bindings.map(({ name, class_name: className }) => [name, className])
  return {
    compatibilityDate: read.compatibility_date,
    compatibilityFlags: read.compatibility_flags,
    keepNames: read.keep_names ?? true,
    minify: read.minify ?? false,
    objects: Object.fromEntries(bindings),
    vars: { ...read.vars, RATE_LIMIT: 'off' },
  }
}

/** Another way to run a bundle that is already there. */
export function varyWorker({ name, settings }, { target, file }) {
  return { name, serve: writeConfig(target, name, file, settings) }
}

/**
 * Bundles one worker as configured and, to weigh it, minified.
 * @param worker `{ name, settings }` and `{ main, define?, alias? }`, or `{ config }` where it has a wrangler.toml of its own
 * @returns where the first bundle is, `serve`, a workerd configuration for it, and the gzip bytes of both
 */
export async function buildWorker(worker, directory, { isWeighed = true } = {}) {
  const target = join(directory, worker.name)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const config = worker.config ?? writeWranglerConfig(worker, target)
  await bundle(config, join(target, 'bundle'))
  if (isWeighed) await bundle(config, join(target, 'minified'), '--minify')
  const [main] = modules(join(target, 'bundle'))
  const file = join('bundle', main)
  return {
    name: worker.name,
    target,
    file,
    serve: writeConfig(target, worker.name, file, worker.settings),
    ...(isWeighed && {
      gzipBytes: gzipBytes(join(target, 'bundle')),
      minifiedGzipBytes: gzipBytes(join(target, 'minified')),
    }),
  }
}

function writeWranglerConfig({ name, main, define = {}, alias = {}, settings }, target) {
  const path = join(target, 'wrangler.json')
  const bindings = Object.entries(settings.objects).map(([key, of]) => ({ name: key, class_name: of }))
  const classes = bindings.map(({ class_name: of }) => [of, { type: 'durable-object', storage: 'sqlite' }])
  const content = {
    name: `bench-${name}`,
    main: relative(target, main),
    compatibility_date: settings.compatibilityDate,
    compatibility_flags: settings.compatibilityFlags,
    keep_names: settings.keepNames,
    minify: settings.minify,
    alias,
    ...(bindings.length > 0 && { durable_objects: { bindings }, exports: Object.fromEntries(classes) }),
    define: Object.fromEntries(Object.entries(define).map(([key, value]) => [key, JSON.stringify(value)])),
  }
  writeFileSync(path, JSON.stringify(content))
  return path
}

async function bundle(config, outdir, ...flags) {
  const args = [wranglerProgram, 'deploy', '--dry-run', '--config', config, '--outdir', outdir, ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000 })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`wrangler could not bundle ${config}:\n${output}`)
}

function gzipBytes(directory) {
  return modules(directory).reduce((sum, file) => sum + gzipSync(readFileSync(join(directory, file))).length, 0)
}

/** Source maps and the README beside a bundle are not part of the worker. */
function modules(directory) {
  return readdirSync(directory).filter((file) => !file.endsWith('.map') && !file.endsWith('.md'))
}
