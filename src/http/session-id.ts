// Session ids: the facts of a session, sealed, so that `initialize` stores nothing and wakes nobody.
// @see 2025-11-25 basic/transports, Session Management

import { hasCapability, type CapabilityName } from '../protocol/capabilities.ts'
import { isLegacyVersion, type LegacyVersion } from '../protocol/era.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { ClientCapabilities } from '../protocol/meta.ts'
import { digestOf } from '../server/canonical.ts'
import type { Client } from '../server/ports.ts'
import type { Sealer } from '../server/sealer.ts'

/** What a session is, as long as it lives. */
export interface SessionFacts {
  /** The id of its object, 64 hex digits. */
  objectId: string
  version: LegacyVersion
  principal: string
  client: Client
  /** ms since the epoch. */
  expiresAt: number
}

/** One letter a capability keeps the id short. */
const FLAGS: readonly (readonly [string, CapabilityName])[] = [
  ['f', 'elicitation.form'],
  ['u', 'elicitation.url'],
  ['s', 'sampling'],
  ['t', 'sampling.tools'],
  ['c', 'sampling.context'],
  ['r', 'roots'],
]
const NAME_CHARS = 32
const VERSION_CHARS = 16

/** A principal of this length or less is sealed as it is, so that a session of nobody in particular costs no digest. */
const PRINCIPAL_CHARS = 24

/** A principal in an id, which must stay short. Digests are longer than what is kept as it is, so the two never meet. */
async function sealedName(principal: string): Promise<string> {
  return principal.length <= PRINCIPAL_CHARS ? principal : digestOf(principal)
}

/** Seals the facts. Visible ASCII, at most `limits.sessionIdChars`; long client names are cut. */
export async function sealSession(sealer: Sealer, env: Cloudflare.Env, facts: SessionFacts): Promise<string> {
  const { info, capabilities } = facts.client
  const flags = FLAGS.filter(([, name]) => hasCapability(capabilities, name)).map(([flag]) => flag)
  return sealer.seal(env, {
    s: facts.objectId,
    v: facts.version,
    p: await sealedName(facts.principal),
    x: facts.expiresAt,
    c: flags.join(''),
    ...(info && { n: asciiCut(info.name, NAME_CHARS), w: asciiCut(info.version, VERSION_CHARS) }),
  })
}

/** The facts of an id, or undefined when this server did not mint it, it expired, or it is another principal's. */
export async function openSession(
  sealer: Sealer,
  env: Cloudflare.Env,
  id: string,
  principal: string,
  now: number,
): Promise<SessionFacts | undefined> {
  const sealed = await sealer.open(env, id)
  if (!sealed || sealed['p'] !== (await sealedName(principal))) return undefined
  const { s: objectId, v: version, x: expiresAt, c: flags, n: name, w: release } = sealed
  if (typeof objectId !== 'string' || typeof flags !== 'string' || !isLegacyVersion(version)) return undefined
  if (typeof expiresAt !== 'number' || now >= expiresAt) return undefined
  const info = typeof name === 'string' ? { info: { name, version: String(release) } } : {}
  return { objectId, version, principal, expiresAt, client: { ...info, capabilities: capabilitiesOf(flags) } }
}

function capabilitiesOf(flags: string): ClientCapabilities {
  const has = (flag: string): boolean => flags.includes(flag)
  const on = (flag: string, name: string): JsonObject => (has(flag) ? { [name]: {} } : {})
  return {
    ...((has('f') || has('u')) && { elicitation: { ...on('f', 'form'), ...on('u', 'url') } }),
    ...(has('s') && { sampling: { ...on('t', 'tools'), ...on('c', 'context') } }),
    ...on('r', 'roots'),
  }
}

function asciiCut(text: string, chars: number): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, chars)
}
