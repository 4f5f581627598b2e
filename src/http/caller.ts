// Whose requests, streams and calls are counted together. It must not decide what anybody may do.

import type { HeaderSource } from '../protocol/headers.ts'
import { isAnonymous, type Auth } from '../server/ports.ts'

/** The principal of a request, or the address it came from when nobody says who they are. */
export function ownerOf({ auth, headers }: { auth: Auth; headers: HeaderSource }): string {
  if (!isAnonymous(auth)) return `principal ${auth.principal}`
  return `address ${networkOf(headers.get('cf-connecting-ip') ?? '')}`
}

/** An address, or the network of an IPv6 one, /48: who has that has 2^80 of them. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter(Boolean)
  const missing = 8 - groups.length - (tail ?? '').split(':').filter(Boolean).length
  if (tail !== undefined) groups.push(...Array.from({ length: Math.max(0, missing) }, () => '0'))
  return groups.slice(0, 3).join(':')
}
