// Whether a schema is one this server can put on the wire and enforce: dialect, references, shape and bounds.
// Nothing here fetches a $ref. @see basic/index, JSON Schema Usage

import { limits } from '../limits.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

const TYPES = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])
const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const SCHEMA_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']
const MORE_SCHEMAS = ['unevaluatedItems', 'unevaluatedProperties', 'contentSchema']

const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const COUNTS = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]
const TEXTS = ['title', 'description', 'pattern', 'format', '$comment', '$anchor']

/** What the values of keywords are: hosts that compile schemas drop the whole list of tools for one that is wrong. */
const KEYWORDS: readonly { keys: readonly string[]; is: string; fits(value: unknown): boolean }[] = [
  {
    keys: SCHEMA_MAPS,
    is: 'object of schemas',
    fits: (value) => isObject(value) && Object.values(value).every(isSchema),
  },
  {
    keys: SCHEMA_LISTS,
    is: 'list of schemas',
    fits: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  },
  { keys: [...SCHEMAS, ...MORE_SCHEMAS], is: 'schema', fits: isSchema },
  { keys: ['enum'], is: 'list', fits: Array.isArray },
  { keys: NUMBERS, is: 'number', fits: (value) => typeof value === 'number' },
  { keys: COUNTS, is: 'whole number', fits: (value) => Number.isInteger(value) && (value as number) >= 0 },
  { keys: TEXTS, is: 'text', fits: (value) => typeof value === 'string' },
]

function isSchema(value: unknown): value is JsonObject | boolean {
  return isObject(value) || typeof value === 'boolean'
}

/** Every subschema of a schema, with the keys that lead to it. */
export function* subschemas(
  root: JsonObject,
  path: readonly string[] = [],
): Generator<[JsonObject, readonly string[]]> {
  yield [root, path]
  for (const key of SCHEMA_MAPS) {
    const map = root[key]
    if (!isObject(map)) continue
    for (const [name, child] of Object.entries(map)) if (isObject(child)) yield* subschemas(child, [...path, key, name])
  }
  for (const key of SCHEMA_LISTS) {
    const list = root[key]
    if (!Array.isArray(list)) continue
    for (const [i, child] of list.entries()) if (isObject(child)) yield* subschemas(child, [...path, key, String(i)])
  }
  for (const key of [...SCHEMAS, ...MORE_SCHEMAS]) {
    const child = root[key]
    if (isObject(child)) yield* subschemas(child, [...path, key])
  }
}

/** @throws {TypeError} naming the place and what is wrong with it */
export function checkSchema(root: JsonObject, what: string): void {
  const refuse = (at: readonly string[], problem: string): never => {
    throw new TypeError(`cannot use ${what}: ${at.length ? `#/${at.join('/')}` : 'the schema'} ${problem}`)
  }
  if (isDeep(root, limits.schemaDepth * 2)) refuse([], `nests deeper than ${limits.schemaDepth} levels`)
  let nodes = 0
  for (const [node, path] of subschemas(root)) {
    if (++nodes > limits.schemaNodes) refuse([], `has more than ${limits.schemaNodes} subschemas`)
    checkNode(root, node, (problem) => refuse(path, problem))
  }
}

/**
 * Patterns that do not compile would fail every call. Those of zod have compiled already.
 * @throws {TypeError} naming the place and the pattern
 */
export function checkPatterns(root: JsonObject, what: string): void {
  for (const [{ pattern, patternProperties = {} }, path] of subschemas(root)) {
    for (const source of [pattern ?? '', ...Object.keys(patternProperties as JsonObject)]) {
      try {
        RegExp(source as string, 'u')
      } catch (error) {
        const at = path.length ? `#/${path.join('/')}` : 'the schema'
        throw new TypeError(`cannot use ${what}: ${at} has the pattern '${String(source)}', which is none`, {
          cause: error,
        })
      }
    }
  }
}

function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((child) => isDeep(child, levels - 1))
}

function checkNode(root: JsonObject, node: JsonObject, refuse: (problem: string) => never): void {
  const { $schema, type, required } = node
  if ($schema !== undefined && String($schema).replace(/#$/, '') !== DIALECT) {
    refuse(`declares the dialect '${String($schema)}': only ${DIALECT} is supported`)
  }
  for (const [key, value] of Object.entries(node)) {
    if (value === null && key !== 'const' && key !== 'default') refuse(`has null for "${key}"`)
  }
  for (const { keys, is, fits } of KEYWORDS) {
    for (const key of keys) {
      if (node[key] !== undefined && !fits(node[key])) refuse(`has a "${key}" that is no ${is}`)
    }
  }
  for (const one of type === undefined ? [] : [type].flat()) {
    if (!TYPES.has(one as string)) refuse(`has the unknown type '${String(one)}'`)
  }
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string'))) {
    refuse('has a "required" that is no list of names')
  }
  const { $ref, $dynamicRef } = node
  if ($ref !== undefined && targetOf(root, $ref) === undefined)
    refuse(`has a $ref to '${String($ref)}' that is not inside the schema`)
  // The validator would pass it by, and what is announced must be enforced.
  if ($dynamicRef !== undefined) refuse('has a $dynamicRef, which is not supported: use $ref')
}

/** The schema a reference names, or undefined when it names none inside `root`. */
export function targetOf(root: JsonObject, ref: unknown): JsonObject | boolean | undefined {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
  if (ref === '#') return root
  if (!ref.startsWith('#/')) {
    const anchor = ref.slice(1)
    const nodes = Array.from(subschemas(root), ([node]) => node)
    return nodes.find((node) => node['$anchor'] === anchor || node['$dynamicAnchor'] === anchor)
  }
  let value: unknown = root
  for (const token of ref.slice(2).split('/').map(unescapePointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return undefined
    value = (value as JsonObject)[token]
  }
  return isSchema(value) ? value : undefined
}

/** A token of a JSON pointer, as the key it stands for. */
export function unescapePointer(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
}
