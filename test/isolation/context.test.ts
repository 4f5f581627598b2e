// `ctx.auth`: who is calling, in every era and every kind of call, and never the token itself. What outlives a request keeps
// who it was, and what outlives the token nothing that its issuer said.

import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  type Auth,
  type CallContext,
  type LookupContext,
} from '../../src/server/index.ts'
import { createIssuer, RESOURCE, type Issuer } from '../auth/issuer.ts'
import { json } from '../auth/tenant.ts'
import { listen, hubOf } from '../listen/support.ts'
import { eventually, hibernate, isAsk, sessionOf, stubOf, textOf, type OwnSession } from '../sessions/support.ts'
import { parked, stubOf as taskStubOf } from '../tasks/support.ts'
import { digestOf } from '../../src/server/canonical.ts'
import { legacy, modern, REVISIONS, TASKS, type Fetcher, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { bearer, dumpOf, legacyPost, logged, modernPost, NAME, whole } from './support.ts'

/** Everything that can be reached from a value, also what is not enumerable. */
function reachable(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value === 'string') return `${value}\n`
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return ''
  seen.add(value)
  return Reflect.ownKeys(value)
    .map((key) => {
      const { value: member } = Object.getOwnPropertyDescriptor(value, key) ?? {}
      return `${String(key)}\n${reachable(member, seen)}`
    })
    .join('')
}

/** What was within a handler's reach, in order. */
const within: string[] = []
const authOf = (ctx: LookupContext): Auth => {
  within.push(reachable({ ...ctx, env: undefined, auth: ctx.auth }))
  return ctx.auth
}
const said = (ctx: LookupContext) => JSON.stringify(authOf(ctx))
const afterAsk = async (ctx: CallContext) => {
  const before = said(ctx)
  await ctx.elicit('name', NAME)
  return `${before}\n${said(ctx)}`
}

const server = defineServer({
  name: 'context',
  version: '1.0.0',
  tools: [
    defineTool('auth', { description: 'Says who is calling.', handler: (_input, ctx) => said(ctx) }),
    defineTool('asking', {
      description: 'The same before and after a question.',
      annotations: { readOnlyHint: true },
      handler: (_input, ctx) => afterAsk(ctx),
    }),
    defineTool('job', {
      description: 'The same in a task.',
      task: { support: 'optional', prepare: (_input, ctx) => said(ctx) },
      handler: async (_input, ctx, prepared) => {
        await ctx.elicit('name', NAME)
        return `${String(prepared)}\n${said(ctx)}`
      },
    }),
    defineTool('quick_job', {
      description: 'A task that does not ask.',
      task: { support: 'optional' },
      handler: (_input, ctx) => said(ctx),
    }),
    defineTool('fail', {
      description: 'Fails.',
      handler: (_input, ctx) => {
        authOf(ctx)
        throw new TypeError('it failed')
      },
    }),
  ],
  prompts: [
    definePrompt('prompt', {
      description: 'Says who is calling.',
      arguments: { type: 'object', properties: { a: { type: 'string' } } },
      complete: { a: (_typed, ctx) => [said(ctx)] },
      get: (_input, ctx) => said(ctx),
    }),
  ],
  resources: [
    defineResource('test://auth', { name: 'auth', read: (ctx) => said(ctx) }),
    defineResourceTemplate('test://of/{id}', {
      name: 'of',
      list: (ctx) => [{ uri: 'test://of/1', name: said(ctx) }],
      read: (_variables, ctx) => said(ctx),
    }),
  ],
})

const CLIENT = { capabilities: { ...TASKS, elicitation: { form: {} } } }

let issuer: Issuer
let fetcher: Fetcher
let token: string
let claims: JsonObject
let headers: Record<string, string>
/** What a handler is told while the token lives. */
let told: JsonObject
/** And what of it lasts. */
let lasting: JsonObject
beforeAll(async () => {
  issuer = await createIssuer()
  const AUTH_ISSUERS = JSON.stringify([issuer.settings()])
  fetcher = serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS, LOG: 'requests' } as object })
  const more = {
    sub: 'ada',
    client_id: 'host',
    scope: 'notes:read notes:write',
    email: 'ada@example.com',
    groups: ['a'],
  }
  claims = issuer.claims(more)
  token = await issuer.mint(claims)
  headers = bearer(token)
  lasting = {
    principal: 'user main ada',
    issuer: 'main',
    subject: 'ada',
    clientId: 'host',
    scopes: ['notes:read', 'notes:write'],
  }
  told = { ...lasting, claims, expiresAt: (claims['exp'] as number) * 1000 }
})

/** Neither the token nor a part of it that only it has. */
function expectNoToken(text: string): void {
  for (const part of [token, ...token.split('.')]) expect(text.includes(part)).toBe(false)
}

const parse = (text: string | undefined): JsonObject => JSON.parse(text ?? 'null') as JsonObject

for (const revision of REVISIONS) {
  describe(`a handler [${revision}]`, () => {
    const post = async (method: string, params: JsonObject) => {
      const request =
        revision === '2026-07-28'
          ? modernPost(method, params, headers)
          : legacyPost({ jsonrpc: '2.0', id: 1, method, params }, headers, revision)
      return ((await (await fetcher(request)).json()) as { result: JsonObject }).result
    }

    test('of a tool is told who is calling', async () => {
      const { content } = await post('tools/call', { name: 'auth', arguments: {} })
      expect(parse((content as { text: string }[])[0]!.text)).toEqual(told)
    })

    test('of a resource, a prompt, a list and a completion is told the same', async () => {
      const { contents } = await post('resources/read', { uri: 'test://auth' })
      expect(parse((contents as { text: string }[])[0]!.text)).toEqual(told)
      const { messages } = await post('prompts/get', { name: 'prompt' })
      expect(parse((messages as { content: { text: string } }[])[0]!.content.text)).toEqual(told)
      const { resources } = await post('resources/list', {})
      expect(parse((resources as { name: string }[]).at(-1)!.name)).toEqual(told)
      const ref = { type: 'ref/prompt', name: 'prompt' }
      const { completion } = await post('completion/complete', { ref, argument: { name: 'a', value: '' } })
      expect(parse((completion as { values: string[] }).values[0])).toEqual(told)
    })
  })
}

describe('in a session', () => {
  const open = (): Promise<OwnSession> =>
    sessionOf(fetcher, '2025-11-25', { headers, capabilities: { elicitation: {} } })

  test('a handler is told who is calling, with the token of this request', async () => {
    const session = await open()
    expect(parse((await session.call('auth')).result.content[0]?.text)).toEqual(told)
    const other = issuer.claims({ sub: 'ada', client_id: 'other', scope: 'notes:read', exp: 4_000_000_000 })
    const { result } = await session.call('auth', {}, { headers: bearer(await issuer.mint(other)) })
    expect(parse(result.content[0]?.text)).toEqual({
      ...lasting,
      clientId: 'other',
      scopes: ['notes:read'],
      claims: other,
      expiresAt: 4_000_000_000_000,
    })
  })

  test.each([false, true])('a handler that asked is told the same when it was entered again: %s', async (again) => {
    const session = await open()
    const stream = await session.callStream('asking')
    const ask = await stream.until(isAsk)
    if (again) {
      await stream.cancel()
      await hibernate(session)
    }
    expectNoToken(await dumpOf(stubOf(session)))
    await session.reply(ask.id, { result: { action: 'accept', content: { name: 'Ann' } } })
    const whole = again ? await session.resume(stream) : stream
    const [before, after] = textOf((await whole.rest()).at(-1)).split('\n')
    expect(parse(before)).toEqual(told)
    expect(parse(after)).toEqual(told)
    expectNoToken(await dumpOf(stubOf(session)))
    expectNoToken(stream.log.text)
  })
})

test('a modern handler that asked is told of each request’s own token', async () => {
  const client = modern(fetcher, { headers, ...CLIENT })
  const call = { name: 'asking', arguments: {} }
  const { requestState } = (await client.result('tools/call', call)) as JsonObject
  expectNoToken(requestState as string)
  const next = issuer.claims({ sub: 'ada', exp: 4_000_000_000 })
  const inputResponses = { name: { action: 'accept', content: { name: 'Ann' } } }
  const again = { headers: bearer(await issuer.mint(next)) }
  const { content } = await client.result('tools/call', { ...call, requestState, inputResponses }, again)
  const [before, after] = (content[0] as { text: string }).text.split('\n')
  for (const text of [before, after]) expect(parse(text)).toMatchObject({ claims: next, expiresAt: 4_000_000_000_000 })
})

describe('in a task', () => {
  test('a handler is told who made it, and nothing that its issuer said; what prepares it is told everything', async () => {
    const client = modern(fetcher, { headers, ...CLIENT })
    const { taskId } = await client.callTask('job')
    await parked(taskId)
    expectNoToken(await dumpOf(taskStubOf(taskId)))
    await client.result('tasks/update', {
      taskId,
      inputResponses: { name: { action: 'accept', content: { name: 'Ann' } } },
    })
    const content = (await client.settled(taskId)).result?.content as { text: string }[]
    const [prepared, inside] = content[0]!.text.split('\n')
    expect(parse(prepared)).toEqual(told)
    expect(parse(inside)).toEqual(lasting)
    expectNoToken(await dumpOf(taskStubOf(taskId)))
  })

  test('nothing that its issuer said is stored', async () => {
    const client = modern(fetcher, { headers, ...CLIENT })
    const { taskId } = await client.callTask('quick_job')
    await client.settled(taskId)
    const stored = await dumpOf(taskStubOf(taskId))
    expect(stored).not.toContain('ada@example.com')
    expect(stored).not.toContain('expiresAt')
  })

  test.each([true, false])('a handler of 2025-11-25 is told the same, in a session: %s', async (inSession) => {
    const client = inSession
      ? await sessionOf(fetcher, '2025-11-25', { headers })
      : legacy(fetcher, '2025-11-25', { headers })
    const { taskId } = await client.callTask('quick_job')
    const { content } = (await client.taskResult(taskId)) as unknown as { content: { text: string }[] }
    expect(parse(content[0]!.text)).toEqual(lasting)
    expectNoToken(await dumpOf(taskStubOf(taskId)))
    const principal = env.PRINCIPAL.getByName(await digestOf('user main ada'))
    expectNoToken(await dumpOf(principal as unknown as DurableObjectStub<undefined>))
  })
})

test('a program that acts for nobody has no subject', async () => {
  const own = issuer.claims({ sub: undefined, client_id: 'robot', scope: undefined })
  const { result } = await modern(fetcher, { headers: bearer(await issuer.mint(own)) }).call('auth')
  const auth = parse(result.content[0]?.text)
  expect(auth).toMatchObject({ principal: 'client main robot', clientId: 'robot', scopes: [] })
  expect(auth).not.toHaveProperty('subject')
  const itself = bearer(await issuer.mint({ sub: 'robot', client_id: 'robot' }))
  const said = parse((await modern(fetcher, { headers: itself }).call('auth')).result.content[0]?.text)
  expect(said).toMatchObject({ principal: 'client main robot', clientId: 'robot' })
  expect(said).not.toHaveProperty('subject')
})

test('without authorization nobody is anybody', async () => {
  const { result } = await modern(serve(server)).call('auth')
  expect(parse(result.content[0]?.text)).toEqual({ principal: 'anonymous' })
})

test('what a handler does to it is not there for the next caller', async () => {
  const opaque = await createIssuer()
  const secret = crypto.randomUUID()
  await opaque.introspects(
    secret,
    json({ active: true, sub: 'ada', aud: RESOURCE, scope: 'a', plan: { name: 'free' } }),
  )
  const AUTH_ISSUERS = JSON.stringify([opaque.settings({ introspection: { clientId: 'mcp', clientSecret: 'SECRET' } })])
  const tools = [
    defineTool('meddle', {
      description: 'Changes what it may not.',
      handler(_input, { auth }) {
        const plan = auth.claims?.['plan'] as { name: string }
        const { name } = plan
        try {
          plan.name = 'paid'
          ;(auth.scopes as string[]).push('admin')
        } catch {
          // It is frozen.
        }
        return `${name} ${auth.scopes?.join(' ')}`.split(' admin')[0]!
      },
    }),
  ]
  const own = serve({ tools }, { vars: { AUTH: 'oauth', AUTH_ISSUERS, SECRET: 'x' } as object })
  // Not through a client, which would ask for the list first: both the answer of the issuer and what is kept of it count.
  for (let i = 0; i < 3; i++) {
    const answer = await own(modernPost('tools/call', { name: 'meddle', arguments: {} }, bearer(secret)))
    expect(await answer.text()).toContain('"free a"')
  }
})

test('the token is within no handler’s reach, in no answer, in no object and in no line of the log', async () => {
  within.length = 0
  const lines = logged()
  const client = modern(fetcher, { headers, ...CLIENT })
  const answers = [
    await whole(await fetcher(modernPost('tools/call', { name: 'auth', arguments: {} }, headers))),
    await whole(await fetcher(modernPost('tools/call', { name: 'fail', arguments: {} }, headers))),
    await whole(await fetcher(modernPost('tools/call', { name: 'no such', arguments: {} }, headers))),
    await whole(await fetcher(modernPost('no/such', {}, headers))),
    await whole(await fetcher(legacyPost('no json-rpc', headers))),
    await whole(await fetcher(new Request('http://localhost/mcp', { headers }))),
    await whole(await fetcher(modernPost('tools/list', {}, bearer(`${token}x`)))),
    await whole(await fetcher(modernPost('tools/list', {}, bearer(token.slice(0, -5))))),
    await whole(await fetcher(modernPost('tools/list', {}, { authorization: `Bearer ${token}, Bearer ${token}` }))),
    await whole(await fetcher(new Request(`http://localhost/mcp?access_token=${token}`, { headers }))),
  ]
  const session = await sessionOf(fetcher, '2025-11-25', { headers, capabilities: { elicitation: {} } })
  const stream = await session.callStream('asking')
  await stream.until(isAsk)
  answers.push(session.id, JSON.stringify((await session.call('fail')).result))
  const stopped = await listen(client, { resourceSubscriptions: ['test://auth'] })
  answers.push(JSON.stringify(stopped.acknowledgement))
  const { taskId } = await client.callTask('quick_job')
  await client.settled(taskId)
  await eventually(() => lines.some((line) => line.includes('"completed"')))
  for (const text of [...answers, ...within, ...lines]) expectNoToken(text)
  for (const text of [...within, ...lines]) expect(text).not.toMatch(/bearer /i)
  expect(within.length).toBeGreaterThanOrEqual(5)
  expect(lines.some((line) => line.includes('it failed'))).toBe(true)
  for (const stub of [stubOf(session), taskStubOf(taskId), hubOf(server)]) expectNoToken(await dumpOf(stub))
  await stream.cancel()
})
