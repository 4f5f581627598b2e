// Hand-made answers for the tests of the checker itself: a fetcher that replies with what the test wrote.

import type { Fetcher } from './create-client.ts'
import type { JsonObject, Message } from './revisions.ts'

/** Replies to each request with a Response, or with a JSON body; `requests` collects what arrived. */
export function fakeServer(reply: (message: Message, request: Request) => unknown): Fetcher & { requests: Request[] } {
  const requests: Request[] = []
  const fetcher = async (request: Request): Promise<Response> => {
    requests.push(request)
    const answer = reply(JSON.parse(await request.clone().text()) as Message, request)
    return answer instanceof Response ? answer : Response.json(answer)
  }
  return Object.assign(fetcher, { requests })
}

export function success({ id }: Message, result: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, result }
}

export function failure({ id }: Message, code: number, data?: unknown): JsonObject {
  return {
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: { code, message: 'No', ...(data === undefined ? {} : { data }) },
  }
}

/** An SSE answer: objects become `data:` events, strings are sent as they are, byte arrays one chunk each. */
export function stream(...parts: (JsonObject | string | Uint8Array)[]): Response {
  const encoder = new TextEncoder()
  const chunks = parts.map((part) => {
    if (part instanceof Uint8Array) return part
    return encoder.encode(typeof part === 'string' ? part : `data: ${JSON.stringify(part)}\n\n`)
  })
  return sse(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      },
    }),
  )
}

export function sse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** What every modern result carries. */
export const stamp = { _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'fake', version: '1' } } }

/** Valid results to spoil. */
export const toolResult = { ...stamp, resultType: 'complete', content: [{ type: 'text', text: 'ok' }] }
export const legacyToolResult = { content: [{ type: 'text', text: 'ok' }] }
export const toolList = {
  ...stamp,
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'public',
  tools: [{ name: 'echo', inputSchema: { type: 'object' } }],
}

/** Valid tasks to spoil, in both forms. */
const times = { createdAt: '2025-11-25T10:30:00.000Z', lastUpdatedAt: '2025-11-25T10:30:01.000Z' }
export const legacyTask = { taskId: 't1', status: 'working', ...times, ttl: 60_000, pollInterval: 500 }
export const modernTask = { taskId: 't1', status: 'working', ...times, ttlMs: 60_000, pollIntervalMs: 500 }

/** A message that says which task it is of. */
export function ofTask(message: JsonObject, taskId: unknown = 't1'): JsonObject {
  const key = message.result === undefined ? 'params' : 'result'
  const content = message[key] as JsonObject | undefined
  const _meta = { ...(content?._meta as JsonObject | undefined), 'io.modelcontextprotocol/related-task': { taskId } }
  return { ...message, [key]: { ...content, _meta } }
}

export function progress(progressToken: unknown, value: number): JsonObject {
  return { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: value } }
}

export function log(data: unknown): JsonObject {
  return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } }
}
