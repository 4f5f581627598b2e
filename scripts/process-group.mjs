// Starts a command as a process group and ends all of it: `wrangler dev` alone is five processes.
// Imports nothing but Node, and runs on Node 18: it works before anything is installed.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const windows = process.platform === 'win32'
const parentCheckMs = 500

/** wrangler must neither report, nor look for updates, nor fetch sample request metadata. */
export const quietWrangler = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
}

/**
 * `exited` resolves to an exit code, also when the command could not be started. `stop` asks first and kills what is
 * left after `graceMs`; `kill` does not ask. Both are safe to call twice.
 */
export function startGroup(command, args, options = {}) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    ...options,
    detached: !windows,
    shell: windows,
  })
  const exited = new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 143)))
    child.once('error', (error) => {
      console.error(`cannot start "${command}": ${error.code}`)
      resolve(127)
    })
  })

  const signal = (name) => {
    if (child.pid === undefined) return false
    if (windows) return name !== 0 && spawnSync('taskkill', ['/pid', String(child.pid), '/t', '/f']).status === 0
    try {
      return process.kill(-child.pid, name)
    } catch (error) {
      // EPERM: macOS answers it for a group of which only zombies are left.
      if (error.code === 'ESRCH' || error.code === 'EPERM') return false
      throw error
    }
  }
  const lastResort = () => signal('SIGKILL')
  process.on('exit', lastResort)

  async function kill() {
    signal('SIGKILL')
    await exited
    process.off('exit', lastResort)
  }
  async function stop(graceMs = 3_000) {
    let alive = signal('SIGTERM')
    for (const end = Date.now() + graceMs; alive && Date.now() < end; alive = signal(0)) await sleep(50)
    await kill()
  }
  return { child, exited, stop, kill }
}

/** Calls `end` with an exit code when this process is told to stop, or when whoever started it is gone. */
export function onEnd(end) {
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }
  for (const [name, code] of Object.entries(codes)) process.on(name, () => end(code))

  const parent = process.ppid
  // npm runs scripts through a shell, which outlives a killed npm.
  const npm = process.env.npm_lifecycle_event ? parentOf(parent) : undefined
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || parentOf(parent) === npm)) return
    clearInterval(timer)
    end(143)
  }, parentCheckMs)
  timer.unref()
}

/** Undefined where there is no /proc. */
function parentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')[1]
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return undefined
    throw error
  }
}
