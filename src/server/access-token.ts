// The one place where a caller's own token is kept: beside who is calling, never in it, so that nothing stores, logs or
// forwards it with the rest. Only `defineUpstream` reads it, to exchange it for another. It dies with the request.

import type { Auth } from './ports.ts'

const tokens = new WeakMap<Auth, string>()

/** Notes the token that a caller came with. */
export function noteToken(auth: Auth, token: string): Auth {
  tokens.set(auth, token)
  return auth
}

/** The token a caller came with. Undefined in tasks, in calls that were entered again, and where there is no authorization. */
export function tokenOf(auth: Auth): string | undefined {
  return tokens.get(auth)
}
