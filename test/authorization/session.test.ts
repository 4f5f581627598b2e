// Who a cookie says is signed in, and when it says nothing.

import { afterEach, expect, test, vi } from 'vitest'
import { authorizationLimits } from '../../src/authorization/limits.ts'
import { readSession, sessionCookie } from '../../src/authorization/session.ts'

const upstream = { issuer: 'https://login.example.com', clientId: 'edge', clientSecret: 'x', scope: 'openid' }
const config = { issuer: 'https://auth.example.com', cookieSecret: 'a secret of at least 32 characters', upstream }
const user = { userId: 'alice', name: 'Alice', email: 'alice@example.com' }

afterEach(() => void vi.useRealTimers())

async function requestOf(of: typeof user, sealedFor: Parameters<typeof sessionCookie>[1] = config): Promise<Request> {
  const [cookie = ''] = (await sessionCookie(of, sealedFor)).split(';')
  return new Request('https://auth.example.com/', { headers: { cookie: `other=1; ${cookie}` } })
}

test('readSession knows the person of a cookie it sealed', async () => {
  expect(await readSession(await requestOf(user), config)).toEqual(user)
  expect(await readSession(new Request('https://auth.example.com/'), config)).toBeUndefined()
})

test('readSession believes no cookie of another server, secret or sign-in', async () => {
  const request = await requestOf(user)
  expect(await readSession(request, { ...config, issuer: 'https://other.example.com' })).toBeUndefined()
  expect(
    await readSession(request, { ...config, cookieSecret: 'another secret of at least 32 characters' }),
  ).toBeUndefined()
  const other = { ...upstream, issuer: 'https://login.example.com/' }
  expect(await readSession(request, { ...config, upstream: other })).toBeUndefined()
  const development = await requestOf(user, { ...config, upstream: undefined })
  expect(await readSession(development, config)).toBeUndefined()
  expect(await readSession(development, { ...config, upstream: undefined })).toEqual(user)
})

test('readSession forgets a person after a working day', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const request = await requestOf(user)
  vi.setSystemTime(Date.now() + (authorizationLimits.sessionSeconds - 5) * 1_000)
  expect(await readSession(request, config)).toEqual(user)
  vi.setSystemTime(Date.now() + 10_000)
  expect(await readSession(request, config)).toBeUndefined()
})
