// Whose a session is: for everybody else its id is one that never was, whatever is sent to it, and nothing comes of it.
// @see 2025-11-25 basic/security_best_practices, Session Hijacking

import { beforeAll, describe, expect, test } from 'vitest'
import { defineResource, defineTool } from '../../src/server/index.ts'
import { isAsk, sessionOf, stubOf, textOf, tool, type OwnSession } from '../sessions/support.ts'
import { notifyOf } from '../listen/support.ts'
import type { Fetcher, JsonObject, LegacyRevision, SessionStream } from '../support/client.ts'
import { createRealm, dumpOf, legacyPost, NAME, statusOf, whole, type People } from './support.ts'

const definition = {
  tools: [
    tool('asking', async (ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody'),
    tool('whoami', ({ auth }) => auth.principal),
    tool('change', (ctx) => {
      notifyOf(ctx, ['test://page'])
      return 'changed'
    }),
    defineTool('job', { description: 'A task.', task: { support: 'optional' }, handler: () => 'done' }),
  ],
  resources: [defineResource('test://page', { name: 'page', read: () => 'text' })],
}

let fetcher: Fetcher
let people: People
beforeAll(async () => {
  const realm = await createRealm()
  people = realm.people
  fetcher = realm.serve(definition)
})

/** A session of Alice that subscribes, and waits for an answer. */
interface Waiting {
  session: OwnSession
  stream: SessionStream
  askId: unknown
  cursor: string
}

async function waiting(revision: LegacyRevision = '2025-11-25'): Promise<Waiting> {
  const session = await sessionOf(fetcher, revision, { headers: people.alice, capabilities: { elicitation: {} } })
  await session.result('resources/subscribe', { uri: 'test://page' })
  const stream = await session.callStream('asking', {}, { id: 'call' })
  const ask = await stream.until(isAsk)
  return { session, stream, askId: ask.id, cursor: stream.lastEventId! }
}

const request = (method: string, params: JsonObject = {}) => ({ jsonrpc: '2.0', id: 'same', method, params })
const call = (name: string) => request('tools/call', { name, arguments: {} })

type Sent = (headers: Record<string, string>, about: Waiting) => Request

const get =
  (more: (about: Waiting) => Record<string, string> = () => ({})): Sent =>
  (headers, about) =>
    new Request('http://localhost/mcp', {
      headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25', ...headers, ...more(about) },
    })
const post =
  (body: (about: Waiting) => unknown, version?: string): Sent =>
  (headers, about) =>
    legacyPost(body(about), headers, version)

const accept = { action: 'accept', content: { name: 'Eve' } }
const requests: [what: string, sent: Sent][] = [
  ['ping', post(() => request('ping'))],
  ['a call', post(() => call('whoami'))],
  ['a call that asks', post(() => call('asking'))],
  ['a call of no tool', post(() => call('no such'))],
  ['a list', post(() => request('tools/list'))],
  ['a read', post(() => request('resources/read', { uri: 'test://page' }))],
  ['a subscription', post(() => request('resources/subscribe', { uri: 'test://page' }))],
  ['the end of the subscription', post(() => request('resources/unsubscribe', { uri: 'test://page' }))],
  ['a log level', post(() => request('logging/setLevel', { level: 'debug' }))],
  ['a task', post(() => request('tools/call', { name: 'job', arguments: {}, task: {} }))],
  ['the list of tasks', post(() => request('tasks/list'))],
  ['an unknown method', post(() => request('no/such'))],
  ['a notification', post(() => ({ jsonrpc: '2.0', method: 'notifications/initialized' }))],
  [
    'a cancellation',
    post(() => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'call' } })),
  ],
  ['an answer', post(({ askId }) => ({ jsonrpc: '2.0', id: askId, result: accept }))],
  ['an error', post(({ askId }) => ({ jsonrpc: '2.0', id: askId, error: { code: -1, message: 'no' } }))],
  ['an answer to nothing', post(() => ({ jsonrpc: '2.0', id: 'nothing', result: accept }))],
  ['a batch', post(({ askId }) => [call('whoami'), { jsonrpc: '2.0', id: askId, result: accept }], '2025-03-26')],
  ['a batch of answers', post(({ askId }) => [{ jsonrpc: '2.0', id: askId, result: accept }], '2025-03-26')],
  ['no JSON-RPC', post(() => 7)],
  ['a stream', get()],
  ['a stream that goes on', get(({ cursor }) => ({ 'last-event-id': cursor }))],
  ['a stream that goes on from nowhere', get(() => ({ 'last-event-id': 'x-1.1.1' }))],
  [
    'the end of the session',
    (headers) =>
      new Request('http://localhost/mcp', {
        method: 'DELETE',
        headers: { 'mcp-protocol-version': '2025-11-25', ...headers },
      }),
  ],
]

/** Another id of the same form. Not the last character, some of whose bits mean nothing. */
const altered = (id: string): string => `${id.slice(0, -3)}${id.at(-3) === 'A' ? 'B' : 'A'}${id.slice(-2)}`

describe.each(requests)('%s', (_, sent) => {
  test('of anybody else is answered as for an id that never was, and changes nothing', async () => {
    const about = await waiting()
    const before = await dumpOf(stubOf(about.session))
    for (const [who, headers] of people.strangers) {
      const answer = async (id: string) => whole(await fetcher(sent({ ...headers, 'mcp-session-id': id }, about)))
      const foreign = await answer(about.session.id)
      for (const unknown of ['unknown', altered(about.session.id), 'x'.repeat(600)]) {
        expect(foreign, who).toBe(await answer(unknown))
      }
      expect(statusOf(foreign), who).toBeGreaterThanOrEqual(400)
    }
    expect(await dumpOf(stubOf(about.session))).toBe(before)
    await about.stream.cancel()
  })

  test('is answered the same also once the session has ended', async () => {
    const about = await waiting()
    const [, headers] = people.strangers[0]!
    const answer = async (id: string) => whole(await fetcher(sent({ ...headers, 'mcp-session-id': id }, about)))
    const alive = await answer(about.session.id)
    await about.session.end()
    expect(await answer(about.session.id)).toBe(alive)
  })
})

test('whoever has been refused has taken nothing from the owner', async () => {
  const about = await waiting()
  for (const [, headers] of people.strangers)
    for (const [, sent] of requests)
      await (await fetcher(sent({ ...headers, 'mcp-session-id': about.session.id }, about))).text()
  await about.session.reply(about.askId as string, { result: { action: 'accept', content: { name: 'Alice' } } })
  expect(textOf((await about.stream.rest()).at(-1))).toBe('Alice')
})

describe('with her next token', () => {
  const next = ({ id, objectId }: OwnSession, revision: LegacyRevision = '2025-11-25') => {
    const headers = { ...people.aliceAgain, 'mcp-session-id': id }
    return { headers, objectId, post: async (body: unknown) => fetcher(legacyPost(body, headers, revision)) }
  }

  test('Alice answers what she was asked, and the stream of her old one has it', async () => {
    const { session, stream, askId } = await waiting()
    const { post: send } = next(session)
    const answered = await send({ jsonrpc: '2.0', id: askId, result: { action: 'accept', content: { name: 'Alice' } } })
    expect(answered.status).toBe(202)
    expect(textOf((await stream.rest()).at(-1))).toBe('Alice')
  })

  test('she goes on with a stream', async () => {
    const { session, stream, askId, cursor } = await waiting()
    await stream.cancel()
    await next(session).post({ jsonrpc: '2.0', id: askId, result: { action: 'accept', content: { name: 'Al' } } })
    const { headers } = next(session)
    const resumed = await fetcher(get()({ ...headers, 'last-event-id': cursor }, { session, stream, askId, cursor }))
    expect(resumed.status).toBe(200)
    expect(await resumed.text()).toContain('"text":"Al"')
  })

  test('she cancels a call', async () => {
    const { session, stream } = await waiting()
    await next(session).post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'call' } })
    expect((await stream.rest()).at(-1)?.id).not.toBe('call')
  })

  test('she is told of what she subscribed to', async () => {
    const { session, stream } = await waiting()
    await stream.cancel()
    const { headers } = next(session)
    const standalone = await fetcher(get()(headers, { session, stream, askId: 0, cursor: '' }))
    expect(standalone.status).toBe(200)
    await next(session).post(call('change'))
    const reader = standalone.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('notifications/resources/updated')) text += (await reader.read()).value ?? ''
    expect(text).toContain('test://page')
    await reader.cancel()
  })

  test('calls in the session are hers', async () => {
    const { session, stream } = await waiting()
    const response = await next(session).post(call('whoami'))
    expect(await response.text()).toContain('"user main alice"')
    await stream.cancel()
  })

  test('she ends it, and then it is gone for both', async () => {
    const { session } = await waiting()
    const gone = async (headers: Record<string, string>) =>
      whole(await fetcher(legacyPost(request('ping'), { ...headers, 'mcp-session-id': session.id })))
    const del = requests.at(-1)![1]
    expect((await fetcher(del(next(session).headers, {} as Waiting))).status).toBe(204)
    expect(statusOf(await gone(people.alice))).toBe(404)
    expect(await gone(people.aliceAgain)).toBe(await gone(people.alice))
    expect(await gone(people.strangers[0]![1])).toBe(await gone(people.alice))
  })
})

test('an event id of a session is of no use in a session of somebody else', async () => {
  const about = await waiting()
  for (const [, headers] of people.strangers) {
    const own = await sessionOf(fetcher, '2025-11-25', { headers })
    const answer = async (cursor: string) =>
      whole(await fetcher(get()({ ...headers, 'mcp-session-id': own.id, 'last-event-id': cursor }, about)))
    expect(statusOf(await answer(about.cursor))).toBe(400)
    expect(await answer(about.cursor)).toBe(await answer('zzzzzzz-1.1.1'))
  }
  await about.stream.cancel()
})

test('the id of a question answers nothing in a session of somebody else', async () => {
  const about = await waiting()
  for (const [, headers] of people.strangers) {
    const own = await sessionOf(fetcher, '2025-11-25', { headers })
    const reply = async (id: unknown) =>
      whole(await fetcher(legacyPost({ jsonrpc: '2.0', id, result: accept }, { ...headers, 'mcp-session-id': own.id })))
    expect(await reply(about.askId)).toBe(await reply('nothing'))
  }
  await about.session.reply(about.askId as string, { result: { action: 'accept', content: { name: 'Alice' } } })
  expect(textOf((await about.stream.rest()).at(-1))).toBe('Alice')
})
