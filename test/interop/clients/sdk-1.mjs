// The SDK of version 1, which most hosts are built on: legacy, stateless for now.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { adapt } from '../lib/client-2.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { checkLegacyCancel } from '../lib/extra.mjs'
import { checkRefusedGet, playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = nameAndVersion('@modelcontextprotocol/sdk')

export async function play({ notes, extra }) {
  const { rows, table } = createRows()
  const client = await connect(notes.url)
  const expected = { slug: 'sdk1', handshake: 'initialize', revision: '2025-11-25', asks: false }
  await playNotes(table, client, notes, expected)
  await table.add('GET refused', () => checkSilence(client, notes))
  await client.close()
  const other = await connect(extra.url)
  await table.add('cancel', () => checkLegacyCancel(other, extra, expected.slug))
  await other.close()
  return rows
}

async function connect(url) {
  const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { elicitation: {} } })
  const transport = new StreamableHTTPClientTransport(new URL(url))
  const errors = []
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no EventTarget
  client.onerror = (error) => errors.push(error)
  client.setRequestHandler(ElicitRequestSchema, () => assert.fail('asked without a session'))
  await client.connect(transport)
  const adapter = adapt(client, (params, options) => client.callTool(params, undefined, options))
  const about = () => ({ serverInfo: client.getServerVersion(), negotiated: transport.protocolVersion })
  return { ...adapter, about, errors, transport }
}

function checkSilence({ errors, transport }, wire) {
  const detail = checkRefusedGet(wire)
  assert.deepEqual(errors, [])
  assert.equal(transport.sessionId, undefined)
  return `${detail}; no session id, no error`
}
