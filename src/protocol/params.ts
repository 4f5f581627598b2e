// The parameters of each request, checked by hand: small, and the error names the field.

import { ProtocolError } from './errors.ts'
import { isObject, type JsonObject } from './json-rpc.ts'

const NOTHING: JsonObject = Object.freeze({})

/** What a retry of an asked call brings back. @see basic/patterns/mrtr */
export interface Retry {
  inputResponses: JsonObject
  requestState?: string
  /** True if the request carried either field, whose results must not be cached. */
  isRetry: boolean
}

export interface CompleteParams {
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }
  argument: { name: string; value: string }
  known: Record<string, string>
}

/** @throws {ProtocolError} InvalidParams naming the field */
export function stringParam(params: JsonObject, key: string): string {
  const value = params[key]
  if (typeof value !== 'string') throw invalid(`params.${key} must be a string`)
  return value
}

/** `arguments` of a tool call; missing and null count as `{}`. @throws {ProtocolError} InvalidParams */
export function argumentsParam(params: JsonObject): JsonObject {
  const value = params['arguments'] ?? NOTHING
  if (!isObject(value)) throw invalid('params.arguments must be an object')
  return value
}

/** `arguments` of a prompt: strings only. @throws {ProtocolError} InvalidParams naming the argument */
export function promptArguments(params: JsonObject): JsonObject {
  const value = argumentsParam(params)
  for (const [name, argument] of Object.entries(value)) {
    if (typeof argument !== 'string') throw invalid(`params.arguments.${name} must be a string`)
  }
  return value
}

/** @throws {ProtocolError} InvalidParams */
export function cursorParam(params: JsonObject): string | undefined {
  const value = params['cursor'] ?? undefined
  if (value !== undefined && typeof value !== 'string') throw invalid('params.cursor must be a string')
  return value
}

/** @throws {ProtocolError} InvalidParams */
export function retryParams(params: JsonObject): Retry {
  const { inputResponses = null, requestState = null } = params
  if (inputResponses !== null && !isObject(inputResponses)) throw invalid('params.inputResponses must be an object')
  if (requestState !== null && typeof requestState !== 'string') throw invalid('params.requestState must be a string')
  const retry = { inputResponses: inputResponses ?? NOTHING, isRetry: inputResponses !== null || requestState !== null }
  return requestState === null ? retry : { ...retry, requestState }
}

/** `inputResponses` of `tasks/update`. @throws {ProtocolError} InvalidParams */
export function inputResponsesParam(params: JsonObject): JsonObject {
  const value = params['inputResponses']
  if (!isObject(value)) throw invalid('params.inputResponses must be an object')
  return value
}

/**
 * The lifetime a 2025-11-25 client asks for its task, in ms, or undefined when it leaves that to the server.
 * @throws {ProtocolError} InvalidParams naming the field
 */
export function requestedTtl(params: JsonObject): number | undefined {
  const task = params['task']
  if (!isObject(task)) throw invalid('params.task must be an object')
  const ttl = task['ttl'] ?? undefined
  if (ttl !== undefined && !(typeof ttl === 'number' && Number.isFinite(ttl) && ttl >= 0)) {
    throw invalid('params.task.ttl must be a number of milliseconds')
  }
  return ttl as number | undefined
}

/** @throws {ProtocolError} InvalidParams naming the field */
export function completeParams(params: JsonObject): CompleteParams {
  const { ref, argument, context } = params
  if (!isObject(argument)) throw invalid('params.argument must be an object')
  if (typeof argument['name'] !== 'string') throw invalid('params.argument.name must be a string')
  if (typeof argument['value'] !== 'string') throw invalid('params.argument.value must be a string')
  return {
    ref: refParam(ref),
    argument: { name: argument['name'], value: argument['value'] },
    known: knownArguments(context),
  }
}

function refParam(ref: unknown): CompleteParams['ref'] {
  if (isObject(ref) && ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') {
    return { type: 'ref/prompt', name: ref['name'] }
  }
  if (isObject(ref) && ref['type'] === 'ref/resource' && typeof ref['uri'] === 'string') {
    return { type: 'ref/resource', uri: ref['uri'] }
  }
  throw invalid('params.ref must be a ref/prompt with "name" or a ref/resource with "uri"')
}

function knownArguments(context: unknown): Record<string, string> {
  const known: Record<string, string> = Object.create(null)
  if (context === undefined || context === null) return known
  const args = isObject(context) ? (context['arguments'] ?? {}) : undefined
  if (!isObject(args)) throw invalid('params.context.arguments must be an object')
  for (const [name, value] of Object.entries(args)) {
    if (typeof value !== 'string') throw invalid(`params.context.arguments.${name} must be a string`)
    known[name] = value
  }
  return known
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError('InvalidParams', `Invalid params: ${problem}`)
}
