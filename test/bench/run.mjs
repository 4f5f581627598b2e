// Measures what this repository costs beside a hand-written worker, hono + zod and the official SDK, what authorization adds
// beside jose, and what sessions, tasks and change notifications cost beside bare Durable Objects, on bare workerd. Reports
// figures and never asserts them: it fails only when a worker fails, answers wrongly, or asks its issuer without need.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { authParts, measureAuth } from './lib/auth.mjs'
import { listenParts, measureListen } from './lib/listen.mjs'
import { heading, report } from './lib/report.mjs'
import { reportAuth } from './lib/report-auth.mjs'
import { reportListen } from './lib/report-listen.mjs'
import { reportSessions } from './lib/report-sessions.mjs'
import { reportTasks } from './lib/report-tasks.mjs'
import { measureSessions, sessionParts } from './lib/sessions.mjs'
import { listWorkers, measureStateless } from './lib/stateless.mjs'
import { measureTasks, taskParts } from './lib/tasks.mjs'
import { scenarios } from './scenarios.mjs'

const usage = `usage: npm run bench -- [--quick] [--only NAME]... [--tools COUNT]
  --quick        few rounds: shows that everything runs, the figures are rough
  --only NAME    "stateless", "auth", "sessions", "tasks" or "listen", one scenario of these, or one worker beside raw and floor
  --tools COUNT  publish COUNT tools instead of 50`

const root = fileURLToPath(new URL('../..', import.meta.url))
const results = join(root, '.results', 'bench')
const sizes = {
  full: { processes: 6, rounds: 20, requests: 40, warmup: 1_500, spawns: 9 },
  quick: { processes: 1, rounds: 10, requests: 40, warmup: 300, spawns: 3 },
}
const authSizes = {
  full: { processes: 6, rounds: 20, requests: 40, warmup: 1_000 },
  quick: { processes: 1, rounds: 10, requests: 40, warmup: 400 },
}
const sessionSizes = {
  full: { processes: 3, rounds: 20, requests: 40, warmup: 1_000, events: 200, idleStreams: 2_000, idleSeconds: 30 },
  quick: { processes: 1, rounds: 6, requests: 40, warmup: 200, events: 100, idleStreams: 400, idleSeconds: 15 },
}
const taskSizes = {
  full: { processes: 3, rounds: 12, requests: 40, warmup: 150, waitingTasks: 1_000, batches: 3 },
  quick: { processes: 1, rounds: 5, requests: 40, warmup: 100, waitingTasks: 200, batches: 2 },
}
const listenSizes = {
  full: {
    listeners: 5_000,
    rounds: 40,
    halfRounds: 8,
    burst: 20,
    bursts: 2,
    kills: 2,
    publishRounds: 20,
    publishes: 40,
  },
  quick: { listeners: 400, rounds: 10, halfRounds: 5, burst: 20, bursts: 2, kills: 1, publishRounds: 5, publishes: 20 },
}
/** Without these two there are no ratios. */
const bases = ['raw', 'floor']

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

const options = readOptions()

try {
  process.stdout.write(`${await bench()}\n`)
  process.exit(0)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

async function bench() {
  mkdirSync(results, { recursive: true })
  const { stateless, auth, sessions, tasks, listen } = options
  const machine = { cores: availableParallelism(), model: cpus()[0]?.model, load: loadavg(), node: process.version }
  const outcome = {
    taken: new Date().toISOString(),
    machine,
    ...(stateless && (await measureStateless(stateless, join(results, 'build'), progress))),
    ...(auth && { auth: await measureAuth(auth, join(results, 'build'), progress) }),
    ...(sessions && { sessions: await measureSessions(sessions, join(results, 'build'), progress) }),
    ...(tasks && { tasks: await measureTasks(tasks, join(results, 'build'), progress) }),
    ...(listen && { listen: await measureListen(listen, join(results, 'build'), progress) }),
  }
  const reports = [
    stateless && report(outcome, scenarios),
    auth && reportAuth(outcome.auth),
    sessions && reportSessions(outcome.sessions),
    tasks && reportTasks(outcome.tasks),
    listen && reportListen(outcome.listen),
  ].filter(Boolean)
  const aims = reports.flatMap((each) => each.aims)
  writeFileSync(join(results, 'latest.json'), JSON.stringify({ ...outcome, aims }, undefined, 2))
  const texts = reports.map(({ text }) => text)
  return [heading(outcome), ...texts, 'Every round is in .results/bench/latest.json.'].join('\n\n')
}

/** What to measure: a part that was not asked for is undefined. */
function readOptions() {
  const { quick, only, tools } = parse()
  const toolCount = Number(tools)
  if (!Number.isInteger(toolCount) || toolCount < 1) stop(`cannot publish "${tools}" tools: 1 or more are needed`)
  if (!existsSync('/proc/self/schedstat')) stop('cannot take CPU times: this system has no /proc/<pid>/schedstat')
  const workers = listWorkers(root, toolCount)
  const nameOf = ({ name }) => name
  const statelessNames = [...workers, ...scenarios].map(nameOf)
  const parts = ['stateless', 'auth', 'sessions', 'tasks', 'listen']
  const known = [...parts, ...statelessNames, ...authParts, ...sessionParts, ...taskParts, ...listenParts]
  const unknown = only.filter((name) => !known.includes(name))
  if (unknown.length > 0) stop(`cannot measure "${unknown[0]}": known are ${known.join(', ')}`)

  const asks = (part, names) => only.length === 0 || only.includes(part) || names.some((name) => only.includes(name))
  const pick = (all, of) =>
    all.some((each) => only.includes(of(each))) ? all.filter((each) => only.includes(of(each))) : all
  const picked = pick(workers, nameOf)
  return {
    stateless: asks('stateless', statelessNames) && {
      toolCount,
      size: quick ? sizes.quick : sizes.full,
      workers: workers.filter((worker) => bases.includes(worker.name) || picked.includes(worker)),
      scenarios: pick(scenarios, nameOf),
    },
    auth: asks('auth', authParts) && {
      root,
      size: quick ? authSizes.quick : authSizes.full,
      parts: pick(authParts, (name) => name),
    },
    sessions: asks('sessions', sessionParts) && {
      root,
      size: quick ? sessionSizes.quick : sessionSizes.full,
      parts: pick(sessionParts, (name) => name),
    },
    tasks: asks('tasks', taskParts) && {
      root,
      size: quick ? taskSizes.quick : taskSizes.full,
      parts: pick(taskParts, (name) => name),
    },
    listen: asks('listen', listenParts) && {
      root,
      size: quick ? listenSizes.quick : listenSizes.full,
      parts: pick(listenParts, (name) => name),
    },
  }
}

function parse() {
  const flags = {
    quick: { type: 'boolean' },
    only: { type: 'string', multiple: true, default: [] },
    tools: { type: 'string', default: '50' },
  }
  try {
    return parseArgs({ options: flags }).values
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
