// How often one address may ask for what writes or fetches, and what it is answered when that is too often. How often is
// said in wrangler.authorization.toml.

import { networkOf } from '../network.ts'
import { failure, report } from '../observability/sink.ts'
import type { AuthorizationConfig } from './config.ts'
import { message } from './page.ts'

/** The longest period a rate limit can have. Which one a binding has cannot be read. */
const RETRY_AFTER = { 'retry-after': '60' }

/**
 * Counts the requests of one site: true is an answer for a request over the limit. A binding that is missing or cannot be
 * asked takes nothing down: requests go on, and that is reported once.
 */
export function createRequestLimit(
  { issuer, rateLimit }: Pick<AuthorizationConfig, 'issuer' | 'rateLimit'>,
  limiter: RateLimit | undefined,
): (request: Request) => Promise<boolean> {
  // Bindings with one `namespace_id` share their counters in a whole account.
  const host = new URL(issuer).hostname
  let isReported = false
  return async function isOverLimit({ headers }) {
    if (!rateLimit) return false
    try {
      if (limiter === undefined) throw new TypeError('there is no [[ratelimits]] binding "REQUESTS"')
      const key = `${host} ${networkOf(headers.get('cf-connecting-ip') ?? '')}`
      return !(await limiter.limit({ key })).success
    } catch (cause) {
      if (!isReported)
        report(failure(new Error('the rate limit cannot be read: requests go on without it', { cause }), {}))
      isReported = true
      return false
    }
  }
}

/** 429 for a person. */
export function tooManyPage(): Response {
  const text = 'Too many requests came from your network. Wait a minute, then try again.'
  return message('Too many requests', text, { status: 429, headers: new Headers(RETRY_AFTER) })
}

/** 429 for a program, which may run in a browser. @see RFC 6749, 5.2 */
export function tooManyError(): Response {
  return Response.json(
    { error: 'temporarily_unavailable', error_description: 'Too many requests: try again in a minute' },
    {
      status: 429,
      headers: {
        ...RETRY_AFTER,
        'cache-control': 'no-store',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'Retry-After',
      },
    },
  )
}
