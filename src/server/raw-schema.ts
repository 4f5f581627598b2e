// Raw JSON Schema, enforced with all its keywords and in bounded time, whatever the value is.

import { Validator, type OutputUnit } from '@cfworker/json-schema'
import { limits } from '../limits.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import { checkPatterns, checkSchema, subschemas, targetOf, unescapePointer } from './check-schema.ts'
import type { CompiledSchema, Issue, JsonSchema } from './json-schema.ts'

/**
 * Compiles a raw schema.
 * @throws {TypeError} when it is none this server can enforce
 */
export function compileRaw(schema: JsonSchema, side: 'input' | 'output', what: string): CompiledSchema {
  checkSchema(schema, what)
  checkPatterns(schema, what)
  const tamed = tame(schema)
  // One that stops at the first error decides: one that goes on looks into every branch, which takes time exponential in
  // the depth of the value when a schema refers to itself.
  const quick = new Validator(tamed, '2020-12', true)
  const thorough = refersToItself(tamed) ? quick : new Validator(tamed, '2020-12', false)
  return {
    json: schema,
    parse(value) {
      try {
        // A handler may change its input, but not the request: that is compared and stored as it came.
        if (quick.validate(value).valid) return { ok: true, value: side === 'input' ? structuredClone(value) : value }
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
    // No format of 2020-12, and the validator's own pattern for it takes time exponential in the length of a host name.
    if (node['format'] === 'url') node['format'] = 'uri'
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
