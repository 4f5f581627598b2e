// Version 2 of the official client, in any of its negotiation modes.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { checkLegacyCancel, playExtra } from './extra.mjs'
import { checkRefusedGet, playNotes } from './notes.mjs'
import { createRows } from './rows.mjs'

/** Plays the example, and on modern revisions the extra server too. */
export async function playClient2({ notes, extra }, mode, expected) {
  const { rows, table } = createRows()
  const client = await connect(notes.url, mode)
  await playNotes(table, client, notes, expected)
  if (!expected.asks) await table.add('GET refused', () => checkRefusedGet(notes))
  await client.close()
  const other = await connect(extra.url, mode)
  if (expected.asks) await playExtra(table, other, extra, expected)
  else await table.add('cancel', () => checkLegacyCancel(other, extra, expected.slug))
  await other.close()
  return rows
}

async function connect(url, mode) {
  const capabilities = { elicitation: { form: {} } }
  const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode }, capabilities })
  const adapter = adapt(client)
  client.setRequestHandler('elicitation/create', ({ params }) => adapter.answer(params))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return adapter
}

/** Either version of the official client as an adapter: their methods differ only where `callTool` says. */
export function adapt(client, callTool = (params, options) => client.callTool(params, options)) {
  return {
    about: async () => ({ serverInfo: client.getServerVersion(), negotiated: client.getNegotiatedProtocolVersion?.() }),
    listTools: async () => (await client.listTools()).tools,
    listResources: async () => (await client.listResources()).resources,
    listTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    listPrompts: async () => (await client.listPrompts()).prompts,
    read: async (uri) => (await client.readResource({ uri })).contents,
    getPrompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
    complete: async (ref, argument) => (await client.complete({ ref, argument })).completion,
    callTool: (name, args, { onProgress: onprogress, signal } = {}) =>
      callTool({ name, arguments: args }, { ...(onprogress && { onprogress }), ...(signal && { signal }) }),
    close: () => client.close(),
  }
}
