// The bridge that gives a legacy host the modern revision: it asks the host what the server needs to know.
import assert from 'node:assert/strict'
import { nameAndVersion } from '../lib/command.mjs'
import { checkOnlyTold, playExtra } from '../lib/extra.mjs'
import { checkDiscovery, connectThroughBridge } from '../lib/mcp-remote.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { extension, rejectionOf } from '../lib/tasks.mjs'
import { callsOf } from '../lib/wire.mjs'

export const title = `${nameAndVersion('mcp-remote')}, over stdio, --protocol auto`

export async function play({ notes, extra, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'dual', handshake: 'server/discover', revision: '2026-07-28', asks: true }
  const client = await connectThroughBridge(notes.url, home, ['--protocol', 'auto'])
  try {
    await playNotes(table, client, notes, expected)
    await table.add('no OAuth', () => checkDiscovery(notes))
  } finally {
    await client.close()
  }
  const other = await connectThroughBridge(extra.url, home, ['--protocol', 'auto'])
  other.cannot = {
    'mirrored header': () => checkNotMirrored(other),
    cancel: () => checkNotClosed(other, extra, expected.slug),
  }
  try {
    await playExtra(table, other, extra, expected)
  } finally {
    await other.close()
  }
  await table.play({ cannot: { task: () => checkNotKnown(extra, home) } }, 'task')
  return rows
}

/** What a host declares goes on to the server, which believes it; what comes back is not known to the bridge. */
async function checkNotKnown({ url }, home) {
  const declared = { extensions: { [extension]: {} } }
  const client = await connectThroughBridge(url, home, ['--protocol', 'auto'], '2025-11-25', declared)
  try {
    const said = await rejectionOf(client.callTool('bake', {}), /unrecognised type: task/)
    return `it passes on that its host takes tasks, and takes none itself: "${said}"`
  } finally {
    await client.close()
  }
}

/** A client MUST mirror the argument, and a server refuse a call without: the body alone is not enough. */
async function checkNotMirrored(client) {
  await client.listTools()
  await assert.rejects(client.callTool('locate', { city: 'Zürich' }), /-32020.*Mcp-Param-City/)
  return 'it does not mirror arguments, so the call is refused with -32020'
}

/** On this revision closing the response cancels. The notification is taken, and means nothing. */
async function checkNotClosed(client, wire, slug) {
  await checkOnlyTold(client, wire, slug)
  assert.equal(callsOf(wire, 'wait')[0].isDropped, false)
  return 'it sends notifications/cancelled (202) and does not close the response'
}
