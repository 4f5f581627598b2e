// Reads the published JSON schema of each revision out of the conformance suite's bundle, which embeds them as object
// literals. They may not be copied into this repository. Node only.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { runInNewContext } from 'node:vm'
import { isObject, REVISIONS } from './revisions.ts'
import type { JsonObject, Revision } from './revisions.ts'

const PACKAGE = '@modelcontextprotocol/conformance'

/** How a schema literal opens, minified or not: `$schema`, then its table of definitions. */
const OPENING =
  /\{\s*["']?\$schema["']?\s*:\s*[`"']https?:\/\/json-schema\.org\/[^`"']*[`"']\s*,\s*["']?(?:\$defs|definitions)["']?\s*:/g

/** What tells the revisions apart; minified names and the order in the file mean nothing. */
const FINGERPRINTS: Record<Revision, (has: (name: string) => boolean) => boolean> = {
  '2025-03-26': (has) => has('JSONRPCBatchResponse'),
  '2025-06-18': (has) => has('ElicitRequest') && has('InitializeRequest') && !has('Task'),
  '2025-11-25': (has) => has('Task') && has('InitializeRequest'),
  '2026-07-28': (has) => has('DiscoverRequest') && has('InputRequiredResult'),
}

export function extractSchemas(source: string = readConformanceBundle()): Record<Revision, JsonObject> {
  const found = [...source.matchAll(OPENING)]
    .map((match) => evaluateLiteral(literalAt(source, match.index)))
    .filter((schema) => definitionsOf(schema).ClientRequest !== undefined)
  const pick = (revision: Revision): JsonObject => {
    const matches = found.filter((schema) => FINGERPRINTS[revision]((name) => name in definitionsOf(schema)))
    if (matches.length === 1) return matches[0]!
    throw changed(`found ${matches.length} schemas for ${revision} among ${found.length} object literals`)
  }
  return Object.fromEntries(REVISIONS.map((revision) => [revision, pick(revision)])) as Record<Revision, JsonObject>
}

function readConformanceBundle(): string {
  return readFileSync(createRequire(import.meta.url).resolve(`${PACKAGE}/dist/index.js`), 'utf8')
}

export function definitionsOf(schema: JsonObject): JsonObject {
  const definitions = schema.$defs ?? schema.definitions
  return isObject(definitions) ? definitions : {}
}

/** The bracketed literal that starts at `start`, knowing that brackets in strings and templates do not count. */
function literalAt(source: string, start: number): string {
  let depth = 0
  for (let at = start; at < source.length; at++) {
    const char = source[at]!
    if (char === '"' || char === "'" || char === '`') at = endOfString(source, at)
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    if (depth === 0) return source.slice(start, at + 1)
  }
  throw changed(`the object literal at offset ${start} never ends`)
}

function endOfString(source: string, start: number): number {
  const quote = source[start]
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === quote) return at
    else if (quote === '`' && source.startsWith('${', at)) throw changed(`a template at offset ${start} interpolates`)
  }
  throw changed(`the string at offset ${start} never ends`)
}

/** JSON in and out: what comes back is plain data of this realm, and nothing that was not data. */
function evaluateLiteral(literal: string): JsonObject {
  try {
    return JSON.parse(JSON.stringify(runInNewContext(`(${literal})`, Object.create(null), { timeout: 2_000 })))
  } catch (cause) {
    throw changed('a schema is no longer a plain object literal', cause)
  }
}

function changed(detail: string, cause?: unknown): Error {
  const advice = 'adapt test/support/wire/extract-schemas.ts to the new version or pin the old one'
  return new Error(`Could not read the protocol schemas out of ${PACKAGE}: ${detail}; ${advice}`, { cause })
}
