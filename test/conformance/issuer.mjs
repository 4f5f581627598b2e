// An issuer of one token, which lets the fixture be tested with authorization on.
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const audience = 'urn:mcp-edge:fixture'

/** @returns the variables of a fixture that takes its token, the token for what stands in front of it among them */
export async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] })
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(keys)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${server.address().port}`
  const token = await new SignJWT({ sub: 'suite', client_id: 'conformance' })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setExpirationTime('2h')
    .sign(privateKey)
  return {
    vars: { AUTH: 'oauth', AUTH_ISSUERS: JSON.stringify([{ issuer, jwks: `${issuer}/keys`, audience }]), TOKEN: token },
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}
