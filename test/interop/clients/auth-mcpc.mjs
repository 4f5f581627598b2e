// mcpc, at a server that asks for a token: it logs in once, or is given a token.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { checkReadOnly, tokenOf } from '../lib/auth-tokens.mjs'
import { manyCommandsMs, nameAndVersion, sentTo } from '../lib/command.mjs'
import { commandIn, inSession } from '../lib/mcpc.mjs'
import { createPerson } from '../lib/person.mjs'
import { createRows } from '../lib/rows.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('@apify/mcpc')}, with authorization`

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  await table.add('login', () => checkLogin(authorized, join(setting.home, 'l')), manyCommandsMs)
  await table.add('token', () => checkToken(authorized, join(setting.home, 't')), manyCommandsMs)
  return rows
}

/** It asks for what it is told to at login, and has no other time. */
async function checkLogin(authorized, home) {
  const run = commandIn(home)
  const loggingIn = run('login', authorized.mcp, '--scope', 'notes:read notes:write')
  loggingIn.catch(() => {})
  await until(() => sentTo(home), 'it opened the browser', 10_000)
  const asked = new URL(sentTo(home)).searchParams
  assert.equal(asked.get('resource'), authorized.mcp)
  await createPerson(authorized, 'alice').visit(sentTo(home))
  const { scopes } = await loggingIn
  try {
    let tools
    await inSession(home, '@auth', { url: authorized.mcp }, async (client) => {
      tools = await client.listTools()
      const { isError } = await client.callTool('add_note', { id: 'auth-mcpc', text: 'Written', replace: true })
      assert.notEqual(isError, true)
    })
    return `opened the browser for "${asked.get('scope')}", was given "${scopes.join(' ')}"; ${tools.length} tools, add_note called`
  } finally {
    await run('logout', authorized.mcp)
  }
}

/** A background process keeps the header. */
async function checkToken(authorized, home) {
  const header = `Authorization: Bearer ${await tokenOf(authorized)}`
  let detail
  await inSession(home, '@given', { url: authorized.mcp, flags: ['--header', header] }, async (client) => {
    detail = await checkReadOnly(client)
  })
  return detail
}
