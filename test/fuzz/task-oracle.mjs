// Judges what an answer says about tasks. Who has which task is known from when they were made; see tasks.mjs.
import { readRequest } from './oracle.mjs'
import { TASKS } from './requests.mjs'
import { mayBe, WITH_TASKS } from './tasks.mjs'
import { limits } from '../../src/limits.ts'
import { ERRORS } from '../../src/protocol/errors.ts'
import { META } from '../../src/protocol/meta.ts'

/** By name, whether clients must take tasks to call them. */
const TASK_TOOLS = new Map([
  ['errand', false],
  ['booking', true],
  ['interview', true],
  ['hold', true],
])
const ABOUT_ONE = new Set(['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/result'])
const ID = /^[0-9a-f]{64}$/
const UNKNOWN = JSON.stringify({ code: ERRORS.InvalidParams.code, message: 'Invalid params: no such task' })
const MISSING = ERRORS.MissingRequiredClientCapability.code

export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Who the server takes the sender for: see `authenticate` in worker.ts. */
export function principalOf({ headers }) {
  const all = headers.filter(([name]) => name.toLowerCase() === 'authorization').map(([, value]) => value.trim())
  return /^Bearer (ann|bob)$/.exec(all.join(', '))?.[1] ?? 'anonymous'
}

/**
 * What is wrong with an answer.
 * @param messages of the answer; @param notes `{ era, version }` from the server's log; @param tasks those known, by id
 */
export function judgeTasks(request, { status, body }, messages, { era, version }, tasks) {
  const problems = []
  const say = (problem) => void problems.push(problem)
  if (request.raw || !body) return problems
  const { parsed } = readRequest(request)
  const call = isObject(parsed) ? parsed : {}
  const sender = { principal: principalOf(request), era, version }
  checkSecrets({ ...request, text: JSON.stringify(parsed) ?? '' }, String(body), call, sender, tasks, say)
  const response = messages.findLast(({ method }) => method === undefined)
  const params = isObject(call.params) ? call.params : {}
  if (ABOUT_ONE.has(call.method)) {
    if (call.method === 'tasks/result') checkStream(messages, params.taskId, say)
    if (response) checkAbout({ ...call, params }, response, status, sender, tasks, say)
  } else if (response && call.method === 'tools/call') checkCreation(params, response, sender, tasks, say)
  else if (response?.result && call.method === 'tasks/list') checkList(response.result, sender, tasks, say)
  else if (response?.result?.resultType === 'task') say(`${call.method} became a task`)
  return problems
}

/** True for a task the sender may know of; what the log does not tell is taken to be as it must be. */
export function owns({ principal, era }, task) {
  const form = { modern: 'extension', legacy: WITH_TASKS }[era]
  return task.principal === principal && (form === undefined || task.form === form)
}

/** An answer names no task its request has not named, except in the list of its owner. */
function checkSecrets({ text, headers }, answer, { method }, sender, tasks, say) {
  for (const id of new Set(answer.match(/[0-9a-f]{64}/g))) {
    const task = tasks.get(id)
    if (!task || text.includes(id) || headers.some(([, value]) => value.includes(id))) continue
    if (method !== 'tasks/list' || !owns(sender, task)) say('the answer names a task that was not asked for')
  }
}

function checkAbout({ method, params }, { result, error }, status, sender, tasks, say) {
  const { era } = sender
  const { taskId } = params
  if (era === 'modern') {
    const isDeclared = declares(params)
    if (!isDeclared && (status === 200 ? error?.code !== MISSING : result))
      return say(`${method} without the declaration is not refused as that`)
    if (isDeclared && error?.code === MISSING) return say(`${method} with the declaration is refused as without`)
  }
  const task = typeof taskId === 'string' ? tasks.get(taskId) : undefined
  if (!task || !owns(sender, task)) {
    if (result) return say(`${method} took an id that is no task of the sender`)
    if (isEarlier(error, status, sender, method, params)) return undefined
    if (JSON.stringify(error) !== UNKNOWN) say(`an id that is no task of the sender is told apart: ${error.message}`)
    return undefined
  }
  if (JSON.stringify(error) === UNKNOWN && era !== undefined) return say('a task is not found by its owner')
  if (method === 'tasks/result' && !isEarlier(error, status, sender, method, params))
    return checkEnd(task, { result, error }, say)
  if (!result || method === 'tasks/update' || (method === 'tasks/cancel' && era === 'modern')) return undefined
  if (result.taskId !== taskId) say(`${method} is answered with another task`)
  if (!mayBe(task, result.status)) say(`a task that is ${task.kind} is told to be ${result.status}`)
}

/** True for what is refused before anybody looks for the task. */
function isEarlier({ code, message } = {}, status, { era, version }, method, { taskId, inputResponses }) {
  if (status !== 200 || code === undefined) return status !== 200
  if (code === MISSING) return era !== 'legacy'
  if (code === ERRORS.MethodNotFound.code) return version !== WITH_TASKS || method === 'tasks/update'
  if (typeof taskId !== 'string') return message.endsWith('params.taskId must be a string')
  return method === 'tasks/update' && !isObject(inputResponses) && /params\.inputResponses must be an/.test(message)
}

/** What `tasks/result` ends with is what the call came to, marked with its task. */
function checkEnd({ id, kind, end }, { result, error }, say) {
  if (kind === 'held' || (kind === 'victim' && result)) return say('a task that is not over has a result')
  if (result && result._meta?.[META.relatedTask]?.taskId !== id) say('a result that does not say of which task it is')
  const [, ...ended] = end ? JSON.parse(end) : []
  if (end && JSON.stringify([result, error]) !== JSON.stringify(ended))
    say('a task comes to something else than before')
  return undefined
}

/** On a stream that waits, everything is about the task that is waited for. */
function checkStream(messages, taskId, say) {
  for (const { params } of messages.filter(({ method }) => method !== undefined)) {
    const about = params?._meta?.[META.relatedTask]?.taskId ?? params?.taskId
    if (about !== taskId) say('a stream that waits for one task tells of something else')
  }
}

function checkCreation(params, { result, error }, { era, version, principal }, tasks, say) {
  const { name, task } = params
  const isModernTask = result?.resultType === 'task'
  const created = isModernTask ? result : result?.task
  const mustBeTask = TASK_TOOLS.get(name)
  if (created) {
    if (!TASK_TOOLS.has(name)) return say(`${name} became a task`)
    if (!ID.test(created.taskId) || tasks.has(created.taskId)) say(`a new task has the id ${created.taskId}`)
    if (created.status !== 'working') say(`a task begins as ${created.status}`)
  }
  if (era === 'modern') {
    if (created && !isModernTask) say('a task in the form of the other era')
    if (created && !declares(params)) say('a client that takes no tasks got one')
    const isRefused = error !== undefined || result.resultType === 'input_required' || result.isError
    if (mustBeTask && !created && !isRefused) say(`${name} ran although it is nothing but a task`)
    if (mustBeTask && !declares(params) && result) say(`${name} was called by a client that takes no tasks`)
  } else if (era === 'legacy' && version !== undefined) {
    if (isModernTask) say('a task in the form of the other era')
    const isWanted = version === WITH_TASKS && task !== undefined
    if (created && !isWanted) say('a task nobody asked for')
    if (created) checkTtl(created, task, principal, say)
    if (result && isWanted && !created) say('a call for a task was answered with a result')
    if (result && mustBeTask && version === WITH_TASKS && !isWanted)
      say(`${name} ran although it is nothing but a task`)
  }
  return undefined
}

/** A client may ask for any lifetime, and gets the nearest there is. */
function checkTtl({ ttl }, asked, principal, say) {
  const most = principal === 'anonymous' ? limits.anonymousTaskTtlMs : limits.taskTtlMs
  const nearest = Math.max(limits.minTaskTtlMs, Math.min(Math.ceil(asked?.ttl ?? ttl), most))
  if (!Number.isSafeInteger(ttl) || ttl !== nearest)
    say(`a task lives for ${ttl} ms where ${asked?.ttl} were asked for`)
}

function checkList({ tasks: listed }, sender, tasks, say) {
  if (sender.principal === 'anonymous') return say('tasks of people nobody knows are listed')
  for (const { taskId, status } of listed) {
    const task = tasks.get(taskId)
    if (sender.principal === 'bob' && task) say('tasks of somebody else are listed')
    if (task && !mayBe(task, status)) say(`a task that is ${task.kind} is listed as ${status}`)
  }
  return undefined
}

/** True for a modern request that says it knows an extension. */
export function declares({ _meta }, extension = TASKS) {
  const capabilities = isObject(_meta) ? _meta[META.clientCapabilities] : undefined
  return isObject(capabilities) && isObject(capabilities.extensions) && isObject(capabilities.extensions[extension])
}
