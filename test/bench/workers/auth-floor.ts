// The floor behind jose, and nothing else: no challenge, no scopes.
import floor from './floor.ts'
import { ISSUER, verify } from './jose-verify.ts'

export default {
  async fetch(request: Request, env: object, execution: ExecutionContext): Promise<Response> {
    if (ISSUER !== undefined) {
      try {
        await verify(request.headers.get('authorization')!.slice('Bearer '.length))
      } catch {
        // jose throws for whatever is wrong with a token.
        return new Response(null, { status: 401 })
      }
    }
    return floor.fetch(request, env, execution)
  },
}
