// Schemas an author declares, as zod or as raw JSON Schema 2020-12: checked, converted and compiled once.
// Nothing here generates code. @see basic/index, JSON Schema Usage

import * as z from 'zod'
// Not `z.core.$ZodAsyncError`: a value read from that namespace brings all of it into the bundle, every locale included.
import { $ZodAsyncError } from 'zod/v4/core'
import { limits } from '../limits.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { checkSchema } from './check-schema.ts'
import { compileRaw } from './raw-schema.ts'

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
  return isZod(schema) ? compileZod(schema, side, what) : compileRaw(schema, side, what)
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
