// The bridge for hosts that speak only stdio, at a server that asks for a token: it goes through the browser, or is
// given a token.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { checkGivenToken } from '../lib/auth-tokens.mjs'
import { manyCommandsMs, nameAndVersion, sentTo } from '../lib/command.mjs'
import { connectThroughBridge } from '../lib/mcp-remote.mjs'
import { createPerson } from '../lib/person.mjs'
import { createRows } from '../lib/rows.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('mcp-remote')}, with authorization`

const startMs = 10_000

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  const host = (flags, home) => ({ authorized, flags, home: join(setting.home, home) })
  await table.add('registered', () => checkBrowser(host(['--protocol', 'legacy'], 'registered')), manyCommandsMs)
  const { url } = authorized.document('mcp-remote')
  const documented = ['--protocol', 'auto', '--client-metadata-url', url]
  await table.add('document', () => checkBrowser(host(documented, 'document'), url), manyCommandsMs)
  await table.add('given token', () => checkToken(host([], 'given')), manyCommandsMs)
  return rows
}

/**
 * It opens the browser and waits for its listener to be called, also when more is needed; and keeps what it is given.
 * @param clientId if it is known
 */
async function checkBrowser({ authorized, flags, home }, clientId) {
  const person = createPerson(authorized, 'alice')
  const connect = () => connectThroughBridge(authorized.mcp, home, flags)
  const connecting = connect()
  connecting.catch(() => {})
  const first = await nextVisit(home, undefined, startMs)
  assert.equal(first.get('resource'), authorized.mcp)
  if (clientId) assert.equal(first.get('client_id'), clientId)
  await person.visit(sentTo(home))
  const client = await connecting
  const tools = await client.listTools()
  await client.callTool('search_notes', { query: 'anything' })

  const adding = client.callTool('add_note', { id: 'auth-mcp-remote', text: 'Written', replace: true })
  adding.catch(() => {})
  const second = await nextVisit(home, first)
  assert.match(second.get('scope'), /\bnotes:write\b/)
  await person.visit(sentTo(home))
  assert.equal((await adding).structuredContent.uri, 'note://auth-mcp-remote')
  await client.close()

  const again = await connect()
  assert.equal((await again.listTools()).length, tools.length)
  await again.close()
  assert.equal(new URL(sentTo(home)).searchParams.get('state'), second.get('state'))
  return `opened the browser for "${first.get('scope')}", in add_note for "${second.get('scope')}", and finished the call; not at its next start`
}

/** The parameters of the URL for which it opens the browser after `last`. */
async function nextVisit(home, last, limitMs) {
  const parameters = () => new URL(sentTo(home)).searchParams
  const isNext = () => sentTo(home) && parameters().get('state') !== last?.get('state')
  await until(isNext, 'it opened the browser', limitMs)
  return parameters()
}

/** Also when it has been given a token, it asks for more by itself. */
async function checkToken({ authorized, home }) {
  const connect = (header) => connectThroughBridge(authorized.mcp, home, ['--header', header])
  const openBrowser = async (adding) => {
    adding.catch(() => {})
    return `opens the browser for "${(await nextVisit(home)).get('scope')}"`
  }
  return checkGivenToken(authorized, connect, openBrowser)
}
