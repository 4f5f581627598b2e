// The tasks that hostile requests are about: made before the attack by clients that do everything right, of every kind,
// in both forms, for several callers. What is known of them is what the oracle holds the server to.
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, resultOf } from './client.mjs'
import { LEGACY, MODERN } from './requests.mjs'

/** The only legacy revision that has tasks. */
export const WITH_TASKS = LEGACY[0]

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const errand = (how) => ({ name: 'errand', arguments: { topic: 'errand', how } })
const interview = (questions) => ({ name: 'interview', arguments: { questions } })
const answered = ['working', 'completed']
/** Questions of a task that no attack answers all of. */
export const QUESTIONS = 24

/** Each kind: the call that makes it, the statuses it is in before the attack, and those it may get to. */
const KINDS = {
  completed: { params: errand('well'), at: ['completed'] },
  /** A result that is an error, which the forms call differently. */
  erred: { params: errand('tool'), at: ['completed', 'failed'] },
  failed: { params: errand('protocol'), at: ['failed'] },
  cancelled: { params: { name: 'hold' }, isCancelled: true, at: ['cancelled'] },
  /** Never cancelled by a request that is in order. */
  held: { params: { name: 'hold' }, at: ['working'] },
  victim: { params: { name: 'hold' }, at: ['working'], to: ['cancelled'] },
  asking: { params: interview(QUESTIONS), at: ['input_required'], to: answered },
  /** Over with its one answer, or its third if that does not fit. */
  curious: { params: interview(1), at: ['input_required'], to: answered },
  /** Asked by nobody else, so that what is refused of its answers is never ignored instead. */
  patient: { params: interview(QUESTIONS), at: ['input_required'], to: answered },
  /** Asks on a stream that nobody listens to any more. */
  asked: { params: interview(QUESTIONS), at: ['input_required'], to: answered },
}

const EACH = { completed: 1, erred: 1, failed: 1, cancelled: 1, held: 1 }

/** How many of each kind are made for whom. One page of `tasks/list` is less than what ann has. */
const WANTED = [
  { revision: MODERN, kinds: { ...EACH, held: 2, victim: 8, asking: 5, curious: 12, patient: 1 } },
  { revision: WITH_TASKS, kinds: { ...EACH, held: 2, victim: 8 } },
  { revision: WITH_TASKS, hasSession: true, kinds: { ...EACH, victim: 3, asking: 2, asked: 3 } },
  { principal: 'ann', revision: MODERN, kinds: { ...EACH, victim: 3, asking: 1, curious: 3 } },
  { principal: 'ann', revision: WITH_TASKS, kinds: { ...EACH, victim: 20 } },
  { principal: 'ann', revision: WITH_TASKS, hasSession: true, kinds: { ...EACH, asking: 1 } },
]

/** True for a task that is over for good. */
export const isOver = ({ kind }) => ['completed', 'erred', 'failed', 'cancelled'].includes(kind)

/** True for what a task of this kind may be by now. */
export function mayBe({ kind }, status) {
  const { at, to = [] } = KINDS[kind]
  return at.includes(status) || to.includes(status)
}

/** Makes them. Always the same ones in the same order, whatever their ids. */
export async function learnTasks(port) {
  const made = await Promise.all(
    WANTED.map(async ({ principal = 'anonymous', revision, hasSession, kinds }) => {
      const session = hasSession && (await openSession(port, { principal, revision }))
      const owner = { principal, revision, form: revision === MODERN ? 'extension' : revision, session }
      const tasks = []
      for (const [kind, count] of Object.entries(kinds)) {
        for (let i = 0; i < count; i++) tasks.push(await make(port, owner, kind))
      }
      return tasks
    }),
  )
  return made.flat()
}

/** The id of a task that has lived its time. */
export async function learnExpired(port) {
  const call = { method: 'tools/call', params: { ...errand('well'), task: { ttl: 1 } } }
  const { task } = await resultOf(port, call, { revision: WITH_TASKS })
  await eventually('expire', async () => {
    const { error } = await ask(port, about('tasks/get', { id: task.taskId }), { revision: WITH_TASKS })
    return error !== undefined
  })
  return task.taskId
}

async function eventually(what, isSo) {
  for (let tries = 0; tries < 500; tries++) {
    if (await isSo()) return
    await sleep(10)
  }
  throw new Error(`a task did not ${what}`)
}

async function openSession(port, { principal, revision }) {
  const clientInfo = { name: 'fuzz', version: '1' }
  const params = { protocolVersion: revision, capabilities: CAPABILITIES, clientInfo }
  const { headers } = await ask(port, { method: 'initialize', params }, { revision, principal })
  return headers.get('mcp-session-id')[0]
}

async function make(port, owner, kind) {
  const { params, isCancelled } = KINDS[kind]
  const call = { method: 'tools/call', params: owner.form === 'extension' ? params : { ...params, task: {} } }
  const result = await resultOf(port, call, owner)
  const { taskId: id } = result.task ?? result
  const task = { id, kind, ...owner }
  if (isCancelled) await resultOf(port, about('tasks/cancel', task), owner)
  await reached(port, task)
  if (kind === 'asked') task.asks = await asksOf(port, task)
  if (isOver(task)) task.end = await endOf(port, task)
  return task
}

/** Polls until the task is what one of its kind begins with. */
async function reached(port, task) {
  const { at } = KINDS[task.kind]
  await eventually(`become ${at}`, async () => {
    const { status } = await resultOf(port, about('tasks/get', task), task)
    return at.includes(status)
  })
}

/** The ids under which its session is asked. They stay answerable when the stream is left. */
async function asksOf(port, task) {
  for (let patienceMs = 300; patienceMs < 10_000; patienceMs *= 2) {
    const { messages } = await ask(port, about('tasks/result', task), { ...task, patienceMs })
    const ids = messages.flatMap(({ method, id }) => (method !== undefined && id !== undefined ? [id] : []))
    if (ids.length === QUESTIONS) return ids
  }
  throw new Error('a session was not asked what its task asks')
}

/** A call of a method about one task. */
export function about(method, { id }, more) {
  return { method, params: { taskId: id, ...more } }
}

/** How a task that is over is told of. */
async function endOf(port, task) {
  const { result } = await ask(port, about('tasks/get', task), task)
  if (task.form === 'extension') return JSON.stringify(result)
  const { result: value, error } = await ask(port, about('tasks/result', task), task)
  return JSON.stringify([result, value, error])
}

/** What is wrong with the tasks after the attack, and whether new ones can be made. */
export async function checkTasks(port, tasks) {
  const problems = []
  for (const task of tasks) {
    const { result, error } = await ask(port, about('tasks/get', task), task)
    if (!result) problems.push(`a task ${task.kind} is gone: ${JSON.stringify(error)}`)
    else if (!mayBe(task, result.status)) problems.push(`a task ${task.kind} has become ${result.status}`)
    else if (isOver(task) && (await endOf(port, task)) !== task.end) problems.push(`a task ${task.kind} says otherwise`)
    for (const principal of ['bob', task.principal === 'ann' ? 'anonymous' : 'ann']) {
      const answer = await ask(port, about('tasks/get', task), { ...task, session: undefined, principal })
      if (answer.error?.code !== -32602) problems.push(`a task of ${task.principal} is shown to ${principal}`)
    }
  }
  for (const revision of [MODERN, WITH_TASKS]) {
    const owner = { principal: 'anonymous', revision, form: revision === MODERN ? 'extension' : revision }
    await make(port, owner, 'completed').catch(({ message }) => problems.push(message))
  }
  return problems
}

/** Calls about tasks that nothing is wrong with and that are answered at once, of a caller nobody knows. */
export function taskCallsOf(revision, tasks) {
  const of = (kind) => tasks.find((task) => task.kind === kind && task.revision === revision && !task.session)
  const create = { name: 'errand', arguments: { topic: 'task', ms: 10 }, task: { ttl: 60_000 } }
  if (revision === MODERN) {
    const inputResponses = { q0: { action: 'accept', content: { sure: true, name: 'Ann' } } }
    return [
      ...['completed', 'failed', 'cancelled', 'held', 'asking'].map((kind) => about('tasks/get', of(kind))),
      about('tasks/cancel', of('victim')),
      about('tasks/update', of('asking'), { inputResponses }),
    ]
  }
  if (revision !== WITH_TASKS) return []
  return [
    { method: 'tools/call', params: create },
    ...['erred', 'held', 'completed'].map((kind) => about('tasks/get', of(kind))),
    ...['cancelled', 'failed', 'completed'].map((kind) => about('tasks/result', of(kind))),
    about('tasks/cancel', of('victim')),
    { method: 'tasks/list', params: {} },
  ]
}
