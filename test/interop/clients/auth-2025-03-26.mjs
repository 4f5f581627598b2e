// A client of 2025-03-26, put together from the functions of the SDK of version 1: it knows no metadata of resources and
// no `resource`, and takes the MCP server for the issuer until that sends it on. Its own `fetch` follows redirects, as
// clients then did; this SDK has since come to follow them within one origin only.
// @see 2025-03-26 basic/authorization
import assert from 'node:assert/strict'
import { discoverOAuthMetadata, exchangeAuthorization } from '@modelcontextprotocol/sdk/client/auth.js'
import { registerClient, startAuthorization } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { clientMetadata, redirectUrl } from '../lib/authorized.mjs'
import { speaking } from '../lib/client-2.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { createPerson } from '../lib/person.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/sdk')}, with authorization as of 2025-03-26`

const revision = '2025-03-26'

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  await table.add('connect', () => checkAuthorized(authorized))
  return rows
}

async function checkAuthorized(authorized) {
  const server = new URL('/', authorized.mcp)
  const metadata = await discoverOAuthMetadata(server, { protocolVersion: revision }, following)
  assert.equal(metadata.issuer, authorized.issuer)
  const clientInformation = await registerClient(server, { metadata, clientMetadata })
  const scope = 'notes:read'
  const known = { metadata, clientInformation }
  const begun = await startAuthorization(server, { ...known, redirectUrl, scope })
  assert.equal(begun.authorizationUrl.searchParams.get('resource'), null)
  const person = createPerson(authorized, 'alice')
  await person.provider.redirectToAuthorization(begun.authorizationUrl)
  const authorizationCode = person.asked[0].back.searchParams.get('code')
  const { codeVerifier } = begun
  const tokens = await exchangeAuthorization(server, {
    ...known,
    authorizationCode,
    codeVerifier,
    redirectUri: redirectUrl,
  })
  return checkCalls(authorized.mcp, tokens.access_token)
}

const following = (url, init) => fetch(url, { ...init, redirect: 'follow' })

async function checkCalls(mcp, token) {
  const client = new Client({ name: 'interop', version: '1.0.0' })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const transport = new StreamableHTTPClientTransport(new URL(mcp), { ...speaking(revision), requestInit })
  await client.connect(transport)
  try {
    assert.equal(transport.protocolVersion, revision)
    const { isError } = await client.callTool({ name: 'search_notes', arguments: { query: 'anything' } })
    assert.notEqual(isError, true)
  } finally {
    await client.close()
  }
  return 'the MCP server showed it the issuer; no resource in its requests, and a token for this server; search_notes called'
}
