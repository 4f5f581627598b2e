// Who is signed in to this browser, in a sealed cookie: nothing is stored.

import { EncryptJWT, jwtDecrypt } from 'jose'
import * as z from 'zod'
import type { AuthorizationConfig } from './config.ts'
import { clearCookie, readCookie, setCookie } from './cookies.ts'
import { authorizationLimits } from './limits.ts'
import { deriveKey } from './seal.ts'

const COOKIE = '__Host-authorization-session'
const PURPOSE = 'browser session'

const User = z.object({
  /** The `sub` of tokens: without ":", at most `userIdBytes`. */
  userId: z.string(),
  /** What the person is called on pages. */
  name: z.string().optional(),
  email: z.string().optional(),
})

/** A person who has signed in. */
export type User = z.infer<typeof User>

type Sealing = Pick<AuthorizationConfig, 'issuer' | 'cookieSecret' | 'upstream'>

/** The signed-in person, or undefined: no cookie, expired, or sealed for another server or sign-in. */
export async function readSession(request: Request, config: Sealing): Promise<User | undefined> {
  const sealed = readCookie(request, COOKIE)
  if (!sealed) return undefined
  const key = await deriveKey(config.cookieSecret, PURPOSE)
  try {
    const { payload } = await jwtDecrypt(sealed, key, {
      issuer: config.issuer,
      audience: signedInBy(config),
      requiredClaims: ['exp'],
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    })
    return User.parse(payload)
  } catch {
    // Altered, expired, of another secret: for all of them the person signs in again.
    return undefined
  }
}

/** A `Set-Cookie` value that signs a person in. */
export async function sessionCookie(user: User, config: Sealing): Promise<string> {
  const sealed = await new EncryptJWT({ ...user })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setIssuer(config.issuer)
    .setAudience(signedInBy(config))
    .setIssuedAt()
    .setExpirationTime(`${authorizationLimits.sessionSeconds}s`)
    .encrypt(await deriveKey(config.cookieSecret, PURPOSE))
  return setCookie(COOKIE, sealed, authorizationLimits.sessionSeconds)
}

export function endSessionCookie(): string {
  return clearCookie(COOKIE)
}

/** A session of one provider says nothing about the people of another, least of all one of the development login. */
function signedInBy({ upstream }: Sealing): string {
  return upstream?.issuer ?? 'development login'
}
