// What every SDK does with a server that asks for a token, from the first 401 on. `connect(setting)` of the SDK makes a
// client that knows neither the issuer nor its own id: everything is found.
import assert from 'node:assert/strict'
import { rejectionOf } from './tasks.mjs'

const wellKnown = '/.well-known'
const found = [
  'POST /mcp 401',
  `GET ${wellKnown}/oauth-protected-resource/mcp 200`,
  `GET ${wellKnown}/oauth-authorization-server 200`,
]

/**
 * The first connection: refused, sent to the browser, and back with a code. `sdk` has `connect`, which throws when the
 * person has been sent away, and `finish`, which takes what they came back with.
 * @returns the adapter of the client, once connected
 */
export async function authorizeFirst(sdk, { person, trace }) {
  const said = await rejectionOf(sdk.connect(), /Unauthorized/)
  assert.equal(person.asked.length, 1, said)
  await sdk.finish(person.answer())
  trace.connectedAt = trace.requests.length
  return sdk.connect()
}

/** Nothing was known, and everything was found and named in the right places. */
export function checkFound({ authorized, person, trace, document }) {
  const { url } = person.asked[0]
  const registered = document ? [] : ['POST /oauth/register 201']
  assert.deepEqual(trace.lines().slice(0, found.length + registered.length), [...found, ...registered])
  const asked = Object.fromEntries(url.searchParams)
  const [exchange] = trace.grants('authorization_code')
  assert.equal(asked.resource, authorized.mcp)
  assert.equal(exchange.get('resource'), authorized.mcp)
  assert.equal(asked.code_challenge_method, 'S256')
  assert.ok(asksFor(asked.scope, ['notes:read']), asked.scope)
  assert.ok(exchange.get('code_verifier').length >= 43)
  assert.equal(person.answer().get('iss'), authorized.issuer)
  const { client_id } = person.kept.client
  assert.equal(asked.client_id, client_id)
  assert.equal(exchange.get('client_id'), client_id)
  if (document) {
    assert.equal(client_id, document.url)
    assert.ok(document.reads() > 0)
  } else assert.ok(!client_id.includes(':'), client_id)
  const who = document ? 'its metadata document is its id' : 'registered itself'
  return `401, metadata of the resource, then of the issuer; ${who}; S256, resource in both requests, "${asked.scope}"`
}

/** The first token reads, and that is all it does. */
export async function checkReads(client, { person }) {
  const { scope } = person.kept.tokens
  assert.ok(asksFor(scope, ['notes:read']), scope)
  const tools = await client.listTools()
  const { isError } = await client.callTool('search_notes', { query: 'anything' })
  assert.notEqual(isError, true)
  return `${tools.length} tools, search_notes called`
}

/** A call that needs more: refused, asked for together with what is held already, and sent again by the host. */
export async function checkStepUp(sdk, client, { person, trace }, note) {
  const before = person.asked.length
  const add = () => client.callTool('add_note', { id: note, text: 'Written', replace: true })
  const said = await rejectionOf(add(), /Unauthorized/)
  const { status, answerHeaders } = trace.calls('tools/call').at(-1)
  assert.equal(status, 403)
  const [, needed] = /^Bearer error="insufficient_scope", .*scope="([^"]+)"/.exec(answerHeaders.get('www-authenticate'))
  // All that a new token should be good for: not every client adds what it has.
  assert.ok(asksFor(needed, ['notes:read', 'notes:write']), needed)
  assert.equal(person.asked.length, before + 1, said)
  const scopes = person.asked.at(-1).url.searchParams.get('scope')
  assert.ok(asksFor(scopes, ['notes:read', 'notes:write']), scopes)
  await sdk.finish(person.answer())
  const { structuredContent } = await add()
  assert.equal(structuredContent.uri, `note://${note}`)
  return `add_note: 403 insufficient_scope, asked for "${scopes}", then allowed`
}

/** An access token that is no longer one: a new one is fetched without asking anybody, and the call sent again. */
export async function checkRefresh(client, { authorized, person, trace }) {
  const { refresh_token: old, scope } = person.kept.tokens
  const [asked, before] = [person.asked.length, trace.requests.length]
  person.spoilToken()
  await client.callTool('search_notes', { query: 'anything' })
  assert.equal(person.asked.length, asked)
  const refresh = trace.grants('refresh_token').at(-1)
  assert.deepEqual([refresh.get('refresh_token'), refresh.get('resource')], [old, authorized.mcp])
  const { tokens } = person.kept
  assert.notEqual(tokens.refresh_token, old)
  assert.equal(tokens.scope, scope)
  const [first, ...others] = trace.lines(before)
  assert.equal(first, 'POST /mcp 401')
  assert.deepEqual(others.slice(-2), ['POST /oauth/token 200', 'POST /mcp 200'])
  return `401, then a new token for the same scopes, and the same call again; another refresh token each time`
}

/** True if these are the scopes. One that wants refresh tokens may say so where the issuer knows the scope for that. */
function asksFor(text, scopes) {
  const named = text.split(' ').filter((scope) => scope !== 'offline_access')
  return named.toSorted().join(' ') === scopes.join(' ')
}
