// Judges the messages of one HTTP answer: each by the closed schema of its revision, and together by what no schema
// says (ids, progress, what may travel on this stream). Throws a WireViolation.

import type { CellKind } from './cells.ts'
import { createListenRules, isOfListening, LISTEN, misfitsOtherStream } from './listen-rules.ts'
import { recordCell } from './record-cell.ts'
import { isObject, MODERN } from './revisions.ts'
import type { Id, JsonObject, Message, Revision, RpcError } from './revisions.ts'
import { faults, wireSchema } from './schemas.ts'
import { misfitsRequest, misrelated, relatedTask, resultRequest } from './task-rules.ts'
import { WireViolation } from './violation.ts'

/** A request that the answer belongs to, as far as it matters for judging. */
export interface SentRequest {
  id: Id
  method: string
  params?: JsonObject
}

export interface Judge {
  /** Checks the next message of the answer and returns it typed. */
  message(value: unknown): Message
  /** Whether the answer is complete: nothing may follow. */
  readonly done: boolean
  /** Whether a response is still missing. */
  readonly owes: boolean
}

export interface JudgeOptions {
  /** An error may leave out its id although the request has one: nothing was parsed yet (403, 413), or a raw body. */
  anonymousErrors?: boolean
}

export function createJudge(revision: Revision, requests: SentRequest[], options: JudgeOptions = {}): Judge {
  const open = new Map(requests.map((request) => [request.id, request]))
  const progress = new Map(requests.flatMap(({ params }) => tokens(params).map((token) => [token, -Infinity])))
  const listening = revision === MODERN ? requests.find(({ method }) => method === LISTEN) : undefined
  const listen = listening && createListenRules(listening)
  let errorsWithoutId = 0
  const fail = (reason: string, message: unknown): never => {
    throw new WireViolation(revision, reason, message)
  }
  const conform = (definition: string, value: unknown, message: unknown): void => {
    const found = faults(revision, definition, value)
    if (found.length > 0) fail(`the server sent a message that its schema refuses\n  ${found.join('\n  ')}`, message)
  }

  function notification(message: Message & { method: string }): void {
    const definition = wireSchema(revision).serverNotifications[message.method]
    if (definition === undefined) return fail(`"${message.method}" is not a notification that servers send`, message)
    conform(definition, message, message)
    const reason = misplaced(revision, message.method, requests)
    if (reason !== undefined) fail(reason, message)
    if (message.method === 'notifications/progress') advance(message)
    if (message.method === 'notifications/tasks') checkTaskError(message.params?.error, message)
    recordCell(revision, message.method, 'notification')
  }

  function advance(message: Message): void {
    const { progressToken, progress: value } = message.params as { progressToken: Id; progress: number }
    // a task keeps the token of the call that made it, which was another exchange
    const isOfTask = resultRequest(requests) !== undefined || relatedTask(message) !== undefined
    const last = progress.get(progressToken) ?? (isOfTask ? -Infinity : undefined)
    if (last === undefined) return fail('progress carries a token that no request of this answer asked with', message)
    if (value <= last) fail(`progress does not increase: ${value} after ${last}`, message)
    progress.set(progressToken, value)
  }

  function serverRequest(message: Message & { method: string }): void {
    const definition = wireSchema(revision).serverRequests[message.method]
    if (definition === undefined) return fail(`"${message.method}" is not a request that servers send`, message)
    conform(definition, message, message)
    recordCell(revision, message.method, 'request')
  }

  /** @param shown the message that is quoted */
  function checkError(response: Message, shown: Message): void {
    const { errors, errorEnvelope } = wireSchema(revision)
    conform(errorEnvelope, response, shown)
    const { code } = response.error as RpcError
    const specific = errors[code]
    if (specific !== undefined) conform(specific, response, shown)
    if (!isAllocated(revision, code)) fail(`error code ${code} is reserved and not allocated in this revision`, shown)
  }

  /** What a failed task says has the codes and the data of an answer. */
  function checkTaskError(error: unknown, shown: Message): void {
    if (error !== undefined) checkError({ jsonrpc: '2.0', id: 'task', error: error as RpcError }, shown)
  }

  function error(message: Message): void {
    checkError(message, message)
    const request = message.id === undefined ? undefined : open.get(message.id)
    if (message.id === undefined && (options.anonymousErrors === true || requests.length === 0)) errorsWithoutId++
    else if (request === undefined) fail(`the answer's id is not the request's: ${ids(requests)}`, message)
    if (request !== undefined) recordCell(revision, request.method, 'error')
    if (message.id !== undefined) open.delete(message.id)
  }

  function result(message: Message): void {
    conform(wireSchema(revision).resultEnvelope, message, message)
    const request = open.get(message.id as Id)
    if (request === undefined) return fail(`the answer's id is not the request's: ${ids(requests)}`, message)
    open.delete(request.id)
    const definition = resultDefinition(revision, request, message.result as JsonObject)
    if (definition === undefined)
      return fail(`"${request.method}" has no result of this kind in this revision`, message)
    conform(definition, message.result, message)
    if (revision === MODERN && !saysServer(message.result as JsonObject))
      fail(`the result does not say which server it is from: "${SERVER_INFO}"`, message)
    const { inputRequests, requestState, error: failure } = message.result as JsonObject
    if (definition === 'InputRequiredResult' && inputRequests === undefined && requestState === undefined) {
      fail('an input_required result has neither inputRequests nor requestState', message)
    }
    const reason = misfitsRequest(revision, request, message.result as JsonObject)
    if (reason !== undefined) fail(reason, message)
    if (definition === 'GetTaskResult') checkTaskError(failure, message)
    recordCell(revision, request.method, KINDS[definition] ?? 'result')
  }

  const isDone = (): boolean => errorsWithoutId > 0 || (requests.length > 0 && open.size === 0)
  return {
    message(value) {
      if (!isObject(value)) return fail('the answer is not a JSON-RPC message', value)
      const message = value as unknown as Message
      if (isDone()) fail('a message follows the final response', message)
      if ('method' in message) ('id' in message ? serverRequest : notification)(message as Message & { method: string })
      else ('error' in message ? error : result)(message)
      const reason =
        misrelated(revision, message, requests) ?? (listen ? listen.misfit(message) : misfitsOtherStream(message))
      if (reason !== undefined) fail(reason, message)
      return message
    },
    get done() {
      return isDone()
    },
    get owes() {
      return requests.length > 0 && !isDone()
    },
  }
}

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** A server SHOULD; this one always does. */
function saysServer({ _meta }: JsonObject): boolean {
  return isObject(_meta) && isObject(_meta[SERVER_INFO])
}

const KINDS: Record<string, CellKind> = { InputRequiredResult: 'input_required', CreateTaskResult: 'task' }

/** The definition that a result has to fit, by its request and its own discriminators. */
function resultDefinition(revision: Revision, { method, params }: SentRequest, result: JsonObject): string | undefined {
  const { results, inputRequired } = wireSchema(revision)
  const isCall = method === 'tools/call'
  if (revision !== MODERN) {
    const isTask = revision === '2025-11-25' && isCall && params?.task !== undefined && 'task' in result
    return isTask ? 'CreateTaskResult' : results[method]
  }
  if (result.resultType === 'task') return isCall ? 'CreateTaskResult' : undefined
  if (result.resultType === 'input_required') return inputRequired.includes(method) ? 'InputRequiredResult' : undefined
  return result.resultType === 'complete' || result.resultType === undefined ? results[method] : undefined
}

/** Why a modern notification may not travel on this answer; a legacy stream carries what the session has. */
function misplaced(revision: Revision, method: string, requests: SentRequest[]): string | undefined {
  if (revision !== MODERN) return undefined
  const listens = requests.some((request) => request.method === LISTEN)
  const isOfRequest = method === 'notifications/progress' || method === 'notifications/message'
  // `notifications/cancelled` is of neither: over HTTP a stream is ended by its result, or cut
  if (listens ? !isOfListening(method) : !isOfRequest) return `"${method}" does not belong on this stream`
  const asked = requests.some(
    ({ params }) => isObject(params?._meta) && 'io.modelcontextprotocol/logLevel' in params._meta,
  )
  return method === 'notifications/message' && !asked
    ? 'a log message was sent although no logLevel was asked for'
    : undefined
}

/** -32099..-32000 belongs to the protocol: what it has not allocated in a revision is not sent there. */
function isAllocated(revision: Revision, code: number): boolean {
  if (code < -32099 || code > -32000) return true
  if (code === -32002) return revision !== MODERN
  if (code === -32042) return revision === '2025-11-25'
  return code === -32020 || code === -32021 || code === -32022
}

function tokens(params: JsonObject | undefined): Id[] {
  const token = isObject(params?._meta) ? params._meta.progressToken : undefined
  return typeof token === 'string' || typeof token === 'number' ? [token] : []
}

function ids(requests: SentRequest[]): string {
  return requests.map(({ id }) => JSON.stringify(id)).join(', ') || 'no request could be read'
}
