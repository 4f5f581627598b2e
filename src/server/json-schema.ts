// Schemas an author declares, as zod or as raw JSON Schema 2020-12: checked, converted and compiled once.
// Nothing here fetches a $ref or generates code. @see basic/index, JSON Schema Usage

import { Validator, type OutputUnit } from '@cfworker/json-schema'
import * as z from 'zod'
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
      if (!(error instanceof z.core.$ZodAsyncError)) throw error
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
  const validator = new Validator(schema, '2020-12', false)
  return {
    json: schema,
    parse(value) {
      const { valid, errors } = validator.validate(value)
      return valid ? { ok: true, value } : { ok: false, issues: errors.filter(isLeaf).map(fromUnit) }
    },
  }
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
    if (ref !== undefined && !resolves(root, ref))
      refuse(`has a ${key} to '${String(ref)}' that is not inside the schema`)
  }
}

function resolves(root: JsonObject, ref: unknown): boolean {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return false
  if (ref === '#') return true
  if (!ref.startsWith('#/')) {
    const anchor = ref.slice(1)
    return [...subschemas(root)].some(([node]) => node['$anchor'] === anchor || node['$dynamicAnchor'] === anchor)
  }
  let value: unknown = root
  for (const token of ref.slice(2).split('/').map(unescapePointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return false
    value = (value as JsonObject)[token]
  }
  return isObject(value) || typeof value === 'boolean'
}
