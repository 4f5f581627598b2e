// What clients of the modern revision hear with `subscriptions/listen`, of changes that others make in each of two Workers.
// Beside what notes.mjs uses, an adapter has `heard` (notifications) and `listen`, which gives a subscription as version 2
// of the official client does: `honoredFilter`, `closed` and `close`. @see basic/patterns/subscriptions
import assert from 'node:assert/strict'
import { change, newPlace, updatesOf, uriOf, WORKERS } from './change.mjs'
import { connectRaw } from './raw.mjs'
import { part, playParts } from './sessions.mjs'
import { until } from './until.mjs'

const acknowledged = 'notifications/subscriptions/acknowledged'

/** Plays everything. `connect(url, listChanged)` makes an adapter, whose lists are watched by these handlers. */
export async function playListening(record, connect) {
  const parts = [
    part('extra', async (table, client, wire) => {
      await table.add('listen', () => checkListen(client, wire))
      await table.add('listen: cut', () => checkListenCut(client, wire))
      await table.add('listen: tasks', () => checkListenTasks(client, wire))
    }),
    part('short', (table, client, wire) => table.add('listen: ended', () => checkListenEnded(client, wire))),
  ]
  const played = [playLists(record, connect), playParts(record, (url) => connect(url), parts)]
  return (await Promise.all(played)).flat()
}

/** Handlers of list changes, which the client is made with and sees to by itself. Also for clients with sessions. */
export function playLists(record, connect) {
  const lists = { tools: [], resources: [] }
  const handlers = Object.entries(lists).map(([name, seen]) => {
    return [name, { debounceMs: 0, onChanged: (error, items) => seen.push({ error, items }) }]
  })
  return playParts(record, (url) => connect(url, Object.fromEntries(handlers)), [
    part('extra', (table, client, wire) => table.add('list handlers', () => checkLists(lists, wire))),
  ])
}

async function checkLists({ tools, resources }, wire) {
  // It opens its stream when it connects, or does not say when that is done.
  await until(() => streamsOf(wire).some(({ answer }) => answer !== ''), 'the client listens')
  const [stream] = streamsOf(wire)
  for (const worker of WORKERS) {
    tools.length = 0
    resources.length = 0
    await change(wire, worker, { places: [], lists: true })
    await until(() => tools.length > 0 && resources.length > 0, `both lists changed in the ${worker} Worker`)
    assert.equal(tools[0].error, null)
    assert.ok(tools[0].items.some(({ name }) => name === 'change'))
  }
  const how = stream.method === 'GET' ? 'its GET stream' : 'a stream it opened by itself'
  return `tools and resources changed in each of two Workers: heard on ${how}, and listed again by itself`
}

/** The streams on which a client hears of changes. */
function streamsOf(wire) {
  return [...wire.calls('subscriptions/listen'), ...wire.gets()].filter(({ status }) => status === 200)
}

/** Two streams at a time, of which each hears its own; what the server does not serve is not agreed to. */
async function checkListen(client, wire) {
  const [place, other] = [newPlace(), newPlace()]
  const subscription = await client.listen({ resourceSubscriptions: [uriOf(place), 'nowhere://here'] })
  assert.deepEqual(subscription.honoredFilter, { resourceSubscriptions: [uriOf(place)] })
  await client.listen({ resourceSubscriptions: [uriOf(other)] })
  for (const worker of WORKERS) {
    client.heard.length = 0
    await change(wire, worker, { places: [newPlace(), place, other] })
    await until(() => updatesOf(client.heard).length >= 2, `both places changed in the ${worker} Worker`)
    assert.deepEqual(updatesOf(client.heard).toSorted(), [uriOf(place), uriOf(other)].toSorted())
  }
  const [stream] = wire.calls('subscriptions/listen')
  assert.deepEqual(
    [stream.streamed[0].method, ...updatesOf(stream.streamed)],
    [acknowledged, uriOf(place), uriOf(place)],
  )
  assert.ok(!/^id:/m.test(stream.answer))
  await subscription.close()
  assert.equal(await subscription.closed, 'local')
  await until(() => stream.isDropped, 'the client closed the stream')
  client.heard.length = 0
  for (const worker of WORKERS) await change(wire, worker, { places: [place, other] })
  await until(() => updatesOf(client.heard).length > 0, 'the other place changed')
  assert.deepEqual([...new Set(updatesOf(client.heard))], [uriOf(other)])
  assert.deepEqual(client.errors, [])
  const told = wire.calls('notifications/cancelled').map(({ status }) => status)
  return `two streams: acknowledged with what is served, each told of its own by each Worker; closed one (said so: ${told}), hears the other`
}

/** A stream that breaks says nothing of when it may be gone on with; the client starts anew. */
async function checkListenCut(client, wire) {
  const filter = { resourceSubscriptions: [uriOf(newPlace())] }
  const subscription = await client.listen(filter)
  wire.calls('subscriptions/listen').at(-1).cut()
  assert.equal(await subscription.closed, 'remote')
  await checkHeardAgain(client, wire)
  assert.deepEqual(
    wire.gets().map(({ lastEventId }) => lastEventId),
    [],
  )
  return 'told of it as "remote", no GET; listens again'
}

/** The server ends a stream in good order, with the answer to its request. */
async function checkListenEnded(client, wire) {
  const subscription = await client.listen({ resourceSubscriptions: [uriOf(newPlace())] })
  assert.equal(await subscription.closed, 'graceful')
  const stream = wire.calls('subscriptions/listen').at(-1)
  assert.equal(stream.streamed.at(-1).result.resultType, 'complete')
  await until(() => !stream.isOpen, 'the response ended')
  assert.equal(stream.isDropped, false)
  await checkHeardAgain(client, wire)
  assert.deepEqual(client.errors, [])
  return `told of it as "graceful" after ${stream.ms} ms; listens again`
}

async function checkHeardAgain(client, wire) {
  const place = newPlace()
  await client.listen({ resourceSubscriptions: [uriOf(place)] })
  client.heard.length = 0
  await change(wire, 'second', { places: [place] })
  await until(() => updatesOf(client.heard).includes(uriOf(place)), 'news on the new stream')
}

/** It has no method for tasks, but passes on what it listens to. Nobody else is told of a task. */
async function checkListenTasks(client, wire) {
  const owner = connectRaw(wire.direct, { worker: 'first' })
  const { taskId } = await owner.startTask('bake', {})
  const { honoredFilter } = await client.listen({ taskIds: [taskId, 'f'.repeat(64)] })
  // It leaves out what it does not know, so the wire says it.
  assert.deepEqual(honoredFilter, {})
  const stream = wire.calls('subscriptions/listen').at(-1)
  assert.deepEqual(stream.streamed[0].params.notifications, { taskIds: [taskId] })
  const said = () => client.heard.filter(({ method }) => method === 'notifications/tasks').map(({ params }) => params)
  await until(() => said().at(-1)?.status === 'completed', 'the task was done')
  assert.equal(said().at(-1).result.content[0].text, 'A cake.')
  assert.deepEqual(wire.calls('tasks/get'), [])
  return `${said().length} notifications without asking, the last with the result`
}
