// The official client in a session, at a server that asks for a token: the session outlives its tokens.
import assert from 'node:assert/strict'
import { authorizeFirst, checkFound, checkReads, checkRefresh, checkStepUp } from '../lib/auth.mjs'
import { useClient2 } from '../lib/auth-sdks.mjs'
import { tokenOf } from '../lib/auth-tokens.mjs'
import { tokenSeconds } from '../lib/authorized.mjs'
import { updatesOf } from '../lib/change.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { createPerson } from '../lib/person.mjs'
import { connectRaw } from '../lib/raw.mjs'
import { createRows } from '../lib/rows.mjs'
import { traceFetch } from '../lib/trace.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/client')}, its default (legacy), with authorization`

const watched = 'auth-client-2-legacy'

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  const document = authorized.document('client-2-legacy')
  const scene = { authorized, document, person: createPerson(authorized, 'alice', document.url), trace: traceFetch() }
  const sdk = useClient2(scene, 'legacy')
  const client = await authorizeFirst(sdk, scene)
  const sessionId = client.sessionId()
  await table.add('connect', async () => {
    assert.equal((await client.about()).negotiated, '2025-11-25')
    assert.ok(sessionId)
    return `${checkFound(scene)}; then a session`
  })
  await table.add('call', () => checkReads(client, scene))
  await table.add('step-up', () => checkStepUp(sdk, client, scene, watched))
  await table.add('refresh', () => checkRefresh(client, scene))
  await table.add('GET: expiry', () => checkExpiry(client, scene), (tokenSeconds + 30) * 1_000)
  await table.add('session kept', () => {
    assert.equal(client.sessionId(), sessionId)
    assert.equal(scene.trace.calls('initialize').filter(({ status }) => status === 200).length, 1)
    return 'one session for four tokens'
  })
  await client.close()
  return rows
}

/** The standalone stream ends with its token, and is gone on with by the next: what happened between is heard. */
async function checkExpiry(client, { authorized, person, trace }) {
  await client.subscribe(`note://${watched}`)
  const [asked, before] = [person.asked.length, trace.gets().length]
  let open
  const isOpen = new Promise((resolve) => (open = resolve))
  trace.gate = ({ method }) => (method === 'GET' ? isOpen : undefined)
  await until(() => trace.gets().length > before, 'its stream ended', (tokenSeconds + 10) * 1_000)
  // The stream was of an older token than the client has by now.
  await person.tokenEnds()
  const authorization = `Bearer ${await tokenOf(authorized, 'notes:write')}`
  const write = { name: 'add_note', arguments: { id: watched, text: 'Changed', replace: true } }
  await connectRaw(authorized.mcp).request('tools/call', write, { authorization })
  client.heard.length = 0
  open()
  await until(() => updatesOf(client.heard).includes(`note://${watched}`), 'news from while it was away')
  const back = trace.gets().slice(before)
  assert.deepEqual(
    back.map(({ status }) => status),
    [401, 200],
  )
  const [cursor, again] = back.map(({ headers }) => headers.get('last-event-id'))
  assert.ok(cursor)
  assert.equal(again, cursor)
  assert.equal(person.asked.length, asked)
  return 'ended with its token; came back with Last-Event-ID: 401, a new token, and what had happened between'
}
