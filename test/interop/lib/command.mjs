// Runs command-line clients: with a home of their own, without the machine's proxies, and never for ever.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGroup } from '../../../scripts/process-group.mjs'

const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url))
const commandTimeoutMs = 15_000

/** `name 1.2.3` of an installed package. */
export function nameAndVersion(name) {
  return `${name} ${JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8')).version}`
}

/** The path of a file in an installed package. */
export function packageFile(name, path) {
  return join(packages, name, path)
}

/** The environment of a client that keeps its files in `folder`. */
export function environmentIn(folder, more = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name))
  return { ...Object.fromEntries(kept), HOME: folder, USERPROFILE: folder, NO_COLOR: '1', ...more }
}

/** Runs a script on this Node. `stdout` and `stderr` are text; a command that does not end is killed and rejects. */
export async function runScript(script, args, env) {
  const group = startGroup(process.execPath, [script, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const stdout = collect(group.child.stdout)
  const stderr = collect(group.child.stderr)
  const closed = once(group.child, 'close')
  const limit = new AbortController()
  const late = sleep(commandTimeoutMs, 'late', { signal: limit.signal }).catch(() => {})
  const code = await Promise.race([group.exited, late])
  limit.abort()
  await group.kill()
  // A process it left behind may hold the pipes.
  await Promise.race([closed, sleep(500)])
  if (code === 'late') throw new Error(`${args.join(' ')}: still running after ${commandTimeoutMs / 1000} s`)
  return { code, stdout: stdout(), stderr: stderr() }
}

/** Starts a script that goes on until `stop()`, which asks it to end. `stdout()` is what it printed so far. */
export function startScript(script, args, env) {
  const group = startGroup(process.execPath, [script, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  return { stdout: collect(group.child.stdout), stop: group.stop }
}

function collect(stream) {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk) => (text += chunk))
  return () => text
}

/**
 * Watches over a background process that a client starts and detaches. `readPid` finds its id in the client's files.
 * It is killed when this process ends, or by `end()` if it is still there a second after it was told to stop.
 */
export function watchDaemon(readPid) {
  let pid
  const signal = (name) => {
    pid = readPid() ?? pid
    try {
      return pid !== undefined && process.kill(pid, name)
    } catch (error) {
      if (error.code === 'ESRCH') return false
      throw error
    }
  }
  const kill = () => signal('SIGKILL')
  process.prependListener('exit', kill)
  return {
    /** Looks up the id while the client still names it. */
    note: () => signal(0),
    async end() {
      for (const limit = Date.now() + 1_000; Date.now() < limit && signal(0);) await sleep(50)
      kill()
      process.off('exit', kill)
    },
  }
}
