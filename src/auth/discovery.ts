// The metadata of an issuer. @see RFC 8414, 3.1; OpenID Connect Discovery 1.0, 4; basic/authorization/authorization-server-discovery

import type { JsonObject } from '../protocol/json-rpc.ts'
import { fetchJson } from './fetch-json.ts'

/** Where the metadata of an issuer may be, in the order they are tried. */
export function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  )
  // The same URL where there is no path.
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}

/**
 * Finds the metadata of an issuer, which must name that issuer exactly.
 * @throws {Error} when there is none, it cannot be reached, or it is another's
 */
export async function discover(issuer: string, signal: AbortSignal): Promise<JsonObject> {
  for (const url of metadataUrls(issuer)) {
    const metadata = await fetchJson(url, signal)
    if (!metadata) continue
    if (metadata['issuer'] === issuer) return metadata
    throw new Error(`cannot use ${url}: its issuer is not exactly '${issuer}'`)
  }
  throw new Error(`cannot find metadata of ${issuer}: tried ${metadataUrls(issuer).join(', ')}`)
}

/** A URL that the metadata names. @throws {Error} when it does not */
export function endpointOf(metadata: JsonObject, name: string): string {
  const url = metadata[name]
  if (typeof url !== 'string') throw new Error(`cannot use the metadata of ${String(metadata['issuer'])}: no ${name}`)
  return url
}
