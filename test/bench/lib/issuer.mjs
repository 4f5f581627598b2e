// An authorization server for the workers under test: real keys, and HTTP on loopback. To each worker it is another issuer,
// by path, so that what each asks can be counted.
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { exportJWK, SignJWT } from 'jose'

/** The endpoint, as the workers see it: every request says `Host: localhost`. */
export const resource = 'http://localhost/mcp'

/** The tokens there are. One that is `large` is signed as RS256, and has 1.5 kB: 20 scopes and 14 claims more. */
export const signedKinds = ['RS256', 'ES256', 'large']
/** A token that nobody else can read. */
export const opaqueKind = 'opaque'

const lifetimeSeconds = 3 * 3_600
const pairs = { RS256: ['rsa', { modulusLength: 2_048 }], ES256: ['ec', { namedCurve: 'P-256' }] }

export async function startIssuer() {
  const keys = Object.fromEntries(await Promise.all(Object.keys(pairs).map(async (alg) => [alg, await createKey(alg)])))
  const published = JSON.stringify({ keys: Object.values(keys).map(({ jwk }) => jwk) })
  const counts = new Map()
  const known = new Map()
  const server = createServer(async (request, response) => {
    const [, worker] = request.url.split('/')
    counts.set(worker, (counts.get(worker) ?? 0) + 1)
    const isKeys = request.url.endsWith('/jwks')
    const body = isKeys ? published : JSON.stringify(introspect(known, await readBody(request)))
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${server.address().port}`
  const url = (worker, kind) => `${origin}/${worker}${kind === opaqueKind ? '/opaque' : ''}`
  return {
    /** What `iss` says, for a worker and a kind of token. Its keys are at `/jwks` below, its introspection at `/introspect`. */
    url,
    countRequests: (worker) => counts.get(worker) ?? 0,
    async mint(worker, kind) {
      const claims = createClaims(url(worker, kind), kind)
      if (kind !== opaqueKind) return sign(keys[kind === 'ES256' ? kind : 'RS256'], claims)
      const token = randomBytes(32).toString('base64url')
      known.set(token, { active: true, token_type: 'Bearer', ...claims })
      return token
    },
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function createKey(alg) {
  const { privateKey, publicKey } = generateKeyPairSync(...pairs[alg])
  const kid = randomUUID()
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), alg, kid, use: 'sig' } }
}

function sign({ alg, kid, privateKey }, claims) {
  return new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'at+jwt' }).sign(privateKey)
}

/** The claims of RFC 9068 and, in one that is large, some of what providers add. */
function createClaims(iss, kind) {
  const iat = Math.floor(Date.now() / 1_000)
  const isLarge = kind === 'large'
  const scopes = isLarge ? Array.from({ length: 20 }, (_, i) => `area${i}:write`) : ['notes:read', 'notes:write']
  const more = isLarge ? Array.from({ length: 14 }, (_, i) => [`claim_${i}`, `value ${i}`]) : []
  return {
    iss,
    sub: 'user-5f1d7e0b',
    aud: resource,
    client_id: 'client-90ab',
    scope: scopes.join(' '),
    iat,
    exp: iat + lifetimeSeconds,
    jti: randomUUID(),
    ...Object.fromEntries(more),
  }
}

function introspect(known, body) {
  return known.get(new URLSearchParams(body).get('token')) ?? { active: false }
}

async function readBody(request) {
  let body = ''
  for await (const chunk of request) body += chunk
  return body
}
