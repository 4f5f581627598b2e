// When a token ends: streams that were asked for with it end in good order, what is in flight is answered, and the client
// comes back with the next token to everything it had. Real seconds, so the tests run side by side.
// @see 2025-11-25 basic/transports, Resumability and Redelivery; basic/patterns/subscriptions

import { beforeAll, describe, expect, test } from 'vitest'
import { defineResource, defineServer } from '../../src/server/index.ts'
import { createIssuer, RESOURCE, type Issuer } from '../auth/issuer.ts'
import { json } from '../auth/tenant.ts'
import { begun, publish, toldOf } from '../listen/support.ts'
import { CAPABILITIES, isAsk, sessionOf, textOf, tool } from '../sessions/support.ts'
import { taskTool } from '../tasks/support.ts'
import { legacy, modern, TASKS, type Fetcher, type LegacyRevision } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { bearer, legacyPost, NAME } from './support.ts'

const PAGE = { resourceSubscriptions: ['test://page'] }
const server = defineServer({
  name: 'expiry',
  version: '1.0.0',
  tools: [
    tool('working', async (ctx) => {
      ctx.progress(1)
      await scheduler.wait(4_000)
      return `done for ${ctx.auth.principal}`
    }),
    tool('asking', async (ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody'),
    taskTool('job', async (ctx) => {
      await ctx.sleep(4_000)
      return 'done'
    }),
  ],
  resources: [defineResource('test://page', { name: 'page', read: () => 'text' })],
})

let issuer: Issuer
let fetcher: Fetcher
let lasting: Record<string, string>
beforeAll(async () => {
  issuer = await createIssuer()
  const AUTH_ISSUERS = JSON.stringify([issuer.settings()])
  fetcher = serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS, RESUMABLE_LISTEN: 'on' } as object })
  lasting = bearer(await issuer.mint())
})

/** For machines that are busy: a call here takes four seconds. */
const PATIENT = { timeout: 20_000 }

/** A token that ends in one to two seconds, and when. */
async function short(): Promise<{ headers: Record<string, string>; exp: number }> {
  const exp = Math.ceil(Date.now() / 1000) + 1
  return { headers: bearer(await issuer.mint({ exp, jti: crypto.randomUUID() })), exp: exp * 1000 }
}

/** A session made before: its client has a new token for each request. */
async function sessionWith(revision: LegacyRevision) {
  const made = await sessionOf(fetcher, revision, { headers: lasting, capabilities: CAPABILITIES[revision] })
  return { made, ...(await short()) }
}

function expectAbout(when: number, exp: number): void {
  // Timers of an isolate may be early by a little, and machines late by more.
  expect(when).toBeGreaterThan(exp - 100)
  expect(when).toBeLessThan(exp + 1_900)
}

describe.concurrent('the standalone stream of a session', PATIENT, () => {
  test.each(['2025-03-26', '2025-06-18', '2025-11-25'] as const)('ends, and nothing is lost [%s]', async (revision) => {
    const { made, headers, exp } = await sessionWith(revision)
    await made.result('resources/subscribe', { uri: 'test://page' })
    // The same session, asked with the short token.
    const request = { headers: { ...headers, accept: 'text/event-stream', 'mcp-protocol-version': revision } }
    const own = new Request('http://localhost/mcp', request)
    own.headers.set('mcp-session-id', made.id)
    const response = await fetcher(own)
    expect(response.status).toBe(200)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    await publish(server, 'resource test://page')
    let text = ''
    while (!text.includes('resources/updated')) text += (await reader.read()).value ?? ''
    const seen = text
      .match(/^id: (.+)$/gm)!
      .at(-1)!
      .slice(4)
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
    expectAbout(Date.now(), exp)
    expect(text.includes('retry: ')).toBe(revision === '2025-11-25')
    await publish(server, 'resource test://page')
    const again = await made.listen({ lastEventId: seen })
    expect((await again.until(({ method }) => method !== undefined)).method).toBe('notifications/resources/updated')
    await again.cancel()
  })
})

describe.concurrent('the stream of a call', PATIENT, () => {
  test.each(['2025-03-26', '2025-06-18', '2025-11-25'] as const)(
    'stays until it is answered, since not every client finds back to it [%s]',
    async (revision) => {
      const { made, headers, exp } = await sessionWith(revision)
      const stream = await made.callStream('working', {}, { headers, progressToken: 1 })
      const messages = await stream.rest()
      expect(Date.now()).toBeGreaterThan(exp)
      expect(textOf(messages.at(-1))).toBe('done for user main ada')
    },
  )

  test('that asks stays, and the question is answered with the next token', async () => {
    const { made, headers, exp } = await sessionWith('2025-11-25')
    const stream = await made.callStream('asking', {}, { headers })
    const ask = await stream.until(isAsk)
    await scheduler.wait(exp - Date.now() + 1_000)
    await made.reply(ask.id, { result: { action: 'accept', content: { name: 'Ann' } } })
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann')
  })

  test('that waits for a task stays until its result', async () => {
    const { made, headers, exp } = await sessionWith('2025-11-25')
    const { taskId } = await made.callTask('job')
    const stream = await made.stream('tasks/result', { taskId }, { headers })
    expect(textOf((await stream.rest()).at(-1))).toBe('done')
    expect(Date.now()).toBeGreaterThan(exp)
  })

  test('that is gone on with stays, too', async () => {
    const { made, headers, exp } = await sessionWith('2025-11-25')
    const stream = await made.callStream('asking', {})
    const ask = await stream.until(isAsk)
    await stream.cancel()
    const resumed = await fetcher(
      new Request('http://localhost/mcp', {
        headers: {
          ...headers,
          accept: 'text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          'mcp-session-id': made.id,
          'last-event-id': stream.lastEventId!,
        },
      }),
    )
    await scheduler.wait(exp - Date.now() + 1_000)
    await made.reply(ask.id, { result: { action: 'accept', content: { name: 'Ann' } } })
    expect(await resumed.text()).toContain('Ann')
  })
})

describe.concurrent('a call in flight', PATIENT, () => {
  test('of a modern client is answered', async () => {
    const { headers, exp } = await short()
    const client = modern(fetcher, { headers })
    const { result } = await client.call('working', {}, { progressToken: 1 })
    expect(Date.now()).toBeGreaterThan(exp)
    expect(result.content).toEqual([{ type: 'text', text: 'done for user main ada' }])
  })

  test('of a legacy client without a session is answered', async () => {
    const { headers, exp } = await short()
    const { result } = await legacy(fetcher, '2025-11-25', { headers }).call('working')
    expect(Date.now()).toBeGreaterThan(exp)
    expect(result.content).toEqual([{ type: 'text', text: 'done for user main ada' }])
  })

  test('that takes no stream is answered in its session', async () => {
    const { made, headers, exp } = await sessionWith('2025-11-25')
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'working', arguments: {} } }
    const more = { ...headers, accept: 'application/json', 'mcp-session-id': made.id }
    const response = await fetcher(legacyPost(call, more))
    const text = await response.text()
    expect(Date.now()).toBeGreaterThan(exp)
    expect(text).toContain('done for user main ada')
  })

  test('that becomes a task runs on, and is there for the next token', async () => {
    const { headers, exp } = await short()
    const { taskId } = await modern(fetcher, { headers, capabilities: TASKS }).callTask('job')
    await scheduler.wait(Math.max(0, exp - Date.now()) + 1_500)
    const later = modern(fetcher, { headers: lasting, capabilities: TASKS })
    expect((await later.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'done' }])
  })
})

describe.concurrent('subscriptions/listen', PATIENT, () => {
  const RESUMABLE = { extensions: { 'dev.mcp-edge/resumable-listen': {} } }

  test('ends with its result, and the next token is told what was missed', async () => {
    const { headers, exp } = await short()
    const client = modern(fetcher, { headers, capabilities: RESUMABLE })
    const stream = await begun(await client.open('subscriptions/listen', { notifications: PAGE }))
    const said: string[] = []
    let last
    for await (const message of stream.messages) {
      said.push(toldOf(message))
      last = message
    }
    expectAbout(Date.now(), exp)
    expect(said.at(-1)).toBe('end')
    expect(last?.result).toBeDefined()
    await publish(server, 'resource test://page')
    const next = modern(fetcher, { headers: lasting, capabilities: RESUMABLE })
    const cursor = { 'last-event-id': stream.log.ids.at(-1)! }
    const again = await begun(await next.open('subscriptions/listen', { notifications: PAGE }, { headers: cursor }))
    expect(await again.told(1)).toEqual(['resource test://page'])
    await again.cancel()
  })

  test('with a token that has just ended lasts a moment', async () => {
    // Taken for the tolerance of clocks.
    const headers = bearer(await issuer.mint({ exp: Math.floor(Date.now() / 1000) - 5 }))
    const began = Date.now()
    const stream = await begun(await modern(fetcher, { headers }).open('subscriptions/listen', { notifications: PAGE }))
    for await (const _ of stream.messages);
    expect(Date.now() - began).toBeGreaterThan(800)
    expect(Date.now() - began).toBeLessThan(2_500)
  })
})

test.concurrent('streams stay where the issuer does not say when the token ends', async () => {
  const opaque = await createIssuer()
  const token = crypto.randomUUID()
  await opaque.introspects(token, json({ active: true, sub: 'ada', aud: RESOURCE }))
  const introspection = { clientId: 'mcp', clientSecret: 'SECRET' }
  const AUTH_ISSUERS = JSON.stringify([opaque.settings({ introspection })])
  const own = serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS, SECRET: 'x' } as object })
  const client = modern(own, { headers: bearer(token) })
  const stream = await begun(await client.open('subscriptions/listen', { notifications: { toolsListChanged: true } }))
  const next = stream.next().then(toldOf)
  expect(await Promise.race([next, scheduler.wait(2_000).then(() => 'nothing')])).toBe('nothing')
  await stream.cancel()
  await next.catch(() => {})
})
