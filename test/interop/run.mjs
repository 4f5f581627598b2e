// Real clients against the example server: each file of clients/ plays one and returns what it did, row by row.
// `node test/interop/run.mjs mcpc sdk` plays only the files whose names contain one of the words.
import { rmSync } from 'node:fs'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from './lib/rows.mjs'
import { startServers } from './lib/servers.mjs'
import { recordWire } from './lib/wire.mjs'

const folder = await mkdtemp(join(tmpdir(), 'interop-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
// Every server and bridge has one exit listener, and a dozen may run at once.
process.setMaxListeners(50)
const servers = await startServers(folder)
const known = new Set()
const rows = []
try {
  const clients = await findClients(process.argv.slice(2))
  // Most of the time a client only waits, so two are played at once.
  const lane = async () => {
    for (let next = clients.shift(); next; next = clients.shift()) rows.push(...(await playOne(next)))
  }
  await Promise.all([lane(), lane()])
} finally {
  await servers.stop()
}
const count = (outcome) => rows.filter((row) => row.outcome === outcome).length
console.log(`interop: ${count('passed')} passed, ${count('failed')} failed`)
process.exit(rows.length > 0 && count('failed') === 0 ? 0 : 1)

async function findClients(words) {
  const clients = new URL('clients/', import.meta.url)
  const names = (await readdir(clients)).toSorted()
  const wanted = names.filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
  return Promise.all(wanted.map(async (name) => ({ name, ...(await import(new URL(name, clients).href)) })))
}

/** One client, on recorded connections of its own and with an empty home. */
async function playOne({ name, title, play }) {
  const home = await mkdtemp(join(folder, 'home-'))
  const wires = []
  const record = async (server) => {
    const wire = await recordWire(servers.origin(server))
    wires.push(wire)
    return wire
  }
  let played
  try {
    const { mortal, startOwn, authorized } = servers
    const recorded = { notes: await record('notes'), extra: await record('extra') }
    played = await play({ ...recorded, record, mortal, startOwn, authorized, home })
  } catch (error) {
    played = [{ name: 'connect', outcome: 'failed', detail: `${name}: ${messageOf(error)}` }]
  }
  await Promise.all(wires.map((wire) => wire.stop()))
  played.push(logRow())
  console.log([title, ...played.map(lineOf), ''].join('\n'))
  return played
}

/** Whatever a client does, nothing in the server fails: its log has no such line since the last client. */
function logRow() {
  const lines = servers.output().split('\n')
  const failures = lines.filter((line) => line.includes('"event":"failure"') && !known.has(line))
  failures.forEach((line) => known.add(line))
  if (failures.length === 0) return { name: 'server log', outcome: 'passed', detail: 'nothing failed' }
  return { name: 'server log', outcome: 'failed', detail: failures.join('\n') }
}

function lineOf({ name, outcome, detail }) {
  const mark = { passed: 'ok  ', failed: 'FAIL', cannot: '-   ' }[outcome]
  const [first, ...more] = detail.trim().split('\n')
  // A failed assertion prints a difference of many lines; a passed row says what it has to in one.
  return [`  ${mark} ${name.padEnd(16)} ${first}`, ...more.map((line) => `       ${line}`)].join('\n')
}
