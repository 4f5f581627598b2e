// Judges what an answer to `subscriptions/listen` says: whether there may be a stream, what of the filter is agreed to, and
// that nothing else is told on it. Who has which task and which cursor is known from before the attack.
import { readRequest } from './oracle.mjs'
import { CURSOR, RESUMABLE, TASKS } from './requests.mjs'
import { declares, isObject, owns, principalOf } from './task-oracle.mjs'
import { sameBytes } from './mutate-states.mjs'
import { mayBe } from './tasks.mjs'
import { limits } from '../../src/limits.ts'
import { META } from '../../src/protocol/meta.ts'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const FLAGS = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
}
const LISTS = { resourceSubscriptions: limits.listenResources, taskIds: limits.listenTasks }
/** What everybody may listen to, unless it is too long; what begins otherwise than `fuzz://` nobody may. */
const SERVED = /^fuzz:\/\/(fixed|bytes|broken|(item|ask)\/[a-z0-9]+|tree\/me\/a\/b)$/
const ID_LINE = /^id: [1-9]\d*\.[\w.-]+$/m

/** True for messages that begin like a stream of changes. */
export const isListening = (messages) => messages[0]?.method === ACKNOWLEDGED

/**
 * What is wrong with an answer.
 * @param messages of the answer; @param notes `{ era }` from the server's log
 * @param known `tasks`, by id, and `places`, which are cursors and whose they are
 */
export function judgeListen(request, { status, body }, messages, { era }, { tasks, places }) {
  const problems = []
  const say = (problem) => void problems.push(problem)
  if (request.raw || !body) return problems
  const { parsed } = readRequest(request)
  const isStream = isListening(messages)
  if (!isObject(parsed) || parsed.method !== 'subscriptions/listen') {
    if (isStream) say(`${parsed?.method} became a stream of changes`)
    return problems
  }
  const params = isObject(parsed.params) ? parsed.params : {}
  const principal = principalOf(request)
  const fault = faultOf(request, params, principal, places)
  if (isStream && fault) say(`there is a stream although ${fault}`)
  if (isStream && era === 'legacy') say('a legacy client got a stream of changes')
  // What came before is refused with another status.
  if (!isStream && !fault && status === 200 && era === 'modern')
    say(`nothing is wrong, and there is no stream: ${JSON.stringify(messages[0])}`)
  if (isStream) checkStream({ ...parsed, params }, String(body), messages, { principal, era }, tasks, say)
  return problems
}

/** Why there can be no stream, or undefined. */
function faultOf(request, params, principal, places) {
  const { notifications } = params
  if (!isObject(notifications)) return 'the filter is none'
  for (const flag of Object.keys(FLAGS)) {
    if (!['boolean', 'undefined'].includes(typeof (notifications[flag] ?? undefined))) return `${flag} is no flag`
  }
  for (const [member, cap] of Object.entries(LISTS)) {
    const values = notifications[member] ?? []
    if (!Array.isArray(values) || values.some((value) => typeof value !== 'string')) return `${member} is no list`
    if (values.length > cap) return `${member} is too long`
  }
  if (notifications.taskIds && !declares(params, TASKS)) return 'the client takes no tasks'
  const cursor = declares(params, RESUMABLE) ? cursorOf(request, params) : ''
  return cursor === '' || isPlaceOf(cursor, principal, places) ? undefined : 'the cursor is not the caller’s'
}

/** The body's cursor, else that of the headers; empty where there is none. */
function cursorOf({ headers }, { _meta }) {
  const lines = headers.filter(([name]) => name.toLowerCase() === 'last-event-id').map(([, value]) => value.trim())
  return _meta[CURSOR] ?? lines.join(', ')
}

function isPlaceOf(cursor, principal, places) {
  const [, token] = /^[1-9]\d{0,15}\.([\w.-]+)$/.exec(cursor) ?? []
  if (typeof cursor !== 'string' || token === undefined) return false
  const tokenOf = ({ id }) => id.slice(id.indexOf('.') + 1)
  return places.some((place) => place.principal === principal && sameBytes(tokenOf(place), token))
}

function checkStream({ id, params }, text, [acknowledged, ...others], sender, tasks, say) {
  const asked = params.notifications
  const agreed = acknowledged.params.notifications
  checkAgreed(asked, agreed, sender, tasks, say)
  for (const message of [acknowledged, ...others]) {
    const { method, params: told } = message
    if (method === undefined) {
      say('a stream of changes has ended')
      continue
    }
    const tag = told?._meta?.[META.subscriptionId]
    // -0 is echoed as 0, which is the same number.
    if (tag !== id && !(tag === 0 && Object.is(id, -0))) say(`${method} is tagged ${JSON.stringify(tag)}`)
    if (message !== acknowledged) checkTold(method, told, agreed, tasks, say)
  }
  const events = text.split('\n\n').slice(0, -1)
  const withId = events.filter((event) => /^id:/m.test(event))
  const isResumable = declares(params, RESUMABLE)
  if (!isResumable && withId.length > 0) say('an event has an id for a client that wants none')
  const messages = events.filter((event) => /^data:/m.test(event))
  if (isResumable && !messages.every((event) => ID_LINE.test(event))) say('an event without an id to come back to')
}

function checkAgreed(asked, agreed, sender, tasks, say) {
  for (const [member, value] of Object.entries(agreed)) {
    if (!(member in FLAGS) && !(member in LISTS)) say(`${member} was agreed to`)
    else if (member in FLAGS && (value !== true || asked[member] !== true)) say(`${member} was not asked for`)
  }
  for (const flag of Object.keys(FLAGS)) if (asked[flag] === true && agreed[flag] !== true) say(`${flag} is left out`)
  for (const member of Object.keys(LISTS)) {
    const wanted = asked[member] ?? undefined
    const given = agreed[member]
    if ((wanted === undefined) !== (given === undefined))
      say(`${member} is answered by ${JSON.stringify(given)?.slice(0, 100)}`)
    if (!wanted || !given) continue
    if (new Set(given).size !== given.length) say(`${member} is agreed to twice`)
    if (!given.every((value) => wanted.includes(value))) say(`${member} has what was not asked for`)
    for (const value of new Set(wanted)) {
      const may = member === 'taskIds' ? mayHear(value, sender, tasks) : mayWatch(value)
      if (may !== undefined && may !== given.includes(value))
        say(`${member} ${may ? 'lacks' : 'has'} ${value.slice(0, 100)}`)
    }
  }
}

/** Undefined where only the server can tell. */
function mayWatch(uri) {
  if (SERVED.test(uri)) return uri.length <= limits.uriChars
  return uri.startsWith('fuzz://') ? undefined : false
}

function mayHear(id, sender, tasks) {
  const task = tasks.get(id)
  if (task) return owns(sender, task)
  return /^[0-9a-f]{64}$/.test(id) ? undefined : false
}

function checkTold(method, { uri, taskId, status }, agreed, tasks, say) {
  const flag = Object.keys(FLAGS).find((each) => FLAGS[each] === method)
  if (flag) {
    if (agreed[flag] !== true) say(`${method} was not agreed to`)
  } else if (method === 'notifications/resources/updated') {
    if (!agreed.resourceSubscriptions?.includes(uri)) say(`an update of ${uri} was not agreed to`)
  } else if (method === 'notifications/tasks') {
    if (!agreed.taskIds?.includes(taskId)) say('a task is told of that was not agreed to')
    const task = tasks.get(taskId)
    if (task && !mayBe(task, status)) say(`a task that is ${task.kind} is told to be ${status}`)
  } else say(`${method} on a stream of changes`)
}
