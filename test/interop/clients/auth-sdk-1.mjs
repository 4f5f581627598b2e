// The SDK of version 1, at a server that asks for a token: a session and a task outlive their tokens and are nobody
// else's.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { authorizeFirst, checkFound, checkReads, checkRefresh, checkStepUp } from '../lib/auth.mjs'
import { useSdk1 } from '../lib/auth-sdks.mjs'
import { tokenSeconds } from '../lib/authorized.mjs'
import { updatesOf } from '../lib/change.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { createPerson } from '../lib/person.mjs'
import { createRows } from '../lib/rows.mjs'
import { rejectionOf } from '../lib/tasks.mjs'
import { traceFetch } from '../lib/trace.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/sdk')}, with authorization`

const watched = 'auth-sdk-1'

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  const document = authorized.document('sdk-1')
  const scene = { authorized, document, person: createPerson(authorized, 'alice', document.url), trace: traceFetch() }
  const question = createQuestion()
  const sdk = useSdk1(scene, question.put)
  const client = await authorizeFirst(sdk, scene)
  await table.add('connect', async () => `${checkFound(scene)}; then a session`)
  await table.add('call', () => checkReads(client, scene))
  client.cannot = { 'step-up': () => checkNoStepUp(client, scene) }
  await table.play(client, 'step-up')
  await table.add('step-up, alone', () => checkStepUpAlone(sdk, client, scene))
  const begun = { sessionId: client.sessionId(), task: await client.startTask('export_notes', {}) }
  await table.add('refresh', () => checkRefresh(client, scene))
  await table.add('task kept', () => checkTaskKept(client, scene, begun))
  await table.add("another's", () => checkAnother(authorized, begun))
  const limitMs = (tokenSeconds + 40) * 1_000
  await Promise.all([
    table.add('GET: expiry', () => checkExpiry(client, scene, begun), limitMs),
    table.add('call: expiry', () => checkCallKept(client, scene, question), limitMs),
  ])
  await client.close()
  return rows
}

/** It has a refresh token, so it takes a new token for the same scopes, which helps nothing, and gives up. */
async function checkNoStepUp(client, { person, trace }) {
  const asked = person.asked.length
  const add = client.callTool('add_note', { id: watched, text: 'Written' })
  const said = await rejectionOf(add, /403 after trying upscoping/)
  assert.equal(person.asked.length, asked)
  assert.equal(trace.grants('refresh_token').length, 1)
  return `it refreshes its token instead, which gives it the same scopes: "${said}"`
}

/** A host that keeps no refresh token gets as far as asking. */
async function checkStepUpAlone(sdk, client, scene) {
  const { kept } = scene.person
  kept.tokens = { ...kept.tokens, refresh_token: undefined }
  // It tries once until something succeeds.
  await client.listTools()
  return `without a refresh token: ${await checkStepUp(sdk, client, scene, watched)}`
}

/** The session and the task were begun with a token that is gone. */
async function checkTaskKept(client, { trace }, { sessionId, task }) {
  await until(async () => (await client.getTask(task.taskId)).status === 'completed', 'the task was done', 5_000)
  const { content } = await client.taskResult(task.taskId)
  assert.match(content[0].text, /Written/)
  assert.equal(client.sessionId(), sessionId)
  assert.equal(trace.calls('initialize').filter(({ status }) => status === 200).length, 1)
  return 'the same session; the result of the task was fetched with the new token'
}

/** Somebody else who knows their ids. */
async function checkAnother(authorized, { sessionId, task }) {
  const scene = { authorized, person: createPerson(authorized, 'bob'), trace: traceFetch() }
  const client = await authorizeFirst(useSdk1(scene), scene)
  try {
    const said = await rejectionOf(client.getTask(task.taskId), /no such task/)
    assert.equal(said, await rejectionOf(client.getTask('0'.repeat(64)), /no such task/))
    const [theirs, unknown] = await Promise.all(['', 'x'].map((more) => askIn(sessionId + more, scene)))
    assert.equal(theirs.status, 404)
    assert.deepEqual(theirs, unknown)
    return `bob: "${said}"; the session is answered as one that never was: ${theirs.status}`
  } finally {
    await client.close()
  }
}

async function askIn(sessionId, { authorized, person }) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${person.kept.tokens.access_token}`,
    'mcp-protocol-version': '2025-11-25',
    'mcp-session-id': sessionId,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const response = await fetch(authorized.mcp, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

/** The standalone stream ends with its token; the client comes back, is refused, and gets itself a new one. */
async function checkExpiry(client, { person, trace }, { sessionId }) {
  await client.subscribe(`note://${watched}`)
  const asked = person.asked.length
  // At the end of the first it may still have a token that is good.
  const isBack = () => trace.gets().at(-2)?.status === 401 && trace.gets().at(-1).status === 200
  await until(isBack, 'it is back', (tokenSeconds + 10) * 1_000)
  const [first, again] = trace.gets().slice(-2)
  assert.ok(first.headers.get('last-event-id'))
  // It does not say any more where it was.
  assert.equal(again.headers.get('last-event-id'), null)
  assert.equal(person.asked.length, asked)
  // The stream is attached once its headers are there.
  await sleep(200)
  client.heard.length = 0
  await client.callTool('add_note', { id: watched, text: 'Changed', replace: true })
  await until(() => updatesOf(client.heard).length > 0, 'news on the new stream')
  assert.equal(client.sessionId(), sessionId)
  return 'ended with its token; came back with Last-Event-ID (401), got a token, came back without it: its place is lost, news are heard'
}

/** A call that waits for its user while its token ends: it was let in, so its answer comes, without a break. */
async function checkCallKept(client, { person, trace }, question) {
  const { tokens } = person.kept
  const calling = client.callTool('delete_note', { id: watched })
  calling.catch(() => {})
  await until(() => question.isPut(), 'the tool asked')
  await until(() => person.kept.tokens !== tokens, 'the client got itself a new token', (tokenSeconds + 10) * 1_000)
  // Where it was cut off, it has come back by now.
  await sleep(3_000)
  question.answer({ action: 'decline' })
  const { content } = await calling
  assert.match(content[0].text, /did not confirm/)
  assert.equal(trace.calls('tools/call').filter(({ body }) => body.includes('delete_note')).length, 1)
  return 'asked with one token, answered with the next: the result came on the stream of the call'
}

/** What a tool asks the person, who answers when told to. */
function createQuestion() {
  let isPut = false
  let answer
  const answered = new Promise((resolve) => (answer = resolve))
  return {
    put() {
      isPut = true
      return answered
    },
    isPut: () => isPut,
    answer,
  }
}
