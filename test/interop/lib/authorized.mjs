// The example server with authorization on, beside the authorization server, as `npm run start:auth` runs them; and the
// metadata documents of the clients, on https://localhost. Nobody stands in between: a token is for one URL.
import { serveDocuments, startAuth } from '../../authorization/start.mjs'

/** The least there is. */
export const tokenSeconds = 60
/** Where clients are sent back to. Nobody listens there: the browser of person.mjs stops at this URL. */
export const redirectUrl = 'http://127.0.0.1:3999/callback'
/** Those of clients with listeners of their own, on any port. @see RFC 8252, 7.3 */
const loopbacks = ['http://localhost/oauth/callback', 'http://127.0.0.1/oauth/callback']

/**
 * Starts all of it. Tokens live a minute, and clients are first told to ask for what lets them read only. Any client may
 * register itself as well.
 */
export async function startAuthorized() {
  const documents = await serveDocuments((path) => documentOf(documents.origin + path))
  try {
    const servers = await startAuth({
      vars: () => ({ ACCESS_TOKEN_SECONDS: String(tokenSeconds), DYNAMIC_REGISTRATION: 'on' }),
      flags: ['--var=SCOPES_SUPPORTED:notes:read', '--var=LOG:errors'],
      env: { NODE_EXTRA_CA_CERTS: documents.ca },
    })
    return {
      /** The MCP endpoint, and the issuer. */
      mcp: servers.mcp,
      issuer: servers.auth,
      /** The metadata document of a client: its URL, which is a client id, and how often it was read. */
      document: (name) => {
        const path = `/${name}.json`
        return { url: documents.origin + path, reads: () => documents.seen.filter((seen) => seen === path).length }
      },
      output: servers.output,
      stop: () => Promise.all([servers.stop(), documents.stop()]),
    }
  } catch (error) {
    await documents.stop()
    throw error
  }
}

/** @see draft-ietf-oauth-client-id-metadata-document */
function documentOf(url) {
  return { client_id: url, ...clientMetadata }
}

/** What a client says of itself, in a document or when it registers. */
export const clientMetadata = {
  client_name: 'Interop',
  redirect_uris: [redirectUrl, ...loopbacks],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
}
