// Version 2 of the official client, in any of its negotiation modes.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { answerTo } from './asks.mjs'
import { extension } from './extensions.mjs'
import { playExtra } from './extra.mjs'
import { playListening, playLists } from './listen.mjs'
import { checkStream, playNotes } from './notes.mjs'
import { createRows } from './rows.mjs'
import { playSessions } from './sessions.mjs'

/** Plays the example, and the extra server: on the modern revision as it is, else in sessions. */
export async function playClient2(setting, mode, expected) {
  const { rows, table } = createRows()
  const client = await connect(setting.notes.url, mode)
  await playNotes(table, client, setting.notes, expected)
  if (mode === 'legacy') await table.add('GET stream', () => checkStream(setting.notes))
  await client.close()
  if (mode === 'legacy') {
    const connectLegacy = (url, revision) => connect(url, mode, revision)
    const handling = (url, listChanged) => connect(url, mode, undefined, { listChanged })
    const played = [playSessions(setting, connectLegacy, expected), playLists(setting.record, handling)]
    return [...rows, ...(await Promise.all(played)).flat()]
  }
  const other = await connect(setting.extra.url, mode)
  await playExtra(table, other, setting.extra, expected)
  await other.close()
  // That it takes tasks is only for what it listens to: it has no way to wait for one.
  const takesTasks = { extensions: { [extension]: {} } }
  const listening = (url, listChanged) => connect(url, mode, undefined, { listChanged, takes: takesTasks })
  return [...rows, ...(await playListening(setting.record, listening))]
}

async function connect(url, mode, revision, { listChanged, takes } = {}) {
  const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {}, ...takes }
  const options = { versionNegotiation: { mode }, capabilities, ...(listChanged && { listChanged }) }
  const client = new Client({ name: 'interop', version: '1.0.0' }, options)
  const transport = new StreamableHTTPClientTransport(new URL(url), speaking(revision))
  const adapter = adapt(client, transport)
  for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list']) {
    client.setRequestHandler(method, ({ params }) => answerTo(method, params, adapter))
  }
  await client.connect(transport)
  return adapter
}

/** Options of a transport whose handshake asks for this revision; these clients have no other way to choose an older. */
export function speaking(revision = '2025-11-25') {
  if (revision === '2025-11-25') return {}
  const replace = (body) => body.replace('"protocolVersion":"2025-11-25"', `"protocolVersion":"${revision}"`)
  return { fetch: (url, init) => fetch(url, init.body ? { ...init, body: replace(init.body) } : init) }
}

/** Either version of the official client as an adapter: their methods differ only where `callTool` says. */
export function adapt(client, transport, callTool = (params, options) => client.callTool(params, options)) {
  const heard = []
  const errors = []
  client.fallbackNotificationHandler = async ({ method, params }) => void heard.push({ method, params })
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no EventTarget
  client.onerror = (error) => errors.push(error)
  return {
    heard,
    errors,
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
    setLevel: (level) => client.setLoggingLevel(level),
    subscribe: (uri) => client.subscribeResource({ uri }),
    unsubscribe: (uri) => client.unsubscribeResource({ uri }),
    listen: (filter) => client.listen(filter),
    terminate: () => transport.terminateSession(),
    close: () => client.close(),
  }
}
