// mcpdo with automatic negotiation. It takes tasks, so that a tool which may become one does.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { nameAndVersion } from '../lib/command.mjs'
import { extension } from '../lib/extensions.mjs'
import { playExtra } from '../lib/extra.mjs'
import { checkWatch, withMcpdo } from '../lib/mcpdo.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { againMs } from '../lib/session.mjs'
import { checkExport, playTasks } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} mcpdo --era auto`

export async function play({ notes, extra, record, home }) {
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
    const [own, short] = [await record('extra'), await record('short')]
    const listener = await connect('listener', own, 'auto')
    await table.add('listen', () => checkListen(listener, own))
    await table.add('listen: cut', () => checkListenCut(listener, own))
    await connect('short', short, 'auto')
    await table.play({ cannot: { 'listen: ended': () => checkListenEnded(short) } }, 'listen: ended')
  })
  return rows
}

async function checkNoRoots(client) {
  const { content } = await client.callTool('ask_roots', {})
  assert.equal(content[0].text, '[]')
  return 'it declares roots, answers by itself, and has none'
}

/** It listens to the lists since it connected, and again with what is watched and when that is not watched any more. */
async function checkListen(client, wire) {
  await checkWatch(client, wire)
  await until(() => listens(wire).length === 3 && listens(wire)[2].isOpen, 'it listens without the resource')
  const asked = listens(wire).map(({ messages }) => Object.keys(messages[0].params.notifications).toSorted())
  const lists = ['resourcesListChanged', 'toolsListChanged']
  assert.deepEqual(asked, [lists, ['resourceSubscriptions', ...lists].toSorted(), lists])
  return 'listens to lists since it connected, then to a resource as well: changed in each of two Workers, both printed'
}

/** A stream that breaks is the end of its connection, which the next command makes again. */
async function checkListenCut(client, wire) {
  const { length: before } = listens(wire)
  listens(wire).at(-1).cut()
  await sleep(againMs)
  assert.equal(listens(wire).length, before)
  await client.listTools()
  await until(() => listens(wire)[before]?.isOpen, 'it listens again')
  await checkWatch(client, wire)
  return 'drops the connection; the next command makes it again, and listens'
}

/** To it a good end is that of the server. */
async function checkListenEnded(wire) {
  await until(() => listens(wire)[0]?.isOpen === false, 'the stream ended')
  assert.equal(listens(wire)[0].isDropped, false)
  await sleep(againMs)
  assert.equal(listens(wire).length, 1)
  return 'it takes the end of a stream for that of the server, and hears no more until something is watched'
}

function listens(wire) {
  return wire.calls('subscriptions/listen')
}
