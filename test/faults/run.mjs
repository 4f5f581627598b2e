// Kills, crashes, evictions and cut connections against the deployable bundle on bare workerd: nothing is lost.
// `--kills N` how often the server is killed under sessions, `--tasks N` how many tasks are made while another one is,
// `--changes N` how much changes while hubs are crashed, `--seed S` which moments; `--only kills|cuts|waits|tasks|listen` a
// part of it.

import { parseArgs } from 'node:util'
import { Ledger } from './lib/ledger.mjs'
import { bundle } from './lib/server.mjs'
import { runCuts } from './lib/cuts.mjs'
import { runKills } from './lib/kills.mjs'
import { runListen } from './lib/listen.mjs'
import { runTasks } from './lib/tasks.mjs'
import { runWaits } from './lib/waits.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    tasks: { type: 'string', default: '140' },
    changes: { type: 'string', default: '560' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
  },
})
const [kills, tasks, changes, seed] = [values.kills, values.tasks, values.changes, values.seed].map(Number)
const started = Date.now()
const ledger = new Ledger()
console.log(`faults: ${kills} kills, ${tasks} tasks, ${changes} changes, seed ${seed}`)
const bundleDir = await bundle()
const is = (part) => values.only === undefined || values.only === part
const common = { bundleDir, ledger, seed }
const [hits = [], , taskHits = []] = await Promise.all([
  is('kills') ? runKills({ ...common, kills }) : undefined,
  is('waits') ? runWaits(common) : undefined,
  is('tasks') ? runTasks({ ...common, tasks }) : undefined,
])
if (is('cuts')) await runCuts(common)
const listenHits = is('listen') ? await runListen({ ...common, changes }) : []
const named = (who, rows) => rows.map(({ phase, ...row }) => ({ phase: `${who} ${phase}`, ...row }))
const phases = [...hits, ...named('a task', taskHits), ...named('changes:', listenHits)]
for (const { phase, kills, crashes } of phases) print(`met ${phase}`, `${kills} kills, ${crashes} crashes`)
for (const name of Object.keys(ledger.counts).toSorted()) print(name, ledger.counts[name])
ledger.print()
print('time', `${((Date.now() - started) / 1000).toFixed()} s`)
const { passed, failed } = ledger.sum
console.log(`faults: ${passed} passed, ${failed} failed`)
process.exit(passed > 0 && failed === 0 ? 0 : 1)

function print(name, value) {
  console.log(`  ${name.padEnd(36)} ${value}`)
}
