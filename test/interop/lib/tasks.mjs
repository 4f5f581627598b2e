// What clients that take tasks do with them. Beside what notes.mjs uses, an adapter has `runTask`, which waits for the
// result in the way of its client, and `startTask`, `getTask`, `taskResult` and `cancelTask`, or says in `cannot` why not.
// `form` is the extension's or that of 2025-11-25. @see ext-tasks; 2025-11-25 basic/utilities/tasks
import assert from 'node:assert/strict'
import { extension } from './extensions.mjs'
import { sawCancel } from './extra.mjs'
import { text, textOfFailure } from './notes.mjs'
import { messageOf } from './rows.mjs'
import { comebacks } from './session.mjs'
import { until } from './until.mjs'
import { callsOf } from './wire.mjs'

export const core = '2025-11-25'
const relatedTask = 'io.modelcontextprotocol/related-task'
const nobodys = 'f'.repeat(64)

/** Plays the tools of extra/task-tools.ts. */
export async function playTasks(table, client, wire, { slug, form }) {
  const row = (name, work) => table.play(client, name, work, wire)
  await row('task', () => checkTask(client, wire))
  await row('task asks', () => checkAsks(client, wire, form))
  await row('task fails', () => checkFailure(client, wire, form))
  await row('task cancelled', () => checkCancelled(client, `${slug}-task`, form))
  await row('task unknown', () => checkUnknown(client))
}

/** The example's export. How many notes there are depends on the other clients. */
export async function checkExport(client, wire, form) {
  if (form === core) {
    const listed = (await client.listTools()).find(({ name }) => name === 'export_notes')
    assert.deepEqual(listed.execution, { taskSupport: 'optional' })
  }
  const seen = []
  const onProgress = (step) => seen.push(step)
  const { content } = await client.runTask('export_notes', { format: 'html' }, { onProgress })
  assert.ok(content[0].text.includes(text))
  const call = callsOf(wire, 'export_notes').at(-1)
  const { taskId, ttl, ttlMs = ttl, pollInterval, pollIntervalMs = pollInterval } = taskOf(call)
  assert.deepEqual([ttlMs, pollIntervalMs], [3_600_000, 2_000])
  const made = `a task for ${ttlMs / 1000} s, to be asked for every ${pollIntervalMs / 1000} s`
  const progress = form === core ? await checkTaskProgress(client, wire, call, { seen, document: content[0].text }) : ''
  const polls = count(pollsOf(wire, taskId), 'poll')
  const late = client.cancelTask ? `; cancelled too late: ${await checkLateCancel(client, taskId, form)}` : ''
  return `${made}; ${polls}${progress}, the document${late}`
}

/** Progress goes on under the token of the call until the end of the task, if the client gave one. */
async function checkTaskProgress(client, wire, call, { seen, document }) {
  const { taskId } = taskOf(call)
  const [{ params }] = call.messages
  const token = params._meta?.progressToken
  if (token === undefined) return ', no progress asked for'
  const { length: total } = document.match(/<section /g)
  await until(() => progressOf(wire, taskId).length >= total, 'all progress arrived')
  const expected = Array.from({ length: total }, (_, i) => [i + 1, total])
  const steps = (found) => found.map(({ progress, total }) => [progress, total])
  assert.deepEqual(steps(progressOf(wire, taskId)), expected)
  assert.ok(progressOf(wire, taskId).every(({ progressToken }) => progressToken === token))
  const made = `, ${count(expected, 'step')} of progress`
  if (client.showsProgress === false) return `${made} on the wire`
  await until(() => seen.length >= total, 'the client showed all progress')
  assert.deepEqual(steps(seen), expected)
  return made
}

/** A task at its end cannot be cancelled in 2025-11-25; the extension acknowledges that all the same. */
async function checkLateCancel(client, taskId, form) {
  if (form === core) return `"${await rejectionOf(client.cancelTask(taskId), /completed already/)}"`
  await client.cancelTask(taskId)
  assert.equal((await client.getTask(taskId)).status, 'completed')
  return 'acknowledged, and completed as before'
}

/** A tool that is nothing but a task. What it is at is its status message. */
export async function checkTask(client, wire) {
  const { content } = await client.runTask('bake', {})
  assert.equal(content[0].text, 'A cake.')
  const polls = pollsOf(wire, taskOf(callsOf(wire, 'bake').at(-1)).taskId)
  const steps = [...new Set(polls.flatMap(({ statusMessage = [] }) => statusMessage))]
  assert.ok(steps.length > 0 && steps.every((step) => ['Mixed', 'Baked', 'Cooled'].includes(step)))
  return `${count(polls, 'poll')}, which said ${steps.map((step) => `"${step}"`).join(', ')}; then "A cake."`
}

/** Two questions, one after the other, while the task runs. */
async function checkAsks(client, wire, form) {
  const asked = answerBooking(client)
  const { content } = await client.runTask('book', {})
  assert.equal(content[0].text, 'Booked for Friday.')
  assert.deepEqual(asked, ['Which day?', 'Book it?'])
  const { taskId } = taskOf(callsOf(wire, 'book').at(-1))
  if (form === extension) {
    const updates = wire.calls('tasks/update').filter(({ messages }) => messages[0].params.taskId === taskId)
    assert.deepEqual(
      updates.map(({ messages }) => Object.keys(messages[0].params.inputResponses)),
      [['day'], ['sure']],
    )
    return 'read 2 questions in tasks/get, answered them with 2 tasks/update'
  }
  assert.deepEqual(
    questionsOf(resultsOf(wire, taskId)).map((params) => params._meta[relatedTask]),
    [{ taskId }, { taskId }],
  )
  return '2 questions on the stream of tasks/result, answered like any other; the result came on it as well'
}

/** A tool error is a result, and the task `completed` with it, but `failed` in 2025-11-25. */
async function checkFailure(client, wire, form) {
  const said = await textOfFailure(client.runTask('burn', {}))
  const { taskId } = taskOf(callsOf(wire, 'burn').at(-1))
  const { status, statusMessage } = pollsOf(wire, taskId).at(-1)
  assert.deepEqual([status, statusMessage], [form === core ? 'failed' : 'completed', 'It is charcoal now'])
  if (!client.taskResult) return `${status}; "${said}"`
  // Some make an error of such a result.
  const result = await textOfFailure(client.taskResult(taskId))
  assert.equal(result, 'It is charcoal now')
  return `${status}; "${said.replace(taskId, '…')}"; asked for the result: "${result}"`
}

async function checkCancelled(client, key, form) {
  const { taskId } = await client.startTask('wait', { key })
  const message = async () => (await client.getTask(taskId)).statusMessage
  await until(async () => /^\d+ of 100$/.test((await message()) ?? ''), 'the task reported progress')
  await client.cancelTask(taskId)
  assert.equal((await client.getTask(taskId)).status, 'cancelled')
  await until(async () => (await sawCancel(client, key)) === 'yes', 'the handler noticed')
  const noticed = 'cancelled at once, the handler saw it'
  if (form === extension) {
    await client.cancelTask(taskId)
    return `${noticed}; once more: acknowledged`
  }
  const result = await rejectionOf(client.taskResult(taskId), /Task was cancelled/)
  return `${noticed}; result: "${result}"; once more: "${await rejectionOf(client.cancelTask(taskId), /cancelled already/)}"`
}

async function checkUnknown(client) {
  const said = await rejectionOf(client.getTask(nobodys), /no such task/)
  return `"${said}"`
}

/** Whoever takes no tasks gets what the tool returns, in the answer of the call. */
export async function checkOrdinary(client, wire) {
  const { content } = await client.callTool('export_notes', {})
  assert.ok(content[0].text.includes(text))
  assert.equal(taskOf(callsOf(wire, 'export_notes').at(-1)), undefined)
  return 'export_notes is an ordinary call'
}

/** The questions of a task whose stream is gone before they are answered: by `interrupt`, given the call that waits. */
export async function checkInterrupted(client, wire, interrupt) {
  let isAsked
  const asked = new Promise((resolve) => (isAsked = resolve))
  let goOn
  const isOver = new Promise((resolve) => (goOn = resolve))
  const questions = []
  client.answer = async ({ message }) => {
    questions.push(message)
    isAsked()
    await isOver
    return bookingAnswer(message)
  }
  const running = client.runTask('book', {})
  running.catch(() => {})
  await asked
  const { taskId } = taskOf(callsOf(wire, 'book').at(-1))
  const [waiting] = resultsOf(wire, taskId)
  await interrupt(waiting)
  await until(() => comebacks(wire, waiting).at(-1)?.isOpen, 'the client came back')
  goOn()
  const { content } = await running
  assert.equal(content[0].text, 'Booked for Friday.')
  assert.deepEqual(questions, ['Which day?', 'Book it?'])
  const back = comebacks(wire, waiting)
  assert.equal(questionsOf(back).length, 1)
  return `answered when it was back; the other question and the result came on a GET (${back.map(({ status }) => status)})`
}

/** Answers what `book` asks. Returns what was asked. */
export function answerBooking(client) {
  const asked = []
  client.answer = ({ message }) => {
    asked.push(message)
    return bookingAnswer(message)
  }
  return asked
}

export function bookingAnswer(message) {
  return { action: 'accept', content: message === 'Which day?' ? { day: 'Friday' } : { sure: true } }
}

/** The task that a call became, or undefined. */
export function taskOf(call) {
  const { result } = answerOf(call)
  return result.task ?? (result.resultType === 'task' ? result : undefined)
}

/** What the client was told about a task when it asked. */
export function pollsOf(wire, taskId) {
  const answered = callsAbout(wire, 'tasks/get', taskId).filter(({ endedAt }) => endedAt !== undefined)
  return answered.map((call) => answerOf(call).result)
}

/** The requests for the result of a task. */
export function resultsOf(wire, taskId) {
  return callsAbout(wire, 'tasks/result', taskId)
}

function callsAbout(wire, method, taskId) {
  return wire.calls(method).filter(({ messages }) => messages[0].params.taskId === taskId)
}

function questionsOf(exchanges) {
  const asked = exchanges.flatMap(({ streamed }) => streamed).filter(({ method }) => method === 'elicitation/create')
  return asked.map(({ params }) => params)
}

/** Progress comes on the stream that waits for the result, before that on the session's own. */
function progressOf(wire, taskId) {
  const messages = wire.exchanges.filter(isStream).flatMap(({ streamed }) => streamed)
  const steps = messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params)
  return steps.filter(({ _meta }) => _meta?.[relatedTask].taskId === taskId)
}

function answerOf(exchange) {
  return isStream(exchange) ? exchange.streamed.at(-1) : JSON.parse(exchange.answer)
}

function isStream({ answerHeaders }) {
  return answerHeaders['content-type']?.startsWith('text/event-stream') === true
}

export function count({ length }, what) {
  return `${length} ${what}${length === 1 ? '' : 's'}`
}

/** What the client says when this fails, which it must. */
export async function rejectionOf(calling, expected) {
  const error = await calling.then(
    (result) => assert.fail(`no error but ${JSON.stringify(result)}`),
    (reason) => reason,
  )
  assert.match(messageOf(error), expected)
  return messageOf(error).replace(/[0-9a-f]{64}/g, '…')
}
