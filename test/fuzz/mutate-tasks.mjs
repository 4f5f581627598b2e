// Mutations around tasks: ids that are none or somebody else's, answers to what tasks ask, what clients ask of a task or
// declare of themselves, and waits for results.
import { hostileValue, INHERITED, KEYS, list, NUMBERS, STRINGS, VALUES } from './hostile.mjs'
import { getAt, isObject, Members, pathsOf, withAt, withMember } from './json.mjs'
import { answer } from './mutate-states.mjs'
import { about, isOver, QUESTIONS, WITH_TASKS } from './tasks.mjs'
import { authorization, CAPABILITIES, LEGACY, messageOf, MODERN, post, TASKS, TOOLS } from './requests.mjs'
import { META } from '../../src/protocol/meta.ts'
import { limits } from '../../src/limits.ts'

const METHODS = {
  extension: list('tasks/get | tasks/get | tasks/update | tasks/cancel'),
  [WITH_TASKS]: list('tasks/get | tasks/result | tasks/cancel'),
}

/** A POST as a task's owner sends it: in the session the task was made in, or beside it. */
function send(group, random, message, { revision, principal, session }, more) {
  const request = post(group, message, revision, more)
  request.headers.push(...authorization(principal))
  if (session && random.chance(0.7)) request.headers.push(['Mcp-Session-Id', session])
  return request
}

const messageAbout = (random, method, task, more) =>
  messageOf(about(method, task, more), task.revision, random.int(10_000))

/** Methods with ids that are none of the caller's. */
export function taskIds(random, { tasks, strays, sessions, rounds }) {
  const own = random.pick(tasks)
  if (random.chance(0.1)) return byOthers(random, own)
  const method = random.pick(METHODS[own.form])
  const others = tasks.filter(({ principal, form }) => principal !== own.principal || form !== own.form)
  const id = random.weighted([
    [6, () => nudged(own.id, random)],
    [2, () => own.id.slice(0, random.int(64))],
    [2, () => own.id + random.pick(['0', ' ', '\0', '\n', '.', '/', '/..', '%00', '?x', own.id, own.id.slice(0, 8)])],
    [1, () => random.pick([' ', '0x', '\u0000', '/', '\ufeff']) + own.id],
    [2, () => own.id.toUpperCase()],
    [1, () => own.id.slice(32) + own.id.slice(0, 32)],
    [1, () => own.id.slice(0, 32) + random.pick(tasks).id.slice(32).split('').toReversed().join('')],
    [2, () => random.bytes(32).toString('hex')],
    [1, () => random.pick(list('0 | f | 8')).repeat(64)],
    [1, () => random.pick([random.pick(sessions).id, random.pick(rounds).state, own.session ?? 'x'])],
    [4, () => random.pick(Object.values(strays).flat())],
    [6, () => random.pick(others).id],
    [1, () => 'a'.repeat(random.int(20_000))],
    [2, () => random.pick(STRINGS)],
    [3, () => hostileValue(random)],
  ])()
  const more = method === 'tasks/update' && { inputResponses: { q0: answer(random) } }
  return send('task id', random, messageAbout(random, method, { ...own, id }, more), own)
}

/** The right id, and everything else that belongs to the task, but sent by somebody else. */
function byOthers(random, task) {
  const message = messageAbout(random, random.pick(METHODS[task.form]), task, {
    inputResponses: { q0: answer(random) },
  })
  const others = ['ann', 'bob', 'anonymous'].filter((principal) => principal !== task.principal)
  return send('task id', random, message, { ...task, principal: random.pick(others) })
}

/** With one digit that is another one. */
function nudged(id, random) {
  const at = random.int(id.length)
  const digit = ((Number.parseInt(id[at], 16) + 1 + random.int(15)) % 16).toString(16)
  return id.slice(0, at) + digit + id.slice(at + 1)
}

/** Answers to what a task asks, of every wrong kind, by `tasks/update` or as the session's client. */
export function taskAnswers(random, { tasks }) {
  const isAsking = ({ kind, form }) => form === 'extension' && (kind === 'asking' || kind === 'curious')
  const task = random.pick(tasks.filter((each) => each.asks || isAsking(each)))
  if (task.asks) return toSession(random, task)
  const inputResponses = random.chance(0.1) ? hostileValue(random) : new Members(keyed(random, task))
  return send('task answer', random, messageAbout(random, 'tasks/update', task, { inputResponses }), task)
}

function keyed(random, { kind }) {
  const count = random.pick([0, 1, 1, 1, 2, 5])
  const members = Array.from({ length: count }, () => {
    return [
      `q${kind === 'curious' ? 0 : random.int(QUESTIONS)}${random.pick(['', '', '', ':2', ':3', ':4', ':'])}`,
      answer(random),
    ]
  })
  if (random.chance(0.2)) members.push([random.pick([...KEYS, ...INHERITED]), answer(random)])
  return members
}

function toSession(random, task) {
  const id = random.chance(0.9) ? random.pick(task.asks) : hostileValue(random)
  const said = random.weighted([
    [4, () => ({ result: answer(random) })],
    [1, () => ({ error: random.pick([{ code: -1, message: 'no' }, hostileValue(random)]) })],
    [1, () => ({ result: answer(random), error: { code: 1, message: 'x' } })],
  ])()
  const request = post('task answer', { jsonrpc: '2.0', id, ...said }, task.revision)
  request.headers.push(...authorization(task.principal), ['Mcp-Session-Id', task.session])
  return request
}

const { minTaskTtlMs, anonymousTaskTtlMs, taskTtlMs } = limits
const TTLS = [minTaskTtlMs, anonymousTaskTtlMs, taskTtlMs].flatMap((ms) => [ms - 1, ms - 0.5, ms, ms + 0.5, ms + 1])

/** Calls that become tasks, or do not: what is asked of the task, of the tool, and by whom. */
export function taskCreations(random, { tasks }) {
  const owner = random.pick(tasks)
  const name = random.weighted([
    [6, 'errand'],
    [2, 'booking'],
    [1, random.pick(['bare', 'strict', 'add', 'chatty', 'boom'])],
    [0.5, random.pick(STRINGS)],
  ])
  const task = random.weighted([
    [1, () => ({})],
    [3, () => ({ ttl: random.pick(TTLS) })],
    [2, () => ({ ttl: random.pick(NUMBERS) })],
    [1, () => ({ ttl: hostileValue(random) })],
    [
      1,
      () => ({ ttl: 60_000, [random.pick(['pollInterval', 'taskId', 'status', ...INHERITED])]: hostileValue(random) }),
    ],
    [2, () => hostileValue(random)],
    [1, () => undefined],
  ])()
  const revision = random.weighted([
    [6, owner.revision],
    [3, WITH_TASKS],
    [1, random.pick([...LEGACY, null])],
  ])
  const meta = random.chance(0.3) && { _meta: { progressToken: random.pick(['p', 1, ...VALUES]) } }
  const params = { name, arguments: argumentsOf(name, random), task, ...(revision !== MODERN && meta) }
  const message = messageOf({ method: 'tools/call', params }, revision, random.int(10_000))
  // An ordinary call of such a session may be asked something, and nobody is there to answer.
  const session = revision === owner.revision && task !== undefined ? owner.session : undefined
  return send('task creation', random, message, { ...owner, revision, session })
}

function argumentsOf(name, random) {
  const args = TOOLS[name] ?? {}
  if (name !== 'errand' || random.chance(0.3)) {
    const paths = pathsOf(args)
    return random.chance(0.5) && paths.length > 0 ? withAt(args, random.pick(paths), hostileValue(random)) : args
  }
  const how = random.pick(['well', 'tool', 'protocol', 'throw'])
  const topic = random.chance(0.7) ? random.pick(STRINGS) : random.pick(['x', '😀', '\u0000']).repeat(random.int(500))
  return { topic, ms: random.int(301), asks: random.chance(0.4), how }
}

/** Modern clients that do not say, or do not quite say, that they take tasks. */
export function declarations(random, { tasks, calls }) {
  const own = random.pick(tasks.filter(({ form }) => form === 'extension'))
  const call = random.weighted([
    [3, about('tasks/get', own)],
    [1, about('tasks/cancel', random.pick(tasks.filter(({ kind }) => kind === 'victim')))],
    [1, random.pick(calls[MODERN])],
    [1, { method: 'tools/call', params: { name: 'errand', arguments: { ms: random.int(300) } } }],
    [1, { method: 'tools/call', params: { name: random.pick(['booking', 'hold']), arguments: {} } }],
    [0.5, { method: 'tools/call', params: { name: 'interview', arguments: { questions: 1 } } }],
  ])
  const message = messageOf(call, MODERN, random.int(10_000))
  const path = ['params', '_meta', META.clientCapabilities]
  const near =
    list(`io.modelcontextprotocol/Tasks | io.modelcontextprotocol/tasks/ | tasks | io.modelcontextprotocol/task
    | __proto__ | constructor`)
  const declared = random.weighted([
    [2, () => [[...path, 'extensions'], undefined]],
    [2, () => [[...path, 'extensions'], { [random.pick(near)]: {} }]],
    [
      2,
      () => [[...path, 'extensions', TASKS], random.pick([null, true, false, [], 'yes', 0, 1, hostileValue(random)])],
    ],
    [2, () => [[...path, 'extensions', TASKS], random.pick([{}, { anything: hostileValue(random) }])]],
    [1, () => [[...path, 'extensions'], random.pick([[TASKS], [], null, TASKS, hostileValue(random)])]],
    [1, () => [path, { ...CAPABILITIES, extensions: undefined, tasks: {}, experimental: { [TASKS]: {} } }]],
    [1, () => [path, { [TASKS]: {} }]],
  ])()
  return send('declaration', random, withAt(message, ...declared), own)
}

/** `Mcp-Name` that is not, or hardly is, the id in the body. */
export function taskNames(random, { tasks, strays }) {
  const task = random.pick(tasks.filter(({ form, kind }) => form === 'extension' && kind !== 'held'))
  const request = send('task name', random, messageAbout(random, 'tasks/get', task), task)
  const base64 = (text) => `=?base64?${Buffer.from(text).toString('base64')}?=`
  const other = random.pick([random.pick(tasks), { id: strays.spare[0] }]).id
  const [value, isRight] = random.weighted([
    [2, () => [other, other === task.id]],
    [2, () => [nudged(task.id, random), false]],
    [1, () => [task.id.toUpperCase(), task.id.toUpperCase() === task.id]],
    [1, () => [base64(task.id), true]],
    [1, () => [base64(`${task.id}\0`), false]],
    [1, () => [`${task.id}, ${task.id}`, false]],
    [1, () => [` ${task.id}\t`, true]],
    [1, () => [`"${task.id}"`, false]],
    [1, () => [task.id.slice(0, random.int(64)), false]],
    [1, () => [random.pick(list('tasks/get | errand | null | * | =?base64??=')), false]],
    [1, () => [undefined, false]],
  ])()
  const at = request.headers.findIndex(([name]) => name === 'Mcp-Name')
  if (value === undefined) request.headers.splice(at, 1)
  else request.headers[at] = [random.pick(['Mcp-Name', 'mcp-name']), value]
  if (!isRight) request.refuses = 'an Mcp-Name that is not the task'
  return request
}

const PLACES = list('0 | 1 | 2 | 20 | 21 | 99999 | 999999999999999 | 1e3 | -1 | 01 | 1.5 | NaN')

/** `tasks/list` with cursors of this list, of others and of none; only who is known has a list. */
export function taskLists(random, { listed, cursors }) {
  const { revision } = listed
  const encoded = (text) => Buffer.from(text).toString('base64')
  const cursor = random.weighted([
    [1, () => undefined],
    [1, () => null],
    [2, () => listed.cursor],
    [3, () => encoded(`tasks:${random.pick(PLACES)}`)],
    [1, () => encoded(`${random.pick(INHERITED)}:20`)],
    [1, () => nearly(listed.cursor, random)],
    [1, () => random.pick(cursors['tools/list'])],
    [1, () => 'A'.repeat(random.int(20_000))],
    [1, () => random.pick(STRINGS)],
    [1, () => random.pick(VALUES)],
  ])()
  const principal = random.weighted([
    [5, 'ann'],
    [2, 'bob'],
    [1, 'anonymous'],
  ])
  const message = messageOf({ method: 'tasks/list', params: { cursor } }, revision, random.int(10_000))
  const session = principal === 'ann' ? listed.session : undefined
  return send('task list', random, message, { revision, principal, session })
}

function nearly(text, random) {
  return random.pick([`${text}=`, `${text} `, text.slice(0, -1), text.toLowerCase(), text + text])
}

/** `tasks/result` of tasks that are not over, left after a while: a few after the answer has become a stream. */
export function taskWaits(random, { tasks }) {
  const all = tasks.filter(({ form, asks }) => form === WITH_TASKS && !asks)
  const task = random.pick(random.chance(0.4) ? all.filter(({ kind }) => kind === 'asking') : all)
  const message = messageAbout(random, 'tasks/result', task)
  const request = send('task wait', random, message, task, !isOver(task) && { patienceMs: random.pick(PATIENCE_MS) })
  // In a session such a call stays when its client has left, and a session has room for a few only.
  const isInSession = request.headers.some(([name]) => name === 'Mcp-Session-Id')
  if (random.chance(0.3) && (isOver(task) || !isInSession)) {
    request.headers = request.headers.map(([name, value]) => [name, name === 'Accept' ? 'application/json' : value])
  }
  return request
}

const PATIENCE_MS = [20, 100, 100, 100, 100, 100, 100, 700]

/** Calls about tasks with one thing or none wrong, of everybody who has some. */
export function taskCalls(random, { tasks }) {
  const task = random.pick(tasks.filter(({ kind, asks }) => !asks && kind !== 'asking' && kind !== 'curious'))
  const mayCancel = isOver(task) || task.kind === 'victim'
  const methods = METHODS[task.form].filter((method) => {
    return method === 'tasks/cancel' ? mayCancel : method !== 'tasks/result' || isOver(task)
  })
  const method = random.pick(methods)
  const valid = messageAbout(random, method, task, method === 'tasks/update' && { inputResponses: {} })
  const paths = pathsOf(valid).filter((path) => path.at(-1) !== 'method')
  const objects = paths.filter((path) => isObject(getAt(valid, path)))
  const message = random.weighted([
    [3, () => valid],
    [2, () => withAt(valid, random.pick(paths), random.chance(0.3) ? undefined : hostileValue(random))],
    [1, () => withMember(valid, random.pick(objects), random.pick(KEYS), hostileValue(random))],
  ])()
  return send('task call', random, message, task)
}
