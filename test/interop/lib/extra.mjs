// What the example server has no use for, played against extra/worker.ts with the same adapters as notes.mjs.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from './rows.mjs'
import { callsOf } from './wire.mjs'

const city = 'Zürich'
const untilMs = 3_000

/** Cancelling by closing the response, two questions in one round, and an argument mirrored into a header. */
export async function playExtra(table, client, wire, { slug }) {
  const row = (name, work) => table.play(client, name, work)
  await row('two asks', () => checkTwoAsks(client, wire))
  await row('mirrored header', () => checkMirrored(client, wire))
  await row('cancel', () => checkCancel(client, wire, slug))
}

async function checkTwoAsks(client, wire) {
  const asked = []
  client.answer = ({ message }) => {
    asked.push(message)
    return { action: 'accept', content: message.includes('name') ? { name: 'Ada' } : { size: 42 } }
  }
  const { content } = await client.callTool('ask_twice', {})
  assert.deepEqual(JSON.parse(content[0].text), [{ name: 'Ada' }, { size: 42 }])
  assert.deepEqual(asked.toSorted(), ['Which name?', 'Which size?'])
  const rounds = callsOf(wire, 'ask_twice').length
  assert.equal(rounds, 2)
  return `2 answers, ${rounds} requests`
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

async function checkCancel(client, wire, slug) {
  const { steps, error, waitedMs } = await abortCall(client, slug)
  assert.ok(waitedMs < 1_000, `the client gave up only after ${waitedMs} ms`)
  const [call] = callsOf(wire, 'wait')
  await until(() => call.isDropped, 'the client closed the response')
  await until(async () => (await sawCancel(client, slug)) === 'yes', 'the handler noticed')
  const told = wire.calls('notifications/cancelled').map(({ status }) => status)
  const also = told.length === 0 ? '' : `, and said so (${told})`
  return `after ${steps} steps closed the response${also}; the handler saw it; client: "${messageOf(error)}"`
}

/** Legacy: without a session a cancellation names nothing. It is taken, the client moves on, the handler does too. */
export async function checkLegacyCancel(client, wire, slug) {
  const { steps, waitedMs } = await abortCall(client, slug)
  assert.ok(waitedMs < 1_000, `the client gave up only after ${waitedMs} ms`)
  await until(() => wire.calls('notifications/cancelled')[0]?.status > 0, 'notifications/cancelled was answered')
  assert.deepEqual(
    wire.calls('notifications/cancelled').map(({ status }) => status),
    [202],
  )
  assert.equal(await sawCancel(client, slug), 'no')
  return `after ${steps} steps notifications/cancelled, answered 202; without a session the handler goes on`
}

/** Starts a wait of 10 s and aborts it after one. */
async function abortCall(client, slug) {
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
  return { steps, error, waitedMs: Date.now() - from }
}

async function sawCancel(client, slug) {
  return (await client.callTool('was_cancelled', { key: slug })).content[0].text
}

async function until(isSo, what) {
  for (const end = Date.now() + untilMs; Date.now() < end; await sleep(100)) if (await isSo()) return
  assert.fail(`not within ${untilMs / 1000} s: ${what}`)
}
