// The extension for resuming as its text says, in a client that hides nothing: broken connections, and a server that is
// killed, cost it no change. Each stream comes from one Worker, and is resumed at the other. @see docs/resumable-listen.md
import assert from 'node:assert/strict'
import { change, newPlace, updatesOf, uriOf, WORKERS } from '../lib/change.mjs'
import { extension, resumable } from '../lib/extensions.mjs'
import { connectRaw } from '../lib/raw.mjs'
import { createRows } from '../lib/rows.mjs'
import { answerBooking, rejectionOf } from '../lib/tasks.mjs'
import { until } from '../lib/until.mjs'

export const title = `a client written for this suite, with ${resumable}`

export async function play({ notes, extra, record, mortal }) {
  const { rows, table } = createRows()
  await table.add('discover', () => checkDiscover(extra, notes))
  await table.add('undeclared', () => checkNoIds(extra))
  await table.add('cut, resumed', () =>
    checkResumed(extra, (lastEventId) => ({ headers: { 'last-event-id': lastEventId } })),
  )
  await table.add('cursor in _meta', () =>
    checkResumed(extra, (cursor) => ({ meta: { 'dev.mcp-edge/cursor': cursor } })),
  )
  await table.add('cut often', () => checkCutOften(extra))
  await table.add('no such cursor', () => checkNoCursor(extra))
  await mortal.use(async () =>
    table.add('killed, resumed', async () => checkKilled(await record('mortal'), mortal.restart)),
  )
  await table.add('task', () => checkTask(extra))
  return rows
}

const resuming = (wire, worker) => connectRaw(wire.url, { resumes: true, worker })

/** A stream that is acknowledged, and its exchange. */
async function listen(wire, worker, filter, from) {
  const stream = await resuming(wire, worker).listen(filter, from)
  await until(() => stream.messages.length > 0, 'the acknowledgement')
  assert.equal(stream.messages[0].method, 'notifications/subscriptions/acknowledged')
  assert.deepEqual(stream.messages[0].params.notifications, filter)
  return Object.assign(stream, { exchange: wire.calls('subscriptions/listen').at(-1) })
}

async function cut(stream) {
  stream.exchange.cut()
  await stream.ended
}

async function checkDiscover(extra, notes) {
  const advertised = await connectRaw(extra.url).discover()
  assert.deepEqual(advertised.capabilities.extensions[resumable], {})
  const plain = await connectRaw(notes.url).discover()
  assert.equal(plain.capabilities.extensions[resumable], undefined)
  return 'advertised where it is turned on, and not by the example'
}

async function checkNoIds(wire) {
  const place = newPlace()
  const headers = { 'last-event-id': '1.made-up' }
  const stream = await connectRaw(wire.url).listen({ resourceSubscriptions: [uriOf(place)] }, { headers })
  await change(wire, 'first', { places: [place] })
  await until(() => updatesOf(stream.messages).length > 0, 'the place changed')
  assert.deepEqual(stream.ids, [])
  wire.calls('subscriptions/listen').at(-1).cut()
  return 'who does not declare it gets no ids, and no cursor is read'
}

/** What others change while the client is away, it is told once it is back, after the acknowledgement and each thing once. */
async function checkResumed(wire, from) {
  const places = [newPlace(), newPlace(), newPlace()]
  const filter = { toolsListChanged: true, resourceSubscriptions: places.map(uriOf) }
  const stream = await listen(wire, 'first', filter)
  await change(wire, 'second', { places: [places[0]] })
  await until(() => updatesOf(stream.messages).length > 0, 'the first place changed')
  await cut(stream)
  await change(wire, 'first', { places: [places[1], places[2]], lists: true })
  for (const worker of WORKERS) await change(wire, worker, { places: [places[2], newPlace()] })
  const back = await listen(wire, 'second', filter, from(stream.ids.at(-1)))
  await until(() => updatesOf(back.messages).length >= 2, 'what was missed')
  const subject = ({ method, params }) => params.uri ?? method
  assert.deepEqual(back.messages.slice(1, 4).map(subject).toSorted(), [
    'notifications/tools/list_changed',
    ...[uriOf(places[1]), uriOf(places[2])].toSorted(),
  ])
  const ids = new Set(back.messages.map(({ params }) => params._meta['io.modelcontextprotocol/subscriptionId']))
  assert.equal(ids.size, 1)
  await change(wire, 'first', { places: [places[0]] })
  await until(() => updatesOf(back.messages).includes(uriOf(places[0])), 'what comes after')
  await cut(back)
  return `cut off at the first Worker, back at the second: ${back.messages.slice(1, 4).length} things that changed meanwhile, each once, then what comes`
}

/** Whatever is changed, and whenever the connection breaks: everything is told, on one stream or the next. */
async function checkCutOften(wire) {
  const places = Array.from({ length: 20 }, newPlace)
  const filter = { resourceSubscriptions: places.map(uriOf) }
  const heard = []
  let [stream, cursor, cuts] = [await listen(wire, 'first', filter), undefined, 0]
  for (const [i, place] of places.entries()) {
    const changing = change(wire, WORKERS[i % 2], { places: [place] })
    if (i % 4 === 3) {
      await cut(stream)
      heard.push(...updatesOf(stream.messages))
      cursor = stream.ids.at(-1) ?? cursor
      stream = await listen(wire, WORKERS[++cuts % 2], filter, { headers: { 'last-event-id': cursor } })
    }
    await changing
  }
  const all = () => new Set([...heard, ...updatesOf(stream.messages)])
  await until(() => all().size === places.length, 'everything that changed')
  const twice = heard.length + updatesOf(stream.messages).length - places.length
  await cut(stream)
  return `${places.length} changes while the connection was cut ${cuts} times: all heard, ${twice} twice`
}

async function checkNoCursor(wire) {
  const filter = { toolsListChanged: true }
  const said = await rejectionOf(resuming(wire).listen(filter, { headers: { 'last-event-id': '12.abc' } }), /-32602/)
  return said
}

async function checkKilled(wire, restart) {
  const places = [newPlace(), newPlace(), newPlace()]
  const filter = { resourceSubscriptions: places.map(uriOf) }
  const stream = await listen(wire, 'first', filter)
  await change(wire, 'first', { places: [places[0]] })
  await until(() => updatesOf(stream.messages).length > 0, 'the first place changed')
  await cut(stream)
  await change(wire, 'first', { places: [places[1]] })
  await restart()
  await change(wire, 'first', { places: [places[2]] })
  const back = await listen(wire, 'first', filter, { headers: { 'last-event-id': stream.ids.at(-1) } })
  await until(() => updatesOf(back.messages).length >= 2, 'what was missed')
  assert.deepEqual(updatesOf(back.messages), [uriOf(places[1]), uriOf(places[2])])
  await cut(back)
  return 'a change before the server was killed and one after it: both told'
}

/** A task that was made in one Worker, followed in the other. Nobody polls. */
async function checkTask(wire) {
  const owner = connectRaw(wire.url, { worker: 'first' })
  const { taskId } = await owner.startTask('book', {})
  const stream = await listen(wire, 'second', { taskIds: [taskId] })
  const asked = answerBooking(owner)
  const answered = new Set()
  const states = () => stream.messages.slice(1).map(({ params }) => params)
  await until(async () => {
    const { status, inputRequests = {} } = states().at(-1) ?? {}
    for (const [key, { params }] of Object.entries(inputRequests)) {
      if (answered.has(key)) continue
      answered.add(key)
      await owner.updateTask(taskId, { [key]: owner.answer(params) })
    }
    return status === 'completed'
  }, 'the task was done')
  assert.equal(states().at(-1).result.content[0].text, 'Booked for Friday.')
  assert.deepEqual(asked, ['Which day?', 'Book it?'])
  const polls = wire.calls('tasks/get').filter(({ messages }) => messages[0].params.taskId === taskId)
  assert.deepEqual(polls, [])
  await cut(stream)
  return `${states().length} notifications with ${extension}: 2 questions, answered, and the result`
}
