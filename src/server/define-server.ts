// `defineServer`: puts definitions together, once, and derives what can be announced about them.

import { limits } from '../limits.ts'
import type { Family } from '../protocol/methods.ts'
import type { Implementation } from '../protocol/meta.ts'
import {
  checkCache,
  checkDescribed,
  checkPrivate,
  checkScopes,
  isVisible,
  type CacheHints,
  type Described,
  type Restricted,
} from './define.ts'
import type { Prompt } from './define-prompt.ts'
import type { Resource, ResourceTemplate } from './define-resource.ts'
import type { Tool } from './define-tool.ts'
import { mayUse, type ScopeRules } from './scopes.ts'

/** The results whose freshness a server can set as a whole. */
export type CachedList = 'discover' | 'tools' | 'prompts' | 'resources' | 'templates'

export interface ServerOptions extends Pick<Described, 'title' | 'description' | 'icons'> {
  /** For programs. Not unique across servers. */
  name: string
  version: string
  websiteUrl?: string
  /** How to use this server as a whole, for models. */
  instructions?: string
  tools?: readonly Tool[]
  resources?: readonly (Resource | ResourceTemplate)[]
  prompts?: readonly Prompt[]
  /** Entries on one page of a list. Default: everything on one, since some hosts read only the first. */
  pageSize?: number
  /**
   * Freshness per list. Default: five minutes, and `public` for lists that are the same for everybody; `private` once a
   * definition in it has `visible`; 0 and `private` for `resources` once a template computes entries.
   */
  cache?: { [K in CachedList]?: CacheHints }
  /** Scopes that contain others: `{ 'notes:admin': ['notes:write'], 'notes:write': ['notes:read'] }`. Followed to the end. */
  scopeImplies?: { [scope: string]: readonly string[] }
  /**
   * What becomes of a definition whose `scopes` a token does not have. `challenge` answers a call of it with a 403 that
   * names them, and lists it. `hide` is for hosts that cannot ask for more: it neither is listed nor exists. Default:
   * `challenge`.
   */
  missingScopes?: 'challenge' | 'hide'
}

/** A server: a frozen value. Nothing in it changes or is rebuilt while the isolate lives. */
export interface Server extends ScopeRules {
  readonly info: Implementation
  readonly instructions: string | undefined
  readonly tools: ReadonlyMap<string, Tool>
  readonly resources: ReadonlyMap<string, Resource>
  readonly templates: readonly ResourceTemplate[]
  readonly prompts: ReadonlyMap<string, Prompt>
  readonly families: ReadonlySet<Family>
  /** The lists that differ between callers, because something in them is visible to some only. */
  readonly restricted: ReadonlySet<CachedList>
  readonly pageSize: number | undefined
  readonly cache: { readonly [K in CachedList]: CacheHints }
  /** The `Mcp-Param-*` headers that tools declare, for CORS. */
  readonly paramHeaders: readonly string[]
}

/**
 * Defines a server.
 * @throws {TypeError} on two definitions of one name or URI, or a page size that is no positive integer
 */
export function defineServer(options: ServerOptions): Server {
  const { pageSize } = options
  const scopeImplies = new Map(Object.entries(options.scopeImplies ?? {}))
  const shown = <T extends Restricted>(entries: readonly T[] = []): readonly T[] => {
    return options.missingScopes === 'hide' ? entries.map((entry) => hideWithout(scopeImplies, entry)) : entries
  }
  const [tools, prompts, readables] = [shown(options.tools), shown(options.prompts), shown(options.resources)]
  checkDescribed('the server', options)
  for (const hints of Object.values(options.cache ?? {})) checkCache('the server', hints)
  if (pageSize !== undefined && !(Number.isSafeInteger(pageSize) && pageSize > 0)) {
    throw new TypeError(`cannot define the server: pageSize must be a positive integer, not ${pageSize}`)
  }
  const resources = readables.filter((entry) => entry.kind === 'resource')
  const templates = readables.filter((entry) => entry.kind === 'template')
  index('template', templates, ({ uriTemplate }) => uriTemplate.template)
  const restricted = restrictedOf({ tools, prompts, resources: [...resources, ...templates], templates })
  for (const list of restricted) checkPrivate('the server', `cache.${list}`, options.cache?.[list])
  if (!['challenge', 'hide', undefined].includes(options.missingScopes)) {
    throw new TypeError('cannot define the server: missingScopes must be "challenge" or "hide"')
  }
  for (const [scope, implied] of scopeImplies) {
    checkScopes('the server: scopeImplies', [scope])
    checkScopes('the server: scopeImplies', implied)
  }
  const named = [...tools, ...prompts, ...readables].flatMap(({ scopes = [] }) => scopes)
  return Object.freeze({
    info: Object.freeze(describe(options)),
    instructions: options.instructions,
    tools: index('tool', tools, ({ name }) => name),
    resources: index('resource', resources, ({ uri }) => uri),
    templates: Object.freeze(templates),
    prompts: index('prompt', prompts, ({ name }) => name),
    families: familiesOf(tools, prompts, resources, templates),
    restricted,
    scopes: new Set(named),
    scopeImplies,
    pageSize,
    cache: { ...defaultCache(templates, restricted), ...options.cache },
    paramHeaders: [...new Set(tools.flatMap((tool) => tool.paramHeaders.map(({ name }) => `Mcp-Param-${name}`)))],
  })
}

/** The same definition, which exists for nobody who may not use it. */
function hideWithout<T extends Restricted>(scopeImplies: ScopeRules['scopeImplies'], entry: T): T {
  if (!entry.scopes?.length) return entry
  const visible: Restricted['visible'] = (auth) =>
    mayUse({ scopeImplies }, auth, entry.scopes!) && isVisible(entry, auth)
  return Object.freeze({ ...entry, visible })
}

function describe({ name, version, title, description, websiteUrl, icons }: ServerOptions): Implementation {
  return {
    name,
    version,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(icons && { icons }),
  }
}

function index<T>(kind: string, entries: readonly T[], keyOf: (entry: T) => string): Map<string, T> {
  const map = new Map<string, T>()
  for (const entry of entries) {
    const key = keyOf(entry)
    if (map.has(key)) throw new TypeError(`cannot define the server: ${kind} "${key}" is defined twice`)
    map.set(key, entry)
  }
  return map
}

function familiesOf(
  tools: readonly Tool[],
  prompts: readonly Prompt[],
  resources: readonly Resource[],
  templates: readonly ResourceTemplate[],
): Set<Family> {
  const families = new Set<Family>()
  if (tools.length > 0) families.add('tools')
  if (tools.some(({ task }) => task !== undefined)) families.add('tasks')
  if (prompts.length > 0) families.add('prompts')
  if (resources.length > 0 || templates.length > 0) families.add('resources')
  const completes = [...prompts, ...templates].some(({ complete }) => Object.keys(complete).length > 0)
  if (completes) families.add('completions')
  return families
}

function restrictedOf(lists: { [K in CachedList]?: readonly Restricted[] }): Set<CachedList> {
  const isComputed = lists.templates?.some((template) => 'list' in template && template.list && template.scopes?.length)
  const entries = Object.entries(lists) as [CachedList, readonly Restricted[]][]
  const hidden = entries.flatMap(([list, all]) => (all.some(({ visible }) => visible) ? [list] : []))
  // Entries that a template computes are listed for who may read them.
  return new Set(isComputed ? [...hidden, 'resources'] : hidden)
}

function defaultCache(
  templates: readonly ResourceTemplate[],
  restricted: ReadonlySet<CachedList>,
): { [K in CachedList]: CacheHints } {
  const hints = (list: CachedList): CacheHints => {
    return { ttlMs: limits.listTtlMs, scope: restricted.has(list) ? 'private' : 'public' }
  }
  const isComputed = templates.some(({ list }) => list !== undefined)
  return {
    discover: hints('discover'),
    tools: hints('tools'),
    prompts: hints('prompts'),
    resources: isComputed ? { ttlMs: 0, scope: 'private' } : hints('resources'),
    templates: hints('templates'),
  }
}
