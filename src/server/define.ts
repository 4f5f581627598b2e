// The checks every definition shares: names, icons, `_meta`. Author mistakes throw here, never at a request.

import type { CapabilityName } from '../protocol/capabilities.ts'
import { isOwnMetaKey, type Icon } from '../protocol/meta.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { Auth } from './ports.ts'

/** How long a client may keep a result, and who may share it. @see server/utilities/caching */
export interface CacheHints {
  /** Milliseconds, 0 or more. */
  ttlMs: number
  /** `public` means the result is the same for everybody; only then may it be shared between callers. */
  scope: 'public' | 'private'
}

/** What every definition may say about itself. */
export interface Described {
  /** For people; hosts fall back to the name. */
  title?: string
  /** For models and people: what it is for and when to use it. */
  description?: string
  /** https or data URIs. */
  icons?: Icon[]
  /** Own metadata; keys follow basic/index, _meta, and use no prefix reserved for MCP. */
  _meta?: JsonObject
}

/** What definitions that are not for everybody have in common. */
export interface Restricted {
  /**
   * Says for whom it exists. For everybody else it is not listed, and asking for it is answered like asking for something
   * that never was. Lists that hold one are `private`. Depend on nothing but `auth`, or say that the list changed.
   * Default: for everybody.
   */
  visible?(auth: Auth): boolean
  /**
   * What a token must be good for, all of it: `['notes:write']`. A caller whose token is not gets a 403 that says so, from
   * which its host asks the user for more; with `missingScopes: 'hide'` of the server it does not exist for that caller.
   * Counts on every request about it, tasks and retries too. Without authorization nothing is checked.
   * @see basic/authorization, Scope Challenge Handling
   */
  scopes?: readonly string[]
}

/** True if a definition exists for this caller. Only `true` says so: a promise, which no type allows, does not. */
export function isVisible({ visible }: Restricted, auth: Auth): boolean {
  return visible === undefined || visible(auth) === true
}

/** What definitions whose handlers may ask have in common. */
export interface Asking {
  /**
   * Client capabilities the handler cannot do without. Checked before it runs: a modern client gets -32021 naming them.
   * Without it, the first ask that needs one is refused the same way.
   */
  requires?: CapabilityName[]
  /** How long an unanswered ask stays answerable, in ms. Default: one hour. */
  askTtlMs?: number
}

/** @throws {TypeError} naming the definition and what is wrong with its name */
export function checkName(kind: string, name: string): void {
  if (typeof name !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(name) || name.includes(',')) {
    throw new TypeError(`cannot define ${kind} "${name}": a name is 1 to 128 visible ASCII characters without commas`)
  }
}

/** @throws {TypeError} naming the definition and the icon or key */
export function checkDescribed(what: string, { icons = [], _meta = {} }: Described): void {
  for (const { src } of icons) {
    if (!/^(https:\/\/|data:image\/)/.test(src)) {
      throw new TypeError(`cannot define ${what}: icon '${src.slice(0, 60)}' is neither https nor a data image`)
    }
  }
  for (const key of Object.keys(_meta)) {
    if (!isOwnMetaKey(key)) throw new TypeError(`cannot define ${what}: _meta key '${key}' is malformed or reserved`)
  }
}

/** @throws {TypeError|RangeError} naming the definition */
export function checkCache(what: string, cache: CacheHints | undefined): void {
  if (cache && !(Number.isSafeInteger(cache.ttlMs) && cache.ttlMs >= 0)) {
    throw new RangeError(`cannot define ${what}: cache.ttlMs must be a whole number of milliseconds, 0 or more`)
  }
}

/** @throws {TypeError} for hints that would share what only some may see */
export function checkPrivate(what: string, setting: string, cache: CacheHints | undefined): void {
  if (cache?.scope !== 'public') return
  throw new TypeError(`cannot define ${what}: ${setting} cannot be public where something is visible to some only`)
}

/** @throws {TypeError} naming the definition and the scope that is none, or that this server may not ask for */
export function checkScopes(what: string, scopes: readonly string[] | undefined): void {
  if (scopes !== undefined && !Array.isArray(scopes))
    throw new TypeError(`cannot define ${what}: scopes must be a list`)
  for (const scope of scopes ?? []) {
    if (typeof scope !== 'string' || !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) {
      throw new TypeError(`cannot define ${what}: the scope "${scope}" has spaces, quotes or backslashes, or is empty`)
    }
    // @see basic/authorization, Refresh Tokens
    if (scope === 'offline_access') {
      throw new TypeError(`cannot define ${what}: offline_access is a matter between clients and the issuer of tokens`)
    }
  }
}

/** A copy of `from` with the members that are set, in the order of `keys`. */
export function pickSet<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {}
  for (const key of keys) if (from[key] !== undefined) picked[key] = from[key]
  return picked
}
