// The Inspector's command line on the modern revision. It declares no elicitation, so a tool that asks is refused; and it
// takes tasks, so that a tool which may become one does.
import assert from 'node:assert/strict'
import { nameAndVersion } from '../lib/command.mjs'
import { extension } from '../lib/extensions.mjs'
import { adaptInspector } from '../lib/inspector.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { checkExport, playTasks, rejectionOf } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'

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
  await table.add('listen', () => checkListens(extra))
  return rows
}

/** The task ends with the error an ordinary call would have been answered with. */
async function checkNotAsked(client) {
  const said = await rejectionOf(client.runTask('book', {}), /elicitation/)
  return `it declares no elicitation, so the task fails: "${said}"`
}

/** Each run listens to the lists although it ends at once, and leaves in good order or not. */
async function checkListens(wire) {
  const streams = wire.calls('subscriptions/listen')
  await until(() => streams.every(({ isOpen }) => !isOpen), 'all of them left')
  assert.ok(streams.length > 0 && streams.every(({ status }) => status === 200))
  assert.ok(streams.every(({ streamed }) => streamed[0]?.method === 'notifications/subscriptions/acknowledged'))
  return `${streams.length} runs, each with a stream of its own that is acknowledged, and closed when it ends`
}
