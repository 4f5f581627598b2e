// A small OpenID provider on this machine, that signs in whoever comes as the person the test set. It checks what a
// strict provider would: redirect URI, PKCE, client secret, one use of a code. `next` makes its next sign-in go wrong.
import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export async function startProvider({ clientId, clientSecret }) {
  const keys = await generateKeyPair('RS256', { extractable: true })
  const others = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const codes = new Map()
  const state = { user: { sub: 'auth0|carol', name: 'Carol', email: 'carol@example.com' }, next: {}, requests: [] }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, state.issuer)
    const send = (status, value) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    if (url.pathname === '/.well-known/openid-configuration') {
      return send(200, {
        issuer: state.issuerClaimed ?? state.issuer,
        authorization_endpoint: `${state.issuer}/login`,
        token_endpoint: `${state.issuer}/token`,
        jwks_uri: `${state.issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported: ['client_secret_post'],
      })
    }
    if (url.pathname === '/keys') return send(200, { keys: [jwk] })
    if (url.pathname === '/login') {
      const parameters = Object.fromEntries(url.searchParams)
      state.requests.push(parameters)
      const back = new URL(parameters.redirect_uri)
      back.searchParams.set('state', parameters.state)
      if (state.next.error) back.searchParams.set('error', state.next.error)
      else {
        const code = randomUUID()
        codes.set(code, { ...parameters, wrong: state.next })
        back.searchParams.set('code', code)
      }
      state.next = {}
      response.writeHead(302, { location: back.href })
      return response.end()
    }
    if (url.pathname === '/token') {
      let body = ''
      for await (const chunk of request) body += chunk
      const fields = Object.fromEntries(new URLSearchParams(body))
      const asked = codes.get(fields.code)
      codes.delete(fields.code)
      const challenge = createHash('sha256').update(fields.code_verifier).digest('base64url')
      const isRight =
        asked?.redirect_uri === fields.redirect_uri &&
        asked.code_challenge === challenge &&
        fields.client_id === clientId &&
        fields.client_secret === clientSecret
      if (!isRight) return send(400, { error: 'invalid_grant' })
      const { wrong } = asked
      const claims = { name: state.user.name, email: state.user.email, nonce: wrong.nonce ?? asked.nonce }
      const token = new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setIssuer(wrong.issuer ?? state.issuer)
        .setAudience(wrong.audience ?? clientId)
        .setSubject(wrong.subject ?? state.user.sub)
        .setIssuedAt()
        .setExpirationTime(wrong.expires ?? '5m')
      return send(200, {
        access_token: 'upstream-access-token',
        token_type: 'Bearer',
        ...(wrong.tokenless ? {} : { id_token: await token.sign(wrong.key ? others.privateKey : keys.privateKey) }),
      })
    }
    send(404, {})
  })
  await new Promise((listening) => server.listen(0, 'localhost', listening))
  state.issuer = `http://localhost:${server.address().port}`
  return Object.assign(state, {
    stop() {
      server.closeAllConnections()
      return new Promise((closed) => server.close(closed))
    },
  })
}
