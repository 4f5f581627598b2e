// mcpdo told to shake hands: the tasks of 2025-11-25, which it asks for with --task.
import assert from 'node:assert/strict'
import { updatesOf } from '../lib/change.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { checkWatch, withMcpdo } from '../lib/mcpdo.mjs'
import { text } from '../lib/notes.mjs'
import { createRows, messageOf } from '../lib/rows.mjs'
import { openGet } from '../lib/session.mjs'
import { checkExport, core, playTasks, pollsOf, resultsOf } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} mcpdo --era legacy, --task`

export async function play({ notes, extra, record, home }) {
  const { rows, table } = createRows()
  await withMcpdo(home, async (connect) => {
    const client = await connect('notes', notes, 'legacy')
    await client.callTool('add_note', { id: 'tasks-mcpdo', text })
    await table.add('export as task', () => checkExport(client, notes, core))
    const other = await connect('extra', extra, 'legacy')
    other.cannot = { 'task asks': () => checkOnlyPolls(other, extra) }
    await playTasks(table, other, extra, { slug: 'mcpdo-legacy', form: core })
    const own = await record('extra')
    const watcher = await connect('watcher', own, 'legacy')
    await table.add('changes', () => checkChanges(watcher, own))
  })
  return rows
}

/** A client should ask for the result of a task that wants input. @see 2025-11-25 basic/utilities/tasks, Input Required */
async function checkOnlyPolls(client, wire) {
  const { taskId } = await client.startTask('book', {})
  const isAsking = ({ status }) => status === 'input_required'
  await until(() => pollsOf(wire, taskId).filter(isAsking).length >= 5, 'it polled five times')
  assert.deepEqual(resultsOf(wire, taskId), [])
  await client.cancelTask(taskId)
  const ended = await client.waiting.then(
    () => assert.fail('a cancelled task had a result'),
    (error) => messageOf(error),
  )
  return `it polls on while the task is input_required, without the tasks/result that would ask; cancelled: "${ended}"`
}

async function checkChanges(client, wire) {
  await checkWatch(client, wire)
  assert.equal(updatesOf((await openGet(wire)).streamed).length, 2)
  await until(() => wire.calls('resources/unsubscribe').length === 1, 'it said that it watches no more')
  return 'watched with resources/subscribe, changed in each of two Workers: both printed, on the GET stream'
}
