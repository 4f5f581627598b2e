// Tokens written by hand: any header and any payload, so that a test can also make what no library would sign.

import { base64url, exportJWK, generateKeyPair, type JWK } from 'jose'
import type { JsonObject } from '../support/client.ts'

export type Algorithm = 'RS256' | 'RS384' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA'

export interface SigningKey {
  kid: string
  alg: Algorithm
  privateKey: CryptoKey
  /** The public part, as it is published. */
  jwk: JWK
}

export async function createKey(alg: Algorithm): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const kid = `${alg}-${crypto.randomUUID()}`
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** A text or a value as base64url. */
export function encode(value: unknown): string {
  return base64url.encode(typeof value === 'string' ? value : JSON.stringify(value))
}

/** A compact JWS. The header says what it likes; the signature is the key's. */
export async function sign(key: SigningKey, header: JsonObject, payload: unknown): Promise<string> {
  const input = `${encode(header)}.${encode(payload)}`
  const signature = await crypto.subtle.sign(parameters(key.alg), key.privateKey, new TextEncoder().encode(input))
  return `${input}.${base64url.encode(new Uint8Array(signature))}`
}

/** A compact JWS whose signature is an HMAC with `secret` as the key. */
export async function signWithSecret(secret: string, header: JsonObject, payload: unknown): Promise<string> {
  const input = `${encode(header)}.${encode(payload)}`
  const bytes = new TextEncoder().encode(secret)
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(input))
  return `${input}.${base64url.encode(new Uint8Array(signature))}`
}

function parameters(alg: Algorithm): SubtleCryptoSignAlgorithm {
  if (alg === 'EdDSA') return { name: 'Ed25519' }
  const hash = `SHA-${alg.slice(2)}`
  if (alg.startsWith('ES')) return { name: 'ECDSA', hash }
  return alg.startsWith('PS') ? { name: 'RSA-PSS', hash, saltLength: 32 } : { name: 'RSASSA-PKCS1-v1_5', hash }
}
