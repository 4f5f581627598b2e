// `visible`: what exists for some callers only. For all others it is not listed, and whatever they ask of it is answered
// as if it had never been defined: byte for byte like a server without it. @see server/utilities/caching, Security;
// server/utilities/completion, Security

import * as z from 'zod'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type Restricted,
  type Server,
  type ServerOptions,
} from '../../src/server/index.ts'
import {
  describeEras,
  legacy,
  LEGACY,
  legacySession,
  modern,
  TASKS,
  type ClientOptions,
  type Exchange,
  type Fetcher,
  type JsonObject,
  type ModernClient,
  type RequestOptions,
} from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { as, byHeader, taskClient } from '../tasks/support.ts'

/** What only Ada may see. */
const adas: Restricted = { visible: ({ principal }) => principal === 'ada' }

const description = 'Described.'
const task = { support: 'optional' } as const
const region = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) })

const openToAll: Partial<ServerOptions> = {
  tools: [
    defineTool('open', { description, handler: () => 'open' }),
    defineTool('open-task', { description, task, handler: () => 'open' }),
  ],
  prompts: [
    definePrompt('open', {
      description,
      arguments: z.object({ word: z.string() }),
      complete: { word: () => ['open'] },
      get: () => 'open',
    }),
  ],
  resources: [
    defineResource('test://open', { name: 'open', read: () => 'open' }),
    defineResourceTemplate('open://{x}', {
      name: 'open',
      list: () => [{ uri: 'open://computed', name: 'open-computed' }],
      complete: { x: () => ['open'] },
      read: ({ x }) => x,
    }),
  ],
}

const restricted: Partial<ServerOptions> = {
  tools: [
    defineTool('secret', {
      description,
      inputSchema: z.object({ word: z.string().default('x') }),
      ...adas,
      handler: () => 'secret',
    }),
    defineTool('secret-task', { description, task, ...adas, handler: () => 'secret' }),
    defineTool('secret-only-task', { description, task: { support: 'required' }, ...adas, handler: () => 'secret' }),
    defineTool('secret-asking', { description, requires: ['elicitation.form'], ...adas, handler: () => 'secret' }),
    defineTool('secret-header', { description, inputSchema: region, ...adas, handler: () => 'secret' }),
    defineTool('secret-poll', { description, pollAfterMs: 1, ...adas, handler: () => 'secret' }),
  ],
  prompts: [
    definePrompt('secret', {
      description,
      arguments: z.object({ word: z.string() }),
      complete: { word: () => ['secret'] },
      ...adas,
      get: () => 'secret',
    }),
  ],
  resources: [
    defineResource('test://secret', { name: 'secret', ...adas, read: () => 'secret' }),
    defineResourceTemplate('secret://{x}', {
      name: 'secret',
      list: () => [{ uri: 'secret://computed', name: 'secret-computed' }],
      complete: { x: () => ['secret'] },
      ...adas,
      read: ({ x }) => x,
    }),
  ],
}

const both: Partial<ServerOptions> = {
  tools: [...openToAll.tools!, ...restricted.tools!],
  prompts: [...openToAll.prompts!, ...restricted.prompts!],
  resources: [...openToAll.resources!, ...restricted.resources!],
}

const serveFor = (options: Server | Partial<ServerOptions>): Fetcher => serve(options, { authenticate: byHeader })
const fetcher = serveFor(both)
/** The same server, where what is Ada's was never defined. */
const without = serveFor(openToAll)

const ADA = { headers: as('ada') }
const EVE = { headers: as('eve') }

afterEach(() => void vi.restoreAllMocks())

const LISTS = [
  [
    'tools/list',
    'tools',
    ['open', 'open-task'],
    ['secret', 'secret-task', 'secret-only-task', 'secret-asking', 'secret-header', 'secret-poll'],
  ],
  ['prompts/list', 'prompts', ['open'], ['secret']],
  ['resources/list', 'resources', ['open', 'open-computed'], ['secret', 'secret-computed']],
  ['resources/templates/list', 'resourceTemplates', ['open'], ['secret']],
] as const

interface Page {
  [member: string]: unknown
  nextCursor?: string
  cacheScope?: string
}

/** All pages of a list. */
async function pagesOf(
  client: { result(method: string, params?: JsonObject, options?: RequestOptions): Promise<unknown> },
  method: string,
  options: RequestOptions = {},
): Promise<Page[]> {
  const pages: Page[] = []
  let cursor: string | undefined
  do {
    const page = (await client.result(method, cursor === undefined ? {} : { cursor }, options)) as Page
    pages.push(page)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return pages
}

const namesIn = (pages: readonly Page[], member: string): string[] =>
  pages.flatMap((page) => (page[member] as { name: string }[]).map(({ name }) => name))

const sorted = (names: readonly string[]): string[] => names.toSorted()

describeEras(
  'a list',
  (client) => {
    test.each(LISTS)('%s has what is visible to its caller, and nothing else', async (method, member, open, secret) => {
      const of = async (options: RequestOptions) => sorted(namesIn(await pagesOf(client, method, options), member))
      expect(await of(ADA)).toEqual(sorted([...open, ...secret]))
      expect(await of(EVE)).toEqual(sorted(open))
      expect(await of({})).toEqual(sorted(open))
    })
  },
  { fetcher },
)

describe.each(LEGACY)('a list in a session [%s]', (revision) => {
  test.each(LISTS)('%s has what is visible to its caller, and nothing else', async (method, member, open, secret) => {
    const of = async (options: ClientOptions) =>
      sorted(namesIn(await pagesOf(await legacySession(fetcher, revision, options), method), member))
    expect(await of(ADA)).toEqual(sorted([...open, ...secret]))
    expect(await of(EVE)).toEqual(sorted(open))
  })
})

describe('a list that differs between callers', () => {
  test.each(LISTS)('%s is private to shared caches, on every page', async (method) => {
    const client = modern(serveFor({ ...both, pageSize: 1 }))
    for (const options of [ADA, EVE]) {
      const pages = await pagesOf(client, method, options)
      expect(new Set(pages.map(({ cacheScope }) => cacheScope))).toEqual(new Set(['private']))
    }
  })

  const fixed = LISTS.filter(([method]) => method !== 'resources/list')
  test.each(fixed)('%s is public, as ever, where everybody sees everything', async (method) => {
    expect(await modern(without).result(method, {}, EVE)).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' })
  })

  test('makes private that list only', async () => {
    const mixed = serveFor({ ...both, prompts: openToAll.prompts! })
    expect(await modern(mixed).result('tools/list')).toMatchObject({ ttlMs: 300_000, cacheScope: 'private' })
    expect(await modern(mixed).result('prompts/list')).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' })
  })

  test('makes both lists of resources private, since a template may contribute to both', async () => {
    const template = defineResourceTemplate('secret://{x}', { name: 'secret', ...adas, read: ({ x }) => x })
    const client = modern(serveFor({ resources: [template] }))
    for (const method of ['resources/list', 'resources/templates/list'])
      expect(await client.result(method)).toMatchObject({ cacheScope: 'private' })
  })

  describe.each([
    ['one entry', { pageSize: 1 }],
    ['two entries', { pageSize: 2 }],
    ['all of them', {}],
  ])('with %s on a page', (_size, paging) => {
    test.each(LISTS)('%s is made for each caller, whoever came before', async (method, member, open, secret) => {
      const own = (client: ModernClient, options: RequestOptions) =>
        pagesOf(client, method, options).then((pages) => sorted(namesIn(pages, member)))
      const all = sorted([...open, ...secret])
      for (const order of [
        [ADA, EVE, ADA],
        [EVE, ADA, EVE],
      ]) {
        const client = modern(serveFor({ ...both, ...paging }))
        for (const caller of order) expect(await own(client, caller)).toEqual(caller === ADA ? all : sorted(open))
      }
    })
  })

  test('hands out cursors that count only what the caller sees', async () => {
    const client = modern(serveFor({ tools: both.tools!, pageSize: 2 }))
    expect((await client.result('tools/list', {}, EVE)).nextCursor).toBeUndefined()
    const { nextCursor } = await client.result('tools/list', {}, ADA)
    expect(await client.error('tools/list', { cursor: nextCursor! }, EVE)).toMatchObject({ code: -32602 })
  })
})

/** The whole HTTP answer, byte for byte. */
const bytesOf = ({ status, headers, log, response }: Exchange): string =>
  JSON.stringify([status, [...headers], log.text || response])

/** A request about something only Ada sees. `since` names the first revision that has the method or the form. */
interface Wish {
  what: string
  method: string
  params: JsonObject
  /** Capabilities the client declares. */
  capabilities?: JsonObject
  headers?: Record<string, string>
  eras?: 'modern' | 'session'
  /** True for what Ada is refused as well, by something that comes before. */
  isRefusedAnyway?: true
}

const wish = (what: string, method: string, params: JsonObject, more: Partial<Wish> = {}): Wish => ({
  what,
  method,
  params,
  ...more,
})

const call = (
  what: string,
  name: string,
  more: Partial<Wish> & { args?: JsonObject; params?: JsonObject } = {},
): Wish => wish(what, 'tools/call', { name, ...(more.args && { arguments: more.args }), ...more.params }, omit(more))

const omit = ({ args: _, params: __, ...more }: Partial<Wish> & { args?: JsonObject }): Partial<Wish> => more

const UNABLE: Wish[] = [
  call('a tool', 'secret'),
  call('a tool with arguments it would refuse', 'secret', { args: { word: 5 } }),
  call('a tool with arguments that are none', 'secret', { params: { arguments: 'x' } }),
  call('a tool with answers nobody asked for', 'secret', { params: { inputResponses: { a: { action: 'accept' } } } }),
  call('a tool with a state', 'secret', {
    params: { requestState: 'made up' },
    eras: 'modern',
    isRefusedAnyway: true,
  }),
  call('a tool that needs what the client cannot do', 'secret-asking'),
  call('a tool that sends its client away', 'secret-poll'),
  call('a tool that could be a task', 'secret-task'),
  call('a tool that could be a task, by a client that takes tasks', 'secret-task', {
    capabilities: TASKS,
    eras: 'modern',
  }),
  call('a task of it in the form of 2025-11-25', 'secret-task', { params: { task: {} } }),
  call('a tool that is nothing but a task', 'secret-only-task'),
  call('a tool that is nothing but a task, by a client that takes tasks', 'secret-only-task', {
    capabilities: TASKS,
    eras: 'modern',
  }),
  call('a task of that in the form of 2025-11-25', 'secret-only-task', { params: { task: { ttl: 60_000 } } }),
  call('a task of what is none', 'secret', { params: { task: {} } }),
  call('a tool without the header it wants', 'secret-header', { args: { region: 'north' }, eras: 'modern' }),
  call('a tool with a header that disagrees', 'secret-header', {
    args: { region: 'north' },
    headers: { 'mcp-param-region': 'south' },
    eras: 'modern',
  }),
  wish('a prompt', 'prompts/get', { name: 'secret', arguments: { word: 'x' } }),
  wish('a prompt without its arguments', 'prompts/get', { name: 'secret' }),
  wish('completion of a prompt', 'completion/complete', {
    ref: { type: 'ref/prompt', name: 'secret' },
    argument: { name: 'word', value: '' },
  }),
  wish('completion of what a prompt does not have', 'completion/complete', {
    ref: { type: 'ref/prompt', name: 'secret' },
    argument: { name: 'other', value: '' },
  }),
  wish('completion of a template', 'completion/complete', {
    ref: { type: 'ref/resource', uri: 'secret://{x}' },
    argument: { name: 'x', value: '' },
  }),
  wish('completion of what a template does not have', 'completion/complete', {
    ref: { type: 'ref/resource', uri: 'secret://{x}' },
    argument: { name: 'other', value: '' },
  }),
  wish('completion of a resource', 'completion/complete', {
    ref: { type: 'ref/resource', uri: 'test://secret' },
    argument: { name: 'x', value: '' },
  }),
  wish('a resource', 'resources/read', { uri: 'test://secret' }),
  wish('a resource of a template', 'resources/read', { uri: 'secret://computed' }),
  wish('a subscription to a resource', 'resources/subscribe', { uri: 'test://secret' }, { eras: 'session' }),
  wish('a subscription to one of a template', 'resources/subscribe', { uri: 'secret://computed' }, { eras: 'session' }),
]

const clientOptions = (principal: string, { capabilities = {}, headers = {} }: Wish): ClientOptions => ({
  capabilities,
  headers: { ...as(principal), ...headers },
})

type Ask = (at: Fetcher, principal: string, wish: Wish) => Promise<Exchange>

/** How a caller can come, and which wishes it can have there. */
const WAYS: [way: string, ask: Ask, can: (wish: Wish) => boolean][] = [
  [
    '2026-07-28',
    (at, principal, wish) =>
      modern(at, clientOptions(principal, wish)).request(wish.method, wish.params, { id: 'same', unchecked: true }),
    ({ eras }) => eras !== 'session',
  ],
  ...LEGACY.map((revision): (typeof WAYS)[number] => [
    `${revision} without a session`,
    (at, principal, wish) =>
      legacy(at, revision, clientOptions(principal, wish)).request(wish.method, wish.params, {
        id: 'same',
        unchecked: true,
      }),
    ({ eras }) => eras === undefined,
  ]),
  ...LEGACY.map((revision): (typeof WAYS)[number] => [
    `${revision} in a session`,
    async (at, principal, wish) => {
      const session = await legacySession(at, revision, clientOptions(principal, wish))
      return session.request(wish.method, wish.params, { id: 'same', unchecked: true })
    },
    ({ eras }) => eras !== 'modern',
  ]),
]

describe.each(WAYS)('what a caller may not see, asked for on %s', (_way, ask, can) => {
  test.each(UNABLE.filter(can))('is answered like what never was: $what', async (asked) => {
    const never = await ask(without, 'eve', asked)
    expect(never.error).toBeDefined()
    expect(bytesOf(await ask(fetcher, 'eve', asked))).toBe(bytesOf(never))
  })

  const granted = UNABLE.filter((asked) => can(asked) && !asked.isRefusedAnyway)
  test.each(granted)('is answered otherwise for whom it is visible to: $what', async (asked) => {
    expect(bytesOf(await ask(fetcher, 'ada', asked))).not.toBe(bytesOf(await ask(without, 'ada', asked)))
  })
})

test('a batch of 2025-03-26 is answered as if what its caller may not see had never been', async () => {
  const body = JSON.stringify([
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'secret' } },
    { jsonrpc: '2.0', id: 2, method: 'resources/read', params: { uri: 'test://secret' } },
    { jsonrpc: '2.0', id: 3, method: 'tools/list' },
  ])
  const send = (at: Fetcher, principal: string) =>
    legacy(at, '2025-03-26').raw({
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...as(principal) },
      body,
    })
  const { text } = await send(fetcher, 'eve')
  expect(text).toContain('Unknown tool: secret')
  expect(text).toBe((await send(without, 'eve')).text)
  expect((await send(fetcher, 'ada')).text).not.toBe(text)
})

describe('a task of a tool that is not for everybody', () => {
  test('runs for whom it is visible to, in both forms', async () => {
    const clients = [taskClient(fetcher, as('ada')), legacy(fetcher, '2025-11-25', ADA)] as const
    for (const name of ['secret-task', 'secret-only-task']) {
      const { taskId } = await clients[0].callTask(name)
      expect((await clients[0].settled(taskId)).result?.content[0]?.text).toBe('secret')
      const old = await clients[1].callTask(name)
      expect(await clients[1].result('tasks/result', { taskId: old.taskId })).toMatchObject({
        content: [{ text: 'secret' }],
      })
    }
  })
})

describe('subscriptions/listen', () => {
  const uris = ['test://open', 'test://secret', 'open://a', 'secret://a', 'test://never']

  /** The acknowledgement, byte for byte. */
  async function acknowledged(at: Fetcher, principal: string, resourceSubscriptions: string[]) {
    const client = modern(at, { headers: as(principal) })
    const stream = await client.open(
      'subscriptions/listen',
      { notifications: { resourceSubscriptions } },
      { id: 'one' },
    )
    const { value } = await stream.messages.next()
    await stream.cancel()
    return { text: stream.log.text, agreed: value!.params!['notifications'] }
  }

  test('leaves what its caller may not see out of the acknowledgement, like what never was', async () => {
    const { text, agreed } = await acknowledged(fetcher, 'eve', uris)
    expect(agreed).toEqual({ resourceSubscriptions: ['test://open', 'open://a'] })
    expect(text).toBe((await acknowledged(without, 'eve', uris)).text)
    const hers = await acknowledged(fetcher, 'ada', uris)
    expect(hers.agreed).toEqual({ resourceSubscriptions: ['test://open', 'test://secret', 'open://a', 'secret://a'] })
  })

  test('agrees to nothing for who asks for nothing else', async () => {
    const { text, agreed } = await acknowledged(fetcher, 'eve', ['test://secret'])
    expect(agreed).toEqual({ resourceSubscriptions: [] })
    expect(text).toBe((await acknowledged(without, 'eve', ['test://secret'])).text)
  })

  test('tells nobody of a change they may not see, though others are told on the same server', async () => {
    const changing = defineTool('change', {
      description,
      handler(_input, ctx) {
        ctx.notify.resourceUpdated('test://secret')
        ctx.notify.resourceUpdated('test://open')
        return 'changed'
      },
    })
    const at = serveFor({ ...both, tools: [changing] })
    const listen = (principal: string) =>
      modern(at, { headers: as(principal) }).open('subscriptions/listen', {
        notifications: { resourceSubscriptions: ['test://secret', 'test://open'] },
      })
    const [ada, eve] = await Promise.all([listen('ada'), listen('eve')])
    for (const { messages } of [ada, eve]) await messages.next()
    await modern(at).call('change')
    const told = async ({ messages }: typeof ada) => (await messages.next()).value!.params!['uri']
    expect(await told(eve)).toBe('test://open')
    expect([await told(ada), await told(ada)]).toEqual(['test://secret', 'test://open'])
    await Promise.all([ada.cancel(), eve.cancel()])
  })
})

describe('a URI that a hidden resource and a visible template share', () => {
  const hidden = defineResource('shared://one', { name: 'one', ...adas, read: () => 'of the resource' })
  const template = defineResourceTemplate('shared://{x}', { name: 'all', read: ({ x }) => `of the template: ${x}` })
  const second = defineResourceTemplate('shared://{y}', { name: 'hidden', ...adas, read: () => 'of nobody' })
  const at = serveFor({ resources: [hidden, second, template] })

  describeEras(
    'read',
    (client) => {
      test('is served by the template to who does not see the resource', async () => {
        const read = async (options: RequestOptions) =>
          (await client.result('resources/read', { uri: 'shared://one' }, options)).contents[0]
        expect(await read(ADA)).toMatchObject({ text: 'of the resource' })
        expect(await read(EVE)).toMatchObject({ text: 'of the template: one' })
      })
    },
    { fetcher: at },
  )

  test('may be watched by both', async () => {
    for (const options of [ADA, EVE]) {
      const session = await legacySession(at, '2025-11-25', options)
      expect(await session.result('resources/subscribe', { uri: 'shared://one' })).toEqual({})
    }
  })
})

describe('a predicate', () => {
  test('is given who calls, and nothing else', async () => {
    const given: unknown[][] = []
    const visible: Restricted['visible'] = (...args: unknown[]) => given.push(args) > 0
    const client = modern(serveFor({ tools: [defineTool('seen', { description, visible, handler: () => 'seen' })] }))
    await client.result('tools/list', {}, ADA)
    await client.call('seen', {}, EVE)
    await client.call('seen')
    const principals = given.map(([auth]) => (auth as { principal: string }).principal)
    expect(new Set(principals)).toEqual(new Set(['ada', 'eve', 'anonymous']))
    for (const args of given) expect(args).toEqual([{ principal: expect.any(String) }])
  })

  test('says yes with `true` alone: a promise, which no type allows, would let everybody in', async () => {
    const visible = (async () => false) as unknown as () => boolean
    const client = modern(serveFor({ tools: [defineTool('late', { description, visible, handler: () => 'late' })] }))
    expect((await client.result('tools/list')).tools).toEqual([])
    expect(await client.error('tools/call', { name: 'late' })).toMatchObject({ code: -32602 })
  })

  describe('that throws', () => {
    const broken: Restricted = {
      visible() {
        throw new Error('the reason nobody may read')
      },
    }
    const at = serveFor({
      tools: [
        defineTool('broken', { description, ...broken, handler: () => 'x' }),
        defineTool('broken-task', { description, task, ...broken, handler: () => 'x' }),
      ],
      prompts: [
        definePrompt('broken', {
          description,
          arguments: z.object({ a: z.string() }),
          complete: { a: () => [] },
          ...broken,
          get: () => 'x',
        }),
      ],
      resources: [
        defineResource('test://broken', { name: 'broken', ...broken, read: () => 'x' }),
        defineResourceTemplate('broken://{x}', { name: 'broken', list: () => [], ...broken, read: () => 'x' }),
      ],
    })
    const asked: [method: string, params: JsonObject][] = [
      ...LISTS.map(([method]): [string, JsonObject] => [method, {}]),
      ['tools/call', { name: 'broken' }],
      ['tools/call', { name: 'broken-task' }],
      ['prompts/get', { name: 'broken' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'broken' }, argument: { name: 'a', value: '' } }],
      ['resources/read', { uri: 'test://broken' }],
      ['resources/read', { uri: 'broken://a' }],
    ]

    /** Answered without the reason, which is in the log. */
    async function failsSafely(ask: () => Promise<Exchange>): Promise<void> {
      const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
      const { error, log } = await ask()
      expect(error).toMatchObject({
        code: -32603,
        message: expect.stringMatching(/^Internal error \(request [\w-]+\)$/),
      })
      expect(log.text).not.toContain('nobody')
      expect(logged.mock.calls.join('\n')).toContain('the reason nobody may read')
      logged.mockRestore()
    }

    describeEras(
      'fails',
      (client) => {
        test.each(asked)('%s with an internal error, whose reason is logged alone: %j', async (method, params) => {
          await failsSafely(() => client.request(method, params))
        })
      },
      { fetcher: at },
    )

    test.each(LEGACY)('fails the same in a session of %s', async (revision) => {
      const session = await legacySession(at, revision)
      for (const [method, params] of asked) await failsSafely(() => session.request(method, params))
    })

    test('fails a subscription to what it is about', async () => {
      const session = await legacySession(at, '2025-11-25')
      await failsSafely(() => session.request('resources/subscribe', { uri: 'test://broken' }))
    })

    test('fails listening to what it is about, before there is a stream', async () => {
      const notifications = { resourceSubscriptions: ['test://broken'] }
      await failsSafely(() => modern(at).request('subscriptions/listen', { notifications }))
    })
  })
})

describe('sharing with everybody what only some may see', () => {
  const shared = { ttlMs: 60_000, scope: 'public' } as const

  test('is refused where it is defined, by name', () => {
    const resource = () => defineResource('test://mine', { name: 'mine', cache: shared, ...adas, read: () => 'x' })
    expect(resource).toThrow(
      new TypeError(
        'cannot define resource "test://mine": cache cannot be public where something is visible to some only',
      ),
    )
    const template = () =>
      defineResourceTemplate('mine://{x}', { name: 'mine', cache: shared, ...adas, read: () => '' })
    expect(template).toThrow(/^cannot define .*"mine:\/\/\{x\}": cache cannot be public/)
  })

  test.each(['tools', 'prompts', 'resources', 'templates'] as const)('is refused for a list: %s', (list) => {
    const { tools, prompts, resources } = both
    expect(() => serve({ tools, prompts, resources, cache: { [list]: shared } } as ServerOptions)).toThrow(
      new TypeError(`cannot define the server: cache.${list} cannot be public where something is visible to some only`),
    )
  })

  test('is possible for what everybody sees, and for a list of that', async () => {
    const open = defineResource('test://all', { name: 'all', cache: shared, read: () => 'x' })
    const client = modern(serveFor({ tools: both.tools!, resources: [open], cache: { resources: shared } }))
    expect(await client.result('resources/list')).toMatchObject({ cacheScope: 'public' })
    expect(await client.result('resources/read', { uri: 'test://all' })).toMatchObject({ cacheScope: 'public' })
  })
})
