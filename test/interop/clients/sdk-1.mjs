// The SDK of version 1, which most hosts are built on: the handshake, and sessions.
import { nameAndVersion } from '../lib/command.mjs'
import { playLists } from '../lib/listen.mjs'
import { checkStream, playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'
import { connectSdk1 } from '../lib/sdk-1.mjs'
import { playSessions } from '../lib/sessions.mjs'

export const title = nameAndVersion('@modelcontextprotocol/sdk')

export async function play(setting) {
  const { rows, table } = createRows()
  const client = await connectSdk1(setting.notes.url)
  const expected = { slug: 'sdk1', handshake: 'initialize', revision: '2025-11-25', asks: true }
  await playNotes(table, client, setting.notes, expected)
  await table.add('GET stream', () => checkStream(setting.notes))
  await client.close()
  const handling = (url, listChanged) => connectSdk1(url, undefined, listChanged)
  const played = [playSessions(setting, connectSdk1, expected), playLists(setting.record, handling)]
  return [...rows, ...(await Promise.all(played)).flat()]
}
