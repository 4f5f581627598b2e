// The stream of a listener: the acknowledgement first, its id on every message, and nothing that was not agreed to.
// @see basic/patterns/subscriptions, Receiving Notifications and Multiple Concurrent Subscriptions

import { describe, expect, test } from 'vitest'
import { topicKey } from '../../src/protocol/topic.ts'
import { definePrompt, defineResource, defineResourceTemplate, defineServer } from '../../src/server/index.ts'
import { modern, type Id } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { change, changesOf, listen, listenersOf, publish, subscriptionOf, withLimits } from './support.ts'

const server = () =>
  defineServer({
    name: 'stream',
    version: '1.0.0',
    tools: [change],
    prompts: [definePrompt('prompt', { description: 'A prompt.', get: () => 'ok' })],
    resources: [
      defineResource('test://page', { name: 'page', read: () => 'text' }),
      defineResourceTemplate('test://page/{id}', { name: 'pages', read: ({ id }) => id }),
    ],
  })
const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

describe('a stream', () => {
  test('begins with its acknowledgement and nothing else, and stays open', async () => {
    const stream = await listen(modern(serve(server())), { toolsListChanged: true }, { id: 'listen-1' })
    expect(stream.response.status).toBe(200)
    expect(Object.fromEntries(stream.response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
    })
    const message =
      '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":' +
      '{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"listen-1"}}}'
    expect(stream.log.text).toBe(`event: message\ndata: ${message}\n\n`)
  })

  test('is opened also by a client that takes nothing but streams, or does not say what it takes', async () => {
    for (const accept of ['text/event-stream', '*/*', null]) {
      const stream = await listen(modern(serve(server())), LISTS, { accept })
      expect(stream.agreed).toEqual(LISTS)
    }
  })

  test.for<Id>([1, 0, -7, Number.MAX_SAFE_INTEGER, 'one', '1', '', 'ä "quoted"\n', 'x'.repeat(1_000)])(
    'says on every message which request opened it, in its type: %j',
    async (id) => {
      const changing = server()
      const client = modern(serve(changing))
      const filter = { ...LISTS, resourceSubscriptions: ['test://page'] }
      const stream = await listen(client, filter, { id })
      await publish(changing, 'tools', 'prompts', 'resources', 'resource test://page')
      const messages = [stream.acknowledgement]
      for (let i = 0; i < 4; i++) messages.push(await stream.next())
      withLimits({ streamMaxAgeMs: 20 })
      const end = await (await listen(client, filter, { id })).next()
      expect([...messages, end].map(subscriptionOf)).toEqual([id, id, id, id, id, id])
      expect(end).toMatchObject({ id, result: { resultType: 'complete' } })
    },
  )

  test('tells of a change with what the specification says, and nothing more', async () => {
    const changing = server()
    const stream = await listen(
      modern(serve(changing)),
      { ...LISTS, resourceSubscriptions: ['test://page'] },
      { id: 5 },
    )
    await publish(changing, 'tools', 'prompts', 'resources', 'resource test://page')
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 5 }
    const messages = [await stream.next(), await stream.next(), await stream.next(), await stream.next()]
    expect(messages).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
      { jsonrpc: '2.0', method: 'notifications/prompts/list_changed', params: { _meta } },
      { jsonrpc: '2.0', method: 'notifications/resources/list_changed', params: { _meta } },
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'test://page', _meta } },
    ])
  })

  test('tells of changes from its acknowledgement on, and not of earlier ones', async () => {
    const changing = server()
    const client = modern(serve(changing))
    await publish(changing, 'tools', 'resource test://page')
    const stream = await listen(client, { ...LISTS, resourceSubscriptions: ['test://page'] })
    await publish(changing, 'prompts')
    expect(await stream.told(1)).toEqual(['prompts'])
  })
})

describe('what was not asked for does not come', () => {
  test.for<[member: string, told: string]>([
    ['toolsListChanged', 'tools'],
    ['promptsListChanged', 'prompts'],
    ['resourcesListChanged', 'resources'],
  ])('beside %s alone', async ([member, told]) => {
    withLimits({ hubWindowMs: 0 })
    const changing = server()
    const stream = await listen(modern(serve(changing)), { [member]: true })
    await publish(changing, 'tools', 'prompts', 'resources', 'resource test://page', 'task f')
    expect(await stream.told(1)).toEqual([told])
    await publish(changing, 'resources', 'prompts', 'tools')
    expect(await stream.told(1)).toEqual([told])
  })

  test('beside two URIs: neither others, nor the list they are in', async () => {
    withLimits({ hubWindowMs: 0 })
    const changing = server()
    const resourceSubscriptions = ['test://page/a', 'test://page/B']
    const stream = await listen(modern(serve(changing)), { resourceSubscriptions })
    const ids = ['', '/c', '/A', '/b', '/a/', '/a?x', '/aa', '/%61'] as const
    await publish(changing, 'resources', ...ids.map((id) => `resource test://page${id}` as const))
    await publish(changing, 'resource Test://page/a', 'resource test://page/B')
    await publish(changing, 'resource test://page/a')
    expect(await stream.told(2)).toEqual(['resource test://page/B', 'resource test://page/a'])
  })

  test('beside an empty filter', async () => {
    withLimits({ streamMaxAgeMs: 200 })
    const changing = server()
    const stream = await listen(modern(serve(changing)), {})
    await publish(changing, 'tools', 'prompts', 'resources', 'resource test://page')
    expect(await stream.told(1)).toEqual(['end'])
  })

  test('beside a URI that was asked for and is not served', async () => {
    withLimits({ hubWindowMs: 0 })
    const changing = server()
    const resourceSubscriptions = ['test://other', 'test://page']
    const stream = await listen(modern(serve(changing)), { resourceSubscriptions })
    await publish(changing, 'resource test://other')
    await publish(changing, 'resource test://page')
    expect(await stream.told(1)).toEqual(['resource test://page'])
  })
})

describe('several streams', () => {
  test('of one client are told each what it asked for', async () => {
    withLimits({ hubWindowMs: 0 })
    const changing = server()
    const client = modern(serve(changing))
    const tools = await listen(client, { toolsListChanged: true }, { id: 1 })
    const page = await listen(client, { resourceSubscriptions: ['test://page'] }, { id: 2 })
    const both = await listen(client, { toolsListChanged: true, resourceSubscriptions: ['test://page'] }, { id: 3 })
    for (let i = 0; i < 2; i++) {
      await publish(changing, 'resource test://page', 'tools')
      expect(await tools.told(1)).toEqual(['tools'])
      expect(await page.told(1)).toEqual(['resource test://page'])
      expect(await both.told(2)).toEqual(['resource test://page', 'tools'])
    }
  })

  test('may have the same id, and one that ends leaves the other alone', async () => {
    withLimits({ hubWindowMs: 0 })
    const changing = server()
    const client = modern(serve(changing))
    const first = await listen(client, { toolsListChanged: true }, { id: 1 })
    const second = await listen(client, { promptsListChanged: true }, { id: 1 })
    await publish(changing, 'tools', 'prompts')
    expect([await first.told(1), await second.told(1)]).toEqual([['tools'], ['prompts']])
    await first.cancel()
    await publish(changing, 'tools', 'prompts')
    const message = await second.next()
    expect([message.method, subscriptionOf(message)]).toEqual(['notifications/prompts/list_changed', 1])
  })

  test('of many clients are told the same', async () => {
    const changing = server()
    const fetcher = serve(changing)
    const streams = await Promise.all(Array.from({ length: 20 }, (_, id) => listen(modern(fetcher), LISTS, { id })))
    expect(await listenersOf(changing)).toBe(20)
    await publish(changing, 'prompts')
    for (const stream of streams) expect(await stream.told(1)).toEqual(['prompts'])
  })
})

describe('two things that have the same number', () => {
  /** URIs whose topics are one number to a hub. */
  const [ours, theirs] = ['test://page/2gc32zyk7z5', 'test://page/pxszq4ludv'] as const

  test('are two all the same: who listens to one is not told of the other', async () => {
    withLimits({ hubWindowMs: 0 })
    expect(topicKey(`resource ${ours}`)).toBe(topicKey(`resource ${theirs}`))
    const changing = server()
    const client = modern(serve(changing))
    const one = await listen(client, { resourceSubscriptions: [ours] })
    const other = await listen(client, { resourceSubscriptions: [theirs] })
    const both = await listen(client, { resourceSubscriptions: [ours, theirs] })
    await publish(changing, `resource ${theirs}`)
    expect([await other.told(1), await both.told(1)]).toEqual([[`resource ${theirs}`], [`resource ${theirs}`]])
    await publish(changing, `resource ${ours}`)
    expect([await one.told(1), await both.told(1)]).toEqual([[`resource ${ours}`], [`resource ${ours}`]])
    await publish(changing, `resource ${ours}`, `resource ${theirs}`)
    expect([await one.told(1), await other.told(1)]).toEqual([[`resource ${ours}`], [`resource ${theirs}`]])
    expect(await both.told(2)).toEqual([`resource ${ours}`, `resource ${theirs}`])
    expect(await changesOf(changing)).toContain(`resource ${theirs}`)
  })
})
