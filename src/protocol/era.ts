// Which era and revision a POST belongs to: one ladder, top to bottom, the first rung that applies decides.
// Pure. The rungs below it (headers, method, capability, parameters) are listed in `LADDER`, for readers and tests.
// @see basic/versioning, Backward Compatibility; basic/transports/streamable-http, Server Validation

import { clip } from './clip.ts'
import { ProtocolError } from './errors.ts'
import { isObject, type JsonRpcRequest } from './json-rpc.ts'
import { META } from './meta.ts'
import { isModernOnly } from './methods.ts'

/** Revisions whose requests carry their own envelope. Newest first. */
export const MODERN_VERSIONS = ['2026-07-28'] as const
/** Revisions that begin with `initialize`. Newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const

export type ModernVersion = (typeof MODERN_VERSIONS)[number]
export type LegacyVersion = (typeof LEGACY_VERSIONS)[number]
export type ProtocolVersion = ModernVersion | LegacyVersion

export const LATEST_MODERN: ModernVersion = MODERN_VERSIONS[0]
export const LATEST_LEGACY: LegacyVersion = LEGACY_VERSIONS[0]
/** What a request without any version is taken for. @see 2025-06-18 basic/transports, Protocol Version Header */
export const ASSUMED_LEGACY: LegacyVersion = '2025-03-26'

export function isModernVersion(version: unknown): version is ModernVersion {
  return MODERN_VERSIONS.includes(version as ModernVersion)
}

export function isLegacyVersion(version: unknown): version is LegacyVersion {
  return LEGACY_VERSIONS.includes(version as LegacyVersion)
}

/** The whole ladder of a request, in order. `classifyRequest` is rungs 3 to 5; the others name the file that checks. */
export const LADDER = [
  { rung: 'json', where: 'http/body.ts', error: 'ParseError', spec: 'JSON-RPC 2.0' },
  { rung: 'shape', where: 'protocol/json-rpc.ts', error: 'InvalidRequest', spec: 'basic/index, Messages' },
  { rung: 'agreement', where: 'protocol/era.ts', error: 'HeaderMismatch', spec: 'streamable-http, Protocol Version' },
  { rung: 'version', where: 'protocol/era.ts', error: 'UnsupportedProtocolVersion', spec: 'basic/versioning' },
  { rung: 'envelope', where: 'protocol/era.ts, meta.ts', error: 'InvalidEnvelope', spec: 'basic/index, _meta' },
  { rung: 'headers', where: 'protocol/headers.ts', error: 'HeaderMismatch', spec: 'streamable-http, Validation' },
  { rung: 'method', where: 'protocol/methods.ts', error: 'MethodNotFound', spec: 'streamable-http, Protocol Version' },
  { rung: 'capability', where: 'server/dispatch.ts', error: 'MissingRequiredClientCapability', spec: 'basic/index' },
  { rung: 'param-headers', where: 'protocol/headers.ts', error: 'HeaderMismatch', spec: 'streamable-http, Custom' },
  { rung: 'params', where: 'protocol/params.ts', error: 'InvalidParams', spec: 'schema' },
] as const

/** Where a request belongs. `named` is false when the legacy revision was only assumed. */
export type Classification =
  | { era: 'modern'; version: ModernVersion }
  | { era: 'legacy'; version: LegacyVersion; named: boolean }

interface Facts {
  method: string
  /** The MCP-Protocol-Version header, null when absent. */
  header: string | null
  /** `params._meta["io.modelcontextprotocol/protocolVersion"]`, undefined when absent. */
  claim: unknown
}

interface Rung {
  name: string
  applies(facts: Facts): boolean
  decide(facts: Facts): Classification | ProtocolError
}

const modern = (version: ModernVersion): Classification => ({ era: 'modern', version })
const legacy = (version: LegacyVersion, named: boolean): Classification => ({ era: 'legacy', version, named })

/** The era rungs as data. Legacy hosts may send reserved `_meta` keys: only the version key is a claim. */
export const ERA_RUNGS: readonly Rung[] = [
  {
    name: 'initialize without a modern claim selects legacy semantics, whatever the header says',
    applies: ({ method, claim }) => method === 'initialize' && !isModernVersion(claim),
    decide: () => legacy(LATEST_LEGACY, false),
  },
  {
    name: 'a claim that is no string is a broken envelope',
    applies: ({ claim }) => claim !== undefined && typeof claim !== 'string',
    decide: () =>
      new ProtocolError('InvalidEnvelope', `Invalid params: params._meta["${META.protocolVersion}"] must be a string`),
  },
  {
    name: 'header and claim disagree',
    applies: ({ claim, header }) => claim !== undefined && header !== null && header !== claim,
    decide: ({ claim, header }) =>
      new ProtocolError(
        'HeaderMismatch',
        `Header mismatch: MCP-Protocol-Version is '${header}', the body says '${claim}'`,
      ),
  },
  {
    name: 'a claim names a version that is not modern, or not known',
    applies: ({ claim }) => claim !== undefined && !isModernVersion(claim),
    decide: ({ claim }) => unsupportedVersion(claim as string),
  },
  {
    name: 'a modern claim',
    applies: ({ claim }) => claim !== undefined,
    decide: ({ claim }) => modern(claim as ModernVersion),
  },
  {
    name: 'a modern header without a claim',
    applies: ({ header }) => isModernVersion(header),
    decide: () => missingClaim(),
  },
  {
    name: 'a legacy header without a claim',
    applies: ({ header }) => isLegacyVersion(header),
    decide: ({ header }) => legacy(header as LegacyVersion, true),
  },
  {
    name: 'a header that names no version known here',
    applies: ({ header }) => header !== null,
    decide: ({ header }) => unsupportedVersion(header as string),
  },
  {
    name: 'no version at all, but a method only modern revisions have',
    applies: ({ method }) => isModernOnly(method),
    decide: () => missingClaim(),
  },
  {
    name: 'no version at all',
    applies: () => true,
    decide: () => legacy(ASSUMED_LEGACY, false),
  },
]

/**
 * Places one request.
 * @throws {ProtocolError} HeaderMismatch, UnsupportedProtocolVersion or InvalidEnvelope
 */
export function classifyRequest(request: JsonRpcRequest, header: string | null): Classification {
  const meta = request.params['_meta']
  const facts = { method: request.method, header, claim: isObject(meta) ? meta[META.protocolVersion] : undefined }
  for (const rung of ERA_RUNGS) {
    if (!rung.applies(facts)) continue
    const outcome = rung.decide(facts)
    if (outcome instanceof ProtocolError) throw outcome
    return outcome
  }
  throw new Error('the last rung applies to everything')
}

/** @throws {ProtocolError} UnsupportedProtocolVersion for a header that names no version known here */
export function checkHeader(header: string | null): void {
  if (header !== null && !isModernVersion(header) && !isLegacyVersion(header)) throw unsupportedVersion(header)
}

/**
 * The era whose HTTP rules apply to an error found before or during classification: modern when anything
 * in the request says modern.
 */
export function eraOfHeader(header: string | null): 'modern' | 'legacy' {
  return header !== null && !isLegacyVersion(header) ? 'modern' : 'legacy'
}

/** The revision `initialize` answers: what was asked for, if it can be had. @see 2025-11-25 basic/lifecycle */
export function negotiate(requested: unknown): LegacyVersion {
  return isLegacyVersion(requested) ? requested : LATEST_LEGACY
}

/** True if revision `version` is `since` or later. Both are from the lists above, which sort as text. */
export function isSince(version: ProtocolVersion, since: ProtocolVersion): boolean {
  return version >= since
}

/** The error for a version that is neither modern nor legacy, or is legacy where only a modern one can be meant. */
export function unsupportedVersion(requested: string): ProtocolError {
  return new ProtocolError('UnsupportedProtocolVersion', `Unsupported protocol version: '${clip(requested)}'`, {
    supported: [...MODERN_VERSIONS],
    requested,
  })
}

function missingClaim(): ProtocolError {
  const key = META.protocolVersion
  return new ProtocolError('InvalidEnvelope', `Invalid params: params._meta["${key}"] is required on ${LATEST_MODERN}`)
}
