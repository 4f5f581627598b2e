// Clients of both forms of tasks, on bare HTTP. What may be repeated is, until it is answered.

import { Client, LATEST } from './client.mjs'
import { bodyOf, isCut } from './http.mjs'
import { readEvents } from './sse.mjs'
import { modernHeaders } from '../../support/wire/headers.ts'

const MODERN = '2026-07-28'
const deadlineMs = 30_000

/** The answer for every id that is no task of the caller. */
export const NO_SUCH_TASK = -32602

/** What both do. A client with a principal is identified. */
class TaskClient extends Client {
  #identity

  constructor(world, { principal, ...options }) {
    super(world, options)
    this.principal = principal
    this.#identity = principal === undefined ? {} : { 'x-principal': principal }
  }

  send(method, headers, body, signal) {
    return super.send(method, { ...headers, ...this.#identity }, body, signal)
  }

  /** Sends a request. @returns its answer, or undefined when the connection broke or the server says it is busy */
  async ask(method, params) {
    const response = await this.post({ method, params })
    if (!response) return undefined
    if (!response.headers['content-type']?.startsWith('text/event-stream')) {
      const text = await bodyOf(response)
      return text === undefined ? undefined : JSON.parse(text)
    }
    for await (const { message } of readEvents(response)) if (message && !message.method) return message
    return undefined
  }

  /** The same, until it is answered. */
  async askUntil(method, params) {
    for (const end = Date.now() + deadlineMs; Date.now() < end; await this.backOff()) {
      const message = await this.askOrNot(method, params)
      if (message) return message
    }
    throw new Error(`${method} was not answered in ${deadlineMs} ms`)
  }

  async askOrNot(method, params) {
    try {
      return await this.ask(method, params)
    } catch (error) {
      if (!isCut(error)) throw error
      return undefined
    }
  }

  /** Calls a tool that is answered at once. */
  async tool(name, args) {
    const { result, error } = await this.askUntil('tools/call', { name, arguments: args })
    const isFine = result !== undefined && result.isError !== true
    this.world.ledger.check('requests that may be repeated succeed', isFine, () => JSON.stringify({ result, error }))
    return result
  }
}

/** A client of the extension, and of others. */
export class ModernClient extends TaskClient {
  form = 'extension'
  #extensions

  constructor(world, { extensions = {}, ...options } = {}) {
    super(world, { ...options, version: MODERN })
    this.#extensions = { 'io.modelcontextprotocol/tasks': {}, ...extensions }
  }

  post({ method, params = {}, ...rest }, options = {}) {
    const about = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': { name: 'faults', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {
        elicitation: {},
        extensions: this.#extensions,
      },
    }
    const sent = { method, params: { ...params, _meta: { ...params._meta, ...about } }, ...rest }
    return super.post(sent, { ...options, headers: { ...modernHeaders(method, params), ...options.headers } })
  }

  open() {
    return this
  }

  /** Tries once to make a task. The tool says how long it lives. @returns the task, or undefined when that is unknown */
  async create(name, args) {
    const message = await this.askOrNot('tools/call', { name, arguments: args })
    const { result } = message ?? {}
    const isTask = message === undefined || result?.resultType === 'task'
    this.world.ledger.check('a call that asks for a task becomes one', isTask, () => JSON.stringify(message))
    return result && { taskId: result.taskId, expiresAt: Date.parse(result.createdAt) + result.ttlMs }
  }

  /** How a task is. Undefined for one that is not there. */
  async look(taskId) {
    const { result, error } = await this.askUntil('tasks/get', { taskId })
    if (error) return checkGone(this.world.ledger, error)
    const { status, statusMessage, inputRequests = {}, result: outcome, error: problem } = result
    const asks = Object.entries(inputRequests).map(([key, { params }]) => ({ key, name: params.message }))
    return { status, statusMessage, asks, raw: JSON.stringify(result), outcome: outcomeOf(status, outcome, problem) }
  }

  async answer(taskId, key, number) {
    const inputResponses = { [key]: { action: 'accept', content: { number } } }
    return this.askUntil('tasks/update', { taskId, inputResponses })
  }

  /** @returns whether it is cancelled now, as far as that was said */
  async cancel(taskId) {
    const { error } = await this.askUntil('tasks/cancel', { taskId })
    this.world.ledger.check('a cancellation is acknowledged', error === undefined, () => JSON.stringify(error))
  }
}

/** A client of 2025-11-25 with a session. */
export class LegacyClient extends TaskClient {
  form = LATEST

  constructor(world, options = {}) {
    super(world, { ...options, version: LATEST })
  }

  async create(name, args, ttl) {
    const params = { name, arguments: args, task: { ttl }, _meta: { progressToken: args.key } }
    const message = await this.askOrNot('tools/call', params)
    const { task } = message?.result ?? {}
    const isTask = message === undefined || task !== undefined
    this.world.ledger.check('a call that asks for a task becomes one', isTask, () => JSON.stringify(message))
    return task && { taskId: task.taskId, expiresAt: Date.parse(task.createdAt) + task.ttl }
  }

  async look(taskId) {
    const { result, error } = await this.askUntil('tasks/get', { taskId })
    if (error) return checkGone(this.world.ledger, error)
    const { status, statusMessage } = result
    return { status, statusMessage, asks: [], raw: JSON.stringify(result), outcome: { status } }
  }

  async cancel(taskId) {
    const { result, error } = await this.askUntil('tasks/cancel', { taskId })
    // A task at its end cannot be cancelled, and the answer to an earlier try may have been lost.
    const isFine = result?.status === 'cancelled' || error?.code === -32602
    this.world.ledger.check('a cancellation is acknowledged', isFine, () => JSON.stringify({ result, error }))
  }

  /** The ids of all tasks of this principal. */
  async list() {
    const ids = []
    for (let cursor; ;) {
      const { result, error } = await this.askUntil('tasks/list', cursor === undefined ? {} : { cursor })
      this.world.ledger.check('tasks can be listed', result !== undefined, () => JSON.stringify(error))
      ids.push(...(result?.tasks ?? []).map(({ taskId }) => taskId))
      cursor = result?.nextCursor
      if (cursor === undefined) return ids
    }
  }
}

/** What a task came to, the same for both forms. */
export function outcomeOf(status, result, error) {
  if (error) return { status, code: error.code, text: error.message }
  if (!result) return { status }
  return { status, text: result.content[0].text, ...(result.isError === true && { isError: true }) }
}

function checkGone(ledger, error) {
  ledger.check('what is no task is said to be none', error.code === NO_SUCH_TASK, () => JSON.stringify(error))
  return undefined
}
