// `defineUpstream`: what is asked of a provider of tokens, for whom what it gave is kept, and what becomes of a no.
// @see RFC 6749, 2.3.1, 4.4; RFC 8693, 2; RFC 8707

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { defineTool, defineUpstream, type Upstream } from '../../src/server/index.ts'
import { createIssuer } from '../auth/issuer.ts'
import { json } from '../auth/tenant.ts'
import { bearer, logged } from '../isolation/support.ts'
import { later, withLimits } from '../sessions/support.ts'
import { modern, type Fetcher } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { createCallers, createProvider, DESCRIPTION, SECRET, type Callers, type Provider } from './support.ts'

let callers: Callers
beforeAll(async () => {
  callers = await createCallers()
})

/** A tool that says which token it got. */
const toolOf = (upstream: Upstream) =>
  defineTool('token', { description: 'Gets a token.', handler: (_input, ctx) => upstream.token(ctx) })

const serverOf = (upstream: Upstream, vars = {}) => callers.serve({ tools: [toolOf(upstream)] }, vars)

/** Calls the tool. @returns its text, with `error: ` before the text of a failure */
async function got(fetcher: Fetcher, headers: Record<string, string>): Promise<string> {
  const { isError, content } = (await modern(fetcher, { headers }).call('token')).result
  return `${isError === true ? 'error: ' : ''}${content[0]?.text}`
}

const encode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
const basic = `Basic ${btoa(`${encode('mcp edge')}:${encode(SECRET)}`)}`
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

describe('what is asked', () => {
  test('with client credentials', async () => {
    const provider = createProvider()
    await provider.gives('up-1')
    const upstream = provider.upstream({
      scopes: ['events:read', 'events:write'],
      resource: 'https://calendar.example.com/',
      audience: 'calendar',
    })
    const { token, headers } = await callers.token()
    expect(await got(serverOf(upstream), headers)).toBe('up-1')
    expect(await provider.asked()).toEqual([
      {
        form: {
          grant_type: 'client_credentials',
          scope: 'events:read events:write',
          resource: 'https://calendar.example.com/',
          audience: 'calendar',
        },
        authorization: basic,
      },
    ])
    expect(JSON.stringify(await provider.tenant.requests())).not.toContain(token)
  })

  test('with nothing that was not chosen', async () => {
    const provider = createProvider()
    await provider.gives('up-1')
    await got(serverOf(provider.upstream()), (await callers.token()).headers)
    expect((await provider.asked())[0]!.form).toEqual({ grant_type: 'client_credentials' })
  })

  test('with the secret in the body', async () => {
    const provider = createProvider()
    await provider.gives('up-1')
    await got(serverOf(provider.upstream({ method: 'post' })), (await callers.token()).headers)
    expect(await provider.asked()).toEqual([
      {
        form: { grant_type: 'client_credentials', client_id: 'mcp edge', client_secret: SECRET },
        authorization: undefined,
      },
    ])
  })

  test('in exchange for the token of the caller', async () => {
    const provider = createProvider()
    await provider.gives('up-1', { issued_token_type: ACCESS_TOKEN })
    const upstream = provider.upstream({
      grant: 'token_exchange',
      scopes: ['events:read'],
      resource: 'https://calendar.example.com/',
      audience: 'calendar',
    })
    const { token, headers } = await callers.token()
    expect(await got(serverOf(upstream), headers)).toBe('up-1')
    expect(await provider.asked()).toEqual([
      {
        form: {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token: token,
          subject_token_type: ACCESS_TOKEN,
          requested_token_type: ACCESS_TOKEN,
          scope: 'events:read',
          resource: 'https://calendar.example.com/',
          audience: 'calendar',
        },
        authorization: basic,
      },
    ])
  })
})

describe('what was given is kept', () => {
  /** Counts up the tokens that a provider gives. */
  async function exchange(more = {}) {
    const provider = createProvider()
    const fetcher = serverOf(provider.upstream({ grant: 'token_exchange' }))
    let count = 0
    const give = () => provider.gives(`up-${++count}`, more)
    await give()
    return { provider, fetcher, give }
  }

  test('for everybody, with client credentials', async () => {
    const provider = createProvider()
    await provider.gives('up-1')
    const fetcher = serverOf(provider.upstream())
    expect(await got(fetcher, (await callers.token()).headers)).toBe('up-1')
    await provider.gives('up-2')
    for (const sub of ['ada', 'bob']) expect(await got(fetcher, (await callers.token({ sub })).headers)).toBe('up-1')
    expect(await provider.asked()).toHaveLength(1)
  })

  test('for one token alone, in exchange', async () => {
    const { provider, fetcher, give } = await exchange()
    const { headers } = await callers.token()
    expect(await got(fetcher, headers)).toBe('up-1')
    await give()
    expect(await got(fetcher, headers)).toBe('up-1')
    const others = [
      { sub: 'bob' },
      { sub: undefined, client_id: 'ada' },
      { client_id: 'another host' },
      { scope: 'notes:read notes:write' },
      { scope: '' },
    ]
    for (const [i, claims] of others.entries()) {
      expect(await got(fetcher, (await callers.token(claims)).headers)).toBe(`up-${i + 2}`)
      await give()
    }
    expect(await provider.asked()).toHaveLength(1 + others.length)
    expect(await got(fetcher, headers)).toBe('up-1')
  })

  test('not for another token of that caller: what it is good for may be more, or somewhere else', async () => {
    const { provider, fetcher, give } = await exchange()
    const one = await callers.token({ org_id: 'one' })
    expect(await got(fetcher, one.headers)).toBe('up-1')
    await give()
    const two = await callers.token({ org_id: 'two' })
    expect(await got(fetcher, two.headers)).toBe('up-2')
    await give()
    expect(await got(fetcher, one.headers)).toBe('up-1')
    expect(await got(fetcher, two.headers)).toBe('up-2')
    const subjects = (await provider.asked()).map(({ form }) => form['subject_token'])
    expect(subjects).toEqual([one.token, two.token])
  })

  test('not for one of that name at another issuer', async () => {
    const provider = createProvider()
    const [one, two] = await Promise.all([createIssuer(), createIssuer()])
    const AUTH_ISSUERS = JSON.stringify([one.settings({ id: 'one' }), two.settings({ id: 'two' })])
    const tools = [toolOf(provider.upstream({ grant: 'token_exchange' }))]
    const fetcher = serve({ tools }, { vars: { AUTH: 'oauth', AUTH_ISSUERS, CALENDAR_SECRET: SECRET } as object })
    await provider.gives('up-1')
    expect(await got(fetcher, bearer(await one.mint()))).toBe('up-1')
    await provider.gives('up-2')
    expect(await got(fetcher, bearer(await two.mint()))).toBe('up-2')
  })

  test('until shortly before it ends', async () => {
    const { provider, fetcher, give } = await exchange({ expires_in: 120 })
    const { headers } = await callers.token()
    expect(await got(fetcher, headers)).toBe('up-1')
    await give()
    later(105_000)
    expect(await got(fetcher, headers)).toBe('up-1')
    later(5_000)
    expect(await got(fetcher, headers)).toBe('up-2')
    expect(await provider.asked()).toHaveLength(2)
  })

  test('for a little where the provider does not say', async () => {
    const { fetcher, give } = await exchange({ expires_in: undefined })
    const { headers } = await callers.token()
    expect(await got(fetcher, headers)).toBe('up-1')
    await give()
    later(45_000)
    expect(await got(fetcher, headers)).toBe('up-1')
    later(6_000)
    expect(await got(fetcher, headers)).toBe('up-2')
  })

  test('not at all when it is about to end', async () => {
    const { fetcher, give } = await exchange({ expires_in: 5 })
    const { headers } = await callers.token()
    expect(await got(fetcher, headers)).toBe('up-1')
    await give()
    expect(await got(fetcher, headers)).toBe('up-2')
  })

  test('for a number of callers, the oldest of whom goes', async () => {
    withLimits({ knownTokens: 2 })
    const { provider, fetcher } = await exchange()
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(async (sub) => (await callers.token({ sub })).headers))
    for (const headers of [a!, b!, c!]) await got(fetcher, headers)
    await got(fetcher, c!)
    await got(fetcher, b!)
    expect(await provider.asked()).toHaveLength(3)
    await got(fetcher, a!)
    expect(await provider.asked()).toHaveLength(4)
  })

  test('apart for each service', async () => {
    const [one, two] = [createProvider(), createProvider()]
    await one.gives('one')
    await two.gives('two')
    const { headers } = await callers.token()
    expect(await got(serverOf(one.upstream()), headers)).toBe('one')
    expect(await got(serverOf(two.upstream()), headers)).toBe('two')
  })
})

/** What a caller is told of what is no matter of theirs. */
const DOWN = /^error: Internal error \(request [\w-]+\)$/

const grants = ['client_credentials', 'token_exchange'] as const

describe.each(grants)('a refusal, with %s', (grant) => {
  async function refusing(answer: Parameters<Provider['tenant']['set']>[1]) {
    const provider = createProvider()
    await provider.tenant.set('/token', answer)
    const lines = logged()
    const { token, headers } = await callers.token()
    const said = await got(serverOf(provider.upstream({ grant })), headers)
    for (const line of [...lines, said]) {
      for (const secret of [SECRET, encode(SECRET), basic.slice(6), token, token.split('.')[2]!])
        expect(line).not.toContain(secret)
    }
    return { said, lines: lines.join('\n'), provider, headers }
  }

  test.each(['invalid_target', 'invalid_grant', 'invalid_scope', 'invalid_request', 'interaction_required'])(
    'with %s',
    async (error) => {
      const { said } = await refusing(
        json({ error, error_description: DESCRIPTION, error_uri: 'https://x.example' }, 400),
      )
      expect(said).toBe(`error: calendar cannot be called for you: its provider refused a token (${error})`)
    },
  )

  test.each(['invalid_client', 'unauthorized_client', 'unsupported_grant_type'])(
    'with %s is no matter of the caller, and the operator hears of it',
    async (error) => {
      const { said, lines } = await refusing(json({ error, error_description: DESCRIPTION }, 400))
      expect(said).toMatch(DOWN)
      expect(said).not.toContain('closed')
      expect(lines).toContain(`cannot get a token for calendar: ${error}: ${DESCRIPTION}`)
    },
  )

  test('is logged as far as it makes sense', async () => {
    const { lines } = await refusing(json({ error: 'invalid_client', error_description: 'y'.repeat(5_000) }, 400))
    expect(lines).toContain(`invalid_client: ${'y'.repeat(100)}…`)
    expect(lines).not.toContain('y'.repeat(101))
    expect((await refusing(json({ error: 'invalid_client' }, 400))).lines).toContain('calendar: invalid_client (')
  })

  test('is not kept', async () => {
    const { provider, headers } = await refusing(json({ error: 'invalid_target' }, 400))
    const fetcher = serverOf(provider.upstream({ grant }))
    await got(fetcher, headers)
    await provider.gives('up-1')
    expect(await got(fetcher, headers)).toBe('up-1')
  })

  const failures: [string, Parameters<Provider['tenant']['set']>[1]][] = [
    ['is cut off', { drop: true }],
    ['is 500', { status: 500, body: 'down' }],
    ['is 503 with JSON that is no error', json({ message: 'down' }, 503)],
    ['is a page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>Sign in' }],
    ['has no token', json({ token_type: 'Bearer' })],
    ['has a token that is none', json({ access_token: 7, token_type: 'Bearer' })],
    ['has an empty token', json({ access_token: '', token_type: 'Bearer' })],
    ['has a token of an unknown type', json({ access_token: 'x', token_type: 'mac' })],
    ['is no JSON', { status: 200, headers: { 'content-type': 'application/json' }, body: '{' }],
    ['leads elsewhere', { status: 307, headers: { location: 'https://elsewhere.example.com/token' } }],
    ['asks for another way to authenticate', { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }],
  ]
  test.each(failures)('that %s is an internal error, and the operator hears of it', async (_, answer) => {
    const { said, lines } = await refusing(answer)
    expect(said).toMatch(DOWN)
    expect(lines).toContain('cannot get a token for calendar')
  })

  test('that is no answer is given up', { timeout: 15_000 }, async () => {
    withLimits({ issuerFetchMs: 300 })
    const began = Date.now()
    const { said, lines } = await refusing({ hang: true })
    expect(said).toMatch(DOWN)
    expect(lines).toContain('cannot get a token for calendar')
    expect(Date.now() - began).toBeLessThan(3_000)
    expect(limits.issuerFetchMs).toBe(300)
  })
})

describe('a secret that is not there', () => {
  test.each([undefined, ''])('is an internal error, and the log says what to do: %j', async (CALENDAR_SECRET) => {
    const provider = createProvider()
    await provider.gives('up-1')
    const lines = logged()
    const fetcher = serverOf(provider.upstream(), { CALENDAR_SECRET })
    expect(await got(fetcher, (await callers.token()).headers)).toMatch(/^error: Internal error/)
    const what = 'there is no secret CALENDAR_SECRET: npx wrangler secret put CALENDAR_SECRET, or .dev.vars'
    expect(lines.join('\n')).toContain(`cannot get a token for calendar: ${what}`)
    expect(await provider.asked()).toEqual([])
  })

  test('but stands where its name belongs is not shown', async () => {
    const provider = createProvider()
    const lines = logged()
    const fetcher = serverOf(provider.upstream({ clientSecret: 'hush-hush' }))
    expect(await got(fetcher, (await callers.token()).headers)).toMatch(/^error: Internal error/)
    const problem = 'cannot get a token for calendar: its clientSecret is not the name of a secret that is set'
    expect(lines.join('\n')).toContain(problem)
    expect(lines.join('\n')).not.toContain('hush')
  })
})

test('without authorization there is no token to exchange, and one of the server’s own', async () => {
  const provider = createProvider()
  await provider.gives('up-1')
  const vars = { CALENDAR_SECRET: SECRET } as object
  expect(await got(serve({ tools: [toolOf(provider.upstream())] }, { vars }), {})).toBe('up-1')
  const exchanging = serve({ tools: [toolOf(provider.upstream({ grant: 'token_exchange' }))] }, { vars })
  expect(await got(exchanging, {})).toContain('error: calendar cannot be called for you here')
  expect(await provider.asked()).toHaveLength(1)
})

describe('a definition', () => {
  const define = (tokenEndpoint: string) => () =>
    defineUpstream('calendar', { tokenEndpoint, clientId: 'x', clientSecret: 'X', grant: 'client_credentials' })

  test.each([
    '',
    'token',
    '/token',
    'http://login.example.com/token',
    'ftp://login.example.com',
    'http://localhost.example.com',
  ])('with the endpoint %j is refused, by name', (endpoint) => {
    expect(define(endpoint)).toThrow(TypeError)
    expect(define(endpoint)).toThrow('"calendar"')
  })

  test.each([
    'https://login.example.com/token',
    'http://localhost:8788/token',
    'http://127.0.0.1/token',
    'http://[::1]/t',
  ])('with the endpoint %j is taken', (endpoint) => {
    expect(define(endpoint)).not.toThrow()
  })
})
