// What this server says of itself as a protected resource, and where. @see RFC 9728; basic/authorization/authorization-server-discovery

import type { Config } from '../config.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { Server } from '../server/define-server.ts'

/** The path of the document; RFC 9728 inserts it before the path of the resource. Clients also ask for the first alone. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource'
const ENDPOINT = '/mcp'

type Place = Pick<Config, 'publicUrl'>

function originOf({ publicUrl }: Place, requestUrl: string): string {
  return (publicUrl ?? new URL(requestUrl)).origin
}

/** Where clients reach the endpoint: `https://host/mcp`, without a slash at the end, however it was asked. */
export function resourceUrl(place: Place, requestUrl: string): string {
  return `${originOf(place, requestUrl)}${ENDPOINT}`
}

/** Where the document about it is. */
export function metadataUrl(place: Place, requestUrl: string): string {
  return `${originOf(place, requestUrl)}${METADATA_PATH}${ENDPOINT}`
}

/** The document. @param issuers in the order clients should try them */
export function resourceMetadata(
  server: Server,
  resource: string,
  issuers: readonly string[],
  scopes: readonly string[],
): JsonObject {
  return {
    resource,
    authorization_servers: [...issuers],
    ...(scopes.length > 0 && { scopes_supported: [...scopes] }),
    bearer_methods_supported: ['header'],
    resource_name: server.info.title ?? server.info.name,
  }
}
