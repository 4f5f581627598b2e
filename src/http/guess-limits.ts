// How often an address may send tokens that are none. Only issuers that have to be asked are spared by it: a signature that
// is wrong costs nobody else anything.

import type { Guesses } from '../auth/authenticator.ts'
import type { Config } from '../config.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { ANONYMOUS } from '../server/ports.ts'
import { hostOf, ownerOf } from './caller.ts'

/** How long an address waits that was over the limit, in seconds. */
const PAUSE_SECONDS = 10
/** Addresses that wait. Over it all are forgotten: those who go on are found out again. */
const ADDRESSES = 1_000

/** Counts with the binding of all calls, `CALLS`, and only what failed: hosts share addresses. */
export class GuessLimits implements Guesses {
  readonly #config: Pick<Config, 'rateLimit' | 'publicUrl'>
  /** Until when an address waits, ms since the epoch. */
  readonly #waiting = new Map<string, number>()

  constructor(config: Pick<Config, 'rateLimit' | 'publicUrl'>) {
    this.#config = config
  }

  check({ headers }: Request): void {
    const until = this.#waiting.get(addressOf(headers))
    if (until === undefined || until <= Date.now()) return
    throw new ProtocolError(
      'TooManyRequests',
      'Too many requests: too many access tokens from this address were none, try again in a moment',
      undefined,
      {
        retryAfterSeconds: PAUSE_SECONDS,
      },
    )
  }

  async failed(request: Request, env: object): Promise<void> {
    const { CALLS } = env as { CALLS?: RateLimit }
    if (!this.#config.rateLimit || !CALLS) return
    const address = addressOf(request.headers)
    try {
      if ((await CALLS.limit({ key: `${hostOf(request, this.#config)} tokens ${address}` })).success) return
    } catch {
      // A limiter that is down must not take the server down; who counts calls reports it.
      return
    }
    if (this.#waiting.size >= ADDRESSES) this.#waiting.clear()
    this.#waiting.set(address, Date.now() + PAUSE_SECONDS * 1000)
  }
}

function addressOf(headers: Headers): string {
  return ownerOf({ auth: ANONYMOUS, headers })
}
