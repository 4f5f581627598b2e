// The extension for tasks as its text says, in a client that hides nothing: what it is told, what it must not be told
// if it does not declare it, and a task that waits for the user while the server is away.
import assert from 'node:assert/strict'
import { extension } from '../lib/extensions.mjs'
import { text } from '../lib/notes.mjs'
import { connectRaw } from '../lib/raw.mjs'
import { createRows } from '../lib/rows.mjs'
import { answerBooking, checkExport, checkOrdinary, playTasks, rejectionOf } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'

export const title = `a client written for this suite, with ${extension}`

export async function play({ notes, extra, record, mortal, startOwn }) {
  const { rows, table } = createRows()
  const client = connectRaw(notes.url)
  await client.callTool('add_note', { id: 'tasks-raw', text })
  await table.add('discover', () => checkDiscover(client))
  await table.add('export as task', () => checkExport(client, notes, extension))
  await table.add('undeclared', () => checkOrdinary(connectRaw(notes.url, { takesTasks: false }), notes))
  const other = connectRaw(extra.url)
  await playTasks(table, other, extra, { slug: 'raw', form: extension })
  await table.add('undeclared: only', () => checkRefused(connectRaw(extra.url, { takesTasks: false }), other))
  await mortal.use(async () => playAway(table, 'killed', await record('mortal'), mortal.restart))
  const own = await startOwn()
  await playAway(table, 'restart', await record(own.name), own.restart)
  return rows
}

async function checkDiscover(client) {
  const { capabilities } = await client.discover()
  assert.deepEqual(capabilities.extensions[extension], {})
  // A property of 2025-11-25; here the server decides.
  const tools = await client.listTools()
  assert.ok(tools.every(({ execution }) => execution === undefined))
  return 'advertised; no tool says whether it becomes a task'
}

/** Who does not declare the extension gets no task, and may not ask for one either. */
async function checkRefused(client, other) {
  const { taskId } = await other.startTask('bake', {})
  for (const ask of [
    () => client.callTool('bake', {}),
    () => client.getTask(taskId),
    () => client.cancelTask(taskId),
  ]) {
    const { error, status } = await ask().then(
      (result) => assert.fail(`no error but ${JSON.stringify(result)}`),
      (reason) => reason,
    )
    assert.deepEqual([error.code, status], [-32021, 400])
    assert.deepEqual(error.data, { requiredCapabilities: { extensions: { [extension]: {} } } })
  }
  assert.equal((await other.finishTask({ taskId, pollIntervalMs: 200 })).content[0].text, 'A cake.')
  const said = await rejectionOf(client.callTool('bake', {}), /-32021/)
  return `"${said}", and so for tasks/get and tasks/cancel`
}

/** A task that waits for its user when the server goes. Starting again may take longer than a row. */
async function playAway(table, how, wire, restart) {
  const client = connectRaw(wire.url)
  let task
  await table.add(`${how}: before`, async () => {
    task = await client.startTask('book', {})
    await until(async () => (await client.getTask(task.taskId)).status === 'input_required', 'the task asked')
    return 'a task waits for its user'
  })
  await restart()
  await table.add(`${how}: after`, async () => {
    const { status, inputRequests } = await client.getTask(task.taskId)
    assert.deepEqual([status, Object.keys(inputRequests)], ['input_required', ['day']])
    const asked = answerBooking(client)
    const { content } = await client.finishTask(task)
    assert.deepEqual(asked, ['Which day?', 'Book it?'])
    assert.equal(content[0].text, 'Booked for Friday.')
    return `it still asks "${asked[0]}"; answered, it asks on and ends with "${content[0].text}"`
  })
}
