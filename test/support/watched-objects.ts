// The bindings of objects for a test that wants to know whether any is used.

import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import type { JsonObject } from './client.ts'

/**
 * The object bindings, which note their use in `touched`.
 * @param others binding that is left as it is: the keys that seal are asked for once, whatever is requested
 */
export function watchedObjects(touched: string[], others?: 'KEY_RING'): JsonObject {
  const isNamespace = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && 'idFromName' in value && 'newUniqueId' in value
  const watched = Object.entries(env).flatMap(([name, value]: [string, unknown]) => {
    if (!isNamespace(value) || name === others) return []
    const get = (target: object, key: string | symbol): unknown => {
      touched.push(name)
      const member: unknown = Reflect.get(target, key)
      return typeof member === 'function' ? member.bind(target) : member
    }
    return [[name, new Proxy(value, { get })]]
  })
  expect(watched.length).toBeGreaterThanOrEqual(others ? 4 : 5)
  return Object.fromEntries(watched) as JsonObject
}
