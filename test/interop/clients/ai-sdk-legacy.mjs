// The AI SDK told not to probe.
import { connectAiSdk } from '../lib/ai-sdk.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { checkRefusedGet, playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = `${nameAndVersion('@ai-sdk/mcp')}, without discovery`

export async function play({ notes }) {
  const { rows, table } = createRows()
  const expected = { slug: 'undiscovered', handshake: 'initialize', revision: '2025-11-25', asks: false }
  const client = await connectAiSdk(notes.url, false)
  await playNotes(table, client, notes, expected)
  await table.add('GET refused', () => checkRefusedGet(notes))
  await client.close()
  return rows
}
