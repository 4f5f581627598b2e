// Where this Worker may send a request that a stranger asked for: the documents and keys of clients, whose URLs they
// choose themselves. The library fetches with the global `fetch`, so that is what is replaced here.
//
// The library itself checks that the URL is https and has a path, stops after 10 seconds and 5 KB (64 KB for keys), and
// relies on `global_fetch_strictly_public`. It follows redirects and takes any host and port.

import { isLoopback } from './loopback.ts'

const platformFetch: typeof fetch = globalThis.fetch.bind(globalThis)

/** For the addresses that the operator chose: those of the upstream provider. Redirects are not followed. */
export const trustedFetch: typeof fetch = (input, init) => platformFetch(input, { ...init, redirect: 'manual' })

/** What a client's URL is measured by. */
export interface OutboundPolicy {
  /** The origin of this server: it has no document of a client, and must not call itself. */
  issuer: string
  /** True lets metadata documents live on this machine, on any port: for development. */
  loopback: boolean
}

/**
 * Guards every later `fetch` of this isolate.
 * @see basic/authorization/security-considerations, Authorization Server Abuse Protection
 */
export function guardOutbound(policy: OutboundPolicy): void {
  globalThis.fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const reason = refuseOutbound(url, policy)
    if (reason !== undefined) throw new TypeError(`cannot fetch a document of a client: ${reason}`)
    // A document that moved is not the document of its client_id, and a redirect could lead past these checks.
    return platformFetch(input, { ...init, redirect: 'manual' })
  }
}

/** Why nothing is fetched from a URL, or undefined. Pure. */
export function refuseOutbound(url: URL, { issuer, loopback }: OutboundPolicy): string | undefined {
  if (url.protocol !== 'https:') return 'its URL is not https'
  if (url.origin === issuer) return 'its host is this server'
  const host = url.hostname.replace(/\.$/, '')
  if (isLoopback(host)) return loopback ? undefined : 'its host is a loopback address'
  if (url.port !== '') return 'its URL has a port of its own'
  // URL turns every spelling of an IPv4 address (decimal, octal, hexadecimal, short) into four numbers.
  if (host.startsWith('[') || /^\d+(?:\.\d+){3}$/.test(host)) return 'its host is an address, not a name'
  if (!host.includes('.') || PRIVATE_NAMES.test(host)) return 'its host is a name of a private network'
  return undefined
}

/** Names that no public resolver answers (RFC 6761, RFC 6762, RFC 8375) or that clouds use inside. */
const PRIVATE_NAMES =
  /\.(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|test|invalid|onion|home\.arpa)$/
