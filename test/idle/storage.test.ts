// What sessions cost that nobody uses: nothing. Counts rows, tables and alarms in the objects, because locally an object
// that was merely woken leaves an empty file.
// @see durable-objects/STORAGE.md

import { env } from 'cloudflare:workers'
import { listDurableObjectIds, runInDurableObject } from 'cloudflare:test'
import { expect, test } from 'vitest'
import { NOTHING, sessionOf, storageOf, stubOf, tool } from '../sessions/support.ts'
import { describeEras, legacySession, type LegacyRevision } from '../support/client.ts'
import { servers } from '../support/main.ts'
import { serve } from '../support/serve.ts'

const ABANDONED = 1_000
const AT_ONCE = 50

const fetcher = serve({
  tools: [tool('quick', () => 'done'), tool('awaits', async () => (await Promise.resolve(), 'done'))],
})

test(`${ABANDONED} sessions that were begun and never ended leave no row, no table and no alarm`, async () => {
  const before = new Set(servers.keys())
  for (let begun = 0; begun < ABANDONED; begun += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, () => legacySession(fetcher, '2025-11-25')))
  const minted = [...servers.keys()].filter((id) => !before.has(id))
  expect(new Set(minted).size).toBe(ABANDONED)
  // Before they are looked into: the handshake has woken none of them.
  expect(await listDurableObjectIds(env.SESSION)).toEqual([])
  const kept = new Set<string>()
  for (let i = 0; i < ABANDONED; i += AT_ONCE)
    await Promise.all(
      minted.slice(i, i + AT_ONCE).map(async (objectId) => kept.add(JSON.stringify(await storageOf({ objectId })))),
    )
  expect([...kept]).toEqual([JSON.stringify(NOTHING)])
}, 60_000)

describeEras(
  'a session in use',
  (_client, revision) => {
    test('keeps nothing of a quick and quiet call, nor of a list, a ping or a stream on which nothing happened', async () => {
      const session = await sessionOf(fetcher, revision as LegacyRevision)
      for (const name of ['quick', 'awaits']) await session.result('tools/call', { name, arguments: {} })
      await session.result('tools/list')
      await session.result('ping')
      const stream = await session.listen()
      await session.result('tools/call', { name: 'quick', arguments: {} })
      expect(await storageOf(session)).toEqual(NOTHING)
      await stream.cancel()
      expect(await storageOf(session)).toEqual(NOTHING)
    })
  },
  { until: '2025-11-25' },
)

test('a look at an object that never stored anything stores nothing', async () => {
  const session = await sessionOf(fetcher)
  await session.cancel(1)
  await session.reply('unknown', { result: {} })
  await runInDurableObject(stubOf(session), (object) => object.alarm())
  expect(await storageOf(session)).toEqual(NOTHING)
})
