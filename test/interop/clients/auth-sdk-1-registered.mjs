// The SDK of version 1 in a host without a metadata document, as most were before there were any: it registers itself.
import { authorizeFirst, checkFound, checkReads, checkRefresh } from '../lib/auth.mjs'
import { useSdk1 } from '../lib/auth-sdks.mjs'
import { nameAndVersion } from '../lib/command.mjs'
import { createPerson } from '../lib/person.mjs'
import { createRows } from '../lib/rows.mjs'
import { traceFetch } from '../lib/trace.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/sdk')}, with authorization, registering itself`

export async function play(setting) {
  const { rows, table } = createRows()
  const authorized = await setting.authorized()
  const scene = { authorized, person: createPerson(authorized, 'alice'), trace: traceFetch() }
  const client = await authorizeFirst(useSdk1(scene), scene)
  await table.add('connect', async () => checkFound(scene))
  await table.add('call', () => checkReads(client, scene))
  await table.add('refresh', () => checkRefresh(client, scene))
  await client.close()
  return rows
}
