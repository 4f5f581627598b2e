// Schemas an author declares, as zod or as raw JSON Schema 2020-12: checked, converted and compiled once.
// Nothing here fetches a $ref or generates code. @see basic/index, JSON Schema Usage

import { Validator, type OutputUnit } from '@cfworker/json-schema'
import * as z from 'zod'
// Not `z.core.$ZodAsyncError`: a value read from that namespace brings all of it into the bundle, every locale included.
import { $ZodAsyncError } from 'zod/v4/core'
import { limits } from '../limits.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'

// workerd refuses code generation during a request; without this zod would try, fail and fall back.
z.config({ jitless: true })

/** A raw JSON Schema, dialect 2020-12. */
export type JsonSchema = JsonObject

/** What an author may pass as a schema. */
export type Schema = z.core.$ZodType | JsonSchema

/** What a handler gets for a schema: zod's output, or plain JSON for a raw schema. */
export type Parsed<S> = S extends z.core.$ZodType ? z.output<S> : S extends undefined ? JsonObject : JsonObject

/** One thing wrong with a value. `path` is dotted, empty for the value itself. */
export interface Issue {
  path: string
  message: string
}

export type Validation<T = unknown> = { ok: true; value: T } | { ok: false; issues: Issue[] }

/** A schema ready for use. */
export interface CompiledSchema {
  /** What is put on the wire. */
  json: JsonObject
  /** Checks a value. Answers without a promise unless the schema itself is asynchronous. */
  parse(value: unknown): Validation | Promise<Validation>
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** True for a zod schema, of whichever zod build. */
export function isZod(schema: Schema): schema is z.core.$ZodType {
  return '_zod' in schema
}

/**
 * Compiles a schema.
 * @param side `input` keeps fields with defaults optional; `output` describes what is sent
 * @param what named in errors, for example `tool "add_note": inputSchema`
 * @throws {TypeError} when it is no schema this server can enforce
 */
export function compileSchema(schema: Schema, side: 'input' | 'output', what: string): CompiledSchema {
  return isZod(schema) ? compileZod(schema, side, what) : compileRaw(schema, what)
}

/** The issues as lines a model can act on, at most `limits.issues` of them. */
export function describeIssues(issues: readonly Issue[]): string {
  const lines = issues.slice(0, limits.issues).map(({ path, message }) => `- ${path || '(value)'}: ${message}`)
  if (issues.length > limits.issues) lines.push(`- and ${issues.length - limits.issues} more`)
  return lines.join('\n')
}

function compileZod(schema: z.core.$ZodType, side: 'input' | 'output', what: string): CompiledSchema {
  let json: JsonObject
  try {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: side, target: 'draft-2020-12' })
    json = rest
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no JSON Schema form'
    throw new TypeError(`cannot use ${what}: ${reason}`, { cause: error })
  }
  checkSchema(json, what)
  let isAsync = false
  const parse = (value: unknown): Validation | Promise<Validation> => {
    if (isAsync) return z.safeParseAsync(schema, value).then(fromZod)
    try {
      return fromZod(z.safeParse(schema, value))
    } catch (error) {
      if (!(error instanceof $ZodAsyncError)) throw error
      isAsync = true
      return parse(value)
    }
  }
  return { json, parse }
}

function fromZod(result: z.ZodSafeParseResult<unknown>): Validation {
  if (result.success) return { ok: true, value: result.data }
  return { ok: false, issues: result.error.issues.map(toIssue) }
}

function toIssue({ path, message }: z.core.$ZodIssue): Issue {
  return { path: path.map(String).join('.'), message }
}

function compileRaw(schema: JsonSchema, what: string): CompiledSchema {
  checkSchema(schema, what)
  const tamed = tame(schema)
  // One that stops at the first error decides: one that goes on looks into every branch, which takes time exponential in
  // the depth of the value when a schema refers to itself.
  const quick = new Validator(tamed, '2020-12', true)
  const thorough = refersToItself(tamed) ? quick : new Validator(tamed, '2020-12', false)
  return {
    json: schema,
    parse(value) {
      try {
        if (quick.validate(value).valid) return { ok: true, value }
        return { ok: false, issues: errorsOf(value, thorough, quick).filter(isLeaf).map(fromUnit) }
      } catch (error) {
        return { ok: false, issues: [{ path: '', message: whyUnchecked(error) }] }
      }
    },
  }
}

/** The validator writes the path of every value as a URI, and spreads the errors of all items into one call. */
function whyUnchecked(error: unknown): string {
  if (error instanceof URIError) return 'has a key that is not well-formed Unicode'
  if (error instanceof RangeError) return 'is too large to be checked'
  throw error
}

function errorsOf(value: unknown, thorough: Validator, quick: Validator): OutputUnit[] {
  try {
    return thorough.validate(value).errors
  } catch (error) {
    // Too many errors to list all of them.
    if (!(error instanceof RangeError)) throw error
    return quick.validate(value).errors
  }
}

/** The schema as it is enforced: what is cheap to check comes first, and long lists are not compared item with item. */
function tame(schema: JsonSchema): JsonSchema {
  const copy = structuredClone(schema)
  const nodes = Array.from(subschemas(copy), ([node]) => node)
  for (const node of nodes) {
    const { properties, uniqueItems, maxItems = Number.POSITIVE_INFINITY, allOf = [] } = node
    if (isObject(properties)) {
      const isCheap = ([, field]: [string, unknown]) => isObject(field) && ('const' in field || 'enum' in field)
      const entries = Object.entries(properties)
      node['properties'] = Object.fromEntries([
        ...entries.filter(isCheap),
        ...entries.filter((entry) => !isCheap(entry)),
      ])
    }
    if (uniqueItems !== true) continue
    delete node['uniqueItems']
    node['maxItems'] = Math.min(maxItems as number, limits.uniqueItems)
    node['allOf'] = [...(allOf as unknown[]), { if: { minItems: limits.uniqueItems + 1 }, else: { uniqueItems } }]
  }
  return copy
}

/** True if following references can lead back to a schema they come from. */
function refersToItself(root: JsonObject, from = root, open = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (open.has(from) || done.has(from)) return open.has(from)
  open.add(from)
  const refs = [...subschemas(from)].flatMap(([{ $ref, $dynamicRef }]) => [$ref, $dynamicRef])
  const targets = refs.map((ref) => targetOf(root, ref)).filter(isObject)
  const isFound = targets.some((target) => refersToItself(root, target, open, done))
  open.delete(from)
  done.add(from)
  return isFound
}

// These only say that something below them failed, and that is listed itself.
const CONTAINERS = new Set(['properties', 'items', 'prefixItems', 'allOf', '$ref', 'if', 'additionalProperties'])

function isLeaf(unit: OutputUnit): boolean {
  return !CONTAINERS.has(unit.keyword)
}

function fromUnit({ keyword, instanceLocation, error }: OutputUnit): Issue {
  const path = instanceLocation.replace(/^#\/?/, '').split('/').map(unescapePointer).join('.')
  return { path, message: keyword === 'false' ? 'is not allowed here' : error }
}

function unescapePointer(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
}

const TYPES = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])
const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const SCHEMA_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']
const MORE_SCHEMAS = ['unevaluatedItems', 'unevaluatedProperties', 'contentSchema']

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

function checkSchema(root: JsonObject, what: string): void {
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
  for (const one of type === undefined ? [] : [type].flat()) {
    if (!TYPES.has(one as string)) refuse(`has the unknown type '${String(one)}'`)
  }
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string'))) {
    refuse('has a "required" that is no list of names')
  }
  for (const key of ['$ref', '$dynamicRef']) {
    const ref = node[key]
    if (ref !== undefined && targetOf(root, ref) === undefined)
      refuse(`has a ${key} to '${String(ref)}' that is not inside the schema`)
  }
}

/** The schema a reference names, or undefined when it names none inside `root`. */
function targetOf(root: JsonObject, ref: unknown): JsonObject | boolean | undefined {
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
  return isObject(value) || typeof value === 'boolean' ? value : undefined
}
