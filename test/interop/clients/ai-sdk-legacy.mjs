// The AI SDK told not to probe.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectAiSdk } from '../lib/ai-sdk.mjs'
import { checkTwoAsks } from '../lib/asks.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { abortCall, sawCancel } from '../lib/extra.mjs'
import { checkEnded } from '../lib/lifetime.mjs'
import { checkDelete, checkStream, playNotes } from '../lib/notes.mjs'
import { createRows, messageOf } from '../lib/rows.mjs'
import { againMs, comebacks, openGet, standaloneGets } from '../lib/session.mjs'
import { part, playParts } from '../lib/sessions.mjs'
import { until } from '../lib/until.mjs'
import { callsOf } from '../lib/wire.mjs'

export const title = `${nameAndVersion('@ai-sdk/mcp')}, without discovery`

/** What it says of a message it does not know. */
const unknown = 'Unsupported message type'

export async function play({ notes, record }) {
  const { rows, table } = createRows()
  const expected = { slug: 'undiscovered', handshake: 'initialize', revision: '2025-11-25', asks: true }
  const client = await connectAiSdk(notes.url, false)
  await playNotes(table, client, notes, expected)
  await table.add('GET stream', () => checkStream(notes))
  await cannot(table, 'priming', () => checkPrimed(client))
  await cannot(table, 'changes', () => checkUnheard(client, notes))
  await client.close()
  await table.add('DELETE', () => checkDelete(notes))
  const parts = await playParts(record, (url) => connectAiSdk(url, false), [
    part('extra', async (other, ai, wire) => {
      await other.add('two asks', () => checkTwoAsks(ai, wire, 1))
      await cannot(other, 'cancel', () => checkLeftAlone(ai, wire, expected.slug))
      await other.add('GET cut', () => checkGetCut(wire))
      await other.add('ended elsewhere', () => checkEnded(ai, wire))
    }),
    part('extra', (other, ai, wire) => cannot(other, 'cut', () => checkCallLost(ai, wire, 'pause', { ms: 2_500 }))),
    part('extra', (other, ai, wire) => cannot(other, 'polling', () => checkCallLost(ai, wire, 'poll', {}))),
    part('short', (other, ai, wire) => cannot(other, 'idle 2025-11-25', () => checkNotReopened(wire))),
  ])
  return [...rows, ...parts]
}

/** A row about what this client does not do. */
function cannot(table, name, check) {
  return table.play({ cannot: { [name]: check } }, name)
}

/** An event without data is none to it. */
function checkPrimed({ errors }) {
  const said = errors.map(({ message }) => message).filter((message) => message !== unknown)
  assert.ok(said.length > 0)
  for (const message of said) assert.match(message, /Failed to parse message/)
  return `it reports each event without data to onUncaughtError ("${said[0]}"), and goes on`
}

/** A notification on its stream is none it knows. */
async function checkUnheard({ errors }, wire) {
  const told = () => wire.gets().flatMap(({ streamed }) => streamed).length
  const reported = () => errors.filter(({ message }) => message === unknown).length
  // Others go on with their notes meanwhile.
  await until(() => told() > 0 && reported() === told(), 'one error for each notification')
  return `it reports each of ${told()} notifications to onUncaughtError ("${unknown}"), and goes on`
}

/** Leaving is not cancelling in a session. @see 2025-11-25 basic/utilities/cancellation */
async function checkLeftAlone(client, wire, slug) {
  await abortCall(client, slug)
  await until(() => callsOf(wire, 'wait')[0].isDropped, 'the client closed the response')
  assert.deepEqual(wire.calls('notifications/cancelled'), [])
  assert.equal(await sawCancel(client, slug), 'no')
  return 'it closes the response and tells nobody, so the handler goes on'
}

/** It comes back to its standalone stream after an error, and only then. */
async function checkGetCut(wire) {
  const stream = await openGet(wire)
  await until(() => stream.answer.includes('id: '), 'the stream was primed')
  stream.cut()
  await until(() => wire.gets().at(-1) !== stream && wire.gets().at(-1).isOpen, 'the client came back')
  const { lastEventId, startedAt } = wire.gets().at(-1)
  assert.ok(stream.answer.includes(`id: ${lastEventId}\n`))
  return `reopened after ${startedAt - stream.endedAt} ms with the Last-Event-ID it was primed with`
}

async function checkCallLost(client, wire, tool, args) {
  const answered = client.callTool(tool, args).then(
    ({ content }) => content[0].text,
    (error) => messageOf(error),
  )
  await until(() => callsOf(wire, tool)[0]?.answer.includes('id: '), 'the call became a stream')
  const [call] = callsOf(wire, tool)
  if (tool === 'pause') call.cut()
  await until(() => !call.isOpen, 'the stream broke')
  const outcome = await Promise.race([answered, sleep(3_000, 'pending')])
  assert.equal(outcome, 'pending')
  assert.deepEqual(comebacks(wire, call), [])
  return 'it does not come back for the answer of a call, which stays pending'
}

async function checkNotReopened(wire) {
  await openGet(wire)
  // It may have opened two at first, of which the second replaced the other.
  await until(() => standaloneGets(wire).every(({ isOpen }) => !isOpen), 'the stream ended')
  const streams = standaloneGets(wire)
  assert.ok(streams.every(({ isDropped }) => !isDropped))
  await sleep(2 * againMs)
  assert.deepEqual(standaloneGets(wire), streams)
  return 'it does not reopen a stream that ended gracefully, so it hears nothing more'
}
