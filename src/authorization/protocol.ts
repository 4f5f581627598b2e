// What the library serves: metadata, tokens, revocation, registration. Bodies are bounded before it reads them, and the
// metadata says where tokens can be introspected.

import { FormError, readBody } from './form.ts'
import { INTROSPECTION_PATH } from './introspect.ts'
import type { Site } from './site.ts'

const METADATA_PATH = '/.well-known/oauth-authorization-server'

/** Passes a request to the library. */
export async function serveProtocol(request: Request, site: Site, context: ExecutionContext): Promise<Response> {
  const bounded = await withBoundedBody(request)
  if (bounded instanceof Response) return bounded
  const response = await site.server.fetch(bounded, site.env, context)
  const isMetadata = request.method === 'GET' && new URL(request.url).pathname === METADATA_PATH && response.ok
  return isMetadata && site.config.introspectionClients.length > 0 ? withIntrospection(response, site) : response
}

async function withBoundedBody(request: Request): Promise<Request | Response> {
  if (request.body === null) return request
  try {
    const body = await readBody(request)
    return new Request(request.url, { method: request.method, headers: request.headers, body })
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return Response.json({ error: 'invalid_request', error_description: error.message }, { status: error.status })
  }
}

async function withIntrospection(response: Response, { config }: Site): Promise<Response> {
  const metadata: object = await response.json()
  return new Response(
    JSON.stringify({
      ...metadata,
      introspection_endpoint: config.issuer + INTROSPECTION_PATH,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    }),
    { headers: response.headers },
  )
}
