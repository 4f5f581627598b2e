// The bridge as it is without options: the host's legacy handshake goes straight through.
import { nameAndVersion } from '../lib/command.mjs'
import { checkDiscovery, connectThroughBridge } from '../lib/mcp-remote.mjs'
import { checkRefusedGet, playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = `${nameAndVersion('mcp-remote')}, over stdio`

export async function play({ notes, home }) {
  const { rows, table } = createRows()
  const client = await connectThroughBridge(notes.url, home)
  try {
    const expected = { slug: 'bridge', handshake: 'initialize', revision: '2025-11-25', asks: false }
    await playNotes(table, client, notes, expected)
    await table.add('GET refused', () => checkRefusedGet(notes))
    await table.add('no OAuth', () => checkDiscovery(notes))
  } finally {
    await client.close()
  }
  return rows
}
