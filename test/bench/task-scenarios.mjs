// What the workers with tasks are asked, as bytes, and what a correct answer is.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodePost } from './lib/http-client.mjs'

const version = '2026-07-28'
const requestId = 7
const extension = 'io.modelcontextprotocol/tasks'
const envelope = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, extensions: { [extension]: {} } },
}
/** Longer than any run. */
const longMs = 3_600_000
const number = 42
const always = ['_meta', 'createdAt', 'lastUpdatedAt', 'pollIntervalMs', 'resultType', 'status', 'taskId', 'ttlMs']
const tries = 300
const pauseMs = 10

/** `prepare` makes the request to send; what a handler does after the answer is still part of its creation. */
export const taskScenarios = [
  {
    name: 'create quick task',
    settleMs: 10,
    prepare: () => encodeCreate('quick', {}),
    verify: verifyCreated,
  },
  {
    name: 'create sleeping task',
    settleMs: 10,
    prepare: () => encodeCreate('nap', { ms: longMs }),
    verify: verifyCreated,
  },
  {
    name: 'get working task',
    prepare: async (connection) => encodeGet(await createTask(connection, 'nap', { ms: longMs })),
    verify: (result) => verifyTask(result, 'working', []),
  },
  {
    name: 'get completed task',
    async prepare(connection) {
      const taskId = await createTask(connection, 'ask')
      await reached(connection, taskId, 'input_required')
      await connection.exchange(encodeAnswer(taskId, number))
      await reached(connection, taskId, 'completed')
      return encodeGet(taskId)
    },
    verify: (result) => verifyCompleted(result, `got ${number}`),
  },
]

/** Calls a tool, and returns the id of the task it becomes. */
export async function createTask(connection, tool, args = {}) {
  const { taskId } = resultOf(await connection.exchange(encodeCreate(tool, args)))
  assert.match(taskId ?? '', /^[0-9a-f]{64}$/, 'the call becomes a task')
  return taskId
}

export async function getTask(connection, taskId) {
  return resultOf(await connection.exchange(encodeGet(taskId)))
}

/** Gives a task the number it asked for. */
export async function answerTask(connection, taskId, answer) {
  resultOf(await connection.exchange(encodeAnswer(taskId, answer)))
}

/** @throws when it is not completed, or with something else */
export function verifyCompleted(task, text) {
  verifyTask(task, 'completed', ['result'])
  assert.notEqual(task.result.isError, true)
  assert.deepEqual(task.result.content, [{ type: 'text', text }])
}

/** @throws when the response is not the correct answer of `worker` to `scenario` */
export function verifyTaskResponse(worker, { name, verify }, response) {
  try {
    verify(resultOf(response))
  } catch (error) {
    const got = `${response.head.split('\r\n', 1)[0]} ${response.body.toString('utf8').slice(0, 400)}`
    throw new Error(`${worker} answers "${name}" wrongly: ${error.message}\n  got ${got}`, { cause: error })
  }
}

function verifyCreated(result) {
  assert.equal(result.resultType, 'task')
  verifyTask(result, 'working', [])
}

/** Every worker answers the same members. */
function verifyTask(task, status, more) {
  assert.equal(task.status, status)
  assert.deepEqual(Object.keys(task).toSorted(), [...always, ...more].toSorted())
}

async function reached(connection, taskId, status) {
  let task
  for (let i = 0; i < tries; i++) {
    task = await getTask(connection, taskId)
    if (task.status === status) return
    await sleep(pauseMs)
  }
  throw new Error(`a task does not become ${status} but is ${task.status}`)
}

function resultOf({ status, body }) {
  const text = body.toString('utf8')
  const message = status === 200 ? JSON.parse(text) : undefined
  assert.ok(message?.id === requestId && message.result, `no result: ${status} ${text.slice(0, 400)}`)
  return message.result
}

function encodeCreate(tool, args) {
  return encode('tools/call', { name: tool, arguments: args }, tool)
}

function encodeGet(taskId) {
  return encode('tasks/get', { taskId }, taskId)
}

function encodeAnswer(taskId, answer) {
  const inputResponses = { number: { action: 'accept', content: { number: answer } } }
  return encode('tasks/update', { taskId, inputResponses }, taskId)
}

function encode(method, params, name) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'user-agent': 'bench',
    'mcp-protocol-version': version,
    'mcp-method': method,
    'mcp-name': name,
  }
  const message = { jsonrpc: '2.0', id: requestId, method, params: { ...params, _meta: envelope } }
  return encodePost('/mcp', headers, JSON.stringify(message))
}
