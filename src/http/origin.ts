// Who may talk to this server from a web page: a check of Host and Origin against DNS rebinding.
// @see basic/transports/streamable-http, Security & Endpoint

import type { Config } from '../config.ts'

/**
 * Why a request is refused, or undefined when it is not.
 *
 * Over https the host reached this Worker through routing and a certificate, so it is trusted. Over http that proves
 * nothing: a rebound name arrives the same way. There the host must be loopback or that of PUBLIC_URL.
 * An Origin must be that of the server itself, a page on the user's own machine, or configured.
 */
export function refuseOrigin(request: Request, config: Config): string | undefined {
  // The platform takes any Host header and any request target for a URL.
  if (!URL.canParse(request.url)) return 'the host and the path make no URL'
  const url = new URL(request.url)
  const isTrusted = url.protocol === 'https:' || isLoopback(url.hostname) || url.host === config.publicUrl?.host
  if (!isTrusted) return `host '${url.host}' is not served over http: set PUBLIC_URL if it should be`
  const origin = request.headers.get('origin')
  if (origin === null || origin === url.origin || origin === config.publicUrl?.origin) return undefined
  if (config.allowedOrigins.has(origin) || isLoopbackOrigin(origin)) return undefined
  return `origin '${origin.slice(0, 100)}' is not allowed: add it to ALLOWED_ORIGINS if it should be`
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
}

function isLoopbackOrigin(origin: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.origin === origin && isLoopback(url.hostname)
}
