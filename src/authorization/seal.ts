// Secrets of one purpose, made of COOKIE_SECRET: what is sealed for one is worth nothing for another.

import { base64url } from 'jose'

const encoder = new TextEncoder()

/** 32 bytes for `purpose`. */
export async function deriveKey(secret: string, purpose: string): Promise<Uint8Array<ArrayBuffer>> {
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), HMAC, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(purpose)))
}

/** 43 characters nobody can guess. */
export function randomText(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(32)))
}

export async function sha256(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
}

/** True if two texts are the same, in a time that does not say where they differ. */
export async function isSame(a: string, b: string): Promise<boolean> {
  return crypto.subtle.timingSafeEqual(await sha256(a), await sha256(b))
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' }
