// The prepared schemas inside a test, and the check of one value against one definition. It interprets the schema,
// because workerd evaluates no code.

import { dereference, validate } from '@cfworker/json-schema'
import type { OutputUnit, Schema } from '@cfworker/json-schema'
import { inject } from 'vitest'
import type { WireSchema } from './prepare-schema.ts'
import type { Revision } from './revisions.ts'

interface Prepared {
  schema: WireSchema
  lookup: Record<string, Schema | boolean>
}

const prepared = new Map<Revision, Prepared>()

export function wireSchema(revision: Revision): WireSchema {
  return prepare(revision).schema
}

/** Why `value` is not a valid `definition` of this revision: one line each with the path, or nothing. */
export function faults(revision: Revision, definition: string, value: unknown): string[] {
  const { schema, lookup } = prepare(revision)
  const root = schema.$defs[definition] as Schema | undefined
  if (root === undefined)
    throw new RangeError(`Could not find a definition in the schema of ${revision}: "${definition}"`)
  if (validate(value, root, '2020-12', lookup, true).valid) return []
  return explain(validate(value, root, '2020-12', lookup, false).errors).map((line) => `${definition} ${line}`)
}

function prepare(revision: Revision): Prepared {
  const known = prepared.get(revision)
  if (known !== undefined) return known
  const schemas = inject('wireSchemas')
  if (schemas === undefined)
    throw new Error('Could not find the protocol schemas: test/support/global-setup.ts did not run')
  const schema = structuredClone(schemas[revision])
  const fresh = { schema, lookup: dereference({ $defs: schema.$defs } as Schema) }
  prepared.set(revision, fresh)
  return fresh
}

/** Errors that only repeat an inner one. */
const WRAPPERS = new Set(['$ref', 'properties', 'items', 'anyOf', 'allOf', 'oneOf', 'false'])

/** The innermost errors, without those of union members that a `const` shows to be another kind of thing. */
function explain(errors: OutputUnit[]): string[] {
  const inner = errors.filter(({ keyword }) => !WRAPPERS.has(keyword))
  const otherKinds = inner
    .filter(({ keyword }) => keyword === 'const')
    .flatMap(({ keywordLocation }) => member(keywordLocation))
  const relevant = inner.filter(
    ({ keywordLocation }) => !otherKinds.some((prefix) => keywordLocation.startsWith(prefix)),
  )
  const lines = (relevant.length > 0 ? relevant : inner).map(({ instanceLocation, error }) => {
    const unknownKey = /^Property "(.*)" does not match additional properties schema\.$/.exec(error)?.[1]
    if (unknownKey === undefined) return `at ${instanceLocation}: ${error}`
    return `at ${instanceLocation}/${unknownKey}: the key is not in the schema, or its value does not fit`
  })
  return [...new Set(lines)].slice(0, 6)
}

/** The innermost union member that a keyword stands in, as a prefix. */
function member(keywordLocation: string): string[] {
  const prefix = /^.*\/anyOf\/\d+\//.exec(keywordLocation)?.[0]
  return prefix === undefined ? [] : [prefix]
}
