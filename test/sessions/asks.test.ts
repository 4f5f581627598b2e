// Asking the client of a session: a request on the stream of the call, an answer by POST.
// @see 2025-11-25 client/elicitation, client/sampling, client/roots

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { completeElicitation } from '../../durable-objects/ports.ts'
import { limits } from '../../src/limits.ts'
import { AskError, type CallContext } from '../../src/server/index.ts'
import { env } from 'cloudflare:workers'
import { serve } from '../support/serve.ts'
import {
  accept,
  describeLegacy,
  hibernate,
  isAsk,
  later,
  query,
  ring,
  sessionOf,
  storageOf,
  textOf,
  tool,
  withLimits,
} from './support.ts'

const Name = z.object({
  name: z.string().min(2).default('Jo'),
  size: z.enum(['s', 'm']),
  loud: z.boolean().default(true),
})

const askForm = async (ctx: CallContext): Promise<string> => {
  const answer = await ctx.elicit('who', { message: 'Who?', schema: Name })
  return answer.action === 'accept' ? `${answer.content.name} ${answer.content.size}` : answer.action
}
const form = tool('form', askForm)
const link = tool('link', async (ctx) => {
  const { action, id } = await ctx.elicitUrl('page', { message: 'Go', url: (key) => `https://example.com/?key=${key}` })
  return `${action} ${id}`
})
const sample = tool('sample', async (ctx) => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }]
  const answer = await ctx.inputRequest('model', {
    method: 'sampling/createMessage',
    params: { messages, maxTokens: 5 },
  })
  return JSON.stringify(answer.content)
})
const roots = tool('roots', async (ctx) => {
  const { roots: found } = await ctx.inputRequest('roots', { method: 'roots/list' })
  return found.map(({ uri }) => uri).join()
})
const both = tool('both', async (ctx) => {
  const [who, found] = await Promise.all([
    ctx.elicit('who', { message: 'Who?', schema: Name }),
    ctx.inputRequest('roots', { method: 'roots/list' }),
  ])
  return `${who.content?.name} ${found.roots.length}`
})
const alike = tool('alike', async (ctx) => {
  const ask = (key: string) => ctx.inputRequest(key, { method: 'roots/list' })
  return String((await Promise.all([ask('a'), ask('a:2')])).length)
})
const caught = tool('caught', async (ctx) => {
  try {
    await ctx.inputRequest('roots', { method: 'roots/list' })
    return 'answered'
  } catch (error) {
    return error instanceof AskError ? `AskError ${error.message}` : 'another error'
  }
})
const HURRIED_MS = 60_000
const hurried = tool('hurried', askForm, { askTtlMs: HURRIED_MS })

const fetcher = serve({ tools: [form, link, sample, roots, both, alike, caught, hurried] })
const answered = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } }

describeLegacy('asking for roots and for a completion', (revision) => {
  test('reaches the client on the stream of the call, and the answer gets 202', async () => {
    const session = await sessionOf(fetcher, revision)
    const rooted = await session.talk('roots', undefined, () => ({ result: { roots: [{ uri: 'file:///a' }] } }))
    expect(rooted.asked.map(({ method, params }) => [method, params])).toEqual([['roots/list', {}]])
    expect(rooted.result.content).toEqual([{ type: 'text', text: 'file:///a' }])
    const sampled = await session.talk('sample', undefined, () => ({ result: answered }))
    expect(sampled.asked[0]?.params).toEqual({
      messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
      maxTokens: 5,
    })
    expect(sampled.result.content[0]?.text).toBe('{"type":"text","text":"Hello"}')
  })

  test('with an error for an answer rejects with an AskError, which the model reads unless it is caught', async () => {
    const session = await sessionOf(fetcher, revision)
    const error = { code: -32601, message: 'no roots here' }
    const plain = await session.talk('roots', undefined, () => ({ error }))
    expect(plain.result).toEqual({
      content: [{ type: 'text', text: 'The client did not answer "roots": no roots here' }],
      isError: true,
    })
    const { result } = await session.talk('caught', undefined, () => ({ error }))
    expect(result.content[0]?.text).toBe('AskError The client did not answer "roots": no roots here')
  })

  test('with an error whose message is no text rejects the same way', async () => {
    const session = await sessionOf(fetcher, revision)
    const error = { code: 1, message: { toString: 1, valueOf: 1 } as unknown as string }
    const { result } = await session.talk('roots', undefined, () => ({ error }))
    expect(result.content[0]?.text).toBe('The client did not answer "roots": an error')
  })

  test('without the capability is a tool error at once, and nothing is sent', async () => {
    const session = await sessionOf(fetcher, revision, { capabilities: {} })
    for (const name of ['form', 'link', 'sample', 'roots']) {
      const { result, requests, contentType } = await session.call(name)
      expect([result.isError, requests, contentType]).toEqual([true, [], 'application/json'])
    }
    expect((await storageOf(session)).rows).toEqual({})
  })

  test('under keys that look like attempts of each other gets each its own answer', async () => {
    const session = await sessionOf(fetcher, revision)
    const seen = new Set<unknown>()
    const { result } = await session.talk(
      'alike',
      undefined,
      ({ id }) => {
        seen.add(id)
        return { result: { roots: seen.size === 1 ? 'none' : [] } }
      },
      { misfit: true },
    )
    expect(result.content).toEqual([{ type: 'text', text: '2' }])
    expect(seen.size).toBe(3)
  })

  test('asks again with a new id after an answer that does not fit, three times at most', async () => {
    const session = await sessionOf(fetcher, revision)
    const { asked, result } = await session.talk('roots', undefined, () => ({ result: { roots: 'none' } }), {
      misfit: true,
    })
    expect(new Set(asked.map(({ id }) => id)).size).toBe(limits.askAttempts)
    expect(asked).toHaveLength(limits.askAttempts)
    expect(result.isError).toBe(true)
    expect(result.content[0]?.text).toContain('No answer to "roots" fitted')
  })
})

describe('a form', () => {
  const requestedSchema = {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'Jo', minLength: 2 },
      size: { type: 'string', enum: ['s', 'm'] },
      loud: { type: 'boolean', default: true },
    },
    required: ['size'],
  }

  test('is asked in full on 2025-11-25', async () => {
    const session = await sessionOf(fetcher)
    const { asked, result } = await session.talk('form', undefined, () =>
      accept({ name: 'Ann', size: 'm', loud: false }),
    )
    expect(asked.map(({ method, params }) => ({ method, params }))).toEqual([
      { method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema } },
    ])
    expect(result.content).toEqual([{ type: 'text', text: 'Ann m' }])
  })

  test('is asked without what came later on 2025-06-18', async () => {
    const session = await sessionOf(fetcher, '2025-06-18')
    const { asked, result } = await session.talk('form', undefined, () => accept({ size: 's' }))
    const { name: _, ...rest } = requestedSchema.properties
    const properties = { name: { type: 'string', minLength: 2 }, ...rest }
    expect(asked[0]?.params).toEqual({ message: 'Who?', requestedSchema: { ...requestedSchema, properties } })
    expect(result.content).toEqual([{ type: 'text', text: 'Jo s' }])
  })

  test('is not asked on 2025-03-26, whatever the client declares', async () => {
    const session = await sessionOf(fetcher, '2025-03-26')
    const { asked, result } = await session
      .talk('form', undefined, () => undefined)
      .catch(async () => ({
        asked: [],
        result: (await session.call('form')).result,
      }))
    expect([asked, result.isError]).toEqual([[], true])
  })

  test.for(['decline', 'cancel'])('answered with %s is a value', async (action) => {
    const session = await sessionOf(fetcher)
    const { result } = await session.talk('form', undefined, () => ({ result: { action } }))
    expect(result).toEqual({ content: [{ type: 'text', text: action }] })
  })
})

describe('a link', () => {
  test('carries an elicitationId that leads back to its session, whose client hears when the page is done', async () => {
    const [session, other] = [await sessionOf(fetcher), await sessionOf(fetcher)]
    const stranger = await other.listen()
    let elicitationId = ''
    const stream = await session.callStream('link')
    const ask = await stream.until(isAsk)
    elicitationId = ask.params?.['elicitationId'] as string
    expect(ask.params).toEqual({
      mode: 'url',
      message: 'Go',
      elicitationId,
      url: `https://example.com/?key=${elicitationId}`,
    })
    await completeElicitation(env, elicitationId)
    await session.reply(ask.id, { result: { action: 'accept' } })
    const messages = await stream.rest()
    expect(messages.map(({ method }) => method)).toContain('notifications/elicitation/complete')
    expect(textOf(messages.at(-1))).toBe(`accept ${elicitationId}`)
    await stranger.cancel()
    expect(stranger.log.text).not.toContain('elicitation/complete')
  })

  test('is told on the standalone stream once its call has ended', async () => {
    const session = await sessionOf(fetcher)
    const get = await session.listen()
    const { asked } = await session.talk('link', undefined, () => ({ result: { action: 'accept' } }))
    const elicitationId = asked[0]?.params?.['elicitationId'] as string
    await completeElicitation(env, elicitationId)
    const told = await get.until(({ method }) => method === 'notifications/elicitation/complete')
    expect(told.params).toEqual({ elicitationId })
    await get.cancel()
  })

  test('is told as an error to a client that takes no stream', async () => {
    const session = await sessionOf(fetcher)
    const error = await session.error('tools/call', { name: 'link' }, { accept: 'application/json' })
    expect(error).toMatchObject({ status: 200, code: -32042 })
    const [{ elicitationId, ...rest }] = (error.data as { elicitations: [Record<string, string>] }).elicitations
    expect(rest).toEqual({ mode: 'url', message: 'Go', url: `https://example.com/?key=${elicitationId}` })
  })

  test('with an id that was altered completes nothing', async () => {
    const session = await sessionOf(fetcher)
    const get = await session.listen()
    const { asked } = await session.talk('link', undefined, () => ({ result: { action: 'accept' } }))
    const elicitationId = asked[0]?.params?.['elicitationId'] as string
    const object = elicitationId.split('.')[1]!
    for (const id of [`words of a stranger.${object}`, `.${object}`, `${elicitationId}.more`])
      await completeElicitation(env, id)
    await completeElicitation(env, elicitationId)
    const told = await get.until(({ method }) => method === 'notifications/elicitation/complete')
    expect(told.params).toEqual({ elicitationId })
    await get.cancel()
  })

  test('is a tool error before 2025-11-25', async () => {
    const session = await sessionOf(fetcher, '2025-06-18', { capabilities: { elicitation: {} } })
    expect((await session.call('link')).result.isError).toBe(true)
  })

  test.for(['', 'x', 'a.b', `x.${'0'.repeat(64)}`])('with an id of nobody completes nothing: "%s"', async (id) => {
    await completeElicitation(env, id)
  })
})

describe('an answer', () => {
  test('to nothing, too late or a second time gets 202 and changes nothing', async () => {
    const session = await sessionOf(fetcher)
    expect((await session.reply('unknown', accept({ size: 's' }))).status).toBe(202)
    expect((await session.reply(1, accept({ size: 's' }))).status).toBe(202)
    expect(await storageOf(session)).toEqual({ rows: {}, alarm: null })
    const { asked, result } = await session.talk('form', undefined, () => accept({ name: 'Ann', size: 'm' }))
    expect((await session.reply(asked[0]!.id, accept({ name: 'Bob', size: 's' }))).status).toBe(202)
    expect(result.content[0]?.text).toBe('Ann m')
  })

  test('of another session is not taken', async () => {
    const [session, other] = [await sessionOf(fetcher), await sessionOf(fetcher)]
    const stream = await session.callStream('form')
    const ask = await stream.until(isAsk)
    expect((await other.reply(ask.id, accept({ name: 'Eve', size: 's' }))).status).toBe(202)
    await session.reply(ask.id, accept({ name: 'Ann', size: 'm' }))
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann m')
  })

  test('to each of two asks that are open together finds its own', async () => {
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('both')
    const first = await stream.until(isAsk)
    const second = await stream.until(isAsk)
    const [who, found] = first.method === 'roots/list' ? [second, first] : [first, second]
    await session.reply(found.id, { result: { roots: [{ uri: 'file:///a' }] } })
    await session.reply(who.id, accept({ name: 'Ann', size: 's' }))
    expect(textOf((await stream.rest()).at(-1))).toBe('Ann 1')
  })
})

describeLegacy('an ask that nobody answers', (revision) => {
  test('is cancelled by name when its time is over, and then counts as refused', async () => {
    const session = await sessionOf(fetcher, revision)
    const stream = await session.callStream('roots')
    const ask = await stream.until(isAsk)
    later(limits.askTtlMs)
    await ring(session)
    const messages = await stream.rest()
    const cancelled = messages.find(({ method }) => method === 'notifications/cancelled')
    expect(cancelled?.params).toEqual({ requestId: ask.id, reason: 'timed out' })
    expect(textOf(messages.at(-1))).toBe('The client did not answer "roots": timed out')
    expect((await session.reply(ask.id, { result: { roots: [] } })).status).toBe(202)
  })
})

describe('a form that nobody answers', () => {
  test('counts as cancelled after the time its tool gives it, also when its object slept', async () => {
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('hurried')
    await stream.until(isAsk)
    await hibernate(session)
    later(HURRIED_MS)
    await ring(session)
    expect(textOf((await stream.rest()).at(-1))).toBe('cancel')
  })

  test('wakes its object when its time is over, and not before', async () => {
    const session = await sessionOf(fetcher)
    const stream = await session.callStream('form')
    await stream.until(isAsk)
    await ring(session)
    const { alarm } = await storageOf(session)
    expect(alarm! - Date.now()).toBeGreaterThan(limits.askTtlMs - 10_000)
    await stream.cancel()
  })
})

test('one session has so many asks open at once, and one more is a tool error', async () => {
  withLimits({ sessionAsks: 2 })
  const session = await sessionOf(fetcher)
  const streams = [await session.callStream('form'), await session.callStream('form')]
  for (const stream of streams) await stream.until(isAsk)
  const third = await session.call('form')
  expect(third.result).toEqual({ content: [{ type: 'text', text: expect.stringContaining('2 asks') }], isError: true })
  expect(await query(session, 'select count(*) as n from ask')).toEqual([{ n: 2 }])
  for (const stream of streams) await stream.cancel()
})
