// What the example server has no use for, played against extra/worker.ts with the same adapters as notes.mjs.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkRoots, checkSampling, checkTwoAsks } from './asks.mjs'
import { messageOf } from './rows.mjs'
import { until } from './until.mjs'
import { callsOf } from './wire.mjs'

const city = 'Zürich'

/** Modern: cancelling by closing the response, two questions in one round, an argument mirrored into a header. */
export async function playExtra(table, client, wire, { slug }) {
  const row = (name, work) => table.play(client, name, work)
  await row('two asks', () => checkTwoAsks(client, wire, 2))
  await row('sampling', () => checkSampling(client))
  await row('roots', () => checkRoots(client))
  await row('mirrored header', () => checkMirrored(client, wire))
  await row('cancel', () => checkLeave(client, wire, slug))
}

async function checkMirrored(client, wire) {
  await client.listTools()
  const { content } = await client.callTool('locate', { city })
  assert.equal(content[0].text, city)
  const sent = callsOf(wire, 'locate').at(-1).headers['mcp-param-city']
  const [, encoded] = /^=\?base64\?(.+)\?=$/.exec(sent)
  assert.equal(Buffer.from(encoded, 'base64').toString(), city)
  return `Mcp-Param-City: ${sent}`
}

async function checkLeave(client, wire, slug) {
  const { steps, error } = await abortCall(client, slug)
  const [call] = callsOf(wire, 'wait')
  await until(() => call.isDropped, 'the client closed the response')
  await until(async () => (await sawCancel(client, slug)) === 'yes', 'the handler noticed')
  const told = wire.calls('notifications/cancelled').map(({ status }) => status)
  const also = told.length === 0 ? '' : `, and said so (${told})`
  return `after ${steps} steps closed the response${also}; the handler saw it; client: "${messageOf(error)}"`
}

/** In a session the notification cancels, on whatever connection it comes; nobody asks for the call's stream again. */
export async function checkCancel(client, wire, slug) {
  const { steps, error } = await abortCall(client, slug)
  await checkTold(wire)
  await until(async () => (await sawCancel(client, slug)) === 'yes', 'the handler noticed')
  await until(() => !callsOf(wire, 'wait')[0].isOpen, 'the stream of the call ended')
  assert.ok(callsOf(wire, 'wait')[0].streamed.every(({ result }) => result === undefined))
  return `after ${steps} steps notifications/cancelled (202); the handler saw it; client: "${messageOf(error)}"`
}

/** A cancellation that means nothing to the server is taken all the same. */
export async function checkOnlyTold(client, wire, slug) {
  await abortCall(client, slug)
  await checkTold(wire)
  assert.equal(await sawCancel(client, slug), 'no')
}

async function checkTold(wire) {
  await until(() => wire.calls('notifications/cancelled')[0]?.status > 0, 'notifications/cancelled was answered')
  assert.deepEqual(
    wire.calls('notifications/cancelled').map(({ status }) => status),
    [202],
  )
}

/** Starts a wait of 10 s and aborts it after one. */
export async function abortCall(client, slug) {
  const controller = new AbortController()
  const seen = []
  const calling = client.callTool('wait', { key: slug }, { onProgress: (s) => seen.push(s), signal: controller.signal })
  const ended = calling.then(
    (result) => ({ result }),
    (error) => ({ error }),
  )
  await sleep(1_000)
  const steps = seen.length
  controller.abort(new Error('enough'))
  const from = Date.now()
  const { error } = await ended
  assert.ok(error, 'the call was answered although it was aborted')
  const waitedMs = Date.now() - from
  assert.ok(waitedMs < 1_000, `the client gave up only after ${waitedMs} ms`)
  return { steps, error }
}

export async function sawCancel(client, slug) {
  return (await client.callTool('was_cancelled', { key: slug })).content[0].text
}
