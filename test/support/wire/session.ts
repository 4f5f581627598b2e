// A client of one legacy session: keeps the id, reads streams event by event, resumes them, and answers the server.
// Every message is judged by the session's revision, as everywhere.

import { createClient } from './create-client.ts'
import type { Fetcher, LegacyClient } from './create-client.ts'
import { buildRequest, endpoint } from './envelope.ts'
import type { ClientOptions, RequestOptions } from './envelope.ts'
import type { SentRequest } from './judge.ts'
import type { RawExchange } from './raw.ts'
import type { ResultOf } from './results.ts'
import { isObject } from './revisions.ts'
import type { Id, JsonObject, LegacyRevision, Message, RpcError } from './revisions.ts'
import { readStream } from './session-stream.ts'
import type { SessionStream } from './session-stream.ts'
import { faults, wireSchema } from './schemas.ts'
import { RELATED_TASK, relatedTask } from './task-rules.ts'
import { WireViolation } from './violation.ts'

/** What to answer to a request of the server: a result, an error, or nothing. */
export type Reply = { result: JsonObject } | { error: RpcError } | undefined

export interface ConverseOptions extends RequestOptions {
  /** The answer breaks its own schema on purpose. */
  misfit?: boolean
}

/** A client that has initialized. Its requests carry the session id. */
export interface Session extends LegacyClient {
  readonly revision: LegacyRevision
  /** The session id. */
  readonly id: string
  /** The result of `initialize`. */
  readonly hello: ResultOf<'initialize'>
  /** Sends a request whose answer is a stream; throws when it is none. */
  stream(method: string, params?: JsonObject, options?: RequestOptions): Promise<SessionStream>
  /** The stream of a tool call. */
  callStream(tool: string, args?: JsonObject, options?: RequestOptions): Promise<SessionStream>
  /** Opens a GET; throws when it is refused. @param from a cursor, with the stream it is from */
  listen(from?: { stream?: SessionStream; lastEventId: string }): Promise<SessionStream>
  /** Comes back to a stream, after the last event that was read unless a cursor is given. */
  resume(stream: SessionStream, lastEventId?: string): Promise<SessionStream>
  /** A GET whose body nobody reads. */
  get(headers?: Record<string, string>): Promise<RawExchange>
  /** Answers a request of the server. */
  reply(id: Id | undefined, reply: Exclude<Reply, undefined>): Promise<RawExchange>
  /** Calls a tool and answers what it asks on its stream until it is done; gives the result and what was asked. */
  talk(
    tool: string,
    args: JsonObject | undefined,
    respond: (request: Message) => Reply | Promise<Reply>,
    options?: ConverseOptions,
  ): Promise<{ asked: Message[]; result: ResultOf<'tools/call'>; stream: SessionStream }>
  /** The same for `tasks/result`, which waits for a task. */
  talkTask(
    taskId: string,
    respond: (request: Message) => Reply | Promise<Reply>,
    options?: ConverseOptions,
  ): Promise<{ asked: Message[]; result: ResultOf<'tasks/result'>; stream: SessionStream }>
  cancel(requestId: Id, reason?: string): Promise<RawExchange>
  /** DELETE. */
  end(): Promise<RawExchange>
}

/** Initializes a session, and says so unless told not to. */
export async function legacySession(
  fetcher: Fetcher,
  revision: LegacyRevision,
  options: ClientOptions = {},
): Promise<Session> {
  const opened = await createClient(fetcher, revision, options).request('initialize')
  const id = opened.headers.get('mcp-session-id')
  if (id === null || opened.result === undefined) throw new WireViolation(revision, 'initialize gave no session id')
  const headers = { ...options.headers, 'mcp-session-id': id }
  const client = createClient(fetcher, revision, { ...options, headers })
  const common = { ...headers, 'mcp-protocol-version': revision }
  const sentOf = new WeakMap<SessionStream, SentRequest[]>()

  const read = async (response: Response, sent: SentRequest[]): Promise<SessionStream> => {
    const stream = await readStream(revision, response, sent)
    sentOf.set(stream, sent)
    return stream
  }
  const answerOn = async (
    stream: SessionStream,
    respond: (request: Message) => Reply | Promise<Reply>,
    misfit = false,
  ) => {
    const asked: Message[] = []
    for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
      const { message } = event
      if (message?.method === undefined || message.id === undefined) continue
      asked.push(message)
      const reply = await respond(message)
      if (reply === undefined) continue
      if ('result' in reply && !misfit) checkAnswer(revision, message.method, reply.result)
      const { status } = await session.reply(message.id, related(message, reply))
      if (status !== 202) throw new WireViolation(revision, `an answer got ${status}`)
    }
    const result = stream.read.at(-1)?.message?.result
    if (result === undefined) throw new WireViolation(revision, 'the call did not end with a result', stream.log.text)
    return { asked, result: result as ResultOf<'tools/call'>, stream }
  }
  const session: Session = {
    ...client,
    revision,
    id,
    hello: opened.result,
    async stream(method, params, more = {}) {
      const { request, sent } = buildRequest(revision, { ...options, headers }, method, params, more)
      return read(await fetcher(request), [sent])
    },
    callStream: (tool, args, more) =>
      session.stream('tools/call', { name: tool, ...(args && { arguments: args }) }, more),
    async listen(from) {
      const cursor = from === undefined ? {} : { 'last-event-id': from.lastEventId }
      const request = new Request(endpoint(options), { headers: { ...common, accept: 'text/event-stream', ...cursor } })
      return read(await fetcher(request), from?.stream === undefined ? [] : sentOf.get(from.stream)!)
    },
    resume: (stream, lastEventId = stream.lastEventId) => session.listen({ stream, lastEventId: lastEventId! }),
    get: (more = {}) => client.raw({ headers: { ...common, accept: 'text/event-stream', ...more } }),
    reply: (to, reply) =>
      client.raw({
        method: 'POST',
        headers: { ...common, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: to, ...reply }),
      }),
    async talk(tool, args, respond, { misfit, ...more } = {}) {
      return answerOn(await session.callStream(tool, args, more), respond, misfit)
    },
    async talkTask(taskId, respond, { misfit, ...more } = {}) {
      return answerOn(await session.stream('tasks/result', { taskId }, more), respond, misfit)
    },
    cancel: (requestId, reason) =>
      client.notify('notifications/cancelled', { requestId, ...(reason !== undefined && { reason }) }),
    end: () => client.raw({ method: 'DELETE', headers: common }),
  }
  await session.notify('notifications/initialized')
  return session
}

/** A result names the task that its question named, as a client must. */
function related(question: Message, reply: Exclude<Reply, undefined>): Exclude<Reply, undefined> {
  const mark = relatedTask(question)
  if (mark === undefined || 'error' in reply) return reply
  const meta = isObject(reply.result._meta) ? reply.result._meta : {}
  return { result: { ...reply.result, _meta: { [RELATED_TASK]: mark, ...meta } } }
}

const ANSWERS: Record<string, string> = {
  'elicitation/create': 'ElicitResult',
  'sampling/createMessage': 'CreateMessageResult',
  'roots/list': 'ListRootsResult',
}

/** What the test answers has to be right as well. */
function checkAnswer(revision: LegacyRevision, method: string, result: JsonObject): void {
  const definition = ANSWERS[method]
  const found =
    definition !== undefined && definition in wireSchema(revision).$defs ? faults(revision, definition, result) : []
  if (found.length > 0)
    throw new WireViolation(
      revision,
      `the test sent an answer that its schema refuses\n  ${found.join('\n  ')}`,
      result,
    )
}
