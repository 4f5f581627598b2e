// Takes the memory of a workerd whose tasks wait, the CPU they take meanwhile, and what finishing them takes.
import { setTimeout as sleep } from 'node:timers/promises'
import { answerTask, createTask, getTask, verifyCompleted } from '../task-scenarios.mjs'
import { usedHeapKb } from './heap.mjs'
import { openConnection } from './http-client.mjs'
import { fileLimit, residentKb } from './measure-idle.mjs'
import { cpuNs, startWorkerd } from './workerd.mjs'

const connectionCount = 8
/** Created before the first sample, so that what is loaded once does not count. */
const warmTasks = 50
/** An object is evicted after ten seconds without work. */
const evictedAfterMs = 13_000
/** Tasks that sleep do so for as long as everybody waits, and this: the time creating all of them may take. */
const slackMs = 25_000
/** How long the last one may take to finish. */
const finishMs = 30_000
const pauseMs = 200

const kinds = ['asking', 'sleeping']
const names = ['floor', 'ours']

/**
 * `{ [kind]: { [worker]: { tasks, completed, awakeKb, awakeHeapKb, asleepKb, asleepHeapKb, processMb, waitingUs, finishUs } } }`,
 * per task but for the first two and the process. An allocator keeps what objects needed while they were awake, and the
 * first to come make room for those after them. So tasks come in batches, each of which goes to sleep before the next:
 * `awakeKb` is what each of the first took at once, `asleepKb` what each of the last added in the end.
 * @throws when a task does not complete, or with something else
 */
export async function measureWaiting(builds, size, progress) {
  const held = []
  try {
    for (const kind of kinds) {
      for (const name of names) {
        const { serve } = builds.find((build) => build.name === name)
        progress(`creating ${size.waitingTasks} ${kind} tasks: ${name}`)
        held.push(await createFirst(kind, name, serve, size))
      }
    }
    for (let batch = 2; batch <= size.batches; batch++) {
      await sleep(evictedAfterMs)
      progress(`batch ${batch} of ${size.batches}`)
      await Promise.all(held.map(createNext))
    }
    await sleep(evictedAfterMs)
    await Promise.all(held.map(sample))
    progress('finishing them')
    for (const one of held) await finish(one)
    const of = (kind) => held.filter((one) => one.kind === kind).map(({ name, figures }) => [name, figures])
    return Object.fromEntries(kinds.map((kind) => [kind, Object.fromEntries(of(kind))]))
  } finally {
    for (const { connections } of held) connections.forEach((connection) => connection.close())
    await Promise.all(held.map(({ worker }) => worker.stop()))
  }
}

async function createFirst(kind, name, serve, { waitingTasks, batches }) {
  const worker = await startWorkerd(serve, { isInspected: true })
  try {
    const connections = await Promise.all(Array.from({ length: connectionCount }, () => openConnection(worker.port)))
    // An object has up to four files while it is awake.
    const most = Math.floor(fileLimit(worker.pid) / 4) - 100
    const each = Math.ceil(Math.min(waitingTasks, most) / batches)
    const endsAt = Date.now() + batches * evictedAfterMs + slackMs
    const one = { kind, name, worker, connections, each, endsAt, taskIds: [] }
    await create(one, warmTasks)
    const base = await memory(one)
    await create(one, each)
    const awakeKb = (residentKb(worker.pid) - base.residentKb) / each
    const awakeHeapKb = ((await memory(one)).heapKb - base.heapKb) / each
    return { ...one, figures: { awakeKb, awakeHeapKb } }
  } catch (error) {
    await worker.stop()
    throw error
  }
}

async function createNext(one) {
  one.before = await memory(one)
  await create(one, one.each)
  one.cpuBefore = cpuNs(one.worker.pid)
}

async function create({ kind, connections, endsAt, taskIds }, count) {
  const tool = kind === 'asking' ? 'ask' : 'nap'
  await share(connections, Array.from({ length: count }), async (connection) => {
    const args = kind === 'asking' ? {} : { ms: endsAt - Date.now() }
    taskIds.push(await createTask(connection, tool, args))
  })
  // What was answered last still has to come to its ask or sleep.
  await sleep(pauseMs)
}

async function sample(one) {
  const { kind, name, worker, each, endsAt, taskIds, before, cpuBefore } = one
  const waitingUs = (cpuNs(worker.pid) - cpuBefore) / 1_000 / each
  const now = await memory(one)
  if (kind === 'sleeping' && Date.now() > endsAt)
    throw new Error(`${name} was too slow: its tasks are not asleep any more`)
  Object.assign(one.figures, {
    tasks: taskIds.length,
    asleepKb: (now.residentKb - before.residentKb) / each,
    asleepHeapKb: (now.heapKb - before.heapKb) / each,
    processMb: now.residentKb / 1_024,
    waitingUs,
  })
  one.cpuAsleep = cpuNs(worker.pid)
}

/** Without garbage. Wakes one task. */
async function memory({ worker, connections, taskIds }) {
  const heapKb = await usedHeapKb(worker, () => getTask(connections[0], taskIds[0]))
  await sleep(pauseMs)
  return { heapKb, residentKb: residentKb(worker.pid) }
}

/** Answers those that ask and waits for the end of those that sleep; then each must have its own result. */
async function finish({ kind, name, worker, connections, endsAt, taskIds, cpuAsleep, figures }) {
  const isAsking = kind === 'asking'
  const all = taskIds.map((taskId, i) => ({ taskId, answer: i }))
  if (isAsking)
    await share(connections, all, (connection, { taskId, answer }) => answerTask(connection, taskId, answer))
  else await sleep(Math.max(0, endsAt - Date.now()))
  const deadline = Date.now() + finishMs
  for (let open = all; open.length > 0;) {
    // Asking costs as well, so not at once and not often.
    await sleep(5 * pauseMs)
    const working = []
    await share(connections, open, async (connection, one) => {
      const task = await getTask(connection, one.taskId)
      if (task.status !== 'completed' && Date.now() < deadline) working.push(one)
      else verifyEnd(name, kind, task, isAsking ? `got ${one.answer}` : 'slept')
    })
    open = working
  }
  figures.finishUs = (cpuNs(worker.pid) - cpuAsleep) / 1_000 / all.length
  figures.completed = all.length
}

function verifyEnd(name, kind, task, text) {
  try {
    verifyCompleted(task, text)
  } catch (error) {
    throw new Error(`${name} does not complete a task that was ${kind}: ${error.message}`, { cause: error })
  }
}

/** Hands items to connections, to each the next one when it is done with the last. */
async function share(connections, items, use) {
  const left = items.values()
  await Promise.all(
    connections.map(async (connection) => {
      for (const item of left) await use(connection, item)
    }),
  )
}
