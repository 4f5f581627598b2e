// The official client on the modern revision, at a server that asks for a token.
import assert from 'node:assert/strict'
import { authorizeFirst, checkFound, checkReads, checkRefresh, checkStepUp } from '../lib/auth.mjs'
import { useClient2 } from '../lib/auth-sdks.mjs'
import { tokenSeconds } from '../lib/authorized.mjs'
import { updatesOf } from '../lib/change.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { createPerson } from '../lib/person.mjs'
import { createRows } from '../lib/rows.mjs'
import { traceFetch } from '../lib/trace.mjs'
import { until } from '../lib/until.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/client')}, with authorization`

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  const document = authorized.document('client-2')
  const scene = { authorized, document, person: createPerson(authorized, 'alice', document.url), trace: traceFetch() }
  const sdk = useClient2(scene, 'auto')
  const client = await authorizeFirst(sdk, scene)
  await table.add('connect', async () => {
    const { negotiated } = await client.about()
    assert.equal(negotiated, '2026-07-28')
    return `${checkFound(scene)}; then ${negotiated}`
  })
  await table.add('call', () => checkReads(client, scene))
  await table.add('step-up', () => checkStepUp(sdk, client, scene, 'auth-client-2'))
  await table.add('two machines', () => checkTwoMachines(client, scene))
  await table.add('refresh', () => checkRefresh(client, scene))
  await table.add('listen: expiry', () => checkExpiry(client, scene), (tokenSeconds + 30) * 1_000)
  await client.close()
  return rows
}

/** The same person in the same client elsewhere, whose id and redirect URI are the same: nobody is signed out. */
async function checkTwoMachines(client, scene) {
  const { authorized, document } = scene
  const other = { authorized, person: createPerson(authorized, 'alice', document.url), trace: traceFetch() }
  const elsewhere = await authorizeFirst(useClient2(other, 'auto'), other)
  await elsewhere.close()
  await checkRefresh(client, scene)
  return 'signed in once more, and the first still gets new tokens'
}

/** A stream lives no longer than the token it was asked for with; the client is told, and asks again with a new one. */
async function checkExpiry(client, { person, trace }) {
  const filter = { resourceSubscriptions: ['note://auth-listen'] }
  const begun = Date.now()
  const subscription = await client.listen(filter)
  assert.equal(await subscription.closed, 'graceful')
  const seconds = (Date.now() - begun) / 1_000
  assert.ok(seconds < tokenSeconds + 3, `${seconds} s`)
  const [asked, before] = [person.asked.length, trace.requests.length]
  await client.listen(filter)
  assert.equal(person.asked.length, asked)
  const lines = trace.lines(before)
  assert.deepEqual([lines[0], ...lines.slice(-2)], ['POST /mcp 401', 'POST /oauth/token 200', 'POST /mcp 200'])
  client.heard.length = 0
  await client.callTool('add_note', { id: 'auth-listen', text: 'Changed', replace: true })
  await until(() => updatesOf(client.heard).includes('note://auth-listen'), 'news on the new stream')
  return `ended as "graceful" with its token, after ${Math.round(seconds)} s; listens again: 401, a new token, and news`
}
