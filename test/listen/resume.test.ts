// The extension `dev.mcp-edge/resumable-listen`: events have ids for clients that declare it, and a stream that begins
// with one of them tells what was missed. For everybody else nothing is different. @see docs/resumable-listen.md

import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keyRing } from '../../durable-objects/ports.ts'
import { limits } from '../../src/limits.ts'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  type Server,
} from '../../src/server/index.ts'
import { createSealer } from '../../src/server/sealer.ts'
import { modern, TASKS, type JsonObject, type ModernClient } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { accept, parked, taskTool } from '../tasks/support.ts'
import {
  as,
  byHeader,
  change,
  changesOf,
  crash,
  eventually,
  later,
  listen,
  listenersOf,
  publish,
  sleep,
  subscriptionOf,
  withLimits,
  type Listening,
} from './support.ts'

const EXTENSION = 'dev.mcp-edge/resumable-listen'
const CURSOR = 'dev.mcp-edge/cursor'
const RESUMABLE = { extensions: { [EXTENSION]: {} } }
const ON = { RESUMABLE_LISTEN: 'on' }
const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
const PAGES = { resourceSubscriptions: ['test://pages/a', 'test://pages/b', 'test://page'] }
const EVERYTHING = { ...LISTS, ...PAGES }
const ALL_OF_IT = ['tools', 'prompts', 'resources', ...PAGES.resourceSubscriptions.map((uri) => `resource ${uri}`)]

const asking = taskTool('asking', async (ctx) => {
  await ctx.elicit('go', { message: 'Go?', schema: z.object({}) })
})

let server: Server
let fetcher: ReturnType<typeof serve>
let client: ModernClient

beforeEach(() => {
  withLimits({ hubWindowMs: 0 })
  server = defineServer({
    name: 'resume',
    version: '1.0.0',
    tools: [change, asking],
    prompts: [definePrompt('prompt', { description: 'A prompt.', get: () => 'ok' })],
    resources: [
      defineResource('test://page', { name: 'page', read: () => 'text' }),
      defineResourceTemplate('test://pages/{id}', { name: 'pages', read: ({ id }) => id }),
      defineResourceTemplate('test://page/{id}', { name: 'one', read: ({ id }) => id }),
    ],
  })
  fetcher = serve(server, { vars: ON, authenticate: byHeader })
  client = modern(fetcher, { capabilities: RESUMABLE })
})

const declaring = (principal: string) => modern(fetcher, { capabilities: RESUMABLE, headers: as(principal) })

/** Begins where an event was. */
const resume = (cursor: string, filter: JsonObject = EVERYTHING, by = client): Promise<Listening> =>
  listen(by, filter, { headers: { 'last-event-id': cursor } })

let marks = 0

/** What a stream that begins with a cursor tells before what comes then. */
async function missed(cursor: string, filter: JsonObject = EVERYTHING, by = client): Promise<string[]> {
  const mark = `test://pages/mark-${++marks}`
  const uris = (filter['resourceSubscriptions'] as string[] | undefined) ?? []
  const stream = await resume(cursor, { ...filter, resourceSubscriptions: [...uris, mark] }, by)
  await publish(server, 'resource test://other', `resource ${mark}`)
  const told: string[] = []
  do told.push(...(await stream.told(1)))
  while (told.at(-1) !== `resource ${mark}`)
  await stream.cancel()
  return told.slice(0, -1)
}

/** The id of the last event of a stream that was told so much and then left by its client. */
async function cursorAfter(...topics: Parameters<typeof publish>[1][]): Promise<string> {
  const stream = await listen(client, EVERYTHING)
  for (const topic of topics) await publish(server, topic)
  await stream.told(topics.length)
  await stream.cancel()
  return stream.log.ids.at(-1)!
}

const sealer = createSealer(keyRing)

/** What is sealed in a cursor. */
async function factsOf(cursor: string): Promise<JsonObject> {
  return (await sealer.open(env, cursor.slice(cursor.indexOf('.') + 1)))!
}

/** A cursor at the same place that says something else. */
async function sealed(cursor: string, facts: JsonObject): Promise<string> {
  return `${cursor.slice(0, cursor.indexOf('.'))}.${await sealer.seal(env, facts)}`
}

describe('the extension', () => {
  const extensionsOf = async (vars: Partial<Cloudflare.Env>, of = server): Promise<unknown> => {
    const { capabilities } = await modern(serve(of, { vars })).result('server/discover')
    return capabilities['extensions']
  }

  test('is announced where it is on, beside others, and nowhere else', async () => {
    const tasks = { 'io.modelcontextprotocol/tasks': {} }
    expect(await extensionsOf(ON)).toEqual({ ...tasks, [EXTENSION]: {} })
    expect(await extensionsOf({ RESUMABLE_LISTEN: 'off' })).toEqual(tasks)
    expect(await extensionsOf({})).toEqual(tasks)
    const plain = defineServer({ name: 'plain', version: '1', tools: [change] })
    expect(await extensionsOf(ON, plain)).toEqual({ [EXTENSION]: {} })
    expect(await extensionsOf({}, plain)).toBeUndefined()
    expect(await extensionsOf(ON, defineServer({ name: 'empty', version: '1' }))).toBeUndefined()
  })

  test('gives every event an id, for a request that declares it: the first, the last, and what is between', async () => {
    withLimits({ idleKeepAliveMs: 20, streamMaxAgeMs: 400 })
    const stream = await listen(client, EVERYTHING)
    await publish(server, 'tools', 'resource test://page')
    const told: string[] = []
    do told.push(...(await stream.told(1)))
    while (told.at(-1) !== 'end')
    const events = stream.log.text.split('\n\n').filter(Boolean)
    const messages = events.filter((event) => !event.startsWith(':'))
    expect(messages).toHaveLength(1 + told.length)
    for (const event of messages) expect(event).toMatch(/^id: [1-9]\d*\.[\w.-]{1,400}\nevent: message\ndata: \{.*\}$/)
    expect(events.length).toBeGreaterThan(messages.length)
    expect(stream.log.retries).toEqual([])
  })

  test.for<[string, Partial<Cloudflare.Env>, JsonObject]>([
    ['that does not declare it', ON, {}],
    ['that declares something else', ON, TASKS],
    ['that declares it with settings that are none', ON, { extensions: { [EXTENSION]: true } }],
    ['that declares it where it is off', {}, RESUMABLE],
  ])(
    'changes nothing for a request %s: no ids, no replay, and a cursor is not looked at',
    async ([, vars, capabilities]) => {
      const cursor = await cursorAfter('tools')
      await publish(server, 'prompts')
      const other = modern(serve(server, { vars, authenticate: byHeader }), { capabilities })
      for (const lastEventId of [cursor, 'garbage']) {
        const options = { headers: { 'last-event-id': lastEventId }, meta: { [CURSOR]: lastEventId } }
        const stream = await listen(other, EVERYTHING, options)
        await publish(server, 'resources')
        expect(await stream.told(1)).toEqual(['resources'])
        expect(stream.log.ids).toEqual([])
      }
    },
  )
})

describe('a stream that begins with a cursor', () => {
  test('acknowledges first, then tells what was missed, each thing once and oldest first, then what comes', async () => {
    const cursor = await cursorAfter('tools')
    await publish(server, 'resource test://page', 'prompts')
    await publish(server, 'resource test://pages/b')
    await publish(server, 'resource test://page', 'resource test://other')
    const stream = await listen(client, EVERYTHING, { id: 'again', headers: { 'last-event-id': cursor } })
    expect(stream.agreed).toEqual(EVERYTHING)
    const messages = [await stream.next(), await stream.next(), await stream.next()]
    expect(messages.map(subscriptionOf)).toEqual(['again', 'again', 'again'])
    expect(messages.map(({ method, params }) => params?.['uri'] ?? method)).toEqual([
      'notifications/prompts/list_changed',
      'test://pages/b',
      'test://page',
    ])
    await publish(server, 'tools')
    expect(await stream.told(1)).toEqual(['tools'])
  })

  test('is told nothing where nothing was missed', async () => {
    expect(await missed(await cursorAfter())).toEqual([])
    expect(await missed(await cursorAfter('prompts', 'resource test://page'))).toEqual([])
  })

  test('may begin with any event of the stream before, also with its acknowledgement and its end', async () => {
    const stream = await listen(client, EVERYTHING)
    for (const topic of ['prompts', 'resources', 'resource test://page'] as const) {
      await publish(server, topic)
      await stream.told(1)
    }
    await stream.cancel()
    withLimits({ hubWindowMs: 0, streamMaxAgeMs: 10 })
    const short = await listen(client, EVERYTHING)
    expect(await short.told(1)).toEqual(['end'])
    withLimits({ hubWindowMs: 0, streamMaxAgeMs: 60_000 })
    await publish(server, 'resource test://pages/a')
    const rest = ['prompts', 'resources', 'resource test://page', 'resource test://pages/a']
    for (const [i, id] of stream.log.ids.entries()) expect(await missed(id)).toEqual(rest.slice(i))
    for (const id of short.log.ids) expect(await missed(id)).toEqual(rest.slice(3))
  })

  test('tells again what came together with an event, unless that was the last of it', async () => {
    const stream = await listen(client, EVERYTHING)
    await publish(server, 'prompts', 'resource test://page', 'resource test://pages/a')
    expect(await stream.told(3)).toHaveLength(3)
    const together = ['prompts', 'resource test://page', 'resource test://pages/a']
    const ids = stream.log.ids
    expect([await missed(ids[1]!), await missed(ids[2]!), await missed(ids[3]!)]).toEqual([together, together, []])
  })

  test('has the filter of its own request, also for what the stream before did not listen to', async () => {
    const before = await listen(client, { promptsListChanged: true })
    await publish(server, 'prompts')
    await before.told(1)
    await publish(server, 'prompts', 'resources', 'resource test://page', 'resource test://pages/a')
    const cursor = before.log.ids.at(-1)!
    expect(await missed(cursor, { resourceSubscriptions: ['test://page'] })).toEqual(['resource test://page'])
    expect(await missed(cursor, { resourcesListChanged: true })).toEqual(['resources'])
    expect(await missed(cursor, {})).toEqual([])
  })

  test('may begin again and again', async () => {
    let cursor = await cursorAfter('tools')
    for (const topic of ['prompts', 'resources', 'prompts', 'resource test://page'] as const) {
      await publish(server, topic)
      const stream = await resume(cursor)
      expect(await stream.told(1)).toEqual([topic])
      await stream.cancel()
      cursor = stream.log.ids.at(-1)!
    }
    expect(await missed(cursor)).toEqual([])
  })

  test('is told also by a hub that has slept or died since', async () => {
    const cursor = await cursorAfter('tools')
    await publish(server, 'prompts')
    await sleep(server)
    expect(await missed(cursor)).toEqual(['prompts'])
    await publish(server, 'resources')
    await crash(server)
    expect(await missed(cursor)).toEqual(['prompts', 'resources'])
  })

  test('is told of the one and of the other, where two things have the same number', async () => {
    const [one, other] = ['test://page/2gc32zyk7z5', 'test://page/pxszq4ludv'] as const
    const cursor = await cursorAfter('tools')
    await publish(server, `resource ${one}`)
    await publish(server, `resource ${other}`)
    for (const uri of [one, other])
      expect(await missed(cursor, { resourceSubscriptions: [uri] })).toContain(`resource ${uri}`)
  })

  test('is told what its tasks are, as every stream', async () => {
    const both = { extensions: { ...TASKS.extensions, [EXTENSION]: {} }, elicitation: {} }
    const one = modern(fetcher, { capabilities: both })
    const { taskId } = await one.callTask('asking')
    await parked(taskId)
    const stream = await listen(one, { taskIds: [taskId] })
    expect(await stream.told(1)).toEqual([`task ${taskId} input_required`])
    await stream.cancel()
    await one.result('tasks/update', { taskId, inputResponses: { go: accept({}) } })
    await one.settled(taskId)
    await eventually(async () => (await changesOf(server)).length > 0)
    const again = await resume(stream.log.ids.at(-1)!, { ...LISTS, taskIds: [taskId] }, one)
    expect(await again.told(1)).toEqual([`task ${taskId} completed`])
    await publish(server, 'tools')
    expect(await again.told(1)).toEqual(['tools'])
    expect(again.log.ids).toHaveLength(3)
  })
})

describe('a cursor', () => {
  test('may come in the header or in the body, and the body counts', async () => {
    const older = await cursorAfter('tools')
    await publish(server, 'prompts')
    const newer = await cursorAfter('resource test://page')
    await publish(server, 'resources')
    const told = async (headers: Record<string, string>, meta: JsonObject, count: number): Promise<string[]> => {
      const stream = await listen(client, { promptsListChanged: true, resourcesListChanged: true }, { headers, meta })
      return stream.told(count)
    }
    expect(await told({ 'last-event-id': newer }, {}, 1)).toEqual(['resources'])
    expect(await told({}, { [CURSOR]: newer }, 1)).toEqual(['resources'])
    expect(await told({ 'last-event-id': newer }, { [CURSOR]: older }, 2)).toEqual(['prompts', 'resources'])
    expect(await told({ 'last-event-id': 'garbage' }, { [CURSOR]: older }, 2)).toEqual(['prompts', 'resources'])
    expect(await told({ 'last-event-id': older }, { [CURSOR]: null }, 2)).toEqual(['prompts', 'resources'])
  })

  test('that is empty begins with what comes', async () => {
    await publish(server, 'prompts')
    expect(await missed('')).toEqual([])
    const stream = await listen(client, EVERYTHING, { meta: { [CURSOR]: '' } })
    await publish(server, 'resources')
    expect(await stream.told(1)).toEqual(['resources'])
  })

  describe('that is not of the caller is refused', () => {
    async function expectRefused(cursor: unknown, by = client): Promise<void> {
      const options = { meta: { [CURSOR]: cursor } }
      const error = await by.error('subscriptions/listen', { notifications: EVERYTHING }, options)
      expect(error).toMatchObject({ status: 200, code: -32602 })
      expect(error.message).toContain('cursor')
    }

    afterEach(() => eventually(async () => (await listenersOf(server)) === 0))

    test('because it is of another principal', async () => {
      const stream = await listen(declaring('ada'), EVERYTHING)
      await stream.cancel()
      const [cursor] = stream.log.ids
      await expectRefused(cursor, declaring('eve'))
      await expectRefused(cursor, client)
      expect(await missed(cursor!, EVERYTHING, declaring('ada'))).toEqual([])
    })

    test('because it was altered, wherever', async () => {
      const cursor = await cursorAfter('tools')
      const [place = '', token = ''] = [cursor.slice(0, cursor.indexOf('.')), cursor.slice(cursor.indexOf('.') + 1)]
      for (let i = 0; i < token.length; i += 29) {
        const other = token[i] === 'A' ? 'B' : 'A'
        await expectRefused(`${place}.${token.slice(0, i)}${other}${token.slice(i + 1)}`)
      }
      for (const altered of [
        `${place}.${token.slice(0, -1)}`,
        `${place}.${token}A`,
        `${place}.`,
        `.${token}`,
        token,
        place,
      ])
        await expectRefused(altered)
      for (const altered of [`${place}.${cursor}`, `-${cursor}`, `0${cursor}`, `1e3.${token}`, ` ${cursor}`])
        await expectRefused(altered)
    })

    test.for<[string, string]>([
      ['a word', 'garbage'],
      ['a number', '0'],
      ['two numbers', '1.2'],
      ['a number that is too large', `${'9'.repeat(400)}.a`],
      ['a long one', 'a'.repeat(10_000)],
      ['one with too many parts', '1700000000000000.a.b.c.d.e'],
      ['a path', '../../etc/passwd'],
    ])('because it is none: %s', async ([, cursor]) => {
      await expectRefused(cursor)
    })

    test.for([0, 1, 1.5, true, false, {}, []].map((value) => [value]))(
      'because it is no text: %j',
      async ([cursor]) => {
        await expectRefused(cursor)
      },
    )

    test('because it is in a list', async () => {
      const cursor = await cursorAfter('tools')
      await expectRefused([cursor])
    })

    test('because it was sealed for something else', async () => {
      const cursor = await cursorAfter('tools')
      const facts = await factsOf(cursor)
      expect(Object.keys(facts).toSorted()).toEqual(['l', 'p', 's'])
      for (const others of [{ l: undefined }, { l: 2 }, { p: undefined }, { p: '' }])
        await expectRefused(await sealed(cursor, { ...facts, ...others }))
      expect(await missed(await sealed(cursor, facts))).toEqual([])
    })

    test('and the header is refused like the body', async () => {
      const options = { headers: { 'last-event-id': 'garbage' } }
      expect(await client.error('subscriptions/listen', { notifications: LISTS }, options)).toMatchObject({
        code: -32602,
      })
    })
  })

  describe('from before what is remembered reports everything as changed, rather than nothing', () => {
    /** Everything that is listened to is told, in whatever order, and then what comes. */
    async function expectEverything(cursor: string): Promise<void> {
      const stream = await resume(cursor)
      expect(stream.agreed).toEqual(EVERYTHING)
      expect((await stream.told(ALL_OF_IT.length)).toSorted()).toEqual(ALL_OF_IT.toSorted())
      await publish(server, 'prompts')
      expect(await stream.told(1)).toEqual(['prompts'])
      await stream.cancel()
      expect(await missed(stream.log.ids.at(-1)!)).toEqual([])
      // Whoever got no further than the acknowledgement has to be told everything again.
      expect((await missed(stream.log.ids[0]!)).toSorted()).toEqual(ALL_OF_IT.toSorted())
    }

    test('because it is too old', async () => {
      const cursor = await cursorAfter('tools')
      later(limits.hubReplayMs - 60_000)
      expect(await missed(cursor)).toEqual([])
      later(120_000)
      await expectEverything(cursor)
    })

    test('because too much has changed since', async () => {
      withLimits({ hubWindowMs: 0, hubChanges: 10 })
      const cursor = await cursorAfter('tools')
      for (let i = 0; i < 5; i++) await publish(server, `resource test://pages/${i}`)
      expect(await missed(cursor)).toEqual([])
      for (let i = 5; i < 20; i++) await publish(server, `resource test://pages/${i}`)
      await expectEverything(cursor)
    })

    test('because it is of another shard', async () => {
      const cursor = await cursorAfter('tools')
      const { s, ...facts } = await factsOf(cursor)
      await expectEverything(await sealed(cursor, { ...facts, s: (s as number) + 1 }))
    })

    test('because its place was put back: to be told again harms nobody', async () => {
      const cursor = await cursorAfter('tools')
      await expectEverything(`1${cursor.slice(cursor.indexOf('.'))}`)
    })
  })
})
