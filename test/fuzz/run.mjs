// Sends thousands of malformed and hostile requests to the deployable bundle and judges every answer.
// Options: --seed N repeats a run, --count N sets its size, --only N sends one request of it and shows the answer.
import { parseArgs } from 'node:util'
import { generate } from './generate.mjs'
import { sealedStates } from './mutate-states.mjs'
import { judgeListen } from './listen-oracle.mjs'
import { checkListening } from './listens.mjs'
import { judge } from './oracle.mjs'
import { asCommand, minimise } from './reproduce.mjs'
import { isAboutChanges, isAboutTasks, isClassified, isDeep, RUNGS, rungOf } from './rungs.mjs'
import { checkHealth, learn, measureRetention, readNotes, residentMiB, sendAll, startTarget } from './target.mjs'
import { judgeTasks } from './task-oracle.mjs'
import { checkTasks } from './tasks.mjs'

const shownFailures = 10
/** Where a request may seem to have stopped whose handler ran: a list is made before its cursor is looked at. */
const AFTER_HANDLERS = new Set(['answered', 'params', 'capability', 'http', 'cursor', 'task'])
const chunkSize = 250
/** What the process may grow by in the second half of a run. */
const growthMiB = 128
/** Calls that keep a megabyte each if they keep anything, and what the process may grow by over them. */
const retention = { calls: 300, growthMiB: 150 }

const { values } = parseArgs({
  options: { seed: { type: 'string' }, count: { type: 'string' }, only: { type: 'string' } },
})
const seed = Number(values.seed ?? 20260728)
const count = Number(values.count ?? 8_000)
console.log(`fuzz: seed ${seed}, ${count} requests`)

const startedAt = performance.now()
const server = await startTarget()
const { port } = server
let failed
/** The tasks that were made before the attack, by id. */
let tasks
/** Cursors of streams that began before it, and whose they are. */
let places
try {
  await checkHealth(port)
  const known = await learn(port)
  tasks = new Map(known.tasks.map((task) => [task.id, task]))
  places = known.places
  const requests = generate(seed, count, { ...known, sealed: await sealedStates() })
  await readNotes(port)
  failed = values.only === undefined ? await attack(requests) : await sendOnly(requests[Number(values.only)])
} finally {
  await server.stop()
}
process.exit(failed === 0 ? 0 : 1)

async function attack(requests) {
  const tally = { rungs: new Map(), groups: new Map(), statuses: new Map(), handlers: new Map(), slowestMs: 0 }
  const failures = []
  const broken = []
  const memory = [residentMiB(server.pid)]
  let keyReads = 0
  let made = 0
  for (let first = 0; first < requests.length; first += chunkSize) {
    const chunk = requests.slice(first, first + chunkSize)
    const answers = await sendAll(port, chunk, first)
    const notes = await readNotes(port)
    ;({ keyReads, made } = notes)
    for (const error of new Set(notes.stray)) broken.push(`logged as failure, by a request without a trace: ${error}`)
    for (const event of notes.telling) broken.push(`the id of a task was logged with the event '${event}'`)
    if (notes.polluted) broken.push('the prototype of all objects was changed')
    for (const [i, request] of chunk.entries()) {
      const { problems, rung } = assess(request, answers[i], notes.of(first + i))
      count1(tally.rungs, rung)
      count1(tally.groups, request.group)
      for (const handler of notes.of(first + i).handlers) count1(tally.handlers, handler)
      count1(tally.statuses, answers[i].status ?? 'none')
      tally.slowestMs = Math.max(tally.slowestMs, answers[i].ms ?? 0)
      if (problems.length > 0) failures.push({ index: first + i, request, problems })
    }
    memory.push(residentMiB(server.pid))
  }
  const keptMiB = await measureRetention(server, retention.calls)
  broken.push(...(await aftermath(memory, keptMiB)), ...quotas(tally.rungs, requests.length))
  print({ ...tally, memory, keptMiB, keyReads, made }, requests.length)
  await printFailures(failures)
  for (const problem of new Set(broken)) console.log(`failed: ${problem}`)
  const failed = failures.length + broken.length
  console.log(`\nfuzz: ${requests.length - failures.length} passed, ${failed} failed`)
  return failed
}

function assess(request, answer, notes) {
  // A request whose trace was mutated has no notes of its own.
  const isOnPurpose = notes.isOnPurpose || (request.group === 'header' && request.body.includes('fuzz://broken'))
  const { era, version } = notes.eras.at(-1) ?? {}
  const { problems, messages } = judge(request, answer, { ...notes, isOnPurpose, era })
  problems.push(...judgeTasks(request, answer, messages, { era, version }, tasks))
  problems.push(...judgeListen(request, answer, messages, { era }, { tasks, places }))
  const rung = rungOf(answer, messages, notes.handlers)
  // A refusal must come before the handler.
  const refusal = rungOf(answer, messages, [])
  if (notes.handlers.length > 0 && request.group !== 'batch' && !AFTER_HANDLERS.has(refusal)) {
    problems.push(`the handler ran although the request was refused at '${refusal}'`)
  }
  const isTaken = messages.some(({ result }) => result) || (request.group === 'state' && notes.handlers.length > 0)
  if (request.refuses && isTaken) problems.push(`the server took ${request.refuses}`)
  // What the answer says of the ladder, the server's own log has to confirm.
  const isLogged = notes.eras.length > 0 || request.raw || request.group === 'header' || answer.isCut
  if (isClassified(rung) && !isLogged) problems.push(`stopped at '${rung}', but the log has no era`)
  return { problems, rung }
}

/** What must still hold when all is over. */
async function aftermath(memory, keptMiB) {
  const problems = []
  // Last, so that no object is between being woken and being given its task.
  const { wokenForNothing } = await readNotes(port)
  if (wokenForNothing.length > 0) problems.push(`objects of tasks that never were have been woken: ${wokenForNothing}`)
  await checkHealth(port).catch((error) => problems.push(error.message))
  problems.push(...(await checkTasks(port, [...tasks.values()])), ...(await checkListening(port)))
  const said = server.output()
  if (/uncaught|unhandled|fatal|\*\*\*/i.test(said)) problems.push(`the process complained:\n${said.slice(-3_000)}`)
  const [half, end] = [memory[Math.floor(memory.length / 2)], memory.at(-1)]
  const growth = `${half?.toFixed()} to ${end?.toFixed()} MiB`
  if (end - half > growthMiB) problems.push(`memory grew from ${growth} in the second half`)
  if (keptMiB > retention.growthMiB) problems.push(`calls that asked kept ${keptMiB.toFixed()} MiB`)
  return problems
}

function quotas(rungs, total) {
  const share = (matches) => [...rungs].reduce((sum, [rung, n]) => sum + (matches(rung) ? n : 0), 0) / total
  const problems = []
  if (share(isClassified) < 0.25) problems.push('fewer than a quarter pass classification')
  if (share(isDeep) < 0.1) problems.push('fewer than a tenth reach a handler, an unseal or a cursor decoder')
  if (share(isAboutTasks) < 0.05) problems.push('fewer than a twentieth reach a task, or are told that it is none')
  if (share(isAboutChanges) < 0.03) problems.push('fewer than three in a hundred listen, or want to go on listening')
  return problems
}

function print({ rungs, groups, statuses, handlers, slowestMs, memory, keptMiB, keyReads, made }, total) {
  const percent = (n) => `${((100 * n) / total).toFixed(1)} %`
  const row = ([name, n]) => `  ${String(name).padEnd(16)}${String(n).padStart(6)}  ${percent(n).padStart(7)}`
  const table = (title, entries) => console.log([`\n${title}`, ...entries.map(row)].join('\n'))
  const sum = (map, matches = () => true) => [...map].reduce((all, [key, n]) => all + (matches(key) ? n : 0), 0)
  const ladder = RUNGS.map((rung) => [rung, rungs.get(rung) ?? 0])
  table('sent, by kind of mutation', [...groups].toSorted())
  table('HTTP status', [...statuses].toSorted())
  table('stopped at, from the first rung to the last', ladder)
  console.log(`\npassed classification: ${percent(sum(rungs, isClassified))} (at least 25 %)`)
  console.log(`reached a handler, an unseal or a cursor decoder: ${percent(sum(rungs, isDeep))} (at least 10 %)`)
  console.log(`reached a task, or were told that it is none: ${percent(sum(rungs, isAboutTasks))} (at least 5 %)`)
  console.log(`listen, or want to go on listening: ${percent(sum(rungs, isAboutChanges))} (at least 3 %)`)
  console.log(`${tasks.size} tasks were made before the attack, and ${made - tasks.size} during it`)
  console.log(`${handlers.size} handlers ran ${sum(handlers)} times, by their own count`)
  console.log(`keys were read ${keyReads} times, once for each sealing and each state that names a key`)
  if (memory[0] !== undefined) {
    const at = (share) => memory[Math.round((memory.length - 1) * share)].toFixed()
    console.log(`memory of workerd in MiB: ${at(0)} before, ${at(0.25)}, ${at(0.5)}, ${at(0.75)}, ${at(1)} after`)
    console.log(`it grew by ${keptMiB.toFixed()} MiB over ${retention.calls} calls that asked, with a megabyte each`)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(`slowest answer ${slowestMs.toFixed()} ms; all in ${seconds.toFixed(1)} s`)
}

async function printFailures(failures) {
  const kinds = new Map()
  for (const { index, request, problems } of failures) {
    const kind = `${request.group}: ${problems[0].replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…')}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), index])
  }
  for (const [kind, [index, ...others]] of [...kinds].slice(0, shownFailures)) {
    const { request, problems } = failures.find((failure) => failure.index === index)
    const isSame = async (candidate) => (await probe(candidate)).problems[0]?.slice(0, 40) === problems[0].slice(0, 40)
    const smallest = await minimise(request, isSame)
    console.log(`\nfailed: ${kind}${others.length > 0 ? `, and ${others.length} more like it` : ''}`)
    for (const problem of problems.slice(1)) console.log(`  also: ${problem}`)
    console.log(`  again: node test/fuzz/run.mjs --seed ${seed} --count ${count} --only ${index}`)
    console.log(`  ${asCommand(smallest, port)}`)
  }
  if (kinds.size > shownFailures) console.log(`\nand ${kinds.size - shownFailures} more kinds of failure`)
}

async function probe(request) {
  const [answer] = await sendAll(port, [request], 0, 1)
  const notes = await readNotes(port)
  const own = notes.of(0)
  return { answer, notes: own, ...assess(request, answer, { ...own, failures: [...own.failures, ...notes.stray] }) }
}

async function sendOnly(request) {
  const { answer, notes, problems, rung } = await probe(request)
  console.log(asCommand(request, port))
  console.log({ ...answer, body: answer.body?.toString('utf8').slice(0, 3_000), rung, notes, problems })
  return problems.length
}

function count1(map, key) {
  map.set(key, (map.get(key) ?? 0) + 1)
}
