// Form schemas for elicitation: what an author writes, narrowed to the flat subset clients can show.
// @see client/elicitation, Requested Schema

import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import { compileSchema, type CompiledSchema, type Schema } from './json-schema.ts'
import { warn } from './warnings.ts'

export interface CompiledForm {
  /** The `requestedSchema` on the wire. */
  requestedSchema: JsonObject
  schema: CompiledSchema
}

const forms = new WeakMap<object, CompiledForm>()

/**
 * Checks a form at definition time and returns it unchanged, for `ctx.elicit(key, { schema })`.
 * Forms that are not passed through here are checked when they are first asked.
 * @throws {TypeError} when a client could not show it
 */
export function defineForm<S extends Schema>(schema: S): S {
  for (const name of secretFields(compileForm(schema))) {
    warn(`form field "${name}": a form must not ask for secrets, send the user to a page with ctx.elicitUrl`)
  }
  return schema
}

/** The compiled form of a schema, made once per schema object. */
export function compileForm(schema: Schema): CompiledForm {
  const known = forms.get(schema)
  if (known) return known
  const compiled = compileSchema(schema, 'input', 'the form')
  const form = { requestedSchema: projectForm(compiled.json), schema: compiled }
  forms.set(schema, form)
  return form
}

const SECRETS = /pass(word|phrase|code)|secret|token|api.?key|credit.?card|card.?number|\bcvv\b/i

/** Names of fields that look like secrets, which forms must not ask for. @see client/elicitation, Form Mode Security */
export function secretFields(form: CompiledForm): string[] {
  return Object.keys(form.requestedSchema['properties'] as JsonObject).filter((name) => SECRETS.test(name))
}

function projectForm(json: JsonObject): JsonObject {
  const { type, properties, required } = json
  if (type !== 'object' || !isObject(properties))
    throw new TypeError('cannot use the form: it must be an object schema')
  const projected = Object.entries(properties).map(([name, field]) => [name, projectField(name, field)])
  const form: JsonObject = { type: 'object', properties: Object.fromEntries(projected) }
  if (Array.isArray(required) && required.length > 0) form['required'] = required
  return form
}

const COMMON = ['title', 'description', 'default']
const FORMATS = ['email', 'uri', 'date', 'date-time']

function projectField(name: string, field: unknown): JsonObject {
  if (!isObject(field)) throw unfit(name)
  const titled = titledOptions(field)
  if (titled) return { type: 'string', oneOf: titled, ...pick(field, COMMON) }
  switch (field['type']) {
    case 'string':
      return projectString(field)
    case 'number':
    case 'integer':
      return { type: field['type'], ...pick(field, COMMON), ...bounds(field) }
    case 'boolean':
      return { type: 'boolean', ...pick(field, COMMON) }
    case 'array':
      return {
        type: 'array',
        items: projectItems(name, field['items']),
        ...pick(field, [...COMMON, 'minItems', 'maxItems']),
      }
    default:
      throw unfit(name)
  }
}

function projectString(field: JsonObject): JsonObject {
  if (field['enum']) return { type: 'string', ...pick(field, [...COMMON, 'enum', 'enumNames']) }
  const format = FORMATS.includes(field['format'] as string) ? ['format'] : []
  return { type: 'string', ...pick(field, [...COMMON, 'minLength', 'maxLength', ...format]) }
}

/** The bounds an author set. zod gives every integer the safe range, which says nothing to a person. */
function bounds({ minimum, maximum }: JsonObject): JsonObject {
  return {
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  }
}

function projectItems(name: string, items: unknown): JsonObject {
  if (!isObject(items)) throw unfit(name)
  const titled = titledOptions(items)
  if (titled) return { anyOf: titled }
  if (items['type'] === 'string' && Array.isArray(items['enum'])) return pick(items, ['type', 'enum'])
  throw unfit(name)
}

/** `[{ const, title }]` when every option is a titled constant, as zod writes a union of literals with titles. */
function titledOptions(field: JsonObject): JsonObject[] | undefined {
  const options = field['oneOf'] ?? field['anyOf']
  if (!Array.isArray(options) || options.length === 0) return undefined
  if (!options.every((option) => isObject(option) && typeof option['const'] === 'string')) return undefined
  return options.map((option: JsonObject) => ({ const: option['const'], title: option['title'] ?? option['const'] }))
}

function pick(from: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]))
}

function unfit(name: string): TypeError {
  return new TypeError(
    `cannot use the form: "${name}" is no string, number, integer, boolean, enum or list of enum values`,
  )
}
