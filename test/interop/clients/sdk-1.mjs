// The SDK of version 1, which most hosts are built on: the handshake, and sessions.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { answerTo } from '../lib/asks.mjs'
import { adapt, speaking } from '../lib/client-2.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { checkStream, playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { playSessions } from '../lib/sessions.mjs'

export const title = nameAndVersion('@modelcontextprotocol/sdk')

export async function play(setting) {
  const { rows, table } = createRows()
  const client = await connect(setting.notes.url)
  const expected = { slug: 'sdk1', handshake: 'initialize', revision: '2025-11-25', asks: true }
  await playNotes(table, client, setting.notes, expected)
  await table.add('GET stream', () => checkStream(setting.notes))
  await client.close()
  return [...rows, ...(await playSessions(setting, connect, expected))]
}

async function connect(url, revision) {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} }
  const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities })
  const transport = new StreamableHTTPClientTransport(new URL(url), speaking(revision))
  const adapter = adapt(client, transport, (params, options) => client.callTool(params, undefined, options))
  for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema]) {
    client.setRequestHandler(schema, ({ method, params }) => answerTo(method, params, adapter))
  }
  await client.connect(transport)
  const about = async () => ({ serverInfo: client.getServerVersion(), negotiated: transport.protocolVersion })
  return Object.assign(adapter, { about })
}
