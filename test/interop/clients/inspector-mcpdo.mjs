// mcpdo with automatic negotiation. It takes tasks, so that a tool which may become one does.
import assert from 'node:assert/strict'
import { nameAndVersion } from '../lib/command.mjs'
import { playExtra } from '../lib/extra.mjs'
import { withMcpdo } from '../lib/mcpdo.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { checkExport, extension, playTasks } from '../lib/tasks.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} mcpdo --era auto`

export async function play({ notes, extra, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'mcpdo', handshake: 'server/discover', revision: '2026-07-28', asks: true }
  await withMcpdo(home, async (connect) => {
    const client = await connect('notes', notes, 'auto')
    client.cannot.progress = 'it takes tasks, whose progress is in their status'
    await playNotes(table, client, notes, expected)
    await table.add('export as task', () => checkExport(client, notes, extension))
    const other = await connect('extra', extra, 'auto')
    other.cannot = {
      sampling: 'it declares no sampling',
      roots: () => checkNoRoots(other),
      cancel: 'it has no way to cancel a call',
    }
    await playExtra(table, other, extra, expected)
    await playTasks(table, other, extra, { slug: expected.slug, form: extension })
  })
  return rows
}

async function checkNoRoots(client) {
  const { content } = await client.callTool('ask_roots', {})
  assert.equal(content[0].text, '[]')
  return 'it declares roots, answers by itself, and has none'
}
