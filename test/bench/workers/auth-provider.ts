// The floor behind the resource server of Cloudflare's OAuth library, which leaves verification to whoever uses it: here to
// jose.
import { OAuthResourceServer } from '@cloudflare/workers-oauth-provider'
import floor from './floor.ts'
import { ISSUER, RESOURCE, scopesOf, verify } from './jose-verify.ts'

export default new OAuthResourceServer({
  resourceMetadata: { resource: RESOURCE, authorization_servers: [ISSUER!] },
  handler: floor,
  validateToken: () => async (audience, token) => {
    try {
      const claims = await verify(token)
      return {
        props: claims,
        audience,
        expiresAt: claims.exp!,
        scope: scopesOf(claims),
        userId: claims.sub!,
        clientId: claims.client_id!,
      }
    } catch {
      // jose throws for whatever is wrong with a token.
      return null
    }
  },
})
