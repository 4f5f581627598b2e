// Waiting for what a client or the server does by itself.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves once `isSo()`, which may be a promise; fails after `limitMs`, naming what it waited for. */
export async function until(isSo, what, limitMs = 3_000) {
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(50)) if (await isSo()) return
  assert.fail(`not within ${limitMs / 1000} s: ${what}`)
}
