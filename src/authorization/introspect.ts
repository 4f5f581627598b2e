// RFC 7662 for resource servers that cannot bind a service. A client learns about tokens of its own resource alone;
// whatever else is wrong, the answer is `{ "active": false }`.

import type { IntrospectionClient } from './config.ts'
import { FormError, readForm } from './form.ts'
import { tooManyError } from './rate-limit.ts'
import { isSame } from './seal.ts'
import type { Site } from './site.ts'
import { validateToken } from './validate.ts'

export const INTROSPECTION_PATH = '/oauth/introspect'

/** Every method on `/oauth/introspect`. */
export async function introspect(request: Request, site: Site): Promise<Response> {
  if (request.method !== 'POST') return refuse(405, 'invalid_request', 'Send a POST')
  const form = await readForm(request).catch((error: unknown) => {
    if (error instanceof FormError) return error
    throw error
  })
  if (form instanceof FormError) return refuse(form.status, 'invalid_request', form.message)
  const client = await authenticate(request, form, site.config.introspectionClients)
  if (client === 'two methods') return refuse(400, 'invalid_request', 'Authenticate in one way, not in two')
  // A resource server asks for each of its callers, from one address: counted is who does not know its secret.
  if (client === undefined && (await site.isOverLimit(request))) return tooManyError()
  if (client === undefined) return refuse(401, 'invalid_client', 'Client authentication failed')
  const [token, ...others] = form.getAll('token')
  if (token === undefined || others.length > 0) return refuse(400, 'invalid_request', 'Send one token')

  const valid = await validateToken(site, client.resource, token)
  if (valid === null) return json({ active: false })
  const { scope, clientId, userId, audience, expiresAt } = valid
  return json({
    active: true,
    scope: scope.join(' '),
    client_id: clientId,
    sub: userId,
    aud: audience,
    iss: site.config.issuer,
    exp: expiresAt,
    token_type: 'Bearer',
  })
}

async function authenticate(
  request: Request,
  form: URLSearchParams,
  clients: IntrospectionClient[],
): Promise<IntrospectionClient | 'two methods' | undefined> {
  const header = request.headers.get('authorization')
  if (header !== null && form.has('client_secret')) return 'two methods'
  const given = header === null ? fromForm(form) : fromBasic(header)
  if (given === undefined) return undefined
  const client = clients.find(({ clientId }) => clientId === given.clientId)
  // An unknown client costs the same comparison.
  const isRight = await isSame(given.clientSecret, client?.clientSecret ?? '')
  return isRight && client !== undefined ? client : undefined
}

interface Credentials {
  clientId: string
  clientSecret: string
}

function fromForm(form: URLSearchParams): Credentials | undefined {
  const [clientId, clientSecret] = [form.get('client_id'), form.get('client_secret')]
  return clientId === null || clientSecret === null ? undefined : { clientId, clientSecret }
}

/** RFC 6749 section 2.3.1: both parts are form-encoded first. */
function fromBasic(header: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(header)?.[1]
  if (encoded === undefined) return undefined
  try {
    const [clientId, clientSecret] = /^([^:]*):(.*)$/s.exec(atob(encoded))!.slice(1).map(formDecode)
    return clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }
  } catch {
    // Not base64, without a colon, or a broken escape.
    return undefined
  }
}

function formDecode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

function refuse(status: keyof typeof EXPLAINED | 400 | 413 | 415, error: string, description: string): Response {
  const headers = status in EXPLAINED ? EXPLAINED[status as keyof typeof EXPLAINED] : {}
  return json({ error, error_description: description }, { status, headers })
}

/** Statuses that must come with a header. */
const EXPLAINED = { 401: { 'www-authenticate': 'Basic realm="introspection"' }, 405: { allow: 'POST' } }

function json(value: object, { status = 200, headers = {} }: { status?: number; headers?: object } = {}): Response {
  return Response.json(value, { status, headers: { 'cache-control': 'no-store', ...headers } })
}
