// mcpc, a command line with a background process that keeps the connection.
import assert from 'node:assert/strict'
import { change, newPlace, updatesOf, uriOf, WORKERS } from '../lib/change.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { inSession, readSession } from '../lib/mcpc.mjs'
import { checkDelete, checkStream, playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { comebacks, openGet } from '../lib/session.mjs'
import { checkExport, core, playTasks, rejectionOf } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'
import { callsOf } from '../lib/wire.mjs'

export const title = nameAndVersion('@apify/mcpc')

export async function play({ notes, extra, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'mcpc', handshake: 'initialize', revision: '2025-11-25', asks: false }
  await inSession(home, '@notes', notes, async (client) => {
    await playNotes(table, client, notes, expected)
    await table.add('GET stream', () => checkStream(notes))
    await table.add('export as task', () => checkExport(client, notes, core))
  })
  await table.add('DELETE', () => checkDelete(notes))
  await inSession(home, '@extra', extra, async (client) => {
    const cannot = {
      sampling: () => checkNoHandler(client, 'ask_model'),
      roots: () => checkNoHandler(client, 'ask_roots'),
    }
    await table.play({ cannot }, 'sampling')
    await table.play({ cannot }, 'roots')
    await table.add('cut', () => checkCut(client, extra))
    await table.add('changes', () => checkChanges(client, extra, home))
    client.cannot = { 'task asks': () => checkNotAsked(client) }
    await playTasks(table, client, extra, { slug: expected.slug, form: core })
    await table.add('task list', () => checkNoList(client))
  })
  return rows
}

/** What it declares it can do it does not do. */
async function checkNoHandler(client, tool) {
  const { isError, content } = await client.callTool(tool, {})
  assert.equal(isError, true)
  assert.match(content[0].text, /Method not found/)
  return `it declares that it can, and answers "${content[0].text}"`
}

/** What it says of a task that failed is not why; the status does. */
async function checkNotAsked(client) {
  const said = await rejectionOf(client.runTask('book', {}), /task failed/)
  const { taskId } = await client.startTask('book', {})
  await until(async () => (await client.getTask(taskId)).status === 'failed', 'the task failed')
  const { statusMessage } = await client.getTask(taskId)
  assert.match(statusMessage, /elicitation/)
  return `it declares no elicitation, so the task fails: "${statusMessage}"; its words: "${said}"`
}

/** It asks although no list is announced, and takes the refusal. */
async function checkNoList(client) {
  return `"${await rejectionOf(client.listTasks(), /-32601/)}"`
}

async function checkCut(client, wire) {
  await client.setLevel('info')
  const calling = client.callTool('count', { to: 20 })
  await until(() => callsOf(wire, 'count')[0]?.streamed.length >= 5, 'five messages arrived', 5_000)
  const [call] = callsOf(wire, 'count')
  call.cut()
  const { content } = await calling
  assert.equal(content[0].text, 'Counted to 20.')
  const [back, ...others] = comebacks(wire, call)
  assert.deepEqual(others, [])
  assert.equal(call.streamed.length + back.streamed.length, 21)
  return `${call.streamed.length} messages, then GET after ${back.startedAt - call.endedAt} ms, ${back.streamed.length} more`
}

/** It says when a list changed to whoever asks for the session, and of a resource nothing. */
async function checkChanges(client, wire, home) {
  const place = newPlace()
  await client.subscribe(uriOf(place))
  for (const [i, worker] of WORKERS.entries()) {
    const before = new Date().toISOString()
    await change(wire, worker, { places: [place], lists: true })
    const isLater = ({ notifications }) =>
      ['tools', 'resources'].every((list) => notifications?.[list]?.listChangedAt >= before)
    await until(() => isLater(readSession(home, '@extra')), `both lists changed in the ${worker} Worker`)
    await until(async () => updatesOf((await openGet(wire)).streamed).length > i, 'the place changed')
  }
  return 'changed in each of two Workers: notes that both lists did, and when; the resource it subscribed to on the wire'
}
