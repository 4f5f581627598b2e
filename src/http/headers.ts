// Response headers. Made once: building them for each response costs more than the rest of a small answer.

/** Request headers a browser may send: everything the protocol uses. */
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'Accept',
  'MCP-Protocol-Version',
  'Mcp-Session-Id',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'traceparent',
  'tracestate',
  'baggage',
]
/** Response headers a browser may read. */
const EXPOSED = ['WWW-Authenticate', 'Mcp-Session-Id', 'MCP-Protocol-Version', 'Retry-After', 'Allow']

/** The methods the endpoint knows. GET and DELETE need a session. */
export const ALLOW = 'GET, POST, DELETE, OPTIONS'

// No credentials are involved, so `*` gives a page nothing that its user's cookies would open.
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED.join(', '),
}

export const JSON_HEADERS = new Headers({ ...CORS, 'content-type': 'application/json', 'cache-control': 'no-store' })

export const SSE_HEADERS = new Headers({
  ...CORS,
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
})

export const EMPTY_HEADERS = new Headers({ ...CORS, 'cache-control': 'no-store' })

/** What OAuth clients look up changes with deployments only. */
export const METADATA_HEADERS = new Headers({ ...CORS, 'cache-control': 'public, max-age=300' })

/** Headers for a human-readable answer. */
export const HTML_HEADERS = new Headers({
  ...CORS,
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
})

/** The same, for a page at an address that takes no GET. */
export const PAGE_405_HEADERS = new Headers(HTML_HEADERS)
PAGE_405_HEADERS.set('allow', ALLOW)

/** JSON headers with some more. */
export function jsonHeadersWith(more: Record<string, string>): Headers {
  const headers = new Headers(JSON_HEADERS)
  for (const [name, value] of Object.entries(more)) headers.set(name, value)
  return headers
}

/** The headers of a preflight answer. @param paramHeaders the `Mcp-Param-*` names that tools declare */
export function preflightHeaders(paramHeaders: readonly string[]): Headers {
  return new Headers({
    ...CORS,
    'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
    'access-control-allow-headers': [...ALLOWED, ...paramHeaders].join(', '),
    'access-control-max-age': '86400',
    allow: ALLOW,
  })
}
