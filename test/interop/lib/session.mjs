// What a session gives to clients of the handshake revisions, played against extra/worker.ts. Beside what notes.mjs uses,
// an adapter has `heard` (notifications), `setLevel`, `subscribe` and `unsubscribe`, or says in `cannot` why not.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkRoots, checkSampling, checkTwoAsks } from './asks.mjs'
import { change, newPlace, updatesOf, uriOf, WORKERS } from './change.mjs'
import { until } from './until.mjs'
import { callsOf } from './wire.mjs'

/** Long enough for a client that would ask again after its delay of one second. */
export const againMs = 1_600
const listChanges = ['notifications/resources/list_changed', 'notifications/tools/list_changed']

/** Questions, messages and news. */
export async function playSession(table, client, wire) {
  const row = (name, work) => table.play(client, name, work)
  await row('two asks', () => checkTwoAsks(client, wire, 1))
  await row('sampling', () => checkSampling(client))
  await row('roots', () => checkRoots(client))
  await row('log messages', () => checkLog(client, wire))
  await row('changes', () => checkChanges(client, wire))
  await row('GET cut', () => checkGetCut(client, wire))
}

/** Connections that break, and streams that end without a result. */
export async function playResumption(table, client, wire) {
  const row = (name, work) => table.play(client, name, work)
  await client.setLevel('info')
  await Promise.all([
    row('cut', () => checkCut(client, wire)),
    row('cut twice', () => checkCutTwice(client, wire)),
    row('polling', () => checkPolling(client, wire)),
    row('late error', () => checkLateError(client, wire)),
  ])
}

/** Nothing before a level is set; then on the stream of the call, and nowhere else. */
async function checkLog(client, wire) {
  client.heard.length = 0
  await client.callTool('count', { to: 2 })
  assert.deepEqual(linesOf(client.heard), [])
  await client.setLevel('info')
  await client.callTool('count', { to: 3 })
  await until(() => client.heard.length >= 3, 'three messages arrived')
  assert.deepEqual(linesOf(client.heard), steps(3))
  assert.deepEqual(linesOf(callsOf(wire, 'count').at(-1).streamed), steps(3))
  assert.deepEqual(linesOf(wire.gets().flatMap(({ streamed }) => streamed)), [])
  return `none before setLevel, then ${steps(3).length} on the stream of the call`
}

/** What others change, in whichever Worker, goes to the standalone stream. */
async function checkChanges(client, wire) {
  const [place, other] = [newPlace(), newPlace()]
  const stream = await openGet(wire)
  await client.subscribe(uriOf(place))
  for (const worker of WORKERS) {
    client.heard.length = 0
    await change(wire, worker, { places: [other, place], lists: true })
    const isHeard = () => updatesOf(client.heard).length > 0
    const areListsHeard = () => listChanges.every((method) => methodsOf(client.heard).includes(method))
    await until(() => isHeard() && areListsHeard(), 'the place and both lists changed')
    assert.deepEqual(updatesOf(client.heard), [uriOf(place)])
  }
  await client.subscribe(uriOf(other))
  await client.unsubscribe(uriOf(place))
  client.heard.length = 0
  for (const worker of WORKERS) await change(wire, worker, { places: [place, other] })
  await until(() => updatesOf(client.heard).length > 0, 'the other place changed')
  assert.deepEqual([...new Set(updatesOf(client.heard))], [uriOf(other)])
  assert.ok(updatesOf(stream.streamed).length >= 3)
  return 'changed by others in each of two Workers: updated while subscribed, list_changed of resources and tools, all on the GET stream'
}

async function checkGetCut(client, wire) {
  const place = newPlace()
  await client.subscribe(uriOf(place))
  const errors = client.errors?.length
  client.heard.length = 0
  const stream = await openGet(wire)
  stream.cut()
  for (const worker of WORKERS) await change(wire, worker, { places: [place] })
  const changedAt = Date.now()
  // News of the row before may be late, and come as well.
  await until(() => updatesOf(client.heard).includes(uriOf(place)), 'the client came back and heard of the change')
  const back = await openGet(wire)
  assert.ok(back.startedAt > changedAt, 'the client was back before the change')
  assert.notEqual(back.lastEventId, undefined)
  const reported = errors === undefined ? '' : `; ${client.errors.length - errors} error callback`
  return `changed by others meanwhile; reopened after ${back.startedAt - stream.endedAt} ms with Last-Event-ID, nothing lost${reported}`
}

async function checkCut(client, wire) {
  client.heard.length = 0
  const counting = countTo(client, 25)
  await until(() => counting.seen.length >= 5, 'five steps arrived')
  callsOf(wire, 'count').at(-1).cut()
  const detail = await checkCounted(wire, counting)
  assert.deepEqual(linesOf(client.heard), steps(25))
  return detail
}

/** Everything arrived once, over one or more connections of one stream. */
export async function checkCounted(wire, { seen, calling, to }) {
  const { content } = await calling
  assert.equal(content[0].text, `Counted to ${to}.`)
  assert.deepEqual(
    seen,
    Array.from({ length: to }, (_, i) => i + 1),
  )
  const call = callsOf(wire, 'count').at(-1)
  const first = call.streamed.length
  const back = comebacks(wire, call)
  assert.ok(back.length > 0, 'nobody came back')
  const replayed = back.flatMap(({ streamed }) => streamed)
  assert.equal(replayed.at(-1).result.content[0].text, content[0].text)
  const gapMs = back[0].startedAt - call.endedAt
  return `${seen.length} steps and the result, none twice: ${first} messages, then GET after ${gapMs} ms, ${replayed.length} more`
}

/** Starts a count whose steps are collected. */
export function countTo(client, to) {
  const seen = []
  const calling = client.callTool('count', { to }, { onProgress: ({ progress }) => seen.push(progress) })
  // Its failure is the row's, which awaits it later.
  calling.catch(() => {})
  return { seen, calling, to }
}

/** Nothing arrives between the cuts: the client has no newer id than the one it came back with. */
async function checkCutTwice(client, wire) {
  const calling = client.callTool('pause', { ms: 4_000 })
  calling.catch(() => {})
  await until(() => callsOf(wire, 'pause').at(-1)?.answer.includes('id: '), 'the call became a stream')
  await sleep(100)
  const call = callsOf(wire, 'pause').at(-1)
  call.cut()
  await until(() => comebacks(wire, call)[0]?.isOpen, 'the client came back')
  await sleep(100)
  comebacks(wire, call)[0].cut()
  const { content } = await calling
  assert.equal(content[0].text, 'Paused for 4000 ms.')
  const cursors = comebacks(wire, call).map(({ lastEventId }) => lastEventId)
  assert.equal(cursors.length, 2)
  assert.equal(new Set(cursors).size, 1)
  return 'came back twice with the same Last-Event-ID, got the result'
}

/** @see SEP-1699 */
async function checkPolling(client, wire) {
  const seen = []
  const { content } = await client.callTool('poll', {}, { onProgress: ({ progress }) => seen.push(progress) })
  assert.equal(content[0].text, 'Polled.')
  assert.deepEqual(seen, [1, 2])
  const [call] = callsOf(wire, 'poll')
  assert.equal(call.isDropped, false)
  assert.match(call.answer, /\nretry: 1000\n\n$/)
  const back = comebacks(wire, call)
  assert.equal(back.length, 1)
  const openMs = call.endedAt - call.startedAt
  return `sent away after ${openMs} ms with retry: 1000, came back ${back[0].startedAt - call.endedAt} ms later for the rest`
}

/** An error is an answer too: who asks for more of that stream is told that there is none, and must stop. */
async function checkLateError(client, wire) {
  const failing = client.callTool('fail_late', {}, { onProgress: () => {} })
  await assert.rejects(failing, /Failed late/)
  await sleep(againMs + 1_000)
  const [call] = callsOf(wire, 'fail_late')
  assert.equal(call.streamed.at(-1).error.code, -32602)
  const statuses = comebacks(wire, call).map(({ status }) => status)
  assert.ok(statuses.length <= 1 && statuses.every((status) => status === 405), `GETs: ${statuses}`)
  return statuses.length === 0 ? 'no GET afterwards' : `one GET afterwards, answered ${statuses}, then none`
}

/** The GETs that came back for the stream of a call. */
export function comebacks(wire, call) {
  const ids = call.answer.match(/^id: (.+)$/m)
  const stream = ids?.[1].replace(/\d+$/, '')
  return wire.gets().filter(({ lastEventId }) => stream !== undefined && lastEventId?.startsWith(stream))
}

/** The standalone stream that is open, or about to be. */
export async function openGet(wire) {
  await until(() => standaloneGets(wire).at(-1)?.isOpen, 'the GET stream is open')
  return standaloneGets(wire).at(-1)
}

/** The GETs of the standalone stream: those without a cursor, and those with one that it gave. */
export function standaloneGets(wire) {
  const found = []
  for (const get of wire.gets()) {
    const { sessionId, lastEventId } = get
    const isKnown = lastEventId === undefined || found.some(({ answer }) => answer.includes(`id: ${lastEventId}\n`))
    if (sessionId && sessionId === wire.sessionId() && isKnown) found.push(get)
  }
  return found
}

export function methodsOf(messages) {
  return messages.map(({ method }) => method)
}

function linesOf(messages) {
  return messages.filter(({ method }) => method === 'notifications/message').map(({ params }) => params.data)
}

function steps(to) {
  return Array.from({ length: to }, (_, i) => `step ${i + 1}`)
}
