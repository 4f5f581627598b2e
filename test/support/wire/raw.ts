// Requests that a test writes byte by byte. Nothing is asked of the request; JSON-RPC in the answer is still judged.

import { mediaType, receive } from './exchange.ts'
import type { SentRequest } from './judge.ts'
import { isObject } from './revisions.ts'
import type { JsonObject, Message, Revision } from './revisions.ts'

export type RawInit = RequestInit & {
  /** Relative to the MCP endpoint's origin; the endpoint itself by default. */
  path?: string
  /** Judge the answer by another revision than the client's. */
  as?: Revision
}

export interface RawExchange {
  status: number
  headers: Headers
  /** Media type without parameters, `''` if there is none. */
  contentType: string
  /** The whole body. */
  text: string
  /** The body of a JSON answer. */
  json?: unknown
  /** The JSON-RPC messages in it. */
  messages: Message[]
}

/** With a body and no method it is a POST. */
export async function sendRaw(
  fetcher: (request: Request) => Response | Promise<Response>,
  revision: Revision,
  url: string,
  { path, ...init }: RawInit,
): Promise<RawExchange> {
  const method = init.method ?? (init.body === undefined || init.body === null ? 'GET' : 'POST')
  const target = path === undefined ? url : new URL(path, url).href
  const body = parse(typeof init.body === 'string' ? init.body : decode(init.body))
  const response = await fetcher(new Request(target, { redirect: 'manual', ...init, method }))
  return settle(revision, response, sentRequests(body), {
    batch: Array.isArray(body),
    elsewhere: path !== undefined || method === 'HEAD',
  })
}

export interface SettleOptions {
  batch?: boolean
  /** Not a message of the MCP endpoint: JSON there is only judged if it calls itself JSON-RPC. */
  elsewhere?: boolean
}

export async function settle(
  revision: Revision,
  response: Response,
  requests: SentRequest[],
  { batch = false, elsewhere = false }: SettleOptions = {},
): Promise<RawExchange> {
  const { status, headers } = response
  const contentType = mediaType(response)
  const messages: Message[] = []
  if (contentType === 'text/event-stream') {
    const incoming = receive(revision, requests, response, { anonymousErrors: true })
    for await (const message of incoming.messages) messages.push(message)
    return { status, headers, contentType, text: incoming.log.text, messages }
  }
  const text = await response.text()
  if (contentType !== 'application/json') return { status, headers, contentType, text, messages }
  const json = parse(text)
  if (!elsewhere || isJsonRpc(json)) {
    const copy = new Response(text, { status, headers: { 'content-type': contentType } })
    for await (const message of receive(revision, requests, copy, { anonymousErrors: true, batch }).messages)
      messages.push(message)
  }
  return { status, headers, contentType, text, json, messages }
}

/** The requests that a server can read in a body. */
function sentRequests(body: unknown): SentRequest[] {
  return (Array.isArray(body) ? body : [body]).filter(isObject).flatMap(({ id, method, params }) => {
    if ((typeof id !== 'string' && !Number.isInteger(id)) || typeof method !== 'string') return []
    return [{ id: id as string | number, method, ...(isObject(params) ? { params: params as JsonObject } : {}) }]
  })
}

function isJsonRpc(value: unknown): boolean {
  return (Array.isArray(value) ? value : [value]).some((each) => isObject(each) && 'jsonrpc' in each)
}

/** Bytes as a server reads them; what a stream would send is not looked at. */
function decode(body: unknown): string {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : ''
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // broken on purpose, or the reader of the answer says so
  }
}
