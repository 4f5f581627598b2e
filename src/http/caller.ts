// Whose requests, streams and calls are counted together. It must not decide what anybody may do.

import type { Config } from '../config.ts'
import { networkOf } from '../network.ts'
import type { HeaderSource } from '../protocol/headers.ts'
import { isAnonymous, type Auth } from '../server/ports.ts'

/** The principal of a request, or the address it came from when nobody says who they are. */
export function ownerOf({ auth, headers }: { auth: Auth; headers: HeaderSource }): string {
  if (!isAnonymous(auth)) return `principal ${auth.principal}`
  return `address ${networkOf(headers.get('cf-connecting-ip') ?? '')}`
}

/**
 * What tells this Worker's callers from those of others: bindings with one `namespace_id` share their counters in a whole
 * account, and a Worker does not know its name. Without the port, since Cloudflare listens on several; that of PUBLIC_URL
 * where it is set, since a wildcard route has as many names as one likes.
 */
export function hostOf({ url }: Request, { publicUrl }: Pick<Config, 'publicUrl'>): string {
  return (publicUrl ?? new URL(url)).hostname
}
