// `defineResource` and `defineResourceTemplate`: things a client may read by URI. @see server/resources

import { limits } from '../limits.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { Complete } from './completion.ts'
import type { Annotations, ResourceContents } from './content.ts'
import type { CallContext, LookupContext } from './context.ts'
import {
  checkCache,
  checkDescribed,
  checkPrivate,
  checkScopes,
  pickSet,
  type Asking,
  type CacheHints,
  type Described,
  type Restricted,
} from './define.ts'
import { parseUriTemplate, type UriTemplate, type Variables } from './uri-template.ts'

/**
 * What `read` may return: text, bytes, or contents with their own URIs. `undefined` means there is no such resource.
 * An empty list also does, unless it is `{ contents: [] }`.
 */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContents
  | ResourceContents[]
  | { contents: ResourceContents[]; _meta?: JsonObject }
  | undefined

interface Readable extends Described, Asking, Restricted {
  /** For programs; shown when there is no title. */
  name: string
  mimeType?: string
  annotations?: Annotations
  /** Default: `{ ttlMs: 0, scope: 'private' }`, since what is read may depend on who reads. */
  cache?: CacheHints
}

export interface ResourceOptions extends Readable {
  /** Bytes, when known. */
  size?: number
  read(context: CallContext): ReadReturn | Promise<ReadReturn>
}

/** An entry a template contributes to `resources/list`. */
export interface ListedResource extends Described {
  uri: string
  name: string
  mimeType?: string
  annotations?: Annotations
  size?: number
}

export interface ResourceTemplateOptions<V extends string> extends Readable {
  /** The resources there are now. They join `resources/list`, which then is private and computed for each request. */
  list?(context: LookupContext): readonly ListedResource[] | Promise<readonly ListedResource[]>
  /** Suggestions for the variables. */
  complete?: { [K in V]?: Complete }
  read(variables: Record<V, string>, context: CallContext): ReadReturn | Promise<ReadReturn>
}

interface Common extends Asking, Restricted {
  readonly listed: JsonObject
  readonly mimeType: string | undefined
  readonly cache: CacheHints
}

/** A defined resource: a frozen value, passed to `defineServer`. */
export interface Resource extends Common {
  readonly kind: 'resource'
  readonly uri: string
  readonly read: (context: CallContext) => unknown
}

/** A defined template: a frozen value, passed to `defineServer`. */
export interface ResourceTemplate extends Common {
  readonly kind: 'template'
  readonly uriTemplate: UriTemplate
  readonly list: ResourceTemplateOptions<string>['list'] | undefined
  readonly complete: { readonly [variable: string]: Complete | undefined }
  readonly read: (variables: never, context: CallContext) => unknown
}

const LISTED = ['title', 'description', 'mimeType', 'annotations', 'icons', '_meta'] as const
const PRIVATE: CacheHints = { ttlMs: 0, scope: 'private' }

/**
 * Defines one resource with a fixed URI.
 * @throws {TypeError} when the URI is none, or an icon or `_meta` key is not allowed
 */
export function defineResource(uri: string, options: ResourceOptions): Resource {
  if (!isUri(uri)) throw new TypeError(`cannot define resource "${uri}": a URI has a scheme and no spaces`)
  return Object.freeze({ kind: 'resource', uri, ...common({ uri }, `resource "${uri}"`, options), read: options.read })
}

/**
 * Defines a family of resources. `{name}` matches one path segment, `{+name}` may span several; values are decoded
 * once, and anything that tries to traverse (`..`, encoded slashes, control characters) matches nothing.
 * @throws {TypeError} when the template is none
 */
export function defineResourceTemplate<const T extends string>(
  uriTemplate: T,
  options: ResourceTemplateOptions<Variables<T>>,
): ResourceTemplate {
  const parsed = parseUriTemplate(uriTemplate)
  if (!isUri(uriTemplate.replaceAll(/[{}+]/g, ''))) {
    throw new TypeError(`cannot define template "${uriTemplate}": a URI has a scheme and no spaces`)
  }
  const complete: { [variable: string]: Complete | undefined } = options.complete ?? {}
  for (const name of Object.keys(complete)) {
    if (!parsed.variables.includes(name)) throw new TypeError(`cannot define template "${uriTemplate}": no {${name}}`)
  }
  return Object.freeze({
    kind: 'template',
    uriTemplate: parsed,
    ...common({ uriTemplate }, `template "${uriTemplate}"`, options),
    list: options.list,
    complete,
    read: options.read as ResourceTemplate['read'],
  })
}

function common(identity: JsonObject, what: string, options: Readable & { size?: number }): Common {
  checkDescribed(what, options)
  checkCache(what, options.cache)
  checkScopes(what, options.scopes)
  if (options.visible || options.scopes) checkPrivate(what, 'cache', options.cache)
  const listed = { ...identity, name: options.name, ...pickSet(options, [...LISTED, 'size']) }
  const asking = pickSet(options, ['requires', 'askTtlMs', 'visible', 'scopes'])
  return { listed, mimeType: options.mimeType, cache: options.cache ?? PRIVATE, ...asking }
}

/** True for an absolute URI a resource may have. */
export function isUri(uri: string): boolean {
  return uri.length <= limits.uriChars && /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]+$/.test(uri)
}
