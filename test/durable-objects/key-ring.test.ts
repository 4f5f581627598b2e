// Sealing keys: minted once, rotated, and forgotten when nothing they sealed can be valid.

import { env } from 'cloudflare:workers'
import { runInDurableObject } from 'cloudflare:test'
import { expect, test } from 'vitest'
import { keyRing } from '../../durable-objects/ports.ts'
import { limits } from '../../src/limits.ts'
import { createSealer } from '../../src/server/sealer.ts'
import type { SealingKeys } from '../../src/server/ports.ts'

const NOW = 1_800_000_000_000
const PERIOD = limits.keyRotationMs
const ring = (name: string) => env.KEY_RING.getByName(name)
const kids = ({ keys }: SealingKeys) => keys.map(({ kid }) => kid)

test('KeyRing gives two callers that race for the first key the same one', async () => {
  const [a, b] = await Promise.all([ring('race').keys(NOW), ring('race').keys(NOW)])
  expect(a).toEqual(b)
  expect(a.keys).toHaveLength(1)
  expect(a.keys[0]!.secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(a.refreshAt).toBe(NOW + PERIOD)
})

test('KeyRing rotates when a period is over and keeps the key before', async () => {
  const first = await ring('rotate').keys(NOW)
  expect(kids(await ring('rotate').keys(NOW + PERIOD - 1))).toEqual(kids(first))
  const second = await ring('rotate').keys(NOW + PERIOD)
  expect(kids(second)).toHaveLength(2)
  expect(kids(second)[1]).toBe(kids(first)[0])
  const third = await ring('rotate').keys(NOW + 2 * PERIOD)
  expect(kids(third)).toEqual([expect.any(String), kids(second)[0]])
})

test('a sealer opens what the previous key sealed, and refuses it after two rotations', async () => {
  const at = (now: number) => createSealer(() => ring('seal').keys(now))
  const token = await at(NOW).seal(env, { a: 1 })
  expect(await at(NOW).open(env, token)).toEqual({ a: 1 })
  expect(await at(NOW + PERIOD).open(env, token)).toEqual({ a: 1 })
  expect(await at(NOW + 2 * PERIOD).open(env, token)).toBeUndefined()
})

test('a sealer asks for keys once, until they are due', async () => {
  let calls = 0
  const sealer = createSealer(async (from) => {
    calls++
    return keyRing(from)
  })
  const token = await sealer.seal(env, { a: 1 })
  for (let i = 0; i < 5; i++) await sealer.open(env, token)
  await sealer.open(
    env,
    token.replace(/^[^.]+/, btoa('{"alg":"dir","enc":"A256GCM","kid":"unknown"}').replaceAll('=', '')),
  )
  expect(calls).toBe(1)
})

test('KeyRing stores at most two rows and sets no alarm', async () => {
  for (let i = 0; i < 5; i++) await ring('rows').keys(NOW + i * PERIOD)
  await runInDurableObject(ring('rows'), async (_object, state) => {
    expect(state.storage.sql.exec('select count(*) as n from sealing_key').one()).toEqual({ n: 2 })
    expect(await state.storage.getAlarm()).toBeNull()
  })
})
