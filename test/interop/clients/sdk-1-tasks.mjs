// The experimental tasks of the SDK of version 1, in sessions of 2025-11-25.
import { nameAndVersion } from '../lib/command.mjs'
import { text } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { connectSdk1 } from '../lib/sdk-1.mjs'
import { part, playParts } from '../lib/sessions.mjs'
import { checkExport, checkInterrupted, core, playTasks, rejectionOf } from '../lib/tasks.mjs'
import { callsOf } from '../lib/wire.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/sdk')}, experimental tasks`

export async function play({ notes, record, mortal }) {
  const { rows, table } = createRows()
  const client = await connectSdk1(notes.url)
  await client.callTool('add_note', { id: 'tasks-sdk1', text })
  await table.add('export as task', () => checkExport(client, notes, core))
  await client.close()
  const parts = [
    part('extra', async (other, sdk, wire) => {
      await playTasks(other, sdk, wire, { slug: 'sdk1', form: core })
      await other.add('not as a call', () => checkOnlyTask(sdk, wire))
      await other.add('not as a task', () => checkNoTask(sdk))
      await other.add('task list', () => checkNoList(sdk))
    }),
    part('extra', (other, sdk, wire) => {
      return other.add('cut, asked', () => checkInterrupted(sdk, wire, (call) => call.cut()))
    }),
  ]
  const killed = part('mortal', (other, sdk, wire) => {
    return other.add('killed, asked', () => checkInterrupted(sdk, wire, mortal.restart))
  })
  const played = [playParts(record, connectSdk1, parts), mortal.use(() => playParts(record, connectSdk1, [killed]))]
  return [...rows, ...(await Promise.all(played)).flat()]
}

/** Once it has seen in a list that a tool is nothing but a task it refuses by itself. */
async function checkOnlyTask(client, wire) {
  const sent = await rejectionOf(client.callTool('bake', {}), /-32601: .*as a task only/)
  const { length: times } = callsOf(wire, 'bake')
  await client.listTools()
  const refused = await rejectionOf(client.callTool('bake', {}), /requires task-based execution/)
  if (callsOf(wire, 'bake').length !== times) throw new Error('it was sent')
  return `"${sent}"; after a list not even sent: "${refused}"`
}

async function checkNoTask(client) {
  const said = await rejectionOf(client.startTask('locate', { city: 'Zug' }), /-32601: .*does not run as a task/)
  return `"${said}"`
}

/** Nobody's tasks could be told from anybody's, so that there is no list for who is nobody. */
async function checkNoList(client) {
  return `"${await rejectionOf(client.listTasks(), /-32601/)}"`
}
