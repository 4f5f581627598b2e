// Who may not listen, and what they are told: in JSON, before a stream begins.
// @see basic/patterns/subscriptions; basic/transports/streamable-http; ext-tasks, Status Notifications

import { env } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import { limits } from '../../src/limits.ts'
import { definePrompt, defineServer, defineTool } from '../../src/server/index.ts'
import { describeEras, legacy, modern, type ModernClient } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { as, byHeader, change, eventually, listen, listenersOf, publish, sleep, withLimits } from './support.ts'

const server = (tools = [change]) => defineServer({ name: 'refusals', version: '1.0.0', tools })
const TOOLS = { toolsListChanged: true }

/** The answer to one more listener. */
const oneMore = (client: ModernClient) => client.request('subscriptions/listen', { notifications: TOOLS })

test('a client that takes JSON alone is told that there is a stream', async () => {
  const changing = server()
  const answer = await modern(serve(changing)).request(
    'subscriptions/listen',
    { notifications: TOOLS },
    { accept: 'application/json', id: 'a' },
  )
  expect([answer.status, answer.contentType]).toEqual([406, 'application/json'])
  expect(answer.response).toMatchObject({ id: 'a', error: { code: -32600 } })
  expect(answer.error?.message).toContain('text/event-stream')
  expect(await listenersOf(changing)).toBe(0)
})

describeEras('on a server that has nothing to announce', (_client, revision) => {
  test('there is nothing to listen to', async () => {
    const fetcher = serve({})
    const client = revision === '2026-07-28' ? modern(fetcher) : legacy(fetcher, revision as '2025-11-25')
    const expected = { status: revision === '2026-07-28' ? 404 : 200, code: -32601 }
    expect(await client.error('subscriptions/listen', { notifications: TOOLS })).toMatchObject(expected)
  })
})

describe('a client that does not declare tasks', () => {
  const work = defineTool('work', { description: 'Works.', task: { support: 'optional' }, handler: () => 'ok' })
  const refusal = {
    status: 400,
    code: -32021,
    data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
  }

  test.for<[string, object]>([
    ['at all', {}],
    ['but something else', { extensions: { 'com.example/tasks': {} } }],
    ['with settings that are none', { extensions: { 'io.modelcontextprotocol/tasks': true } }],
  ])('%s may not name any, and is told what is missing', async ([, capabilities]) => {
    const client = modern(serve(server([work])), { capabilities: { ...capabilities } })
    for (const taskIds of [['f'.repeat(64)], []]) {
      const error = await client.error('subscriptions/listen', { notifications: { ...TOOLS, taskIds } })
      expect(error).toMatchObject(refusal)
    }
  })

  test('may listen to everything else', async () => {
    const stream = await listen(modern(serve(server([work]))), TOOLS)
    expect(stream.agreed).toEqual(TOOLS)
  })
})

describe('too many listeners', () => {
  async function tooMany(client: ModernClient): Promise<void> {
    const { status, contentType, headers, error } = await oneMore(client)
    expect([status, contentType, error?.code]).toEqual([429, 'application/json', -32600])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(error?.message).toContain('too many streams of yours')
  }

  test('the id of a stream may have limits.listenIdChars characters', async () => {
    const client = modern(serve(server()))
    const params = { notifications: TOOLS }
    const longest = await client.open('subscriptions/listen', params, { id: 'x'.repeat(1_024) })
    expect(longest.response.status).toBe(200)
    await longest.cancel()
    const { status, code, message } = await client.error('subscriptions/listen', params, { id: 'x'.repeat(1_025) })
    expect([status, code, message]).toEqual([400, -32600, expect.stringContaining(String(limits.listenIdChars))])
  })

  test('who is refused makes the others of its owner be written to: who left is seen then', async () => {
    withLimits({ addressListeners: 1 })
    const client = modern(serve(server()))
    const stream = await client.open('subscriptions/listen', { notifications: TOOLS })
    await stream.messages.next()
    expect(stream.comments).toBe(0)
    await tooMany(client)
    const next = stream.messages.next()
    await eventually(async () => stream.comments > 0)
    await stream.cancel()
    await next
  })

  /** Listens once there is room. */
  async function listenSoon(client: ModernClient): Promise<void> {
    await eventually(async () => {
      const stream = await client.open('subscriptions/listen', { notifications: TOOLS })
      await stream.messages.next()
      await stream.cancel()
      return stream.response.status === 200
    })
  }

  test('of one principal are refused, from whatever address; others are not concerned', async () => {
    withLimits({ principalListeners: 2, addressListeners: 1 })
    const changing = server()
    const fetcher = serve(changing, { authenticate: byHeader })
    const at = (principal: string, address: string) =>
      modern(fetcher, { headers: { ...as(principal), 'cf-connecting-ip': address } })
    const streams = [await listen(at('ada', '192.0.2.1'), TOOLS), await listen(at('ada', '192.0.2.2'), TOOLS)]
    await tooMany(at('ada', '192.0.2.3'))
    await tooMany(at('ada', '192.0.2.1'))
    for (const name of ['eve', 'Ada', 'ada2']) await listen(at(name, '192.0.2.1'), TOOLS)
    await listen(modern(fetcher, { headers: { 'cf-connecting-ip': '192.0.2.1' } }), TOOLS)
    expect(await listenersOf(changing)).toBe(5 + 1)
    await publish(changing, 'tools')
    for (const stream of streams) expect(await stream.told(1)).toEqual(['tools'])
  })

  test.for<[what: string, same: string[], other: string]>([
    ['an address', ['192.0.2.1', '192.0.2.1', '192.0.2.1'], '192.0.2.2'],
    ['an IPv6 network', ['2001:db8:1:2::1', '2001:db8:1:ffff::2', '2001:db8:1:2:3:4:5:6'], '2001:db8:2:2::1'],
    ['a network with zeros', ['2001:db8::1', '2001:db8:0:7:1::', '2001:db8:0:0:a:b:c:d'], '2001:db8:1::1'],
    ['the loopback network', ['::1', '::2', '0:0:0:9:1:2:3:4'], '1::'],
    ['callers without an address', ['', '', ''], '192.0.2.1'],
  ])('of anonymous callers are counted together for %s', async ([, same, other]) => {
    withLimits({ addressListeners: 2, principalListeners: 1 })
    const fetcher = serve(server())
    const at = (address: string) => modern(fetcher, { headers: address ? { 'cf-connecting-ip': address } : {} })
    for (const address of same.slice(1)) await listen(at(address), TOOLS)
    for (const address of same) await tooMany(at(address))
    await listen(at(other), TOOLS)
  })

  test('leave room at once when one of them is closed by its client, or comes to its end', async () => {
    withLimits({ addressListeners: 2 })
    const changing = server()
    const client = modern(serve(changing))
    const first = await listen(client, TOOLS)
    await listen(client, TOOLS)
    await tooMany(client)
    await first.cancel()
    await listenSoon(client)
    withLimits({ addressListeners: 2, streamMaxAgeMs: 10 })
    await eventually(async () => (await listenersOf(changing)) === 1)
    const short = await listen(client, TOOLS)
    expect(await short.told(1)).toEqual(['end'])
    await listenSoon(client)
  })

  test('are counted also by a hub that has slept', async () => {
    withLimits({ addressListeners: 3 })
    const changing = server()
    const client = modern(serve(changing))
    for (let i = 0; i < limits.addressListeners; i++) await listen(client, TOOLS)
    await tooMany(client)
    await sleep(changing)
    await tooMany(client)
    expect(await listenersOf(changing)).toBe(3)
  })
})

test('a hub that is full is tried again later', async () => {
  withLimits({ hubListeners: 1 })
  const client = modern(serve(server()))
  await listen(client, TOOLS)
  const { status, contentType, headers, error } = await oneMore(client)
  expect([status, contentType, error?.code]).toEqual([503, 'application/json', -32603])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
})

test('a hub that cannot be reached is tried again later, and the operator is told why', async () => {
  const lines: string[] = []
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line))
  const LISTEN_HUB = new Proxy(env.LISTEN_HUB, {
    get: () => () => {
      throw new Error('no hub today')
    },
  })
  const { status, contentType, headers, error } = await oneMore(modern(serve(server(), { vars: { LISTEN_HUB } })))
  expect([status, contentType, error?.code]).toEqual([503, 'application/json', -32603])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(error?.message).not.toContain('no hub today')
  expect(lines.join()).toContain('no hub today')
})

describe('a GET', () => {
  test.for<[string, Record<string, string>]>([
    ['with the cursor of a stream', { 'last-event-id': '1700000000000000.abc' }],
    ['with a session id', { 'mcp-session-id': 'x' }],
    ['with nothing else', {}],
  ])('of a modern client is no way to listen: %s', async ([, headers]) => {
    const client = modern(serve(server(), { vars: { RESUMABLE_LISTEN: 'on' } }))
    const answer = await client.raw({
      method: 'GET',
      headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28', ...headers },
    })
    expect([answer.status, answer.contentType]).toEqual([405, 'application/json'])
    expect(answer.headers.get('allow')).toContain('POST')
  })
})

test('a notification, or a request without a filter, opens no stream', async () => {
  const changing = defineServer({
    name: 'refusals',
    version: '1.0.0',
    prompts: [definePrompt('prompt', { description: 'A prompt.', get: () => 'ok' })],
  })
  const client = modern(serve(changing))
  expect((await client.notify('subscriptions/listen', { notifications: TOOLS })).status).toBe(202)
  expect(await client.error('subscriptions/listen')).toMatchObject({ status: 200, code: -32602 })
  expect(await listenersOf(changing)).toBe(0)
})
