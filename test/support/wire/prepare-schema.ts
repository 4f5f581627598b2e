// Turns one published schema into the form the tests judge by: objects closed, generator defects repaired, and tables
// that say which definition a method's request, result or notification has. Pure; runs once, in the global setup.

import { definitionsOf } from './extract-schemas.ts'
import { isObject, MODERN } from './revisions.ts'
import type { JsonObject, Revision } from './revisions.ts'
import {
  TASK_DEFINITIONS,
  TASK_FILTER,
  TASK_NOTIFICATIONS,
  TASK_REQUESTS,
  TASK_RESULTS,
  TIMESTAMP,
} from './task-definitions.ts'

declare module 'vitest' {
  interface ProvidedContext {
    wireSchemas: Record<Revision, WireSchema>
  }
}

type Definitions = Record<string, JsonObject>

/** A prepared schema; the tables map a method (or an error code) to the name of its definition. */
export interface WireSchema {
  revision: Revision
  $defs: Definitions
  requests: Record<string, string>
  results: Record<string, string>
  clientNotifications: Record<string, string>
  serverNotifications: Record<string, string>
  serverRequests: Record<string, string>
  errors: Record<string, string>
  /** Methods whose result may be an InputRequiredResult. */
  inputRequired: string[]
  resultEnvelope: string
  errorEnvelope: string
}

export function prepareSchema(revision: Revision, published: JsonObject): WireSchema {
  const $defs = repair(definitionsOf(simplify(published) as JsonObject) as Definitions)
  mergeIntersections($defs)
  completeMessages($defs)
  $defs.EmptyResult = { ...$defs.Result, additionalProperties: false }
  for (const [name, definition] of Object.entries($defs)) close(definition, /Meta(Object)?$/.test(name))
  const prepared = { revision, $defs, ...tables($defs) }
  return revision === MODERN ? withTasks(prepared) : prepared
}

/** The extension, which has no part in the unions of the core schema and adds a member to the filter of a listener. */
function withTasks(schema: WireSchema): WireSchema {
  const filter = schema.$defs.SubscriptionFilter
  const SubscriptionFilter = { ...filter, properties: { ...propertiesOf(filter), ...TASK_FILTER } }
  return {
    ...schema,
    $defs: { ...schema.$defs, SubscriptionFilter, ...TASK_DEFINITIONS },
    requests: { ...schema.requests, ...TASK_REQUESTS },
    results: { ...schema.results, ...TASK_RESULTS },
    serverNotifications: { ...schema.serverNotifications, ...TASK_NOTIFICATIONS },
  }
}

/** Descriptions dropped (half the bytes), `definitions` called `$defs`, `format: byte` spelt as a pattern. */
function simplify(node: unknown, inProperties = false): unknown {
  if (Array.isArray(node)) return node.map((item) => simplify(item))
  if (!isObject(node)) return typeof node === 'string' ? node.replace(/^#\/definitions\//, '#/$defs/') : node
  const entries = Object.entries(node).flatMap(([key, value]): [string, unknown][] => {
    if (inProperties) return [[key, simplify(value)]]
    if (key === 'description') return []
    if (key === 'format' && value === 'byte')
      return [['pattern', '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$']]
    return [
      [key === 'definitions' ? '$defs' : key, simplify(value, ['properties', '$defs', 'definitions'].includes(key))],
    ]
  })
  return Object.fromEntries(entries)
}

/**
 * Where the generated JSON says less than the schema.ts it was generated from (and the JSON of some packages less
 * than that of others): TypeScript's `number` came out as `integer`, and `null` was lost from JSONValue. An error's
 * id is absent when the request's could not be read, also in the two revisions that require one. That the times of a
 * task are ISO 8601 is said in words only.
 */
function repair($defs: Definitions): Definitions {
  const widen = (node: unknown): void => {
    if (!isObject(node) && !Array.isArray(node)) return
    const { type } = node as JsonObject
    if (Array.isArray(type) && type.includes('boolean')) {
      ;(node as JsonObject).type = type.map((name) => (name === 'integer' ? 'number' : name))
    }
    Object.values(node).forEach(widen)
  }
  widen($defs)
  for (const key of ['minimum', 'maximum', 'default']) {
    const property = propertiesOf($defs.NumberSchema)[key]
    if (property !== undefined) property.type = 'number'
  }
  const scalars = ($defs.JSONValue?.anyOf as JsonObject[] | undefined)?.find(({ type }) => Array.isArray(type))
  if (scalars !== undefined) scalars.type = [...(scalars.type as string[]), 'null']
  for (const key of ['createdAt', 'lastUpdatedAt']) Object.assign(propertiesOf($defs.Task)[key] ?? {}, TIMESTAMP)
  const error = $defs.JSONRPCError
  if (error !== undefined) error.required = (error.required as string[]).filter((key) => key !== 'id')
  return $defs
}

/** `allOf` of object types becomes one object, since two closed halves would refuse each other's keys. */
function mergeIntersections($defs: Definitions): void {
  const visit = (node: unknown): void => {
    if (!isObject(node) && !Array.isArray(node)) return
    Object.values(node).forEach(visit)
    if (Array.isArray(node) || !Array.isArray(node.allOf)) return
    const parts = (node.allOf as JsonObject[]).map((part) =>
      typeof part.$ref === 'string' ? resolve($defs, part.$ref) : part,
    )
    delete node.allOf
    node.type = 'object'
    node.properties = Object.assign({}, ...parts.map((part) => structuredClone(part.properties)))
    node.required = [...new Set(parts.flatMap((part) => (part.required as string[] | undefined) ?? []))]
  }
  visit($defs)
}

/**
 * Before 2025-11-25 the generated message types leave out what they inherit: `jsonrpc`, `id`, and `params._meta`.
 * The requests that 2026-07-28 embeds in a result have neither of the first two by design.
 */
function completeMessages($defs: Definitions): void {
  if ($defs.InputRequest !== undefined) return
  for (const [name, definition] of Object.entries($defs)) {
    const properties = propertiesOf(definition)
    if (properties.method?.const === undefined) continue
    const isRequest = name.endsWith('Request')
    properties.jsonrpc = { type: 'string', const: '2.0' }
    if (isRequest) properties.id = { $ref: '#/$defs/RequestId' }
    const required = isRequest ? ['jsonrpc', 'id'] : ['jsonrpc']
    definition.required = [...new Set([...((definition.required as string[] | undefined) ?? []), ...required])]
    const params = propertiesOf(properties.params)
    const inherited = propertiesOf(propertiesOf($defs[isRequest ? 'Request' : 'Notification']).params)._meta
    if (properties.params?.properties !== undefined) params._meta ??= structuredClone(inherited ?? { type: 'object' })
  }
}

/** Free by intent: metadata, a tool's JSON Schemas, and what an error carries beside its message. */
const FREE = new Set(['_meta', 'inputSchema', 'outputSchema', 'data'])

/**
 * An object with `properties` that says nothing of others allows no others. What says so itself (`arguments`,
 * `structuredContent`, capability settings, the generic Result and Request) and maps without `properties` stay free.
 */
function close(node: unknown, free = false): void {
  if (Array.isArray(node)) return node.forEach((item) => close(item))
  if (!isObject(node)) return
  if (!free && node.properties !== undefined) node.additionalProperties ??= false
  for (const [key, value] of Object.entries(node)) {
    if (key !== 'properties') close(value)
    else for (const [name, property] of Object.entries(propertiesOf(node))) close(property, FREE.has(name))
  }
}

function tables($defs: Definitions): Omit<WireSchema, 'revision' | '$defs'> {
  const requests = byMethod($defs, 'ClientRequest')
  const resultOf = (name: string): string => {
    const result = name.replace(/Request$/, 'Result')
    if (name === 'GetTaskPayloadRequest') return 'CallToolResult'
    return result in $defs ? result : 'EmptyResult'
  }
  return {
    requests,
    results: Object.fromEntries(Object.entries(requests).map(([method, name]) => [method, resultOf(name)])),
    clientNotifications: byMethod($defs, 'ClientNotification'),
    serverNotifications: byMethod($defs, 'ServerNotification'),
    serverRequests: byMethod($defs, 'ServerRequest'),
    errors: byErrorCode($defs),
    inputRequired: Object.keys(requests).filter((method) => {
      const response = propertiesOf($defs[`${resultOf(requests[method]!)}Response`])
      return JSON.stringify(response.result ?? null).includes('/InputRequiredResult"')
    }),
    resultEnvelope: 'JSONRPCResultResponse' in $defs ? 'JSONRPCResultResponse' : 'JSONRPCResponse',
    errorEnvelope: 'JSONRPCErrorResponse' in $defs ? 'JSONRPCErrorResponse' : 'JSONRPCError',
  }
}

/** The members of a union such as ServerNotification by their method; a union of one is written as its member. */
function byMethod($defs: Definitions, union: string): Record<string, string> {
  const definition = $defs[union]
  if (definition === undefined) return {}
  const members = (definition.anyOf as JsonObject[] | undefined)?.map((member) =>
    String(member.$ref).slice('#/$defs/'.length),
  )
  const methodOf = (name: string) => propertiesOf($defs[name]).method?.const as string
  const single = propertiesOf(definition).method?.const
  const names = members ?? Object.keys($defs).filter((name) => name !== union && methodOf(name) === single)
  return Object.fromEntries(names.map((name) => [methodOf(name), name]))
}

function byErrorCode($defs: Definitions): Record<string, string> {
  const entries = Object.keys($defs).flatMap((name) => {
    const code = propertiesOf(propertiesOf($defs[name]).error).code?.const
    return code === undefined ? [] : [[String(code), name]]
  })
  return Object.fromEntries(entries)
}

function propertiesOf(node: JsonObject | undefined): Record<string, JsonObject> {
  return isObject(node?.properties) ? (node.properties as Record<string, JsonObject>) : {}
}

function resolve($defs: Definitions, ref: string): JsonObject {
  const definition = $defs[ref.slice('#/$defs/'.length)]
  if (definition === undefined) throw new Error(`Could not resolve a reference of a published schema: "${ref}"`)
  return definition
}
