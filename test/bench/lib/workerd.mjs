// Runs bundles on bare `workerd serve`, one process each, on ports the kernel picks. Knows nothing about MCP.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// The `.bin/workerd` entry may be a script: killing that would leave workerd itself running.
const binary = createRequire(import.meta.url)('workerd').default
const startTimeoutMs = 30_000
// Files of objects go where no disk has to be waited for: the same writes, without the noise of what else is written.
const fast = '/dev/shm'
const running = new Set()

const folders = new Set()

process.on('exit', () => {
  running.forEach((child) => child.kill('SIGKILL'))
  folders.forEach(remove)
})

/**
 * Writes `<directory>/<name>.capnp` for the bundle `<directory>/<file>` and returns its path.
 * @param settings of the worker: `compatibilityDate`, `compatibilityFlags`, and the bindings that bare workerd can
 *   have: `objects`, Durable Object classes by binding, and `vars`. `disk` keeps objects in files instead of memory;
 *   `isTwice` adds the same worker as a second service with a socket of its own, over the objects of the first;
 *   `isLocal` lets `fetch` reach this machine, and only it
 */
export function writeConfig(directory, name, file, settings) {
  const { compatibilityDate, compatibilityFlags, objects = {}, vars = {} } = settings
  const { disk = false, isTwice = false, isLocal = false } = settings
  const classes = [...new Set(Object.values(objects))]
  const namespaces = classes.map(
    (of) => `( className = ${quote(of)}, uniqueKey = ${quote(`bench-${of}`)}, enableSql = true )`,
  )
  const place = disk ? 'localDisk = "state"' : 'inMemory = void'
  const storage =
    classes.length === 0
      ? ''
      : `durableObjectNamespaces = [ ${namespaces.join(', ')} ],
  durableObjectStorage = ( ${place} ),`
  const worker = (objectsOf, own) => {
    const bindings = [
      ...Object.entries(objects).map(
        ([key, of]) => `( name = ${quote(key)}, durableObjectNamespace = ${objectsOf(of)} )`,
      ),
      ...Object.entries(vars).map(([key, value]) => {
        const content = typeof value === 'string' ? `text = ${quote(value)}` : `json = ${quote(JSON.stringify(value))}`
        return `( name = ${quote(key)}, ${content} )`
      }),
    ]
    return `(
  modules = [ ( name = "index.js", esModule = embed ${quote(file)} ) ],
  compatibilityDate = ${quote(compatibilityDate)},
  compatibilityFlags = [ ${compatibilityFlags.map(quote).join(', ')} ],
  ${own}
  bindings = [ ${bindings.join(', ')} ],
);`
  }
  const services = [
    '( name = "bench", worker = .bench )',
    ...(isTwice ? ['( name = "second", worker = .second )'] : []),
    ...(disk && classes.length > 0 ? ['( name = "state", disk = ( writable = true ) )'] : []),
    ...(isLocal ? ['( name = "internet", network = ( allow = ["local"] ) )'] : []),
  ]
  const socket = (of, service) => `( name = "${of}", address = "127.0.0.1:0", http = (), service = "${service}" )`
  const sockets = [socket('http', 'bench'), ...(isTwice ? [socket('second', 'second')] : [])]
  const second = isTwice
    ? `
const second :Workerd.Worker = ${worker((of) => `( className = ${quote(of)}, serviceName = "bench" )`, '')}
`
    : ''
  const path = join(directory, `${name}.capnp`)
  writeFileSync(
    path,
    `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [ ${services.join(', ')} ],
  sockets = [ ${sockets.join(', ')} ],
);

const bench :Workerd.Worker = ${worker(quote, storage)}
${second}`,
  )
  return path
}

/**
 * Starts workerd and resolves once it listens. What a worker logs goes nowhere, so that reading it costs nothing;
 * errors are kept for the message. Where the configuration keeps objects in files, they are gone after `stop()`.
 * Gives the `port` and, where there is a second service, `secondPort`.
 * @param options `isInspected` opens an inspector as well, on `inspectorPort`
 */
export async function startWorkerd(config, { isInspected = false } = {}) {
  const folder = mkdtempSync(join(existsSync(fast) ? fast : tmpdir(), 'mcp-edge-bench-'))
  folders.add(folder)
  const state = keepsFiles(config) ? [`--directory-path=state=${folder}`] : []
  const inspector = isInspected ? ['--inspector-addr=127.0.0.1:0'] : []
  const flags = ['serve', config, '--control-fd=3', ...state, ...inspector]
  const child = spawn(binary, flags, { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
  running.add(child)
  const exited = once(child, 'exit').then(() => running.delete(child))
  let output = ''
  const keep = (chunk) => (output = (output + chunk).slice(-4_000))
  child.stderr.on('data', keep)

  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    remove(folder)
  }
  try {
    const ports = await listening(child, exited, hasSecond(config))
    return { pid: child.pid, ...ports, stop, output: () => output }
  } catch (error) {
    await stop()
    throw new Error(`workerd did not start from ${config}: ${output || error.message}`, { cause: error })
  }
}

function keepsFiles(config) {
  return readFileSync(config, 'utf8').includes('localDisk')
}

function hasSecond(config) {
  return readFileSync(config, 'utf8').includes('service = "second"')
}

function remove(folder) {
  folders.delete(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
}

function listening(child, exited, isTwice) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no listen event')), startTimeoutMs)
    let events = ''
    child.stdio[3].on('data', (chunk) => {
      events += chunk
      const first = /"event":"listen","socket":"http","port":(\d+)/.exec(events)
      const second = /"event":"listen","socket":"second","port":(\d+)/.exec(events)
      if (!first || (isTwice && !second)) return
      clearTimeout(timer)
      // The inspector listens before the worker does.
      const inspector = /"event":"listen-inspector","port":(\d+)/.exec(events)
      resolve({
        port: Number(first[1]),
        ...(second && { secondPort: Number(second[1]) }),
        ...(inspector && { inspectorPort: Number(inspector[1]) }),
      })
    })
    exited.then(() => reject(new Error('exited')))
  })
}

/** CPU time of every thread of a process so far, in nanoseconds: the scheduler's own count, not 10 ms ticks. */
export function cpuNs(pid) {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadCpuNs(pid, thread), 0)
}

function threadCpuNs(pid, thread) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0])
  } catch (error) {
    // The thread ended after it was listed.
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return 0
    throw error
  }
}

function quote(text) {
  return JSON.stringify(text)
}
