// The Inspector's command line, at a server that asks for a token: it goes through the browser, or is given a token.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { freePort } from '../../support/server.mjs'
import { checkGivenToken } from '../lib/auth-tokens.mjs'
import { manyCommandsMs, nameAndVersion, sentTo } from '../lib/command.mjs'
import { adaptInspector } from '../lib/inspector.mjs'
import { createPerson } from '../lib/person.mjs'
import { createRows } from '../lib/rows.mjs'
import { rejectionOf } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} --cli, with authorization`

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  for (const era of ['legacy', 'modern']) {
    const home = join(setting.home, era)
    await table.add(`browser ${era}`, () => checkBrowser(authorized, home, era), manyCommandsMs)
    const given = (header) => {
      return adaptInspector(authorized.mcp, setting.home, era, { flags: ['--stored-auth-only', '--header', header] })
    }
    await table.add(`token ${era}`, () => checkGivenToken(authorized, given), manyCommandsMs)
  }
  return rows
}

/** It waits for its listener to be called, and keeps what it is given. Before it asks for more it asks its user. */
async function checkBrowser(authorized, home, era) {
  const { url: clientId } = authorized.document('inspector')
  const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`
  const flags = ['--callback-url', callback, '--client-metadata-url', clientId]
  const env = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' }
  const client = adaptInspector(authorized.mcp, home, era, { flags, env })
  const listing = client.listTools()
  listing.catch(() => {})
  await until(() => sentTo(home), 'it opened the browser', 10_000)
  const asked = new URL(sentTo(home)).searchParams
  assert.deepEqual([asked.get('client_id'), asked.get('resource')], [clientId, authorized.mcp])
  await createPerson(authorized, 'alice').visit(sentTo(home))
  const tools = await listing
  await client.callTool('search_notes', { query: 'anything' })
  assert.equal(new URL(sentTo(home)).searchParams.get('state'), asked.get('state'))
  const adding = client.callTool('add_note', { id: 'auth-inspector', text: 'Written' })
  const said = await rejectionOf(adding, /Step-up authorization declined/)
  return `opened the browser for "${asked.get('scope')}"; ${tools.length} tools, search_notes in a later run; in add_note it asks its user, who is not there: "${said}"`
}
