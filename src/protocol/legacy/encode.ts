// Results as each legacy revision knows them: fields that came later are dropped. @see 2025-11-25 changelog and schema

import { isSince, type LegacyVersion } from '../era.ts'
import { isObject, type JsonObject } from '../json-rpc.ts'

type Since = { readonly [field: string]: LegacyVersion }

const BASE: Since = { title: '2025-06-18', _meta: '2025-06-18', icons: '2025-11-25' }
const CONTENT: Since = { _meta: '2025-06-18' }

/** Since when each field of a listed entry exists. */
const LISTED: { readonly [member: string]: Since } = {
  tools: { ...BASE, outputSchema: '2025-06-18', execution: '2025-11-25' },
  prompts: BASE,
  resources: BASE,
  resourceTemplates: BASE,
}
const SERVER_INFO: Since = {
  title: '2025-06-18',
  icons: '2025-11-25',
  description: '2025-11-25',
  websiteUrl: '2025-11-25',
}

/** A result narrowed to a revision. */
export function legacyResult(method: string, result: JsonObject, version: LegacyVersion): JsonObject {
  switch (method) {
    case 'tools/call':
      return toolResult(result, version)
    case 'prompts/get':
      return { ...result, messages: mapList(result['messages'], (message) => promptMessage(message, version)) }
    case 'resources/read':
      return { ...result, contents: mapList(result['contents'], (entry) => without(entry, CONTENT, version)) }
    default:
      return listResult(result, version)
  }
}

/** `serverInfo` of an `initialize` result. */
export function legacyServerInfo(info: JsonObject, version: LegacyVersion): JsonObject {
  return without(info, SERVER_INFO, version)
}

function listResult(result: JsonObject, version: LegacyVersion): JsonObject {
  const [member] = Object.keys(LISTED).filter((key) => Array.isArray(result[key]))
  if (member === undefined) return result
  return { ...result, [member]: mapList(result[member], (entry) => listedEntry(entry, LISTED[member]!, version)) }
}

function listedEntry(entry: JsonObject, since: Since, version: LegacyVersion): JsonObject {
  const narrowed = withAnnotations(without(entry, since, version), version)
  const args = narrowed['arguments']
  if (Array.isArray(args)) narrowed['arguments'] = mapList(args, (arg) => without(arg, BASE, version))
  if (!isObjectSchema(narrowed['outputSchema'])) delete narrowed['outputSchema']
  return narrowed
}

/** Up to 2025-11-25 structured output is an object, so other schemas are not announced. */
function isObjectSchema(schema: unknown): boolean {
  return isObject(schema) && schema['type'] === 'object'
}

function toolResult(result: JsonObject, version: LegacyVersion): JsonObject {
  const narrowed: JsonObject = {
    ...result,
    content: mapList(result['content'], (block) => contentBlock(block, version)),
  }
  const isKnown = isSince(version, '2025-06-18') && isObject(result['structuredContent'])
  if (!isKnown) delete narrowed['structuredContent']
  return narrowed
}

function promptMessage(message: JsonObject, version: LegacyVersion): JsonObject {
  return { ...message, content: contentBlock(message['content'] as JsonObject, version) }
}

function contentBlock(block: JsonObject, version: LegacyVersion): JsonObject {
  if (block['type'] === 'resource_link') {
    if (!isSince(version, '2025-06-18')) return { type: 'text', text: linkText(block) }
    return withAnnotations(without(block, BASE, version), version)
  }
  const narrowed = withAnnotations(without(block, CONTENT, version), version)
  const resource = narrowed['resource']
  if (isObject(resource)) narrowed['resource'] = without(resource, CONTENT, version)
  return narrowed
}

function linkText({ uri, name, description }: JsonObject): string {
  return description === undefined
    ? `${String(name)}: ${String(uri)}`
    : `${String(name)} (${String(description)}): ${String(uri)}`
}

function withAnnotations(entry: JsonObject, version: LegacyVersion): JsonObject {
  const annotations = entry['annotations']
  if (!isObject(annotations)) return entry
  return { ...entry, annotations: without(annotations, { lastModified: '2025-06-18' }, version) }
}

function without(from: JsonObject, since: Since, version: LegacyVersion): JsonObject {
  const kept: JsonObject = {}
  for (const [key, value] of Object.entries(from)) {
    const added = since[key]
    if (added === undefined || isSince(version, added)) kept[key] = value
  }
  return kept
}

function mapList(list: unknown, map: (entry: JsonObject) => JsonObject): JsonObject[] {
  return (list as JsonObject[]).map(map)
}
