// What clients do when the server dies, when a held stream ends before its session, and when the session ends.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { newPlace, updatesOf, uriOf } from './change.mjs'
import { messageOf } from './rows.mjs'
import { againMs, checkCounted, comebacks, countTo, openGet, standaloneGets } from './session.mjs'
import { until } from './until.mjs'
import { callsOf } from './wire.mjs'

/** A server that is killed and started again with what it had on disk. */
export async function playRestart(table, client, wire, restart) {
  const row = (name, work) => table.play(client, name, work)
  await client.setLevel('info')
  await row('killed in a call', () => checkKilled(client, wire, restart))
  await row('killed, asked', () => checkKilledWhileAsked(client, wire, restart))
}

/** Streams that live about a second. `primes` tells whether the revision knows ids without data, and `retry:`. */
export async function playShortLives(table, client, wire, { revision, primes }) {
  const row = (name, work) => table.play(client, `${name} ${revision}`, work)
  await Promise.all([
    row('idle', () => checkIdle(client, wire, { revision, primes })),
    row('slow', async () => checkCounted(wire, countTo(client, 25))),
    row('quiet', () => checkQuiet(client, wire, primes)),
  ])
}

async function checkKilled(client, wire, restart) {
  const counting = countTo(client, 25)
  await until(() => counting.seen.length >= 5, 'five steps arrived')
  await restart()
  return checkCounted(wire, counting)
}

async function checkKilledWhileAsked(client, wire, restart) {
  let isAsked
  const asked = new Promise((resolve) => (isAsked = resolve))
  let goOn
  const isUp = new Promise((resolve) => (goOn = resolve))
  let questions = 0
  client.answer = async ({ message }) => {
    if (++questions === 2) isAsked()
    await isUp
    return { action: 'accept', content: message.includes('name') ? { name: 'Ada' } : { size: 42 } }
  }
  const calling = client.callTool('ask_twice', {})
  calling.catch(() => {})
  await asked
  await restart()
  goOn()
  const { content } = await calling
  assert.deepEqual(JSON.parse(content[0].text), [{ name: 'Ada' }, { size: 42 }])
  assert.equal(questions, 2)
  const call = callsOf(wire, 'ask_twice').at(-1)
  return `two questions answered after the restart, the result came on a GET (${comebacks(wire, call).at(-1).status})`
}

/** The standalone stream ends three times: with news while it is away, with news before, and without any. */
async function checkIdle(client, wire, { revision, primes }) {
  const place = newPlace()
  const changed = () => client.callTool('change', { places: [place] })
  const isHeard = () => updatesOf(client.heard).length > 0
  await client.subscribe(uriOf(place))
  const errors = client.errors?.length
  const first = await newGet(wire, 0)
  assert.equal(first.revision, revision)
  await until(() => !first.isOpen, 'the first stream ended')
  client.heard.length = 0
  await changed()
  const second = await newGet(wire, 1)
  await sleep(200)
  // Without an id the client has no place to come back to.
  assert.equal(second.lastEventId !== undefined, primes)
  assert.equal(isHeard(), primes)
  client.heard.length = 0
  await changed()
  await until(isHeard, 'news on the second stream')
  await until(() => !second.isOpen, 'the second stream ended')
  client.heard.length = 0
  await changed()
  const third = await newGet(wire, 2)
  await until(isHeard, 'news from between the streams')
  await until(() => !third.isOpen, 'the third stream ended')
  const fourth = await newGet(wire, 3)
  await until(() => !fourth.isOpen, 'the fourth stream ended')
  client.heard.length = 0
  await changed()
  const fifth = await newGet(wire, 4)
  await sleep(200)
  // The fourth carried no event, so that only a client that is told its place again still knows it.
  assert.equal(fifth.lastEventId !== undefined, primes)
  assert.equal(isHeard(), primes)
  const all = [first, second, third, fourth, fifth]
  assert.ok(all.slice(0, 4).every(({ isDropped }) => !isDropped))
  assert.ok(all.slice(0, 4).every(({ answer }) => answer.endsWith('retry: 300\n\n') === primes))
  const gaps = all.slice(1).map(({ startedAt }, i) => startedAt - all[i].endedAt)
  const [least, most] = primes ? [250, 900] : [950, 2_000]
  assert.ok(
    gaps.every((ms) => ms > least && ms < most),
    `reopened after ${gaps} ms`,
  )
  const reported = errors === undefined ? '' : `; ${client.errors.length - errors} error callbacks`
  const lost = primes ? 'nothing lost between' : 'what happens between is lost while it has no id'
  const told = primes ? 'told to wait 300 ms' : 'told nothing'
  return `4 graceful ends, ${told}, reopened after ${gaps.join(', ')} ms; ${lost}${reported}`
}

/** The standalone stream that is opened next. */
async function newGet(wire, index) {
  const find = () => standaloneGets(wire)[index]
  await until(() => find()?.status === 200, `standalone stream number ${index + 1}`)
  return find()
}

/** A call that says nothing, so that its client has no event id but a primed one. */
async function checkQuiet(client, wire, primes) {
  const { content } = await client.callTool('pause', { ms: 3_000 })
  assert.equal(content[0].text, 'Paused for 3000 ms.')
  const [call] = callsOf(wire, 'pause')
  const back = comebacks(wire, call)
  assert.equal(back.length > 0, primes)
  return primes ? `${back.length} GET for the rest` : `held to its end, ${call.ms} ms: it has no id to come back with`
}

/** The client ends its session itself. */
export async function checkTerminate(client, wire) {
  const stream = await openGet(wire)
  await client.terminate()
  const deletes = wire.exchanges.filter(({ method }) => method === 'DELETE')
  assert.deepEqual(
    deletes.map(({ status }) => status),
    [204],
  )
  await until(() => !stream.isOpen, 'the GET stream ended')
  assert.equal(stream.isDropped, false)
  await sleep(againMs + 1_000)
  const later = wire.gets().filter(({ startedAt }) => startedAt > deletes[0].endedAt)
  assert.ok(later.length <= 1 && later.every((get) => get.status === 405), statusesOf(later))
  return `DELETE answered 204, the GET stream ended; ${later.length} GETs after that (${statusesOf(later) || 'none'})`
}

/** The session is ended by somebody else who knows its id. */
export async function checkEnded(client, wire) {
  const stream = await openGet(wire)
  const ended = await endElsewhere(wire, stream)
  const error = await client.listTools().then(
    () => assert.fail('an ended session still lists tools'),
    (reason) => reason,
  )
  assert.equal(wire.calls('tools/list').at(-1).status, 404)
  assert.match(messageOf(error), /session (not found|expired)/i)
  await sleep(3 * againMs)
  const later = wire.gets().filter(({ startedAt, sessionId }) => startedAt > stream.endedAt && sessionId === ended)
  assert.ok(later.length <= 3 && later.every((get) => get.status === 404), statusesOf(later))
  return `"${messageOf(error)}"; ${later.length} GETs after that (${statusesOf(later) || 'none'})`
}

/** Ends the session of an open stream over another connection. Returns its id. */
export async function endElsewhere({ url }, stream) {
  const headers = { 'mcp-session-id': stream.sessionId, 'mcp-protocol-version': '2025-11-25' }
  const { status } = await fetch(url, { method: 'DELETE', headers })
  assert.equal(status, 204)
  await until(() => !stream.isOpen, 'the GET stream ended')
  return stream.sessionId
}

function statusesOf(exchanges) {
  return exchanges.map(({ status }) => status).join(', ')
}
