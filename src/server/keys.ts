// Sealing keys given as a secret. Their names come from the keys themselves, so order and number may change.

import { digestOf } from './canonical.ts'
import type { KeySource } from './ports.ts'

/** Keys from `STATE_KEYS`, newest first; or from `otherwise` when there are none. */
export function secretKeys(
  read: (env: Cloudflare.Env) => readonly string[] | undefined,
  otherwise: KeySource,
): KeySource {
  return async (env) => {
    const secrets = read(env)
    if (!secrets) return otherwise(env)
    const keys = await Promise.all(
      secrets.map(async (secret) => ({ kid: (await digestOf(secret)).slice(0, 16), secret })),
    )
    return { keys, refreshAt: Number.POSITIVE_INFINITY }
  }
}
