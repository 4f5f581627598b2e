// All that is played in sessions with one client. Each part has a connection and a recording of its own, so that they run
// at the same time.
import { checkCancel } from './extra.mjs'
import { checkEnded, checkTerminate, playRestart, playShortLives } from './lifetime.mjs'
import { createRows } from './rows.mjs'
import { playResumption, playSession } from './session.mjs'

/** Plays everything. `connect(url, revision)` makes an adapter. Returns the rows. */
export async function playSessions({ record, mortal }, connect, { slug }) {
  const restarts = [part('mortal', (...all) => playRestart(...all, mortal.restart))]
  const parts = [
    part('extra', async (table, client, wire) => {
      await playSession(table, client, wire)
      await table.play(client, 'cancel', () => checkCancel(client, wire, slug))
    }),
    part('extra', playResumption),
    part('short', (...all) => playShortLives(...all, { revision: '2025-11-25', primes: true })),
    part('short', (...all) => playShortLives(...all, { revision: '2025-06-18', primes: false }), '2025-06-18'),
    part('extra', (table, client, wire) => {
      return table.play(client, 'terminate', () => checkTerminate(client, wire), wire)
    }),
    part('extra', (table, client, wire) => {
      return table.play(client, 'ended elsewhere', () => checkEnded(client, wire), wire)
    }),
  ]
  const played = [playParts(record, connect, parts), mortal.use(() => playParts(record, connect, restarts))]
  return (await Promise.all(played)).flat()
}

/** What is played on one connection to one of the servers. */
export function part(server, play, revision = '2025-11-25') {
  return { server, play, revision }
}

/** Plays the parts at the same time. Returns their rows, in order. */
export async function playParts(record, connect, parts) {
  const played = parts.map(async ({ server, play, revision }) => {
    const { rows, table } = createRows()
    const wire = await record(server)
    const client = await connect(wire.url, revision)
    try {
      await play(table, client, wire)
    } finally {
      await client.close()
    }
    return rows
  })
  return (await Promise.all(played)).flat()
}
