// The Inspector's command line as it is without options, which is the legacy handshake.
import { nameAndVersion } from '../lib/command.mjs'
import { adaptInspector } from '../lib/inspector.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} --cli`

export async function play({ notes, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'inspector', handshake: 'initialize', revision: '2025-11-25', asks: false }
  await playNotes(table, adaptInspector(notes.url, home), notes, expected)
  return rows
}
