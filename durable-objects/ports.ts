// What `src/server/ports.ts` asks for, made of Durable Objects. The one function that calls objects is here.

import type { SealingKeys } from '../src/server/ports.ts'

const ATTEMPTS = 3

/**
 * Calls an object, again when the platform says that may help and repeating is harmless.
 * @param stub makes a fresh stub: one that threw may stay broken
 */
export async function callObject<S, T>(stub: () => S, use: (object: S) => Promise<T>, isIdempotent: boolean): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await use(stub())
    } catch (error) {
      if (!isIdempotent || !isTransient(error) || attempt === ATTEMPTS) throw error
      await scheduler.wait(50 * 2 ** attempt * (1 + Math.random()))
    }
  }
}

function isTransient(error: unknown): boolean {
  const { retryable, durableObjectReset, overloaded } = error as { [flag: string]: unknown }
  return (retryable === true || durableObjectReset === true) && overloaded !== true
}

/** Sealing keys from the one `KeyRingObject`. */
export function keyRing(env: Cloudflare.Env): Promise<SealingKeys> {
  return callObject(
    () => env.KEY_RING.getByName('keys'),
    async (ring) => ring.keys(Date.now()),
    true,
  )
}
