// The Inspector's command line as it is without options, which is the legacy handshake.
import { nameAndVersion } from '../lib/command.mjs'
import { adaptInspector } from '../lib/inspector.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { checkTask } from '../lib/tasks.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} --cli`

export async function play({ notes, extra, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'inspector', handshake: 'initialize', revision: '2025-11-25', asks: false }
  await playNotes(table, adaptInspector(notes.url, home), notes, expected)
  // It asks for a task only where the list says that a tool is nothing else.
  await table.add('task', () => checkTask(adaptInspector(extra.url, home), extra))
  return rows
}
