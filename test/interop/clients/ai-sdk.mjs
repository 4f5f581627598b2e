// The AI SDK as it is without options: it probes for the modern revision.
import assert from 'node:assert/strict'
import { connectAiSdk } from '../lib/ai-sdk.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { playExtra } from '../lib/extra.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = nameAndVersion('@ai-sdk/mcp')

export async function play({ notes, extra }) {
  const { rows, table } = createRows()
  const expected = { slug: 'aisdk', handshake: 'server/discover', revision: '2026-07-28', asks: true }
  const client = await connectAiSdk(notes.url, true)
  await playNotes(table, client, notes, expected)
  await client.close()
  const other = await connectAiSdk(extra.url, true)
  await playExtra(table, other, extra, expected)
  await table.play({ cannot: { listen: () => checkNotListening([notes, extra]) } }, 'listen')
  await other.close()
  return rows
}

function checkNotListening(wires) {
  for (const wire of wires) assert.deepEqual([...wire.calls('subscriptions/listen'), ...wire.gets()], [])
  return 'it has no way to listen, so it hears of no change'
}
