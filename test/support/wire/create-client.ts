// The client of one revision: composes the request, the reading of the answer and the judging into what tests call.

import { converse } from './answers.ts'
import type { Answer, Answered } from './answers.ts'
import { buildNotification, buildRequest, endpoint } from './envelope.ts'
import type { ClientOptions, RequestOptions } from './envelope.ts'
import { receive } from './exchange.ts'
import { paramHeaders } from './headers.ts'
import { sendRaw, settle } from './raw.ts'
import type { RawExchange, RawInit } from './raw.ts'
import type { AnyTask, LegacyTask, ModernTask, NotificationMessage, ResultOf } from './results.ts'
import { MODERN } from './revisions.ts'
import type { JsonObject, LegacyRevision, Message, Revision, RpcError } from './revisions.ts'
import { faults, wireSchema } from './schemas.ts'
import type { SseLog } from './sse.ts'
import { taskMethods } from './task-client.ts'
import type { LegacyTaskMethods, TaskMethods } from './task-client.ts'
import { WireViolation } from './violation.ts'

/** `(request) => exports.default.fetch(request)`, `app.fetch`, or `globalThis.fetch` for a live URL. */
export type Fetcher = (request: Request) => Response | Promise<Response>

/** A request and everything that came back for it. */
export interface Exchange<Method extends string = string> {
  status: number
  headers: Headers
  contentType: 'application/json' | 'text/event-stream'
  /** What was sent. */
  sent: Message
  /** Notifications before the response, in order. */
  notifications: NotificationMessage[]
  /** Requests of the server before the response (legacy only), in order. */
  requests: Message[]
  response: Message
  result?: ResultOf<Method>
  error?: RpcError
  /** Raw text of an SSE answer. */
  frames?: string
  /** Comments, ids, retries and text of the answer. */
  log: SseLog
}

export type Success<Method extends string = string> = Exchange<Method> & { result: ResultOf<Method> }

export interface RpcFailure extends RpcError {
  status: number
}

/** A response stream that the test reads itself. */
export interface OpenStream {
  response: Response
  /** Judged as they are read. Leaving a `for await` early hangs up; `next()` reads one and stays. */
  messages: AsyncGenerator<Message, void>
  /** Comments, ids, retries and text so far; it grows only while `messages` is being read. */
  log: SseLog
  /** Comments so far. */
  readonly comments: number
  /** Hangs up. A pending read then sees the end. */
  cancel(): Promise<void>
}

export interface AnswerOptions extends RequestOptions {
  answers: Record<string, Answer>
}

export interface Client<Task extends AnyTask = AnyTask> extends TaskMethods<Task> {
  readonly revision: Revision
  /** Sends a request and reads the whole answer, result or error. */
  request<M extends string>(method: M, params?: JsonObject, options?: RequestOptions): Promise<Exchange<M>>
  /** The result of a request; throws when the answer is an error. */
  result<M extends string>(method: M, params?: JsonObject, options?: RequestOptions): Promise<ResultOf<M>>
  /** The error of a request; throws when the answer is a result. */
  error(method: string, params?: JsonObject, options?: RequestOptions): Promise<RpcFailure>
  /** Sends a request and hands out its answer message by message. */
  open(method: string, params?: JsonObject, options?: RequestOptions): Promise<OpenStream>
  /** Sends a notification. */
  notify(method: string, params?: JsonObject, options?: RequestOptions): Promise<RawExchange>
  /** Calls a tool, with its `Mcp-Param-*` headers on modern; throws when the answer is a JSON-RPC error. */
  call(tool: string, args?: JsonObject, options?: RequestOptions): Promise<Success<'tools/call'>>
  /** Calls a tool and answers what it asks, until the result is complete. */
  answer(tool: string, args: JsonObject | undefined, options: AnswerOptions): Promise<Answered<ResultOf<'tools/call'>>>
  /** The same for `prompts/get`, `resources/read`, or any request. */
  converse<M extends string>(method: M, params: JsonObject, options: AnswerOptions): Promise<Answered<ResultOf<M>>>
  /** The `Mcp-Param-*` headers of a call, from a `tools/list` fetched once; none on legacy. */
  paramHeaders(tool: string, args?: JsonObject): Promise<Record<string, string>>
  /** Any HTTP request, sent as it is; JSON-RPC in the answer is judged. */
  raw(init?: RawInit): Promise<RawExchange>
}

export type ModernClient = Client<ModernTask>
export type LegacyClient = Client<LegacyTask> & LegacyTaskMethods

/** A client of one revision; tests take `modern`, `legacy` or `describeEras`. */
export function createClient(fetcher: Fetcher, revision: typeof MODERN, client?: ClientOptions): ModernClient
export function createClient(fetcher: Fetcher, revision: LegacyRevision, client?: ClientOptions): LegacyClient
export function createClient(fetcher: Fetcher, revision: Revision, client?: ClientOptions): Client
export function createClient(fetcher: Fetcher, revision: Revision, client: ClientOptions = {}): Client {
  let schemas: Promise<Map<string, JsonObject>> | undefined

  async function request<M extends string>(
    method: M,
    params?: JsonObject,
    options: RequestOptions = {},
  ): Promise<Exchange<M>> {
    const { request, sent, message } = buildRequest(revision, client, method, params, options)
    const incoming = receive(revision, [sent], await fetcher(request))
    const before: Message[] = []
    for await (const each of incoming.messages) before.push(each)
    const response = before.pop() as Message
    if (response.result !== undefined && options.unchecked !== true) checkSent(revision, message)
    return {
      status: incoming.response.status,
      headers: incoming.response.headers,
      contentType: incoming.contentType,
      sent: message,
      notifications: before.filter(({ id }) => id === undefined) as unknown as NotificationMessage[],
      requests: before.filter(({ id }) => id !== undefined),
      response,
      ...(response.result === undefined ? {} : { result: response.result as ResultOf<M> }),
      ...(response.error === undefined ? {} : { error: response.error }),
      ...(incoming.contentType === 'text/event-stream' ? { frames: incoming.log.text } : {}),
      log: incoming.log,
    }
  }

  async function succeed<M extends string>(
    method: M,
    params?: JsonObject,
    options?: RequestOptions,
  ): Promise<Success<M>> {
    const exchange = await request(method, params, options)
    if (exchange.result === undefined)
      throw new WireViolation(revision, `${method} was answered with an error`, exchange.response)
    return exchange as Success<M>
  }

  async function result<M extends string>(
    method: M,
    params?: JsonObject,
    options?: RequestOptions,
  ): Promise<ResultOf<M>> {
    return (await succeed(method, params, options)).result
  }

  async function listTools(): Promise<Map<string, JsonObject>> {
    const found = new Map<string, JsonObject>()
    let cursor: string | undefined
    do {
      const page: ResultOf<'tools/list'> = await result('tools/list', cursor === undefined ? {} : { cursor })
      for (const { name, inputSchema } of page.tools) found.set(name, inputSchema)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return found
  }

  async function headersFor(tool: string, args: JsonObject = {}): Promise<Record<string, string>> {
    if (revision !== MODERN) return {}
    schemas ??= listTools()
    return paramHeaders((await schemas).get(tool) ?? {}, args)
  }

  async function callWith(
    more: JsonObject,
    tool: string,
    args?: JsonObject,
    options: RequestOptions = {},
  ): Promise<Success<'tools/call'>> {
    const headers = { ...(await headersFor(tool, args)), ...options.headers }
    const params = { name: tool, ...(args === undefined ? {} : { arguments: args }), ...more }
    return succeed('tools/call', params, { ...options, headers })
  }

  return {
    revision,
    request,
    result,
    call: (tool, args, options) => callWith({}, tool, args, options),
    ...taskMethods(revision, {
      result,
      call: async (tool, args, options, more) => (await callWith(more, tool, args, options)).result,
    }),
    paramHeaders: headersFor,
    async error(method, params, options) {
      const { status, error, response } = await request(method, params, options)
      if (error === undefined) throw new WireViolation(revision, `${method} was answered with a result`, response)
      return { status, ...error }
    },
    async open(method, params, options = {}) {
      const hangUp = new AbortController()
      const signal = options.signal === undefined ? hangUp.signal : AbortSignal.any([options.signal, hangUp.signal])
      const { request, sent } = buildRequest(revision, client, method, params, { ...options, signal })
      const { response, messages, log, cancel } = receive(revision, [sent], await fetcher(request))
      return {
        response,
        messages,
        log,
        get comments() {
          return log.comments
        },
        async cancel() {
          await cancel()
          hangUp.abort()
        },
      }
    },
    async notify(method, params, options = {}) {
      const { request } = buildNotification(revision, client, method, params, options)
      return settle(revision, await fetcher(request), [])
    },
    async answer(tool, args, { answers, ...options }) {
      const headers = { ...(await headersFor(tool, args)), ...options.headers }
      const params = { name: tool, ...(args === undefined ? {} : { arguments: args }) }
      return converse((retry) => result('tools/call', { ...params, ...retry }, { ...options, headers }), answers)
    },
    converse(method, params, { answers, ...options }) {
      return converse((retry) => result(method, { ...params, ...retry }, options), answers)
    },
    raw(init = {}) {
      return sendRaw(fetcher, init.as ?? revision, endpoint(client), init)
    },
  }
}

/** What was answered with a result has to be a valid request itself. */
function checkSent(revision: Revision, message: Message): void {
  const definition = wireSchema(revision).requests[message.method ?? '']
  const found = definition === undefined ? [] : faults(revision, definition, message)
  if (found.length === 0) return
  const reason = `the test sent a request that its schema refuses (deliberate? then pass { unchecked: true })\n  ${found.join('\n  ')}`
  throw new WireViolation(revision, reason, message)
}
