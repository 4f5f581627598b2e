// Clients that are given a token, as a header of every request: what they do with it.
import assert from 'node:assert/strict'
import { auth } from '@modelcontextprotocol/client'
import { createPerson } from './person.mjs'
import { rejectionOf } from './tasks.mjs'

/**
 * An access token of somebody who went through the browser.
 * @param scope what it is good for; without, what clients are told to ask for first
 */
export async function tokenOf(authorized, scope) {
  const person = createPerson(authorized, 'alice')
  const { provider } = person
  const serverUrl = authorized.mcp
  await auth(provider, { serverUrl, scope })
  const answer = person.answer()
  await auth(provider, { serverUrl, authorizationCode: answer.get('code'), iss: answer.get('iss') })
  return person.kept.tokens.access_token
}

/** `connect(header)` makes an adapter that sends the header. */
export async function checkGivenToken(authorized, connect, forMore) {
  const client = await connect(`Authorization: Bearer ${await tokenOf(authorized)}`)
  try {
    return await checkReadOnly(client, forMore)
  } finally {
    await client.close?.()
  }
}

/** The token is good for reading. `forMore` says what the client makes of a call that needs more. */
export async function checkReadOnly(client, forMore = refused) {
  const tools = await client.listTools()
  const { isError } = await client.callTool('search_notes', { query: 'anything' })
  assert.notEqual(isError, true)
  const more = await forMore(client.callTool('add_note', { id: 'auth-given', text: 'Written' }))
  return `${tools.length} tools, search_notes called; add_note ${more}`
}

async function refused(adding) {
  const said = await rejectionOf(adding, /./)
  return `is refused: "${said.split('\n')[0].slice(0, 160)}"`
}
