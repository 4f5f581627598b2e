// What the tables of tokens here share: a server behind issuers, one request to it, and what came of that.

import { defineTool } from '../../src/server/index.ts'
import { modern, type Fetcher, type JsonObject, type RawExchange } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { BOTH_TYPES, envelope, message } from '../http/post.ts'
import { RESOURCE } from './issuer.ts'

/** Where the metadata of `RESOURCE` is. */
export const METADATA = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'

const whoami = defineTool('whoami', {
  description: 'Says who is calling, and with which scopes.',
  handler: (_, { auth: { principal, scopes = [] } }) => [principal, ...scopes].join(' | '),
})

/** A server with one tool, behind issuers as `AUTH_ISSUERS` has them. */
export function protect(issuers: readonly JsonObject[], vars: Record<string, unknown> = {}): Fetcher {
  return serve({ tools: [whoami] }, { vars: { AUTH: 'oauth', AUTH_ISSUERS: JSON.stringify(issuers), ...vars } })
}

/** What came of a request. A header that is not there is no member. */
export interface Outcome {
  status: number
  /** `WWW-Authenticate`. */
  challenge?: string
  /** `Retry-After`, in seconds. */
  retryAfter?: string
  /** Of a JSON-RPC error. */
  code?: number
  /** The principal and the scopes as the tool saw them. */
  caller?: string
}

/** Calls the tool with these headers, by default at `RESOURCE`. */
export async function call(fetcher: Fetcher, headers: HeadersInit, url = RESOURCE): Promise<Outcome> {
  const all = new Headers(headers)
  const protocol = {
    accept: BOTH_TYPES,
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'whoami',
  }
  for (const [name, value] of Object.entries(protocol)) if (!all.has(name)) all.set(name, value)
  const body = JSON.stringify(message('tools/call', { name: 'whoami', arguments: {}, _meta: envelope() }))
  return outcome(await modern(fetcher, { url }).raw({ method: 'POST', headers: all, body }))
}

/** Calls the tool with a token. */
export function present(fetcher: Fetcher, token: string, url?: string): Promise<Outcome> {
  return call(fetcher, { authorization: `Bearer ${token}` }, url)
}

export function outcome({ status, headers, messages }: RawExchange): Outcome {
  const challenge = headers.get('www-authenticate')
  const retryAfter = headers.get('retry-after')
  const [last] = messages.slice(-1)
  const content = (last?.result as { content?: { text?: string }[] } | undefined)?.content
  return {
    status,
    ...(challenge !== null && { challenge }),
    ...(retryAfter !== null && { retryAfter }),
    ...(last?.error && { code: last.error.code }),
    // A failure with half a character in it could not be reported.
    ...(content?.[0]?.text !== undefined && { caller: content[0].text.toWellFormed() }),
  }
}

/** The tool ran. */
export function accepted(caller = 'user main ada | notes:read'): Outcome {
  return { status: 200, caller }
}

/** No token was found. */
export const MISSING: Outcome = {
  status: 401,
  code: -32600,
  challenge: `Bearer resource_metadata="${METADATA}"`,
}

/** The token was refused. */
export function invalid(description: string): Outcome {
  const challenge = `Bearer error="invalid_token", error_description="${description}", resource_metadata="${METADATA}"`
  return { status: 401, code: -32600, challenge }
}

/** The token was sent in a way that is not allowed. */
export function malformed(description: string): Outcome {
  const challenge = `Bearer error="invalid_request", error_description="${description}", resource_metadata="${METADATA}"`
  return { status: 400, code: -32600, challenge }
}

/** It cannot be told now. */
export const DOWN: Outcome = { status: 503, code: -32603, retryAfter: '5' }
