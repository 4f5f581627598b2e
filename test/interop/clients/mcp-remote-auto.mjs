// The bridge that gives a legacy host the modern revision: it asks the host what the server needs to know.
import assert from 'node:assert/strict'
import { change, newPlace, updatesOf, uriOf, WORKERS } from '../lib/change.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { extension } from '../lib/extensions.mjs'
import { checkOnlyTold, playExtra } from '../lib/extra.mjs'
import { checkDiscovery, connectThroughBridge } from '../lib/mcp-remote.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { methodsOf } from '../lib/session.mjs'
import { rejectionOf } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'
import { callsOf } from '../lib/wire.mjs'

export const title = `${nameAndVersion('mcp-remote')}, over stdio, --protocol auto`

export async function play({ notes, extra, record, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'dual', handshake: 'server/discover', revision: '2026-07-28', asks: true }
  const client = await connectThroughBridge(notes.url, home, ['--protocol', 'auto'])
  try {
    await playNotes(table, client, notes, expected)
    await table.add('no OAuth', () => checkDiscovery(notes))
  } finally {
    await client.close()
  }
  const other = await connectThroughBridge(extra.url, home, ['--protocol', 'auto'])
  other.cannot = {
    'mirrored header': () => checkNotMirrored(other),
    cancel: () => checkNotClosed(other, extra, expected.slug),
  }
  try {
    await playExtra(table, other, extra, expected)
    await table.add('listen', () => checkListen(other, extra))
  } finally {
    await other.close()
  }
  const short = await record('short')
  const listener = await connectThroughBridge(short.url, home, ['--protocol', 'auto'])
  try {
    await table.add('listen: ended', () => checkListenEnded(short))
  } finally {
    await listener.close()
  }
  await table.play({ cannot: { task: () => checkNotKnown(extra, home) } }, 'task')
  return rows
}

/** What a host declares goes on to the server, which believes it; what comes back is not known to the bridge. */
async function checkNotKnown({ url }, home) {
  const declared = { extensions: { [extension]: {} } }
  const client = await connectThroughBridge(url, home, ['--protocol', 'auto'], '2025-11-25', declared)
  try {
    const said = await rejectionOf(client.callTool('bake', {}), /unrecognised type: task/)
    return `it passes on that its host takes tasks, and takes none itself: "${said}"`
  } finally {
    await client.close()
  }
}

/** What its host subscribes to as in a session goes into the filter of a stream. */
async function checkListen(client, wire) {
  const place = newPlace()
  await client.subscribe(uriOf(place))
  const isListening = ({ messages, streamed }) =>
    messages[0].params.notifications.resourceSubscriptions?.includes(uriOf(place)) && streamed.length > 0
  await until(() => wire.calls('subscriptions/listen').some(isListening), 'it listens to the resource', 5_000)
  const lists = ['notifications/resources/list_changed', 'notifications/tools/list_changed']
  for (const worker of WORKERS) {
    client.heard.length = 0
    await change(wire, worker, { places: [newPlace(), place], lists: true })
    const methods = () => methodsOf(client.heard)
    await until(
      () => updatesOf(client.heard).length > 0 && lists.every((list) => methods().includes(list)),
      `the host heard of the change in the ${worker} Worker`,
    )
    assert.deepEqual(updatesOf(client.heard), [uriOf(place)])
  }
  assert.ok(client.heard.every(({ params }) => params?._meta === undefined))
  return 'listens for its host, which subscribed as in a session: changed in each of two Workers, both told without a mark'
}

async function checkListenEnded(wire) {
  const listens = () => wire.calls('subscriptions/listen')
  await until(() => listens()[0]?.isOpen === false, 'the first stream ended', 5_000)
  assert.equal(listens()[0].isDropped, false)
  await until(() => listens()[1]?.isOpen, 'it listens again', 5_000)
  return `listens again ${listens()[1].startedAt - listens()[0].endedAt} ms after the end`
}

/** A client MUST mirror the argument, and a server refuse a call without: the body alone is not enough. */
async function checkNotMirrored(client) {
  await client.listTools()
  await assert.rejects(client.callTool('locate', { city: 'Zürich' }), /-32020.*Mcp-Param-City/)
  return 'it does not mirror arguments, so the call is refused with -32020'
}

/** On this revision closing the response cancels. The notification is taken, and means nothing. */
async function checkNotClosed(client, wire, slug) {
  await checkOnlyTold(client, wire, slug)
  assert.equal(callsOf(wire, 'wait')[0].isDropped, false)
  return 'it sends notifications/cancelled (202) and does not close the response'
}
