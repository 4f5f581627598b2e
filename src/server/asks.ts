// Asking the client: the three kinds of ask, checked before they are sent and when they are answered.
// Where an answer comes from is the journal's business. @see basic/patterns/mrtr; client/elicitation, sampling, roots

import { hasCapability, requiredCapabilities, type CapabilityName } from '../protocol/capabilities.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import type { ContentBlock } from './content.ts'
import { compileForm } from './form.ts'
import type { Parsed, Schema, Validation } from './json-schema.ts'
import type { Ask, Call, InputRequest } from './ports.ts'

/** A zod object or raw JSON Schema with flat, primitive fields. */
export type FormSchema = Schema

/** What the user did with a form. Declining is a value, not an exception. */
export type ElicitAnswer<S extends FormSchema> =
  | { action: 'accept'; content: Parsed<S> }
  | { action: 'decline' | 'cancel'; content?: undefined }

/** What the user did with a link: `accept` says only that they agreed to open it. `id` is the one in the URL. */
export type UrlAnswer = { action: 'accept' | 'decline' | 'cancel'; id: string }

/** What each kind of input request asks. */
export interface InputParams {
  'sampling/createMessage': {
    messages: SamplingMessage[]
    maxTokens: number
    systemPrompt?: string
    modelPreferences?: {
      hints?: { name?: string }[]
      costPriority?: number
      speedPriority?: number
      intelligencePriority?: number
    }
    temperature?: number
    stopSequences?: string[]
    includeContext?: 'none' | 'thisServer' | 'allServers'
    metadata?: JsonObject
    tools?: JsonObject[]
    toolChoice?: { mode?: 'auto' | 'required' | 'none' }
  }
  'roots/list': undefined
}

/** What each kind of input request is answered with. */
export interface InputAnswers {
  'sampling/createMessage': SamplingMessage & { model: string; stopReason?: string }
  'roots/list': { roots: { uri: string; name?: string }[] }
}

/** An input request as a handler writes it. */
export type InputAsk<M extends keyof InputParams> = InputParams[M] extends undefined
  ? { method: M }
  : { method: M; params: InputParams[M] }

export interface SamplingMessage {
  role: 'user' | 'assistant'
  content: SamplingContent | SamplingContent[]
}

export type SamplingContent =
  | Exclude<ContentBlock, { type: 'resource' | 'resource_link' }>
  | { type: 'tool_use'; id: string; name: string; input: JsonObject }
  | { type: 'tool_result'; toolUseId: string; content: ContentBlock[] }

/**
 * @throws {ProtocolError} MissingRequiredClientCapability with `data.requiredCapabilities`
 */
export function requireCapabilities(call: Call, names: readonly CapabilityName[]): void {
  const missing = names.filter((name) => !hasCapability(call.client.capabilities, name))
  if (missing.length === 0) return
  const message = `Missing required client capability: ${missing.join(', ')}`
  throw new ProtocolError('MissingRequiredClientCapability', message, {
    requiredCapabilities: requiredCapabilities(missing),
  })
}

/** The capabilities a request uses. @throws {TypeError} for a sampling request whose tool uses and results do not pair up */
export function needsOf({ method, params = {} }: Pick<InputRequest, 'params'> & { method: string }): CapabilityName[] {
  if (method === 'roots/list') return ['roots']
  if (method === 'sampling/createMessage') return samplingNeeds(params)
  return [params['mode'] === 'url' ? 'elicitation.url' : 'elicitation.form']
}

export async function askForm<S extends FormSchema>(
  call: Call,
  key: string,
  { message, schema }: { message: string; schema: S },
): Promise<ElicitAnswer<S>> {
  requireCapabilities(call, ['elicitation.form'])
  const form = compileForm(schema)
  const params = { mode: 'form', message, requestedSchema: form.requestedSchema }
  const request: InputRequest = { method: 'elicitation/create', params }
  const answer = await call.journal.ask({
    key,
    needsId: false,
    ttlMs: call.askTtlMs,
    request: () => request,
    validate: (value) => validateElicit(value, (content) => form.schema.parse(content)),
  })
  return answer as ElicitAnswer<S>
}

export async function askUrl(
  call: Call,
  key: string,
  { message, url }: { message: string; url: (id: string) => string },
): Promise<UrlAnswer> {
  requireCapabilities(call, ['elicitation.url'])
  let used = ''
  const answer = await call.journal.ask({
    key,
    needsId: true,
    ttlMs: call.askTtlMs,
    request(id) {
      used = id
      const params = { mode: 'url', message, url: checkUrl(url(id)) }
      return { method: 'elicitation/create', params, elicitationId: id }
    },
    validate: (value) => validateElicit(value, () => ({ ok: true, value: undefined })),
  })
  return { action: (answer as UrlAnswer).action, id: used }
}

export async function askInput<M extends keyof InputAnswers>(
  call: Call,
  key: string,
  asked: InputAsk<M>,
): Promise<InputAnswers[M]> {
  const request = asked as InputRequest
  const ask: Ask = {
    key,
    needsId: false,
    ttlMs: call.askTtlMs,
    request: () => request,
    validate: request.method === 'roots/list' ? validateRoots : validateSampling,
  }
  requireCapabilities(call, needsOf(request))
  return (await call.journal.ask(ask)) as InputAnswers[M]
}

function checkUrl(url: string): string {
  const { protocol, hostname } = new URL(url)
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
  if (protocol === 'https:' || (protocol === 'http:' && isLocal)) return url
  throw new TypeError(`cannot send the user to '${protocol}//${hostname}': only https is allowed outside localhost`)
}

async function validateElicit(
  answer: unknown,
  parse: (content: unknown) => Validation | Promise<Validation>,
): Promise<Validation> {
  if (!isObject(answer)) return misfit('', 'must be an object with "action"')
  const { action, content } = answer
  if (action === 'decline' || action === 'cancel') return { ok: true, value: { action } }
  if (action !== 'accept') return misfit('action', 'must be accept, decline or cancel')
  const parsed = await parse(content ?? {})
  return parsed.ok ? { ok: true, value: { action, content: parsed.value } } : parsed
}

function validateRoots(answer: unknown): Validation {
  const roots = isObject(answer) ? answer['roots'] : undefined
  if (!Array.isArray(roots)) return misfit('roots', 'must be a list')
  const fits = roots.every((root) => isObject(root) && typeof root['uri'] === 'string')
  return fits ? { ok: true, value: { roots } } : misfit('roots', 'must be objects with "uri"')
}

function validateSampling(answer: unknown): Validation {
  if (!isObject(answer)) return misfit('', 'must be an object')
  if (answer['role'] !== 'assistant' && answer['role'] !== 'user') return misfit('role', 'must be user or assistant')
  if (typeof answer['model'] !== 'string') return misfit('model', 'must be a string')
  const blocks = [answer['content']].flat()
  const fits = blocks.every((block) => isObject(block) && typeof block['type'] === 'string')
  return fits ? { ok: true, value: answer } : misfit('content', 'must be content')
}

function misfit(path: string, message: string): Validation {
  return { ok: false, issues: [{ path, message }] }
}

/**
 * The capabilities a sampling request uses.
 * @throws {TypeError} when its tool uses and results do not pair up @see client/sampling, Tools in Sampling
 */
function samplingNeeds(params: JsonObject): CapabilityName[] {
  checkToolPairs(Array.isArray(params['messages']) ? params['messages'] : [])
  const needs: CapabilityName[] = ['sampling']
  if (params['tools'] !== undefined || params['toolChoice'] !== undefined) needs.push('sampling.tools')
  if ((params['includeContext'] ?? 'none') !== 'none') needs.push('sampling.context')
  return needs
}

function checkToolPairs(messages: readonly unknown[]): void {
  let open: unknown[] = []
  for (const message of messages) {
    const blocks = isObject(message) ? [message['content']].flat().filter(isObject) : []
    const results = blocks.filter((block) => block['type'] === 'tool_result')
    if (results.length > 0 && results.length < blocks.length) {
      throw new TypeError('cannot send the sampling request: tool results are mixed with other content')
    }
    const answered = new Set(results.map((block) => block['toolUseId']))
    if (answered.size !== open.length || !open.every((id) => answered.has(id))) {
      throw new TypeError('cannot send the sampling request: every tool use needs one tool result in the next message')
    }
    open = blocks.filter((block) => block['type'] === 'tool_use').map((block) => block['id'])
  }
  if (open.length > 0) throw new TypeError('cannot send the sampling request: it ends with an unanswered tool use')
}
