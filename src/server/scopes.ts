// What a token must be good for before a request reaches a handler. @see basic/authorization, Scope Challenge Handling

import { limits } from '../limits.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { isObject } from '../protocol/json-rpc.ts'
import { isVisible, type Restricted } from './define.ts'
import type { Server } from './define-server.ts'
import { isAnonymous, type Auth } from './ports.ts'
import { findTool, matching } from './run.ts'

/** What a server says about scopes as a whole. */
export interface ScopeRules {
  /** Those its definitions name. */
  readonly scopes: ReadonlySet<string>
  /** Which scopes contain which others. */
  readonly scopeImplies: ReadonlyMap<string, readonly string[]>
}

/**
 * The scopes a request needs, tasks aside: which tool a task is of only its object knows.
 * What does not exist for this caller needs none, so that nothing is given away.
 */
export function scopesFor(server: Server, auth: Auth, method: string, params: JsonObject): readonly string[] {
  switch (method) {
    case 'tools/call':
      return findTool(server, auth, params['name'])?.scopes ?? NONE
    case 'prompts/get':
      return scopesOf(auth, server.prompts.get(params['name'] as string))
    case 'resources/read':
    case 'resources/subscribe':
      return scopesOfUri(server, auth, params['uri'])
    case 'completion/complete':
      return isObject(params['ref']) ? scopesOfReference(server, auth, params['ref']) : NONE
    case 'subscriptions/listen':
      return scopesOfFilter(server, auth, params['notifications'])
    default:
      return NONE
  }
}

type Implications = Pick<ScopeRules, 'scopeImplies'>

/** Which of the scopes a token lacks. None without authorization: everybody may do everything then. */
export function missingScopes({ scopeImplies }: Implications, auth: Auth, needed: readonly string[]): string[] {
  if (needed.length === 0 || isAnonymous(auth)) return []
  const held = withImplied(scopeImplies, auth.scopes ?? NONE)
  return needed.filter((scope) => !held.has(scope))
}

/** True if the token is good for all of them. */
export function mayUse(rules: Implications, auth: Auth, needed: readonly string[]): boolean {
  return missingScopes(rules, auth, needed).length === 0
}

/** The scopes of a token that mean something here. @param others beside those of definitions */
export function knownOf(
  { scopes, scopeImplies }: ScopeRules,
  { scopes: held = NONE }: Auth,
  others: readonly string[] = NONE,
): string[] {
  return held.filter((scope) => scopes.has(scope) || scopeImplies.has(scope) || others.includes(scope))
}

/** The scopes and all they contain, also where those contain one another. */
function withImplied(scopeImplies: ScopeRules['scopeImplies'], scopes: readonly string[]): Set<string> {
  const all = new Set(scopes)
  // A set is walked to what is added meanwhile.
  for (const scope of all) for (const implied of scopeImplies.get(scope) ?? NONE) all.add(implied)
  return all
}

const NONE: readonly string[] = []

function scopesOf(auth: Auth, definition: Restricted | undefined): readonly string[] {
  return definition?.scopes && isVisible(definition, auth) ? definition.scopes : NONE
}

/** Of several templates that match, any may be the one that answers. */
function scopesOfUri(server: Server, auth: Auth, uri: unknown): readonly string[] {
  return typeof uri === 'string' ? matching(server, auth, uri).flatMap(({ scopes = NONE }) => scopes) : NONE
}

function scopesOfReference(server: Server, auth: Auth, { type, name, uri }: JsonObject): readonly string[] {
  if (type === 'ref/prompt') return scopesOf(auth, server.prompts.get(name as string))
  const template = server.templates.find(({ uriTemplate }) => uriTemplate.template === uri)
  return scopesOf(auth, template ?? server.resources.get(uri as string))
}

function scopesOfFilter(server: Server, auth: Auth, filter: unknown): readonly string[] {
  const uris = isObject(filter) ? filter['resourceSubscriptions'] : undefined
  // More than that are refused later.
  const some = Array.isArray(uris) ? uris.slice(0, limits.listenResources) : []
  return [...new Set(some.flatMap((uri) => scopesOfUri(server, auth, uri)))]
}
