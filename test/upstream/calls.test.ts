// Calls onward from every kind of call: with a token of the service's own, never with the client's.
// @see basic/authorization/security-considerations, Access Token Privilege Restriction

import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { defineTool, type Upstream } from '../../src/server/index.ts'
import { createTenant } from '../auth/tenant.ts'
import { dumpOf, logged, NAME } from '../isolation/support.ts'
import { hibernate, isAsk, sessionOf, stubOf, textOf } from '../sessions/support.ts'
import { parked, stubOf as taskStubOf } from '../tasks/support.ts'
import { legacy, LEGACY, modern, TASKS, type JsonObject } from '../support/client.ts'
import { createCallers, createProvider, SECRET, type Callers } from './support.ts'

const CANNOT = 'calendar cannot be called for you here: there is no access token of yours to exchange'
const grants = ['client_credentials', 'token_exchange'] as const

let callers: Callers
beforeAll(async () => {
  callers = await createCallers()
  // Handlers of sessions and tasks run in objects, which have the bindings of the Worker and not those of a test.
  Object.assign(env, { CALENDAR_SECRET: SECRET })
})

const toolsOf = (upstream: Upstream) => [
  defineTool('token', { description: 'Gets a token.', handler: (_input, ctx) => upstream.token(ctx) }),
  defineTool('late', {
    description: 'Gets one after a question.',
    annotations: { readOnlyHint: true },
    async handler(_input, ctx) {
      await ctx.elicit('name', NAME)
      return upstream.token(ctx)
    },
  }),
  defineTool('job', {
    description: 'Gets one in a task.',
    task: { support: 'optional' },
    handler: (_input, ctx) => upstream.token(ctx),
  }),
  defineTool('prepared', {
    description: 'Gets one before its task.',
    task: { support: 'optional', prepare: async (_input, ctx) => (await upstream.token(ctx)).length },
    handler: (_input, _ctx, length) => `a token of ${String(length)} characters`,
  }),
]

/** A server that gets tokens of a provider, one caller's token, and what the provider was asked. */
async function calling(grant: (typeof grants)[number]) {
  const provider = createProvider()
  await provider.gives('up-1')
  const fetcher = callers.serve({ tools: toolsOf(provider.upstream({ grant })) })
  return { provider, fetcher, ...(await callers.token()) }
}

describe.each(grants)('with %s', (grant) => {
  test('a modern call gets a token', async () => {
    const { fetcher, headers } = await calling(grant)
    expect((await modern(fetcher, { headers }).call('token')).result.content[0]?.text).toBe('up-1')
  })

  test.each(LEGACY)('a call without a session gets one [%s]', async (revision) => {
    const { fetcher, headers } = await calling(grant)
    expect((await legacy(fetcher, revision, { headers }).call('token')).result.content[0]?.text).toBe('up-1')
  })

  test.each(LEGACY)('a call in a session gets one, and the session keeps no token [%s]', async (revision) => {
    const { fetcher, headers, token, provider } = await calling(grant)
    const session = await sessionOf(fetcher, revision, { headers })
    expect((await session.call('token')).result.content[0]?.text).toBe('up-1')
    if (grant === 'token_exchange') expect((await provider.asked())[0]!.form['subject_token']).toBe(token)
    const stored = await dumpOf(stubOf(session))
    for (const secret of [token, 'up-1']) expect(stored).not.toContain(secret)
  })

  test('in a session each request exchanges its own token', async () => {
    const { fetcher, headers, provider } = await calling(grant)
    const session = await sessionOf(fetcher, '2025-11-25', { headers })
    await session.call('token')
    const more = await callers.token({ scope: 'notes:write' })
    await session.call('token', {}, { headers: more.headers })
    const subjects = (await provider.asked()).map(({ form }) => form['subject_token'])
    if (grant === 'token_exchange') expect(subjects[1]).toBe(more.token)
    else expect(subjects).toEqual([undefined])
  })

  test('a handler that waits for its answer still has the token it came with', async () => {
    const { fetcher, headers, token } = await calling(grant)
    const session = await sessionOf(fetcher, '2025-11-25', { headers, capabilities: { elicitation: {} } })
    const stream = await session.callStream('late')
    const ask = await stream.until(isAsk)
    expect(await dumpOf(stubOf(session))).not.toContain(token)
    await session.reply(ask.id, { result: { action: 'accept', content: { name: 'Ann' } } })
    expect(textOf((await stream.rest()).at(-1))).toBe('up-1')
  })

  test('a handler that was entered again without a request has no token to exchange, and says so', async () => {
    const { fetcher, headers } = await calling(grant)
    const session = await sessionOf(fetcher, '2025-11-25', { headers, capabilities: { elicitation: {} } })
    const stream = await session.callStream('late')
    const ask = await stream.until(isAsk)
    await stream.cancel()
    await hibernate(session)
    await session.reply(ask.id, { result: { action: 'accept', content: { name: 'Ann' } } })
    const text = textOf((await (await session.resume(stream)).rest()).at(-1))
    if (grant === 'client_credentials') expect(text).toBe('up-1')
    else expect(text).toContain(CANNOT)
  })

  test('a modern handler that asked uses the token of the retry', async () => {
    const { fetcher, headers, provider } = await calling(grant)
    const client = modern(fetcher, { headers, capabilities: { elicitation: {} } })
    const call = { name: 'late', arguments: {} }
    const { requestState } = (await client.result('tools/call', call)) as JsonObject
    const next = await callers.token()
    const inputResponses = { name: { action: 'accept', content: { name: 'Ann' } } }
    const retry = { ...call, requestState, inputResponses }
    const { content } = await client.result('tools/call', retry, { headers: next.headers })
    expect(content).toEqual([{ type: 'text', text: 'up-1' }])
    if (grant === 'token_exchange') expect((await provider.asked())[0]!.form['subject_token']).toBe(next.token)
  })

  test('a task gets one of the server’s own, and says that there is none to exchange', async () => {
    const { fetcher, headers, token } = await calling(grant)
    const client = modern(fetcher, { headers, capabilities: TASKS })
    const { taskId } = await client.callTask('job')
    const { result } = await client.settled(taskId)
    const { text } = result!.content[0] as { text: string }
    if (grant === 'client_credentials') expect(text).toBe('up-1')
    else {
      expect(result?.isError).toBe(true)
      expect(text).toContain(CANNOT)
    }
    expect(await dumpOf(taskStubOf(taskId))).not.toContain(token)
  })

  test('a task says so also where a token of its maker is known', async () => {
    const { fetcher, headers } = await calling(grant)
    const client = modern(fetcher, { headers, capabilities: TASKS })
    await client.call('token')
    const { taskId } = await client.callTask('job')
    const { result } = await client.settled(taskId)
    const { text } = result!.content[0] as { text: string }
    if (grant === 'client_credentials') expect(text).toBe('up-1')
    else expect(text).toContain(CANNOT)
  })

  test('what prepares a task gets one', async () => {
    const { fetcher, headers } = await calling(grant)
    const client = modern(fetcher, { headers, capabilities: TASKS })
    const { taskId } = await client.callTask('prepared')
    const { result } = await client.settled(taskId)
    expect(result?.content).toEqual([{ type: 'text', text: 'a token of 4 characters' }])
  })

  test('a task of 2025-11-25 as well', async () => {
    const { fetcher, headers, token } = await calling(grant)
    const session = await sessionOf(fetcher, '2025-11-25', { headers })
    const { taskId } = await session.callTask('job')
    const { content } = (await session.taskResult(taskId)) as unknown as { content: { text: string }[] }
    expect(content[0]!.text).toContain(grant === 'client_credentials' ? 'up-1' : CANNOT)
    expect(await dumpOf(taskStubOf(taskId))).not.toContain(token)
    expect(await dumpOf(stubOf(session))).not.toContain(token)
  })
})

describe('fetch', () => {
  async function api(init: RequestInit = {}, path = '/api') {
    const service = createTenant()
    const elsewhere = createTenant()
    await service.set('/api', { body: 'the events' })
    await service.set('/moved', { status: 302, headers: { location: `${elsewhere.url}/api` } })
    await elsewhere.set('/api', { body: 'stolen' })
    const provider = createProvider()
    await provider.gives('up-1')
    const upstream = provider.upstream({ grant: 'token_exchange' })
    const tool = defineTool('events', {
      description: 'Calls the service.',
      async handler(_input, ctx) {
        const response = await upstream.fetch(ctx, `${service.url}${path}`, init)
        return `${response.status} ${await response.text()}`
      },
    })
    const { token, headers } = await callers.token()
    const { result } = await modern(callers.serve({ tools: [tool] }), { headers }).call('events')
    const sent = await service.requests()
    return { text: result.content[0]?.text, sent, token, elsewhere: await elsewhere.requests() }
  }

  test('sends its own token and not the client’s', async () => {
    const { text, sent, token } = await api()
    expect(text).toBe('200 the events')
    expect(sent.map(({ headers }) => headers['authorization'])).toEqual(['Bearer up-1'])
    expect(JSON.stringify(sent)).not.toContain(token)
  })

  test.each([{ authorization: 'Bearer mine' }, { Authorization: 'Basic eA==' }, new Headers({ authorization: 'x' })])(
    'sends it in place of any other: %j',
    async (headers) => {
      const { sent } = await api({ headers })
      expect(sent[0]!.headers['authorization']).toBe('Bearer up-1')
    },
  )

  test('sends what else it was given', async () => {
    const { sent } = await api({ method: 'PUT', body: 'hello', headers: { 'x-trace': '1' } })
    expect(sent[0]).toMatchObject({ method: 'PUT', body: 'hello', headers: { 'x-trace': '1' } })
  })

  test.each<RequestInit>([{}, { redirect: 'follow' }])('follows no redirect: %j', async (init) => {
    const { text, elsewhere } = await api(init, '/moved')
    expect(text).toMatch(/^302/)
    expect(elsewhere).toEqual([])
  })
})

test('no token of any kind is logged', async () => {
  const lines = logged()
  const { fetcher, headers, token, provider } = await calling('token_exchange')
  const client = modern(fetcher, { headers, capabilities: TASKS })
  await client.call('token')
  await provider.tenant.set('/token', { drop: true })
  const other = await callers.token({ sub: 'bob' })
  await modern(fetcher, { headers: other.headers }).call('token')
  const { taskId } = await client.callTask('prepared')
  await parked(taskId).catch(() => {})
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) for (const secret of [token, other.token, 'up-1']) expect(line).not.toContain(secret)
})
