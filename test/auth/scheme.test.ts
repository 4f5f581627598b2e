// What the log says of a request without a token: with another scheme somebody tries something, and is told as little as
// everybody. Never the value, which may be a password or a token.

import { describe, expect, test } from 'vitest'
import { createIssuer } from './issuer.ts'
import { watchLog } from './log.ts'
import { call, MISSING, protect } from './table.ts'

describe('the log says of a header that is', () => {
  test.each([
    ['missing', undefined, 'there is no access token'],
    ['empty', '', 'there is no access token'],
    ['of scheme Basic', 'Basic secret', 'the Authorization header is of the scheme Basic, not Bearer'],
    ['of scheme DPoP', 'DPoP  secret', 'the Authorization header is of the scheme DPoP, not Bearer'],
    ['only a value', 'secret', 'the Authorization header is not of the scheme Bearer'],
    [
      'of a scheme longer than any',
      `secret${'x'.repeat(20)} secret`,
      'the Authorization header is not of the scheme Bearer',
    ],
    ['of no scheme, with a space', 'secret: x', 'the Authorization header is not of the scheme Bearer'],
  ])('%s', async (_, value, reason) => {
    const log = watchLog()
    const logging = protect([(await createIssuer()).settings()], { LOG: 'requests' })
    const answer = await call(logging, value === undefined ? {} : { authorization: value })
    log.restore()
    expect(answer).toEqual(MISSING)
    expect(log.text()).toContain(`"reason":"${reason}"`)
    expect(log.text()).not.toContain('secret')
  })
})
