// A KV namespace that answers "nothing" for a key too long to exist, where the platform throws. Keys are made of what
// clients send: a token of a thousand letters is an unknown token, not a failure of this server.

import { authorizationLimits } from './limits.ts'

const encoder = new TextEncoder()

/** The same namespace, with `get` and `delete` that take any key. */
export function tolerantKv(kv: KVNamespace): KVNamespace {
  const isPossible = (key: unknown): boolean =>
    typeof key !== 'string' || encoder.encode(key).byteLength <= authorizationLimits.kvKeyBytes
  return new Proxy(kv, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'get' && name !== 'delete') return member.bind(target)
      return (key: unknown, ...rest: unknown[]) =>
        isPossible(key) ? Reflect.apply(member, target, [key, ...rest]) : Promise.resolve(null)
    },
  })
}
