// Servers for tests that need real TCP: wrangler dev, or the deployable bundle on bare workerd. Every process started
// here is gone after `stop()`, which is bounded; nothing is ever ended by name.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onEnd, quietWrangler, startGroup } from '../../scripts/process-group.mjs'

const readyTimeoutMs = 60_000
const outputCharacters = 20_000
const require = createRequire(import.meta.url)
// Not `.bin/wrangler`, which only starts this file in another process.
const wrangler = join(dirname(require.resolve('wrangler/package.json')), 'wrangler-dist', 'cli.js')
const running = new Set()
const folders = new Set()
process.on('exit', () => folders.forEach(remove))

/**
 * Runs `wrangler dev`. `vars` override those of the configuration file. State goes to `persistTo`, or to a folder that
 * `stop()` deletes.
 */
export async function startWrangler({
  config = 'wrangler.toml',
  port,
  vars = {},
  persistTo,
  args = [],
  env = {},
} = {}) {
  const folder = makeFolder()
  const chosen = await freePort(port)
  const flags = [
    '--no-warnings',
    wrangler,
    'dev',
    `--config=${resolve(config)}`,
    `--port=${chosen}`,
    '--inspector-port=0',
    `--persist-to=${persistTo ? resolve(persistTo) : join(folder, 'state')}`,
    '--infer-origin-from-routes=false',
    ...Object.entries(vars).flatMap(([name, value]) => ['--var', `${name}:${value}`]),
    ...args,
  ]
  const environment = {
    ...process.env,
    ...quietWrangler,
    WRANGLER_LOG_PATH: join(folder, 'logs'),
    WRANGLER_REGISTRY_PATH: join(folder, 'registry'),
    ...env,
  }
  return start(process.execPath, flags, { env: environment, port: chosen, folder })
}

/** Builds what `wrangler deploy` would upload into `outdir` and returns the path of the module. */
export async function buildBundle({ config = 'wrangler.toml', outdir, args = [] }) {
  const { main } = readConfig(config)
  const flags = ['deploy', '--dry-run', '--config', resolve(config), '--outdir', resolve(outdir), ...args]
  const env = { ...process.env, ...quietWrangler, NODE_ENV: 'production' }
  const { exited, output } = capture(
    startGroup(process.execPath, ['--no-warnings', wrangler, ...flags], piped({ env })),
  )
  if ((await exited) !== 0) throw new Error(`wrangler could not build ${config}:\n${output()}`)
  return join(resolve(outdir), main.replace(/^.*[\\/]/, '').replace(/\.\w+$/, '.js'))
}

/**
 * Runs a bundle on `workerd serve`, with the objects and variables of its wrangler.toml, or a configuration of your own
 * (`configText`, whose socket is named "http" and whose embeds are relative to `bundleDir`). Stop and start it with the
 * same `stateDir` to see what survives. `otherPorts` are those of further Workers of the same code, each an isolate of its
 * own, over the objects of the first.
 */
export async function startWorkerd({
  bundleDir,
  config = 'wrangler.toml',
  configText,
  vars = {},
  stateDir,
  port,
  otherPorts = [],
} = {}) {
  const folder = makeFolder()
  const state = stateDir ? resolve(stateDir) : join(folder, 'state')
  mkdirSync(state, { recursive: true })
  const file = join(bundleDir ? resolve(bundleDir) : folder, `serve-${crypto.randomUUID()}.capnp`)
  writeFileSync(file, configText ?? workerdConfig(readConfig(config), vars, otherPorts.length))
  const chosen = await freePort(port)
  const flags = [
    'serve',
    file,
    `--socket-addr=http=127.0.0.1:${chosen}`,
    ...otherPorts.map((other, i) => `--socket-addr=${otherName(i)}=127.0.0.1:${other}`),
    `--directory-path=state=${state}`,
  ]
  // `.bin/workerd` may be a script: killing it would leave workerd running.
  const server = await start(require('workerd').default, flags, { port: chosen, folder })
  rmSync(file)
  return server
}

function workerdConfig(
  { name, main, compatibility_date, compatibility_flags, exports, durable_objects, vars },
  override,
  otherCount,
) {
  const text = (value) => JSON.stringify(String(value))
  const classes = Object.entries(exports ?? {}).filter(([, { type }]) => type === 'durable-object')
  const namespaces = classes.map(([id, { storage }]) => {
    return `( className = ${text(id)}, uniqueKey = ${text(`${name}-${id}`)}, enableSql = ${storage === 'sqlite'} )`
  })
  const objects = (where) =>
    durable_objects.bindings.map((b) => {
      const named = `( className = ${text(b.class_name)}${where} )`
      return `( name = ${text(b.name)}, durableObjectNamespace = ${named} )`
    })
  const variables = Object.entries({ ...vars, ...override }).map(([id, value]) => {
    return typeof value === 'string'
      ? `( name = ${text(id)}, text = ${text(value)} )`
      : `( name = ${text(id)}, json = ${text(JSON.stringify(value))} )`
  })
  const bundle = main.replace(/^.*[\\/]/, '').replace(/\.\w+$/, '.js')
  const code = `modules = [ ( name = "index.js", esModule = embed ${text(bundle)} ) ],
  compatibilityDate = ${text(compatibility_date)},
  compatibilityFlags = [ ${compatibility_flags.map(text).join(', ')} ],`
  const others = Array.from({ length: otherCount }, (_, i) => otherName(i))
  const lines = (entries) => entries.map((entry) => `\n    ( ${entry} ),`).join('')
  const services = lines(others.map((other) => `name = ${text(other)}, worker = .other`))
  const sockets = lines(others.map((other) => `name = ${text(other)}, http = (), service = ${text(other)}`))
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ( name = "worker", worker = .worker ),${services}
    ( name = "state", disk = ( writable = true ) ),
    ( name = "internet", network = ( allow = ["private", "local"] ) ),
  ],
  sockets = [
    ( name = "http", http = (), service = "worker" ),${sockets}
  ],
);

const worker :Workerd.Worker = (
  ${code}
  durableObjectNamespaces = [ ${namespaces.join(', ')} ],
  durableObjectStorage = ( localDisk = "state" ),
  bindings = [ ${[...objects(''), ...variables].join(', ')} ],
);

const other :Workerd.Worker = (
  ${code}
  bindings = [ ${[...objects(', serviceName = "worker"'), ...variables].join(', ')} ],
);
`
}

function otherName(i) {
  return `other-${i}`
}

function readConfig(config) {
  const { unstable_readConfig } = require('wrangler')
  return unstable_readConfig({ config: resolve(config) }, { hideWarnings: true })
}

async function start(command, args, { env = process.env, port, folder }) {
  const group = capture(startGroup(command, args, piped({ env })))
  const origin = `http://localhost:${port}`
  const end = (how) => async () => {
    await how()
    running.delete(stop)
    remove(folder)
  }
  const stop = end(group.stop)
  const kill = end(group.kill)
  stopWithThisProcess()
  running.add(stop)

  const waiting = new AbortController()
  const ready = answers(origin, waiting.signal)
  const code = await Promise.race([ready, group.exited])
  waiting.abort()
  if (code === 'ready')
    return { url: `${origin}/mcp`, origin, port, pid: group.child.pid, output: group.output, stop, kill }
  await stop()
  if (ending) await new Promise(() => {})
  throw new Error(`no server on ${origin}, ${code === 'timeout' ? code : `exit code ${code}`}:\n${group.output()}`)
}

let watching = false
let ending = false

function stopWithThisProcess() {
  if (watching) return
  watching = true
  onEnd(async (code) => {
    ending = true
    await Promise.all([...running].map((stop) => stop()))
    process.exit(code)
  })
}

/** Any answer will do: the proxy of wrangler holds requests until the Worker is built. */
async function answers(origin, signal) {
  for (const end = Date.now() + readyTimeoutMs; Date.now() < end && !signal.aborted; await sleep(50)) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, end - Date.now()))])
    const response = await fetch(origin, { signal: limit }).catch(() => undefined)
    if (!response) continue
    await response.body?.cancel()
    return 'ready'
  }
  return 'timeout'
}

function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-edge-'))
  folders.add(folder)
  return folder
}

function remove(folder) {
  folders.delete(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
}

function piped(options) {
  return { ...options, stdio: ['ignore', 'pipe', 'pipe'] }
}

function capture(group) {
  let text = ''
  const keep = (chunk) => (text = (text + chunk).slice(-outputCharacters))
  group.child.stdout.on('data', keep)
  group.child.stderr.on('data', keep)
  return { ...group, output: () => text }
}

/** A port nobody listens on; rejects if `port` is given and taken. */
export function freePort(port = 0) {
  return new Promise((found, failed) => {
    const server = createServer().once('error', failed)
    server.listen(port, '127.0.0.1', () => {
      const { port: free } = server.address()
      server.close(() => found(free))
    })
  })
}
