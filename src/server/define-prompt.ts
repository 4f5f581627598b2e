// `definePrompt`: a message template a user may pick. @see server/prompts

import type { JsonObject } from '../protocol/json-rpc.ts'
import { isObject } from '../protocol/json-rpc.ts'
import type { Complete } from './completion.ts'
import type { GetPromptResult, PromptMessage } from './content.ts'
import type { CallContext } from './context.ts'
import {
  checkDescribed,
  checkName,
  checkScopes,
  pickSet,
  type Asking,
  type Described,
  type Restricted,
} from './define.ts'
import { compileSchema, type CompiledSchema, type Parsed, type Schema } from './json-schema.ts'

/** What `get` may return. A string is one user message. */
export type PromptReturn = string | PromptMessage[] | GetPromptResult

export interface PromptOptions<A extends Schema | undefined> extends Described, Asking, Restricted {
  description: string
  /** An object schema whose fields accept strings: on the wire every prompt argument is one. */
  arguments?: A
  /** Suggestions for arguments. Enums complete themselves. */
  complete?: { [K in keyof Parsed<A> & string]?: Complete }
  get(input: Parsed<A>, context: CallContext): PromptReturn | Promise<PromptReturn>
}

/** A defined prompt: a frozen value, passed to `defineServer`. */
export interface Prompt extends Asking, Restricted {
  readonly kind: 'prompt'
  readonly name: string
  readonly description: string
  readonly listed: JsonObject
  readonly input: CompiledSchema | undefined
  readonly complete: { readonly [argument: string]: Complete | undefined }
  readonly get: (input: never, context: CallContext) => unknown
}

/**
 * Defines a prompt.
 * @throws {TypeError} when the name is not allowed or an argument does not accept strings
 */
export function definePrompt<const A extends Schema | undefined = undefined>(
  name: string,
  options: PromptOptions<A>,
): Prompt {
  const what = `prompt "${name}"`
  checkName('prompt', name)
  checkDescribed(what, options)
  checkScopes(what, options.scopes)
  const input = options.arguments && compileSchema(options.arguments, 'input', `${what}: arguments`)
  const fields = input ? fieldsOf(input.json, what) : {}
  const complete: { [argument: string]: Complete | undefined } = { ...enumsOf(fields), ...options.complete }
  for (const argument of Object.keys(complete)) {
    if (!Object.hasOwn(fields, argument)) throw new TypeError(`cannot define ${what}: no argument "${argument}"`)
  }
  return Object.freeze({
    kind: 'prompt',
    name,
    description: options.description,
    listed: {
      name,
      ...pickSet(options, ['title', 'description']),
      ...(input && { arguments: listArguments(fields, input.json['required']) }),
      ...pickSet(options, ['icons', '_meta']),
    },
    input: input || undefined,
    complete,
    get: options.get as Prompt['get'],
    ...pickSet(options, ['requires', 'askTtlMs', 'visible', 'scopes']),
  })
}

type Fields = { [name: string]: JsonObject }

function fieldsOf(json: JsonObject, what: string): Fields {
  const properties = json['properties']
  if (json['type'] !== 'object' || !isObject(properties)) {
    throw new TypeError(`cannot define ${what}: its arguments must be an object schema`)
  }
  for (const [name, field] of Object.entries(properties)) {
    if (!isObject(field) || !acceptsStrings(field)) {
      throw new TypeError(`cannot define ${what}: argument "${name}" must accept strings, as prompt arguments are`)
    }
  }
  return properties as Fields
}

function acceptsStrings({ type, enum: values, const: only }: JsonObject): boolean {
  if (values !== undefined) return Array.isArray(values) && values.every((value) => typeof value === 'string')
  if (only !== undefined) return typeof only === 'string'
  return type === undefined || [type].flat().includes('string')
}

function enumsOf(fields: Fields): { [name: string]: Complete } {
  const enums: { [name: string]: Complete } = {}
  for (const [name, { enum: values }] of Object.entries(fields)) {
    if (Array.isArray(values)) enums[name] = (typed) => values.filter((value: string) => startsWith(value, typed))
  }
  return enums
}

function startsWith(value: string, typed: string): boolean {
  return value.toLowerCase().startsWith(typed.toLowerCase())
}

function listArguments(fields: Fields, required: unknown): JsonObject[] {
  const needed = Array.isArray(required) ? required : []
  return Object.entries(fields).map(([name, field]) => ({
    name,
    ...pickSet(field, ['title', 'description']),
    ...(needed.includes(name) && { required: true }),
  }))
}
