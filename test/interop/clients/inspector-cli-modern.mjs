// The Inspector's command line on the modern revision. It declares no elicitation, so a tool that asks is refused.
import { nameAndVersion } from '../lib/command.mjs'
import { adaptInspector } from '../lib/inspector.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} --cli --protocol-era modern`

export async function play({ notes, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'modern-cli', handshake: 'server/discover', revision: '2026-07-28', asks: false }
  await playNotes(table, adaptInspector(notes.url, home, 'modern'), notes, expected)
  return rows
}
