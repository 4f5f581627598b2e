// Runs command-line clients: with a home of their own, without the machine's proxies and browser, and never for ever.
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGroup } from '../../../scripts/process-group.mjs'

const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url))
const commandTimeoutMs = 15_000
/** For a row of many commands: each is a process that starts. */
export const manyCommandsMs = 60_000

/** `name 1.2.3` of an installed package. */
export function nameAndVersion(name) {
  return `${name} ${JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8')).version}`
}

/** The path of a file in an installed package. */
export function packageFile(name, path) {
  return join(packages, name, path)
}

/**
 * The environment of a client that keeps its files in `folder`. A browser it opens is a script that notes the URL, for
 * `sentTo`, and no desktop is there, with its keyring. Windows has other ways to open a browser.
 */
export function environmentIn(folder, more = {}) {
  const isKept = ([name]) => !/_proxy$|^(?:XDG|KDE|GNOME|DESKTOP|WAYLAND|DISPLAY|DBUS)(?:_|$)/i.test(name)
  const kept = Object.fromEntries(Object.entries(process.env).filter(isKept))
  const programs = join(folder, 'programs')
  mkdirSync(programs, { recursive: true })
  for (const opener of OPENERS) writeFileSync(join(programs, opener), notesUrl(folder), { mode: 0o755 })
  return {
    ...kept,
    PATH: programs + delimiter + process.env.PATH,
    BROWSER: join(programs, 'browser'),
    HOME: folder,
    USERPROFILE: folder,
    NO_COLOR: '1',
    ...more,
  }
}

/** The URL for which a client in `folder` opened the browser last, or undefined. */
export function sentTo(folder) {
  const notes = join(folder, 'sent-to')
  return existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n').at(-1) : undefined
}

/** How programs open a browser on macOS and elsewhere. */
const OPENERS = ['browser', 'open', 'xdg-open']

/** The last argument is the URL. */
function notesUrl(folder) {
  return `#!/bin/sh\nfor url in "$@"; do :; done\nprintf '%s\\n' "$url" >> '${join(folder, 'sent-to')}'\n`
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
