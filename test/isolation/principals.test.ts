// Principals with names as long and as odd as issuers may give them: everything works for them, and no two are one.

import { describe, expect, test } from 'vitest'
import { defineResource, defineServer } from '../../src/server/index.ts'
import { createIssuer } from '../auth/issuer.ts'
import { change, listen, publish, withLimits } from '../listen/support.ts'
import { isAsk, sessionOf, textOf, tool } from '../sessions/support.ts'
import { parked, taskTool } from '../tasks/support.ts'
import { limits } from '../../src/limits.ts'
import { legacy, modern, TASKS } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { bearer, legacyPost, NAME, whole } from './support.ts'

const ID = 'i'.repeat(64)
const CAPABILITIES = {
  extensions: { ...TASKS.extensions, 'dev.mcp-edge/resumable-listen': {} },
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
}

const server = defineServer({
  name: 'principals',
  version: '1.0.0',
  tools: [
    change,
    tool('asking', async (ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody'),
    tool('whoami', ({ auth }) => auth.principal),
    taskTool('job', async (ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody'),
    taskTool('quick', ({ auth }) => auth.principal),
  ],
  resources: [defineResource('test://page', { name: 'page', read: () => 'text' })],
})

/** Each pair differs in what is easily lost on the way. */
const pairs: [what: string, one: string, another: string][] = [
  ['of 255 characters', 'a'.repeat(255), `${'a'.repeat(254)}b`],
  ['of 255 characters of another script', '語'.repeat(255), `${'語'.repeat(254)}言`],
  ['of emoji', '🙂'.repeat(127), `${'🙂'.repeat(126)}🙃`],
  ['that are not normalized', 'Zoe\u0308', 'Zoë'],
  ['with a space at the end', 'zoe', 'zoe '],
  ['that differ in case', 'Zoë', 'zoë'],
  ['with characters of URLs', 'a&form=x', 'a%26form%3Dx'],
  ['with a plus', 'a+b', 'a b'],
  ['with quotes', 'a"b', 'a\\"b'],
  ['that look like another kind', 'client main alice', 'user main alice'],
]

describe.each(pairs)('two users %s', (_, one, another) => {
  async function realm() {
    const issuer = await createIssuer()
    const AUTH_ISSUERS = JSON.stringify([issuer.settings({ id: ID })])
    const fetcher = serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS, RESUMABLE_LISTEN: 'on' } as object })
    const headers = bearer(await issuer.mint({ sub: one }))
    return { fetcher, headers, stranger: bearer(await issuer.mint({ sub: another })) }
  }

  test('have sessions of their own, whose ids are as short as ids are', async () => {
    const { fetcher, headers, stranger } = await realm()
    const clientInfo = { name: 'n'.repeat(200), version: 'v'.repeat(200) }
    const options = { headers, clientInfo, capabilities: { ...CAPABILITIES, extensions: undefined } }
    const session = await sessionOf(fetcher, '2025-11-25', options)
    expect(session.id).toMatch(/^[\x21-\x7e]+$/)
    expect(session.id.length).toBeLessThanOrEqual(limits.sessionIdChars)
    expect((await session.call('whoami')).result.content[0]?.text).toBe(`user ${ID} ${one}`)
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const foreign = legacyPost(ping, { ...stranger, 'mcp-session-id': session.id })
    const unknown = legacyPost(ping, { ...stranger, 'mcp-session-id': 'unknown' })
    expect(await whole(await fetcher(foreign))).toBe(await whole(await fetcher(unknown)))
    const stream = await session.callStream('asking')
    const ask = await stream.until(isAsk)
    await session.reply(ask.id, { result: { action: 'accept', content: { name: 'Zo' } } })
    expect(textOf((await stream.rest()).at(-1))).toBe('Zo')
    expect((await session.end()).status).toBe(204)
  })

  test('have tasks of their own', async () => {
    const { fetcher, headers, stranger } = await realm()
    const own = modern(fetcher, { capabilities: CAPABILITIES, headers })
    const { taskId } = await own.callTask('job')
    await parked(taskId)
    const other = modern(fetcher, { capabilities: CAPABILITIES, headers: stranger })
    expect((await other.error('tasks/get', { taskId })).message).toContain('no such task')
    await own.result('tasks/update', {
      taskId,
      inputResponses: { name: { action: 'accept', content: { name: 'Zo' } } },
    })
    expect((await own.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'Zo' }])
  })

  test('have tasks of 2025-11-25 of their own', async () => {
    const { fetcher, headers, stranger } = await realm()
    const own = legacy(fetcher, '2025-11-25', { headers })
    const { taskId } = await own.callTask('quick')
    const result = await own.taskResult(taskId)
    expect(result['content']).toEqual([{ type: 'text', text: `user ${ID} ${one}` }])
    const other = legacy(fetcher, '2025-11-25', { headers: stranger })
    expect((await other.error('tasks/result', { taskId })).message).toContain('no such task')
    const idsOf = async (client: typeof own) => (await client.result('tasks/list')).tasks.map((task) => task.taskId)
    expect(await idsOf(own)).toContain(taskId)
    expect(await idsOf(other)).not.toContain(taskId)
  })

  test('have calls of their own', async () => {
    const { fetcher, headers, stranger } = await realm()
    const call = { name: 'asking', arguments: {} }
    const own = modern(fetcher, { capabilities: CAPABILITIES, headers })
    const asked = await own.result('tools/call', call)
    const retry = {
      ...call,
      requestState: asked['requestState'],
      inputResponses: { name: { action: 'accept', content: { name: 'Zo' } } },
    }
    const other = modern(fetcher, { capabilities: CAPABILITIES, headers: stranger })
    expect((await other.error('tools/call', retry)).message).toContain('requestState is not valid')
    expect((await own.result('tools/call', retry))['content']).toEqual([{ type: 'text', text: 'Zo' }])
  })

  test('have streams of their own', async () => {
    withLimits({ hubWindowMs: 0, principalListeners: 1 })
    const { fetcher, headers, stranger } = await realm()
    const filter = { resourceSubscriptions: ['test://page'] }
    const own = modern(fetcher, { capabilities: CAPABILITIES, headers })
    const other = modern(fetcher, { capabilities: CAPABILITIES, headers: stranger })
    const stream = await listen(own, filter)
    await publish(server, 'resource test://page')
    expect(await stream.told(1)).toEqual(['resource test://page'])
    const cursor = stream.log.ids.at(-1)!
    const resume = { headers: { 'last-event-id': cursor } }
    expect((await other.error('subscriptions/listen', { notifications: filter }, resume)).message).toContain('cursor')
    // One has all it may have; that is nothing to the other.
    expect((await own.error('subscriptions/listen', { notifications: filter })).status).toBe(429)
    await (await listen(other, filter)).cancel()
    await stream.cancel()
  })
})

test('halves of characters name nobody: two of them would be one wherever they are written as bytes', async () => {
  const issuer = await createIssuer()
  const fetcher = serve(server, {
    vars: { AUTH: 'oauth', AUTH_ISSUERS: JSON.stringify([issuer.settings()]) } as object,
  })
  for (const sub of ['\ud83d', 'x\ude42', `${'x'.repeat(30)}\ud83e`]) {
    const claims = [{ sub }, { sub: undefined, client_id: sub }]
    for (const each of claims) {
      const refused = await modern(fetcher, { headers: bearer(await issuer.mint(each)) }).error('tools/list')
      expect(refused).toMatchObject({ status: 401, message: 'Unauthorized: The access token is malformed' })
    }
  }
})

test('a user whose id has its issuer in it is nobody else', async () => {
  const [one, two] = await Promise.all([createIssuer(), createIssuer()])
  const AUTH_ISSUERS = JSON.stringify([one.settings({ id: 'a' }), two.settings({ id: 'b' })])
  const fetcher = serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS } as object })
  const whoami = async (token: string) =>
    (await modern(fetcher, { headers: bearer(token) }).call('whoami')).result.content[0]?.text
  const names = [
    await whoami(await one.mint({ sub: 'b x' })),
    await whoami(await two.mint({ sub: 'x' })),
    await whoami(await two.mint({ sub: ' x' })),
    await whoami(await one.mint({ sub: 'x' })),
    await whoami(await one.mint({ sub: undefined, client_id: 'x' })),
  ]
  expect(new Set(names).size).toBe(names.length)
})
