// The bridge as it is without options: after a handshake of its own the host's goes straight through.
import assert from 'node:assert/strict'
import { nameAndVersion } from '../lib/command.mjs'
import { checkDiscovery, connectThroughBridge } from '../lib/mcp-remote.mjs'
import { checkStream, playNotes } from '../lib/notes.mjs'
import { endElsewhere } from '../lib/lifetime.mjs'
import { createRows } from '../lib/rows.mjs'
import { openGet } from '../lib/session.mjs'
import { part, playParts, playSessions } from '../lib/sessions.mjs'
import { checkExport, core, playTasks } from '../lib/tasks.mjs'

export const title = `${nameAndVersion('mcp-remote')}, over stdio`

export async function play({ notes, record, mortal, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'bridge', handshake: 'initialize', revision: '2025-11-25', asks: true }
  const client = await connectThroughBridge(notes.url, home)
  try {
    await playNotes(table, client, notes, expected)
    await table.add('GET stream', () => checkStream(notes))
    await table.add('no OAuth', () => checkDiscovery(notes))
    await table.add('export as task', () => checkExport(client, notes, core))
  } finally {
    await client.close()
  }
  const connect = async (url, revision) => {
    const bridge = await connectThroughBridge(url, home, [], revision)
    bridge.cannot = {
      terminate: (wire) => checkNotTerminated(bridge, wire),
      'ended elsewhere': (wire) => checkRenewed(bridge, wire),
    }
    return bridge
  }
  const sessions = await playSessions({ record, mortal }, connect, expected)
  // To the bridge they are requests like all others.
  const tasks = [part('extra', (...all) => playTasks(...all, { slug: expected.slug, form: core }))]
  return [...rows, ...sessions, ...(await playParts(record, connect, tasks))]
}

async function checkNotTerminated(client, wire) {
  await openGet(wire)
  await client.close()
  assert.deepEqual(
    wire.exchanges.filter(({ method }) => method === 'DELETE'),
    [],
  )
  return 'it leaves without a DELETE'
}

/** The host notices nothing: the bridge shakes hands again. */
async function checkRenewed(client, wire) {
  const stream = await openGet(wire)
  const ended = await endElsewhere(wire, stream)
  const handshakes = wire.calls('initialize').length
  assert.ok((await client.listTools()).length > 0)
  const [refused, repeated] = wire.calls('tools/list')
  assert.deepEqual([refused.sessionId, refused.status, repeated.status], [ended, 404, 200])
  assert.notEqual(repeated.sessionId, ended)
  const renewed = wire.calls('initialize').length - handshakes
  return `the host notices nothing: after the 404 ${renewed} new handshake, and the request again`
}
