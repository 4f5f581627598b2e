// Verification as jose's documentation says: the keys are fetched once for the module and kept by jose. What the workers
// here that are not this repository's verify tokens with.
import { env } from 'cloudflare:workers'
import { createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose'

const { BENCH_ISSUER: issuer, BENCH_RESOURCE } = env as unknown as { BENCH_ISSUER?: string; BENCH_RESOURCE: string }

/** The canonical URI of the endpoint, which tokens are for. */
export const RESOURCE = BENCH_RESOURCE
/** Undefined: everybody is let in. */
export const ISSUER = issuer

const keys = issuer === undefined ? undefined : createRemoteJWKSet(new URL(`${issuer}/jwks`))

/** The claims of a token. @throws whatever jose does when it is not valid */
export async function verify(token: string): Promise<JWTPayload & { client_id?: string; scope?: string }> {
  if (!keys) throw new Error('nobody issues tokens')
  const { payload } = await jwtVerify(token, keys, {
    issuer: issuer!,
    audience: RESOURCE,
    algorithms: ['RS256', 'ES256'],
    requiredClaims: ['exp'],
  })
  return payload
}

/** The scopes of claims. */
export const scopesOf = ({ scope }: { scope?: string }): string[] => scope?.split(' ') ?? []
