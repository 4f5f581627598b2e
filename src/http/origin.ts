// Who may talk to this server from a web page: a check of Host and Origin against DNS rebinding.
// @see basic/transports/streamable-http, Security & Endpoint

import type { Config } from '../config.ts'

/**
 * Why a request is refused, or undefined when it is not. What is public any page may read, whatever its origin.
 *
 * Over https the host reached this Worker through routing and a certificate, so it is trusted. Over http that proves
 * nothing: a rebound name arrives the same way. There the host must be loopback or that of PUBLIC_URL.
 * An Origin must be that of the server itself, a page on the user's own machine, or configured.
 */
export function refuseOrigin(request: Request, config: Config, isPublic = false): string | undefined {
  // Two Host headers, or one that is no host, make a URL that is none.
  if (!URL.canParse(request.url)) return 'the Host header names no host'
  const origin = isPublic ? null : request.headers.get('origin')
  // Most requests: a program, not a page, at a host that is trusted.
  if (origin === null && (request.url.startsWith('https:') || LOOPBACK.test(request.url))) return undefined
  const url = new URL(request.url)
  const isTrusted = url.protocol === 'https:' || LOOPBACK.test(url.href) || url.host === config.publicUrl?.host
  if (!isTrusted) return `host '${url.host}' is not served over http: set PUBLIC_URL if it should be`
  if (origin === null || origin === url.origin || origin === config.publicUrl?.origin) return undefined
  if (config.allowedOrigins.has(origin) || LOOPBACK_ORIGIN.test(origin)) return undefined
  if (origin === 'null') return "origin 'null' is not allowed: a page without an origin cannot be told from any other"
  return `origin '${origin.slice(0, 100)}' is not allowed: add it to ALLOWED_ORIGINS if it should be`
}

/** A URL, or an origin, on the user's own machine, on any port. */
const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?\//
const LOOPBACK_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/
