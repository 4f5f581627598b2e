// Change notifications that cross Workers: two over the same objects, each in an isolate of its own, and a third that
// knows nothing of them but their entrypoint. The test speaks to each of them over TCP.
// @see basic/patterns/subscriptions

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { limits } from '../../src/limits.ts'
import {
  legacySession,
  modern,
  TASKS,
  type JsonObject,
  type Message,
  type ModernClient,
  type OpenStream,
  type Session,
  type SessionStream,
} from '../support/client.ts'

type Place = 'first' | 'second'

const CROSSINGS: [publisher: Place, listener: Place][] = [
  ['first', 'second'],
  ['second', 'first'],
  ['first', 'first'],
  ['second', 'second'],
]
/** Much longer than anything here takes. */
const MISSING_MS = 10_000
const LISTS = ['tools', 'prompts', 'resources'] as const
const ALL_LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
const RESUMABLE = { extensions: { 'dev.mcp-edge/resumable-listen': {} } }

let harness: TestHarness
let origin: string
beforeAll(async () => {
  const root = fileURLToPath(new URL('crossing', import.meta.url))
  const workers = ['front', 'first', 'second', 'neighbour'].map((name) => ({ configPath: `wrangler.${name}.toml` }))
  harness = createTestHarness({ root, workers })
  origin = (await harness.listen()).url.origin
})
afterAll(() => harness?.close())

const streams: { cancel(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(streams.splice(0).map((stream) => stream.cancel()))
})

let notes = 0
/** The URI of a note that no other test knows. */
const newNote = (): string => `note://n${++notes}`

/** Sends requests to one Worker. */
const through =
  (place: string) =>
  (request: Request): Promise<Response> => {
    request.headers.set('x-worker', place)
    return fetch(request)
  }

const at = (place: Place, capabilities: JsonObject = {}): ModernClient =>
  modern(through(place), { url: `${origin}/mcp`, capabilities })

/** A session whose messages go to one Worker and whose standalone stream comes from another. */
const sessionAcross = (posts: Place, gets: Place): Promise<Session> =>
  legacySession((request) => through(request.method === 'GET' ? gets : posts)(request), '2025-11-25', {
    url: `${origin}/mcp`,
  })

/** An acknowledged stream. */
async function listen(client: ModernClient, notifications: JsonObject, meta: JsonObject = {}): Promise<OpenStream> {
  const stream = await client.open('subscriptions/listen', { notifications }, { meta })
  streams.push(stream)
  const { value } = await stream.messages.next()
  expect(value?.method).toBe('notifications/subscriptions/acknowledged')
  expect(value?.params?.['notifications']).toEqual(notifications)
  return stream
}

/** A standalone stream, which begins with an id. */
async function standalone(session: Session): Promise<SessionStream> {
  const stream = await session.listen()
  streams.push(stream)
  expect((await stream.next())?.message).toBeUndefined()
  return stream
}

/** What a notification is about. */
function subjectOf({ method, params }: Message): unknown {
  return params?.['uri'] ?? /^notifications\/(\w+)\/list_changed$/.exec(method ?? '')?.[1]
}

/** What the next messages are about. One that does not come is said to be missing. */
async function told(stream: OpenStream | SessionStream, count: number): Promise<unknown[]> {
  const subjects: unknown[] = []
  const missing = sleep(MISSING_MS, { value: undefined, message: undefined }, { ref: false })
  while (subjects.length < count) {
    const next = 'messages' in stream ? stream.messages.next() : stream.next()
    const event = await Promise.race([next, missing])
    const message = event && ('value' in event ? event.value : event.message)
    subjects.push(message ? subjectOf(message) : 'missing')
    if (!message) break
  }
  return subjects
}

const change = (client: ModernClient | Session, uris: string[], lists: readonly string[] = []) =>
  client.call('change', { uris, lists })

describe.each(CROSSINGS)('a change in the %s Worker, with listeners in the %s,', (publisher, listener) => {
  test('reaches a stream that asked for it, in order, and nothing else does', async () => {
    const [note, other] = [newNote(), newNote()]
    const stream = await listen(at(listener), { toolsListChanged: true, resourceSubscriptions: [note] })
    await change(at(publisher), [other, note], ['prompts', 'tools', 'resources'])
    expect(await told(stream, 2)).toEqual([note, 'tools'])
    await change(at(publisher), [other], ['prompts', 'resources'])
    await change(at(publisher), [note])
    expect(await told(stream, 1)).toEqual([note])
  })

  test('reaches a session whose messages go to the one and whose stream comes from the other', async () => {
    const [note, other] = [newNote(), newNote()]
    const session = await sessionAcross(publisher, listener)
    await session.result('resources/subscribe', { uri: note })
    const stream = await standalone(session)
    await change(at(publisher), [other, note], LISTS)
    expect(await told(stream, 4)).toEqual([note, ...LISTS])
    await session.result('resources/unsubscribe', { uri: note })
    await change(at(publisher), [note], ['tools'])
    expect(await told(stream, 1)).toEqual(['tools'])
  })

  test('reaches both when it is made in a session', async () => {
    const note = newNote()
    const stream = await listen(at(listener), { ...ALL_LISTS, resourceSubscriptions: [note] })
    const own = await sessionAcross(listener, listener)
    const events = await standalone(own)
    await change(await sessionAcross(publisher, publisher), [note], LISTS)
    expect(await told(stream, 4)).toEqual([note, ...LISTS])
    expect(await told(events, 3)).toEqual(LISTS)
  })
})

describe('the hub', () => {
  const hub = async (isLosing?: boolean): Promise<{ published: number }> => {
    const told = isLosing === undefined ? {} : { method: 'PUT', body: JSON.stringify(isLosing) }
    // Its object is in the isolate of the first.
    const response = await through('first')(new Request(`${origin}/hub`, told))
    return (await response.json()) as { published: number }
  }

  test.each(['first', 'second'] as const)('is the only way, also within the %s Worker', async (place) => {
    const note = newNote()
    const stream = await listen(at(place), { resourceSubscriptions: [note], toolsListChanged: true })
    const session = await sessionAcross(place, place)
    const events = await standalone(session)
    await session.result('resources/subscribe', { uri: note })
    const { published } = await hub(true)
    try {
      await change(at(place), [note])
      await change(session, [note])
    } finally {
      await hub(false)
    }
    expect((await hub()).published).toBe(published + 2)
    await change(at(place), [], ['tools'])
    // What the hub lost has reached neither.
    expect(await told(stream, 1)).toEqual(['tools'])
    expect(await told(events, 1)).toEqual(['tools'])
  })

  test('lets a client go on at another Worker where it was cut off', async () => {
    const note = newNote()
    const filter = { promptsListChanged: true, resourceSubscriptions: [note] }
    const stream = await listen(at('first', RESUMABLE), filter)
    await change(at('second'), [note])
    expect(await told(stream, 1)).toEqual([note])
    await stream.cancel()
    await change(at('first'), [], ['prompts'])
    await change(at('second'), [note])
    const cursor = stream.log.ids.at(-1)
    const again = await listen(at('second', RESUMABLE), filter, { 'dev.mcp-edge/cursor': cursor })
    expect(await told(again, 2)).toEqual(['prompts', note])
    await change(at('first'), [], ['prompts'])
    expect(await told(again, 1)).toEqual(['prompts'])
  })

  test('tells a listener of one Worker of a task that was made, and answered, in the other', async () => {
    const capabilities = { ...TASKS, elicitation: { form: {} } }
    const { taskId } = await at('first', capabilities).callTask('work')
    const stream = await listen(at('second', capabilities), { taskIds: [taskId] })
    const statuses: unknown[] = []
    for await (const { params } of stream.messages) {
      const { status, inputRequests, result } = params as {
        status: string
        inputRequests?: object
        result?: JsonObject
      }
      if (statuses.at(-1) !== status) statuses.push(status)
      if (status === 'completed') {
        expect(result?.['content']).toEqual([{ type: 'text', text: 'Grüße' }])
        break
      }
      if (status !== 'input_required') continue
      const [key] = Object.keys(inputRequests!)
      const inputResponses = { [key!]: { action: 'accept', content: { word: 'Grüße' } } }
      await at('first', capabilities).result('tasks/update', { taskId, inputResponses })
    }
    // Whether each state in between is seen depends on how fast they follow each other.
    expect(statuses).toContain('input_required')
    expect(statuses.at(-1)).toBe('completed')
  })
})

describe('a Worker that has nothing but a binding to the entrypoint', () => {
  /** Calls a method of the entrypoint there. */
  const neighbour = async (method: string, ...args: unknown[]): Promise<JsonObject> => {
    const body = JSON.stringify({ method, args })
    const response = await through('neighbour')(new Request(origin, { method: 'POST', body }))
    return (await response.json()) as JsonObject
  }

  test('reaches listeners and sessions of every Worker', async () => {
    const note = newNote()
    const filter = { ...ALL_LISTS, resourceSubscriptions: [note] }
    const listeners = [await listen(at('first'), filter), await listen(at('second'), filter)]
    const session = await sessionAcross('second', 'first')
    await session.result('resources/subscribe', { uri: note })
    const everybody = [...listeners, await standalone(session)]
    expect(await neighbour('resourceUpdated', note)).toEqual({})
    for (const list of LISTS) expect(await neighbour(`${list}ListChanged`)).toEqual({})
    for (const stream of everybody) expect(await told(stream, 4)).toEqual([note, ...LISTS])
  })

  test.each([
    ['a number', 5],
    ['nothing', null],
    ['an empty text', ''],
    ['words', 'no uri'],
    ['what has no scheme', 'n1'],
    ['a URI that nobody may ask for, it is so long', `note://${'n'.repeat(limits.uriChars)}`],
  ])('is thrown a TypeError for %s, and nobody hears of it', async (_what, uri) => {
    const note = newNote()
    const stream = await listen(at('second'), { ...ALL_LISTS, resourceSubscriptions: [note] })
    const { name, message, isTypeError } = await neighbour('resourceUpdated', uri)
    expect({ name, isTypeError }).toEqual({ name: 'TypeError', isTypeError: true })
    expect(message).toMatch(/^cannot notify of resource "[^]{0,100}": a URI has a scheme and no spaces$/)
    await neighbour('resourceUpdated', note)
    expect(await told(stream, 1)).toEqual([note])
  })

  test('reaches no other method: no request is served there, and nothing of the objects', async () => {
    for (const method of ['fetch', 'publish', 'scheduled', 'env', 'ctx']) {
      expect(await neighbour(method, 'http://localhost/mcp')).toHaveProperty('message')
    }
  })

  test('reaches listeners by a queue that a Worker of the server reads', async () => {
    const [note, other] = [newNote(), newNote()]
    const stream = await listen(at('first'), { resourceSubscriptions: [note, other] })
    await neighbour('send', note)
    await neighbour('send', other)
    expect(await told(stream, 2)).toEqual([note, other])
  })
})

test.each(['first', 'second'] as const)(
  'a cron of the %s Worker reaches listeners and sessions of both',
  async (place) => {
    const uri = 'note://daily'
    const listeners = [
      await listen(at('first'), { resourceSubscriptions: [uri] }),
      await listen(at('second'), { resourceSubscriptions: [uri] }),
    ]
    const session = await sessionAcross('first', 'second')
    await session.result('resources/subscribe', { uri })
    const everybody = [...listeners, await standalone(session)]
    const { outcome } = await harness.getWorker(`mcp-edge-crossing-${place}`).scheduled({ cron: '0 0 * * *' })
    expect(outcome).toBe('ok')
    for (const stream of everybody) expect(await told(stream, 1)).toEqual([uri])
  },
)

test('nothing of all that has failed in a Worker or an object', () => {
  const failures = harness.getLogs().filter(({ message }) => message.includes('"event":"failure"'))
  expect(failures).toEqual([])
})
