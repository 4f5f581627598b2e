// The Inspector's command line on the modern revision. It declares no elicitation, so a tool that asks is refused; and it
// takes tasks, so that a tool which may become one does.
import { nameAndVersion } from '../lib/command.mjs'
import { adaptInspector } from '../lib/inspector.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { checkExport, extension, playTasks, rejectionOf } from '../lib/tasks.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} --cli --protocol-era modern`

export async function play({ notes, extra, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'modern-cli', handshake: 'server/discover', revision: '2026-07-28', asks: false }
  const client = adaptInspector(notes.url, home, 'modern')
  client.cannot.progress = 'it takes tasks, whose progress is in their status'
  await playNotes(table, client, notes, expected)
  await table.add('export as task', () => checkExport(client, notes, extension))
  const other = adaptInspector(extra.url, home, 'modern')
  const later = 'it has no method for a task it does not wait for'
  other.cannot = { 'task asks': () => checkNotAsked(other), 'task cancelled': later, 'task unknown': later }
  await playTasks(table, other, extra, { slug: expected.slug, form: extension })
  return rows
}

/** The task ends with the error an ordinary call would have been answered with. */
async function checkNotAsked(client) {
  const said = await rejectionOf(client.runTask('book', {}), /elicitation/)
  return `it declares no elicitation, so the task fails: "${said}"`
}
