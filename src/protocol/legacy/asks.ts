// Requests of the server as each legacy revision can say them, and which revision knows which.
// @see 2025-06-18 client/elicitation; 2025-11-25 client/elicitation, client/sampling

import { isSince, type LegacyVersion } from '../era.ts'
import { isObject, type JsonObject } from '../json-rpc.ts'

/** Since when each request a server may send exists. */
const SINCE: { readonly [method: string]: LegacyVersion } = {
  'elicitation/create': '2025-06-18',
  'sampling/createMessage': '2025-03-26',
  'roots/list': '2025-03-26',
}

/** The parameters of a server request on a revision, or undefined when that revision cannot say it. */
export function legacyAsk(method: string, params: JsonObject, version: LegacyVersion): JsonObject | undefined {
  const since = SINCE[method]
  if (since === undefined || !isSince(version, since)) return undefined
  if (isSince(version, '2025-11-25')) return params
  if (method === 'elicitation/create') return form(params)
  if (method === 'sampling/createMessage') return sampling(params)
  return params
}

/** 2025-06-18 knows forms only, without `mode`, and fewer kinds of fields. */
function form({ mode, message, requestedSchema }: JsonObject): JsonObject | undefined {
  if (mode === 'url' || !isObject(requestedSchema)) return undefined
  const properties: JsonObject = {}
  for (const [name, field] of Object.entries(requestedSchema['properties'] as JsonObject)) {
    const narrowed = formField(field as JsonObject)
    if (narrowed === undefined) return undefined
    properties[name] = narrowed
  }
  return { message, requestedSchema: { ...requestedSchema, properties } }
}

function formField(field: JsonObject): JsonObject | undefined {
  const { default: preset, oneOf, ...rest } = field
  if (field['type'] === 'array') return undefined
  if (Array.isArray(oneOf)) {
    const options = oneOf as { const: string; title: string }[]
    return { ...rest, enum: options.map(({ const: value }) => value), enumNames: options.map(({ title }) => title) }
  }
  return field['type'] === 'boolean' && preset !== undefined ? { ...rest, default: preset } : rest
}

/** Before 2025-11-25 a message holds one block and no tools. */
function sampling(params: JsonObject): JsonObject | undefined {
  if (params['tools'] !== undefined || params['toolChoice'] !== undefined) return undefined
  const messages: JsonObject[] = []
  for (const message of params['messages'] as JsonObject[]) {
    const blocks = [message['content']].flat() as JsonObject[]
    if (blocks.length !== 1 || !['text', 'image', 'audio'].includes(blocks[0]!['type'] as string)) return undefined
    messages.push({ role: message['role'], content: blocks[0] })
  }
  return { ...params, messages }
}
