// The official SDK with its own gate for bearer tokens, as its documentation says. It leaves verification to whoever uses
// it: here to jose.
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server'
import { ISSUER, RESOURCE, scopesOf, verify } from './jose-verify.ts'
import { handler } from './sdk-handler.ts'

const gate = requireBearerAuth({
  verifier: {
    async verifyAccessToken(token) {
      try {
        const claims = await verify(token)
        return {
          token,
          clientId: claims.client_id!,
          scopes: scopesOf(claims),
          expiresAt: claims.exp!,
          resource: new URL(RESOURCE),
          extra: claims,
        }
      } catch {
        // jose throws for whatever is wrong with a token.
        throw new OAuthError(OAuthErrorCode.InvalidToken, 'not valid')
      }
    },
  },
  expectedResource: new URL(RESOURCE),
  resourceMetadataUrl: new URL('/.well-known/oauth-protected-resource/mcp', RESOURCE).href,
})

export default {
  async fetch(request: Request): Promise<Response> {
    if (ISSUER === undefined) return handler.fetch(request)
    const authInfo = await gate(request)
    return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo })
  },
}
