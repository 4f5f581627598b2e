// The issuer of the other tests here: what it publishes verifies what it mints, and its answers and counts are real.

import { createRemoteJWKSet, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { createIssuer, metadata, RESOURCE, WELL_KNOWN } from './issuer.ts'
import type { Algorithm } from './sign.ts'
import { json } from './tenant.ts'

const site = (url: string): string => new URL(url).origin

describe('an issuer', () => {
  test.each<Algorithm>(['RS256', 'RS384', 'PS256', 'ES256', 'ES384', 'EdDSA'])(
    'mints with %s what its published keys verify, and its neighbour does not',
    async (alg) => {
      const [issuer, other] = await Promise.all([
        createIssuer({ algorithms: [alg] }),
        createIssuer({ algorithms: [alg] }),
      ])
      const token = await issuer.mint()
      const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${issuer.url}/jwks`)), {
        issuer: issuer.url,
        audience: RESOURCE,
      })
      expect(payload.sub).toBe('ada')
      const foreign = createRemoteJWKSet(new URL(`${other.url}/jwks`))
      await expect(jwtVerify(token, foreign)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey)
    },
  )

  test('publishes the document of its discovery where that belongs, and counts who asks', async () => {
    const oauth = await createIssuer()
    const at = `${site(oauth.url)}${WELL_KNOWN.oauth(oauth.tenant)}`
    expect(await (await fetch(at)).json()).toEqual(metadata(oauth))
    expect((await fetch(`${site(oauth.url)}${WELL_KNOWN.openid(oauth.tenant)}`)).status).toBe(404)
    expect((await oauth.requests('.well-known')).map(({ path }) => path)).toEqual([
      WELL_KNOWN.oauth(oauth.tenant),
      WELL_KNOWN.openid(oauth.tenant),
    ])
    const openid = await createIssuer({ discovery: 'openid' })
    expect((await fetch(`${site(openid.url)}${WELL_KNOWN.openid(openid.tenant)}`)).status).toBe(200)
  })

  test('rotates and removes keys', async () => {
    const issuer = await createIssuer()
    const first = issuer.key
    const second = await issuer.rotate()
    expect(decodeProtectedHeader(await issuer.mint()).kid).toBe(second.kid)
    await issuer.remove(first)
    const { keys } = (await (await fetch(`${issuer.url}/jwks`)).json()) as { keys: { kid: string }[] }
    expect(keys.map(({ kid }) => kid)).toEqual([second.kid])
  })

  test('introspects tokens as it was told, others as inactive', async () => {
    const issuer = await createIssuer()
    await issuer.introspects('abc', json({ active: true }))
    const ask = async (token: string): Promise<unknown> => {
      const answer = await fetch(`${issuer.url}/introspect`, { method: 'POST', body: new URLSearchParams({ token }) })
      return answer.json()
    }
    expect(await ask('abc')).toEqual({ active: true })
    expect(await ask('xyz')).toEqual({ active: false })
    expect((await issuer.requests('/introspect')).map(({ body }) => body)).toEqual(['token=abc', 'token=xyz'])
  })

  test('goes down, and comes back as it was', async () => {
    const issuer = await createIssuer()
    await issuer.outage('500')
    expect((await fetch(`${issuer.url}/jwks`)).status).toBe(500)
    await issuer.outage('cut')
    await expect(fetch(`${issuer.url}/jwks`)).rejects.toThrow()
    await issuer.outage('hang')
    await expect(fetch(`${issuer.url}/jwks`, { signal: AbortSignal.timeout(200) })).rejects.toThrow()
    const key = await issuer.rotate()
    await issuer.restore()
    expect(await (await fetch(`${issuer.url}/jwks`)).text()).toContain(key.kid)
  })
})
