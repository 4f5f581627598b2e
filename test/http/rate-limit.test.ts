// Who may ask how often: what counts, whose count it is, and what happens to a limit that is missing or down.

import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { quotaPort } from '../../durable-objects/quota-port.ts'
import { CallLimits, type LimitedArrival } from '../../src/http/rate-limit.ts'
import type { JsonRpcRequest } from '../../src/protocol/json-rpc.ts'
import { defineServer, defineTool, ProtocolError } from '../../src/server/index.ts'
import { digestOf } from '../../src/server/canonical.ts'
import { ANONYMOUS } from '../../src/server/ports.ts'
import { bearer, legacyPost, modernPost } from '../isolation/support.ts'
import { createScopeRealm, DEFINITIONS, type ScopeRealm } from '../scopes/support.ts'
import { describeEras, legacy, legacySession, modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { watchedObjects } from '../support/watched-objects.ts'
import { message as bare, post } from './post.ts'

/** What wrangler.toml gives the binding CALLS, per minute. */
const LIMIT = 1_000

const tool = (name: string, more: object = {}) =>
  defineTool(name, { description: name, ...more, handler: () => 'done' })
const own = (name: string, rateLimit: string, more?: object) => tool(name, { ...more, rateLimit })
const server = defineServer({
  name: 'test',
  version: '1.0.0',
  tools: [
    tool('plain'),
    own('dear', 'DEAR'),
    own('misnamed', 'NOWHERE'),
    own('confused', 'OTHER_WORKER'),
    own('hidden', 'NOWHERE', { visible: () => false }),
  ],
})

let lines: { level: string; text: string }[] = []

beforeEach(() => {
  lines = []
  for (const level of ['warn', 'error', 'log'] as const) {
    vi.spyOn(console, level).mockImplementation((text: unknown) => void lines.push({ level, text: String(text) }))
  }
})
afterEach(() => vi.restoreAllMocks())

/** A limit that keeps the keys it was asked for. */
function recorder(success = true) {
  const keys: string[] = []
  const limit = ({ key }: { key: string }) => {
    keys.push(key)
    return Promise.resolve({ success })
  }
  return { keys, limit }
}

interface Asking {
  bindings?: object
  config?: Partial<LimitedArrival['config']>
  principal?: string
  headers?: Record<string, string>
  url?: string
}

function arrival({
  bindings = {},
  config = {},
  principal,
  headers = {},
  url = 'https://mcp.example/mcp',
}: Asking = {}) {
  return {
    request: new Request(url, { method: 'POST', headers }),
    env: { ...env, ...bindings } as Cloudflare.Env,
    auth: principal === undefined ? ANONYMOUS : { principal },
    config: { publicUrl: undefined, log: 'requests', rateLimit: true, quota: undefined, ...config },
  } satisfies LimitedArrival
}

const message = (method: string, params: JsonRpcRequest['params'] = {}): JsonRpcRequest => ({
  kind: 'request',
  id: 1,
  method,
  params,
})
const call = (name = 'plain') => message('tools/call', { name })
const limitsOf = (of = server) => new CallLimits(of, quotaPort())

/** The keys a request was counted under. */
async function keysOf(asking: Asking, what = call()): Promise<string[]> {
  const { keys, limit } = recorder()
  await limitsOf().requests(arrival({ ...asking, bindings: { CALLS: { limit } } }), [what])
  return keys
}

async function refusal(asked: Promise<unknown> | undefined): Promise<ProtocolError | undefined> {
  try {
    return void (await asked)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
}

describe('what counts', () => {
  test.each([
    'tools/call',
    'completion/complete',
    'prompts/get',
    'resources/list',
    'resources/read',
    'initialize',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'subscriptions/listen',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
    'tasks/result',
    'tasks/list',
  ])('%s does', async (method) => {
    expect(await keysOf({}, message(method))).toHaveLength(1)
  })

  test.each(['ping', 'server/discover', 'tools/list', 'prompts/list', 'resources/templates/list', 'tools/unknown'])(
    '%s does not',
    async (method) => {
      expect(await keysOf({}, message(method))).toEqual([])
    },
  )

  test('GET and DELETE of a session do', async () => {
    const { keys, limit } = recorder()
    await limitsOf().session(arrival({ bindings: { CALLS: { limit } } }))
    expect(keys).toEqual(['mcp.example address '])
    const over = { CALLS: recorder(false) }
    expect(await refusal(limitsOf().session(arrival({ bindings: over })))).toMatchObject({ kind: 'TooManyRequests' })
  })

  test('every request of a batch does that would alone', async () => {
    const { keys, limit } = recorder()
    await limitsOf().requests(arrival({ bindings: { CALLS: { limit } } }), [call(), message('ping'), call('dear-not')])
    expect(keys).toHaveLength(2)
  })
})

describe('over the limit', () => {
  test(
    'of the platform’s binding, a caller is refused until the period is over, and others are not',
    { timeout: 60_000 },
    async () => {
      const limits = limitsOf()
      const ada = { principal: `user here ${crypto.randomUUID()}` }
      const fifty = Array.from({ length: 50 }, () => call())
      let passed = 0
      let error: ProtocolError | undefined
      // A minute may end meanwhile, and give as many again.
      for (; !error && passed <= 2 * LIMIT; passed += error ? 0 : 50) {
        error = await refusal(limits.requests(arrival(ada), fifty))
      }
      expect(passed).toBeGreaterThanOrEqual(LIMIT)
      expect(error).toMatchObject({ kind: 'TooManyRequests', headers: { retryAfterSeconds: 60 } })
      expect(error?.message).toBe('Too many requests: try again in a minute')
      await limits.requests(arrival({ principal: `user here ${crypto.randomUUID()}` }), [call()])
      await limits.requests(arrival({ ...ada, url: 'https://other.example/mcp' }), [call()])
      await limits.requests(arrival(ada), [message('tools/list')])
    },
  )

  test('a batch is refused as a whole', async () => {
    let left = 1
    const limit = () => Promise.resolve({ success: left-- > 0 })
    const asked = limitsOf().requests(arrival({ bindings: { CALLS: { limit } } }), [call(), call()])
    expect(await refusal(asked)).toMatchObject({ kind: 'TooManyRequests' })
  })

  test('nobody is, where RATE_LIMIT is off, nor by what a tool names', async () => {
    const bindings = { CALLS: recorder(false), DEAR: recorder(false) }
    const off = arrival({ bindings, config: { rateLimit: false } })
    await limitsOf().requests(off, [call()])
    await limitsOf().requests(off, [call('dear')])
    await limitsOf().requests(off, [call(), call('misnamed')])
    await limitsOf().session(off)
    expect(lines).toEqual([])
  })
})

describe('a key', () => {
  test('is the host and the principal', async () => {
    expect(await keysOf({ principal: 'user here ada' })).toEqual(['mcp.example principal user here ada'])
  })

  test('is of the same caller whatever the port, the path and the query', async () => {
    const [a] = await keysOf({ url: 'https://mcp.example:8443/mcp/?x=1' })
    expect(a).toBe('mcp.example address ')
  })

  test('has the host of PUBLIC_URL where it is set, since a wildcard route has as many as one likes', async () => {
    const config = { publicUrl: new URL('https://public.example/') }
    expect(await keysOf({ config, url: 'https://a1.example/mcp' })).toEqual(['public.example address '])
  })

  test('follows the host of each request', async () => {
    const { keys, limit } = recorder()
    const limits = limitsOf()
    for (const host of ['a.example', 'b.example', 'a.example']) {
      await limits.requests(arrival({ url: `https://${host}/mcp`, bindings: { CALLS: { limit } } }), [call()])
    }
    expect(keys).toEqual(['a.example address ', 'b.example address ', 'a.example address '])
  })

  test.each([
    ['192.0.2.7', 'address 192.0.2.7'],
    ['2001:db8:1:2::3', 'address 2001:db8:1'],
    ['2001:db8::3', 'address 2001:db8:0'],
  ])('of an anonymous caller is the address, or its network: %s', async (address, owner) => {
    expect(await keysOf({ headers: { 'cf-connecting-ip': address } })).toEqual([`mcp.example ${owner}`])
  })

  test('of an identified caller has no address', async () => {
    const headers = { 'cf-connecting-ip': '192.0.2.7' }
    expect(await keysOf({ principal: 'user here bob', headers })).toEqual(['mcp.example principal user here bob'])
  })

  test('is short also for a principal that is not', async () => {
    const principal = `user here ${'a'.repeat(5_000)}`
    const [key] = await keysOf({ principal })
    expect(key).toBe(`mcp.example ${await digestOf(`principal ${principal}`)}`)
    expect(await keysOf({ principal: `${principal}b` })).not.toEqual([key])
  })
})

describe('a tool that names a binding', () => {
  test('is counted there and not with the others', async () => {
    const [calls, dear] = [recorder(), recorder()]
    await limitsOf().requests(arrival({ bindings: { CALLS: calls, DEAR: dear } }), [call('dear')])
    expect([calls.keys, dear.keys]).toEqual([[], ['mcp.example address ']])
  })

  test('is refused by it', async () => {
    const bindings = { CALLS: recorder(), DEAR: recorder(false) }
    expect(await refusal(limitsOf().requests(arrival({ bindings }), [call('dear')]))).toMatchObject({
      kind: 'TooManyRequests',
    })
  })

  test.each([
    ['misnamed', 'NOWHERE', {}],
    [
      'confused',
      'OTHER_WORKER',
      { OTHER_WORKER: { fetch: () => {}, limit: () => Promise.resolve({ success: true }) } },
    ],
    ['confused', 'OTHER_WORKER', { OTHER_WORKER: 'a variable' }],
    ['confused', 'OTHER_WORKER', { OTHER_WORKER: null }],
    ['confused', 'OTHER_WORKER', { OTHER_WORKER: env.SESSION }],
  ])('that is none is not called: %s, %s', async (name, binding, bindings) => {
    const error = await refusal(
      limitsOf().requests(arrival({ bindings: { CALLS: recorder(), ...bindings } }), [call(name)]),
    )
    const cause = { message: `there is no [[ratelimits]] binding "${binding}", which a tool names` }
    expect(error).toMatchObject({ kind: 'Unavailable', cause })
    expect(error?.message).toBe('The tool cannot be called now: see the log of the server')
  })

  test('but that the caller may not see is counted as what never was', async () => {
    const { keys, limit } = recorder()
    const bindings = { CALLS: { limit } }
    await limitsOf().requests(arrival({ bindings }), [call('hidden')])
    await limitsOf().requests(arrival({ bindings }), [call('unknown')])
    expect(keys).toHaveLength(2)
  })

  test.each([[undefined], [7], [{ a: 1 }], ['__proto__']])('is none where the name is %j', async (name) => {
    expect(await keysOf({}, message('tools/call', { name: name as never }))).toHaveLength(1)
  })
})

describe('a limit', () => {
  test('that is missing is warned of once, and calls go on', async () => {
    const limits = limitsOf()
    for (let i = 0; i < 3; i++) await limits.requests(arrival({ bindings: { CALLS: undefined } }), [call()])
    expect(lines).toEqual([{ level: 'warn', text: expect.stringContaining('no [[ratelimits]] binding \\"CALLS\\"') }])
  })

  test.each([
    ['rejects', () => Promise.reject(new Error('limiter down'))],
    [
      'throws',
      () => {
        throw new Error('limiter down')
      },
    ],
    ['answers nonsense', () => Promise.resolve(undefined)],
  ])('that %s lets calls go on, and is reported once a minute', async (_how, limit) => {
    const limits = limitsOf()
    const down = arrival({ bindings: { CALLS: { limit }, DEAR: { limit } } })
    for (let i = 0; i < 3; i++) await limits.requests(down, [call(i === 1 ? 'dear' : 'plain')])
    expect(lines.map(({ level }) => level)).toEqual(['error'])
    expect(lines[0]!.text).toContain('a rate limit cannot be read: calls go on without it')
    const now = Date.now()
    vi.spyOn(Date, 'now').mockImplementation(() => now + 60_001)
    await limits.requests(down, [call()])
    expect(lines).toHaveLength(2)
  })

  test('says nothing of who calls', async () => {
    const limits = limitsOf()
    const down = { CALLS: { limit: () => Promise.reject(new Error('limiter down')) } }
    await limits.requests(arrival({ bindings: down, principal: 'user here ada' }), [call()])
    expect(lines[0]!.text).not.toContain('ada')
  })
})

describe('a quota', () => {
  const quota = { calls: 2, windowMs: 60_000 }
  const somebody = () => ({ config: { quota, rateLimit: false }, principal: `user here ${crypto.randomUUID()}` })

  test('counts tool calls only', async () => {
    const [limits, ada] = [limitsOf(), arrival(somebody())]
    await limits.quota(ada, [message('completion/complete')])
    await limits.quota(ada, [call()])
    await limits.quota(ada, [call()])
    const error = await refusal(limits.quota(ada, [call()]))
    expect(error).toMatchObject({ kind: 'TooManyRequests', headers: { retryAfterSeconds: expect.any(Number) } })
    await limits.quota(ada, [message('prompts/get')])
    await limits.session(ada)
  })

  test('counts the calls of a batch together', async () => {
    const [limits, ada] = [limitsOf(), arrival(somebody())]
    const error = await refusal(limits.quota(ada, [call(), message('prompts/get'), call(), call()]))
    expect(error).toMatchObject({ kind: 'TooManyRequests' })
    await limits.quota(ada, [call(), call(), message('ping')])
    await limits.quota(ada, [message('prompts/get')])
  })

  test('of an anonymous caller is that of its address', async () => {
    const limits = limitsOf()
    const from = (address: string) =>
      arrival({ config: { quota, rateLimit: false }, headers: { 'cf-connecting-ip': address } })
    const network = `2001:db8:${Math.trunc(Math.random() * 0xffff).toString(16)}`
    await limits.quota(from(`${network}:1::1`), [call()])
    await limits.quota(from(`${network}:2::1`), [call()])
    expect(await refusal(limits.quota(from(`${network}:3::1`), [call()]))).toBeDefined()
  })
})

/** A fetcher of the server whose platform says this about each request that is counted. */
function serving(success: boolean, vars: object = {}) {
  const { keys, limit } = recorder(success)
  return {
    keys,
    fetcher: serve(server, { vars: { RATE_LIMIT: 'on', CALLS: { limit }, ...vars } as Partial<Cloudflare.Env> }),
  }
}

describeEras(
  'who is over the limit',
  (client) => {
    test('gets 429 and is told when to come back', async () => {
      const error = await client.error('tools/call', { name: 'plain' })
      expect(error).toMatchObject({ status: 429, code: -32600, message: 'Too many requests: try again in a minute' })
      const { response } = await client.open('tools/call', { name: 'plain' })
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60'])
      // Also a page, which would see neither without CORS.
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('access-control-expose-headers')).toContain('Retry-After')
    })

    test('may still list', async () => {
      expect((await client.result('tools/list')).tools.length).toBeGreaterThan(0)
    })
  },
  { fetcher: serving(false).fetcher },
)

describe('over HTTP', () => {
  test('a tool whose binding is missing is 503, and the log says which', async () => {
    const error = await modern(serving(true).fetcher).error('tools/call', { name: 'misnamed' })
    expect(error).toMatchObject({ status: 503, message: 'The tool cannot be called now: see the log of the server' })
    expect(lines.map(({ text }) => text).join()).toContain('NOWHERE')
  })

  test('a batch that is over is 429 as a whole', async () => {
    const call = bare('tools/call', { name: 'plain' })
    const { fetcher, keys } = serving(false)
    const { status, messages } = await post(legacy(fetcher, '2025-03-26'), [
      { ...call, id: 1 },
      { ...call, id: 2 },
    ])
    expect([status, messages.length, keys.length]).toEqual([429, 1, 2])
  })

  test('a session’s beginning and end count, and what it is told does not', async () => {
    const { fetcher, keys } = serving(true)
    const session = await legacySession(fetcher, '2025-11-25')
    expect(keys).toHaveLength(1)
    await session.result('ping')
    expect(keys).toHaveLength(1)
    await session.end()
    expect(keys).toHaveLength(2)
  })

  test('a quota that is used up is 429 until its window ends', async () => {
    const headers = { 'cf-connecting-ip': crypto.randomUUID() }
    const { fetcher } = serving(true, { QUOTA: '2/hour' })
    const client = modern(fetcher)
    for (let i = 0; i < 2; i++) await client.call('plain', {}, { headers })
    const error = await client.error('tools/call', { name: 'plain' }, { headers })
    expect(error).toMatchObject({ status: 429, message: expect.stringContaining('0 of 2 tool calls left until') })
    expect((await client.result('tools/list', {}, { headers })).tools.length).toBeGreaterThan(0)
  })

  test('a call that the rate limit refuses takes nothing of the quota', async () => {
    const headers = { 'cf-connecting-ip': crypto.randomUUID() }
    const limited = modern(serving(false, { QUOTA: '1/hour' }).fetcher)
    expect((await limited.error('tools/call', { name: 'plain' }, { headers })).message).toContain('in a minute')
    await modern(serving(true, { QUOTA: '1/hour' }).fetcher).call('plain', {}, { headers })
  })
})

describe('with authorization', () => {
  let realm: ScopeRealm
  beforeAll(async () => {
    realm = await createScopeRealm()
  })

  /** The headers of somebody who has asked nothing yet, with tokens for several scopes. */
  const somebody = () => {
    const sub = `somebody-${crypto.randomUUID()}`
    return async (scope: string) => bearer(await realm.issuer.mint({ sub, scope }))
  }
  const write = { name: 'write', arguments: {} }
  /** The request of each era. */
  const posts: [era: string, post: (method: string, params: JsonObject, headers: Record<string, string>) => Request][] =
    [
      ['modern', modernPost],
      ['legacy', (method, params, headers) => legacyPost({ jsonrpc: '2.0', id: 1, method, params }, headers)],
    ]

  test.each(posts)('a call that lacks a scope takes nothing of the quota [%s]', async (_era, post) => {
    const as = somebody()
    const fetcher = realm.serve(DEFINITIONS, { QUOTA: '1/hour' })
    const call = async (scope: string) => (await fetcher(post('tools/call', write, await as(scope)))).status
    for (let i = 0; i < 3; i++) expect(await call('notes:read')).toBe(403)
    expect(await call('notes:write')).toBe(200)
    expect(await call('notes:write')).toBe(429)
    // Of what is over, the scopes are told first: the next token is needed anyway.
    expect(await call('notes:read')).toBe(403)
  })

  test('a batch that lacks a scope takes nothing of it either', async () => {
    const as = somebody()
    const fetcher = realm.serve(DEFINITIONS, { QUOTA: '2/hour' })
    const batch = ['open', 'write'].map((name, id) => ({ ...bare('tools/call', { name, arguments: {} }), id }))
    const send = async (scope: string) => (await fetcher(legacyPost(batch, await as(scope), '2025-03-26'))).status
    for (let i = 0; i < 3; i++) expect(await send('notes:read')).toBe(403)
    expect(await send('notes:write')).toBe(200)
    expect(await send('notes:write')).toBe(429)
  })

  test.each(posts)(
    'over the limit nobody is told of scopes, and no task is asked for its own [%s]',
    async (_, post) => {
      const touched: string[] = []
      const objects = watchedObjects(touched, 'KEY_RING')
      const as = somebody()
      const { keys, limit } = recorder(false)
      const over = realm.serve(DEFINITIONS, { ...objects, RATE_LIMIT: 'on', CALLS: { limit } })
      const requests: [string, JsonObject][] = [
        ['tools/call', write],
        ['tasks/get', { taskId: env.TASK.newUniqueId().toString() }],
        ['tasks/cancel', { taskId: env.TASK.newUniqueId().toString() }],
      ]
      for (const [method, params] of requests) {
        expect((await over(post(method, params, await as('notes:read')))).status).toBe(429)
      }
      expect([keys.length, touched]).toEqual([requests.length, []])
      const within = realm.serve(DEFINITIONS, { ...objects, RATE_LIMIT: 'on', CALLS: recorder() })
      await within(post(...requests[1]!, await as('notes:read')))
      expect(touched).toContain('TASK')
    },
  )

  test.each(posts)('what lacks a scope counts for the limit all the same [%s]', async (_era, post) => {
    const { keys, limit } = recorder()
    const fetcher = realm.serve(DEFINITIONS, { RATE_LIMIT: 'on', CALLS: { limit } })
    expect((await fetcher(post('tools/call', write, await somebody()('notes:read')))).status).toBe(403)
    expect(keys).toHaveLength(1)
  })
})
