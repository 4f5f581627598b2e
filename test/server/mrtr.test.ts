// Asking over rounds: what a client gets, sends back, and cannot get away with. @see basic/patterns/mrtr

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import {
  AskError,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type CallContext,
  type JsonSchema,
} from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const Name = z.object({ name: z.string().min(2) })
const accept = (content: object) => ({ action: 'accept', content })

function tool(name: string, handler: (ctx: CallContext) => Promise<string>) {
  return defineTool(name, { description: name, handler: (_input, ctx) => handler(ctx) })
}

const one = tool('one', async (ctx) => {
  const answer = await ctx.elicit('name', { message: 'Who?', schema: Name })
  return answer.action === 'accept' ? `Hello ${answer.content.name}` : `You said ${answer.action}`
})

const parallel = tool('parallel', async (ctx) => {
  const [name, roots] = await Promise.all([
    ctx.elicit('name', { message: 'Who?', schema: Name }),
    ctx.inputRequest('roots', { method: 'roots/list' }),
  ])
  return `${name.content?.name} ${roots.roots.map(({ uri }) => uri).join()}`
})

const twice = tool('twice', async (ctx) => {
  const first = await ctx.elicit('first', { message: 'First?', schema: Name })
  const second = await ctx.elicit('second', { message: `Second, ${first.content?.name}?`, schema: Name })
  return `${first.content?.name} and ${second.content?.name}`
})

const echo = defineTool('echo', {
  description: 'Asks, then echoes its argument.',
  inputSchema: z.object({ text: z.string() }),
  async handler({ text }, ctx) {
    await ctx.elicit('name', { message: 'Who?', schema: Name })
    return text
  },
})

const prompt = definePrompt('asking', {
  description: 'Asks.',
  async get(_input, ctx) {
    const answer = await ctx.elicit('name', { message: 'Who?', schema: Name })
    return `Write to ${answer.content?.name}`
  },
})

const resource = defineResource('test://asking', {
  name: 'asking',
  async read(ctx) {
    const answer = await ctx.elicit('name', { message: 'Who?', schema: Name })
    return `Read by ${answer.content?.name}`
  },
})

const fetcher = serve({ tools: [one, parallel, twice, echo], prompts: [prompt], resources: [resource] })
const client = modern(fetcher, { capabilities: ALL })

async function firstRound(name: string, args: object = {}): Promise<{ requestState: string; keys: string[] }> {
  const result = await client.result('tools/call', { name, arguments: args })
  expect(result).toMatchObject({ resultType: 'input_required' })
  const { requestState, inputRequests } = result as unknown as { requestState: string; inputRequests: object }
  return { requestState, keys: Object.keys(inputRequests) }
}

describe('an ask', () => {
  test('ends the round with the request and is answered on the retry', async () => {
    const { rounds, result } = await client.answer('one', {}, { answers: { name: accept({ name: 'Ada' }) } })
    expect(rounds).toHaveLength(1)
    expect(result.content).toEqual([{ type: 'text', text: 'Hello Ada' }])
  })

  test('that is declined or cancelled is a value, not an exception', async () => {
    for (const action of ['decline', 'cancel']) {
      const { result } = await client.answer('one', {}, { answers: { name: { action } } })
      expect(result.content).toEqual([{ type: 'text', text: `You said ${action}` }])
    }
  })

  test('shares its round with another one made at the same time', async () => {
    const { keys } = await firstRound('parallel')
    expect(keys.toSorted()).toEqual(['name', 'roots'])
    const answers = { name: accept({ name: 'Ada' }), roots: { roots: [{ uri: 'file:///home' }] } }
    const { rounds, result } = await client.answer('parallel', {}, { answers })
    expect(rounds).toHaveLength(1)
    expect(result.content).toEqual([{ type: 'text', text: 'Ada file:///home' }])
  })

  test('that was answered in an earlier round keeps its answer, and each round has another state', async () => {
    const answers = { first: accept({ name: 'Ada' }), second: accept({ name: 'Bob' }) }
    const { rounds, result } = await client.answer('twice', {}, { answers })
    expect(rounds).toHaveLength(2)
    expect(new Set(rounds.map(({ requestState }) => requestState)).size).toBe(2)
    expect(result.content).toEqual([{ type: 'text', text: 'Ada and Bob' }])
  })

  test('whose answer is missing is asked again under the same key, and the other answer is kept', async () => {
    const { requestState } = await firstRound('parallel')
    const inputResponses = { roots: { roots: [] }, unknown: 1 }
    const params = { name: 'parallel', arguments: {}, requestState, inputResponses }
    const again = await client.result('tools/call', params, { unchecked: true })
    expect(Object.keys((again as unknown as { inputRequests: object }).inputRequests)).toEqual(['name'])
  })

  test('whose answer does not fit is asked again under another key, then fails as a tool error', async () => {
    let { requestState } = await firstRound('one')
    for (const key of ['name', 'name:2']) {
      const params = { name: 'one', arguments: {}, requestState, inputResponses: { [key]: accept({ name: 'x' }) } }
      const again = (await client.result('tools/call', params)) as unknown as Record<string, object>
      expect(Object.keys(again['inputRequests']!)).toEqual([key === 'name' ? 'name:2' : 'name:3'])
      requestState = again['requestState'] as unknown as string
    }
    const last = { name: 'one', arguments: {}, requestState, inputResponses: { 'name:3': { action: 'perhaps' } } }
    const result = await client.result('tools/call', last, { unchecked: true })
    expect(result.isError).toBe(true)
    expect(JSON.stringify(result.content)).toContain('action: must be accept, decline or cancel')
  })

  test('is asked again after an answer that looks like what is remembered of an error', async () => {
    const { requestState } = await firstRound('one')
    const params = { name: 'one', arguments: {}, requestState, inputResponses: { name: { refused: 'no' } } }
    const again = await client.result('tools/call', params, { unchecked: true })
    expect(Object.keys((again as unknown as { inputRequests: object }).inputRequests ?? {})).toEqual(['name:2'])
  })

  test('is not taken for the second attempt of another one, whatever its key', async () => {
    const alike = tool('alike', async (ctx) => {
      const asked = ['a', 'a:2'].map((key) => ctx.elicit(key, { message: `Who, ${key}?`, schema: Name }))
      return (await Promise.all(asked)).map(({ action }) => action).join()
    })
    const asking = modern(serve({ tools: [alike] }), { capabilities: ALL })
    const fits = accept({ name: 'Jo' })
    const { rounds, result } = await asking.answer('alike', undefined, {
      answers: { a: accept({ name: 'x' }), 'a:2': fits, 'a:2:1': accept({ name: 'x' }), 'a:2:2': fits },
    })
    const asked = rounds.map(({ inputRequests }) =>
      Object.entries(inputRequests).map(([key, { params }]) => [key, params?.['message']]),
    )
    expect(asked).toEqual([
      [
        ['a', 'Who, a?'],
        ['a:2:1', 'Who, a:2?'],
      ],
      [
        ['a:2', 'Who, a?'],
        ['a:2:2', 'Who, a:2?'],
      ],
    ])
    expect(result.content).toEqual([{ type: 'text', text: 'accept,accept' }])
  })

  test('is answered at once by a first request that brings the answer; unknown answers are ignored', async () => {
    const inputResponses = { name: accept({ name: 'Ada' }), other: 1, __proto__: 2 }
    const result = await client.result('tools/call', { name: 'one', inputResponses }, { unchecked: true })
    expect(result.content).toEqual([{ type: 'text', text: 'Hello Ada' }])
  })

  test('works in prompts/get and resources/read too', async () => {
    const answers = { name: accept({ name: 'Ada' }) }
    const got = await client.converse('prompts/get', { name: 'asking' }, { answers })
    expect(got.result.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Write to Ada' } }])
    const read = await client.converse('resources/read', { uri: 'test://asking' }, { answers })
    expect(read.result).toMatchObject({ contents: [{ text: 'Read by Ada' }], ttlMs: 0, cacheScope: 'private' })
  })

  test('is never sent to a client that did not declare the capability', async () => {
    const bare = modern(fetcher)
    const error = await bare.error('tools/call', { name: 'one' })
    expect(error).toMatchObject({ status: 400, code: -32021 })
    expect(error.data).toEqual({ requiredCapabilities: { elicitation: { form: {} } } })
    const urlOnly = modern(fetcher, { capabilities: { elicitation: { url: {} } } })
    expect(await urlOnly.error('tools/call', { name: 'one' })).toMatchObject({ code: -32021 })
  })
})

describe('requestState', () => {
  const retry = (requestState: string, over: object = {}) => ({
    name: 'echo',
    arguments: { text: 'a' },
    requestState,
    inputResponses: { name: accept({ name: 'Ada' }) },
    ...over,
  })

  test('is refused when any part of it was altered, and the handler does not run', async () => {
    const { requestState } = await firstRound('echo', { text: 'a' })
    expect((await client.result('tools/call', retry(requestState))).content).toEqual([{ type: 'text', text: 'a' }])
    const parts = requestState.split('.')
    for (const i of [0, 2, 3, 4]) {
      const part = parts[i]!
      const middle = Math.floor(part.length / 2)
      const flipped = part.slice(0, middle) + (part[middle] === 'A' ? 'B' : 'A') + part.slice(middle + 1)
      const altered = parts.with(i, flipped).join('.')
      expect(await client.error('tools/call', retry(altered))).toMatchObject({ code: -32602, status: 200 })
    }
    for (const broken of [
      '',
      'x',
      `${requestState}-TAMPERED`,
      requestState.slice(0, -4),
      '....',
      'a'.repeat(100_000),
    ]) {
      expect(await client.error('tools/call', retry(broken))).toMatchObject({ code: -32602 })
    }
  })

  test('is refused on another call: other arguments, other tool, other method', async () => {
    const { requestState } = await firstRound('echo', { text: 'a' })
    expect(await client.error('tools/call', retry(requestState, { arguments: { text: 'b' } }))).toMatchObject({
      code: -32602,
    })
    expect(await client.error('tools/call', retry(requestState, { name: 'one' }))).toMatchObject({ code: -32602 })
    expect(await client.error('prompts/get', { name: 'asking', requestState })).toMatchObject({ code: -32602 })
  })

  test('is refused for another URI, also when the request has a name beside it', async () => {
    const checks: string[] = []
    const file = defineResourceTemplate('file:///{id}', {
      name: 'file',
      async read({ id }, ctx) {
        await ctx.step('check', () => void checks.push(id))
        await ctx.elicit('name', { message: `Read ${id}?`, schema: Name })
        return id
      },
    })
    const client = modern(serve({ resources: [file] }), { capabilities: ALL })
    const read = (uri: string, more: object) =>
      client.request('resources/read', { uri, name: 'x', ...more }, { unchecked: true })
    const { result } = await read('file:///a', {})
    const { requestState } = result as unknown as { requestState: string }
    const { error } = await read('file:///b', { requestState, inputResponses: { name: accept({ name: 'Jo' }) } })
    expect(error?.code).toBe(-32602)
    expect(checks).toEqual(['a'])
  })

  test('fits the same arguments in another order, whatever `_meta` says', async () => {
    const client2 = modern(fetcher, { capabilities: ALL, clientInfo: { name: 'other', version: '2' } })
    const result = await client.result('tools/call', {
      name: 'echo',
      arguments: { text: 'a', more: [1, { x: 1, y: 2 }] },
    })
    const { requestState } = result as unknown as { requestState: string }
    const args = { more: [1, { y: 2, x: 1 }], text: 'a' }
    const again = await client2.result('tools/call', retry(requestState, { arguments: args }))
    expect(again.content).toEqual([{ type: 'text', text: 'a' }])
  })

  test('is refused once its time is over', async () => {
    const brief = defineTool('echo', { ...briefOptions, askTtlMs: 1 })
    const quick = modern(serve({ tools: [brief] }), { capabilities: ALL })
    const { requestState } = (await quick.result('tools/call', { name: 'echo' })) as unknown as { requestState: string }
    await new Promise((resolve) => setTimeout(resolve, 5))
    const late = { name: 'echo', requestState, inputResponses: { name: accept({ name: 'Ada' }) } }
    expect(await quick.error('tools/call', late)).toMatchObject({ code: -32602 })
  })

  test('of a deployment with other keys is refused, and STATE_KEYS opens what any of its keys sealed', async () => {
    const key = (fill: string) => fill.repeat(43)
    const at = (STATE_KEYS: string) => modern(serve({ tools: [one] }, { vars: { STATE_KEYS } }), { capabilities: ALL })
    const first = await at(key('A')).result('tools/call', { name: 'one' })
    const { requestState } = first as unknown as { requestState: string }
    const params = { name: 'one', requestState, inputResponses: { name: accept({ name: 'Ada' }) } }
    expect((await at(`${key('E')},${key('A')}`).result('tools/call', params)).resultType).toBe('complete')
    expect(await at(key('E')).error('tools/call', params)).toMatchObject({ code: -32602 })
    expect(await client.error('tools/call', params)).toMatchObject({ code: -32602 })
  })

  test('of the wrong type is refused by name', async () => {
    const error = await client.error('tools/call', { name: 'one', requestState: 5 })
    expect(error).toMatchObject({ code: -32602, message: 'Invalid params: params.requestState must be a string' })
    expect(await client.error('tools/call', { name: 'one', inputResponses: [] })).toMatchObject({ code: -32602 })
  })

  test('that would grow over its limit ends the call with an error', async () => {
    const big = tool('big', async (ctx) => {
      await ctx.step('page', () => 'x'.repeat(limits.requestStateBytes))
      await ctx.elicit('name', { message: 'Who?', schema: Name })
      return 'done'
    })
    const error = await modern(serve({ tools: [big] }), { capabilities: ALL }).error('tools/call', { name: 'big' })
    expect(error).toMatchObject({ code: -32603, status: 200 })
  })
})

const briefOptions = {
  description: 'Asks.',
  async handler(_input: JsonSchema, ctx: CallContext) {
    await ctx.elicit('name', { message: 'Who?', schema: Name })
    return 'done'
  },
}

describe('a call that is entered again', () => {
  test('runs a finished step once, whatever the number of rounds', async () => {
    let effects = 0
    const stepping = tool('stepping', async (ctx) => {
      const at = await ctx.step('effect', () => ++effects)
      const nothing = await ctx.step('nothing', () => undefined)
      await ctx.elicit('first', { message: '1', schema: Name })
      await ctx.elicit('second', { message: '2', schema: Name })
      return `effect ${at}, ${String(nothing)}`
    })
    const answers = { first: accept({ name: 'Ada' }), second: accept({ name: 'Bob' }) }
    const asking = modern(serve({ tools: [stepping] }), { capabilities: ALL })
    const { result } = await asking.answer('stepping', {}, { answers })
    expect(result.content).toEqual([{ type: 'text', text: 'effect 1, undefined' }])
    expect(effects).toBe(1)
  })

  test('never ends a round while a step runs, so that its result is not lost', async () => {
    let effects = 0
    const slow = tool('slow', async (ctx) => {
      const [at] = await Promise.all([
        ctx.step('slow', async () => {
          await new Promise((resolve) => setTimeout(resolve, 50))
          return ++effects
        }),
        ctx.elicit('name', { message: 'Who?', schema: Name }),
      ])
      return `effect ${at}`
    })
    const asking = modern(serve({ tools: [slow] }), { capabilities: ALL })
    const { rounds, result } = await asking.answer('slow', {}, { answers: { name: accept({ name: 'Ada' }) } })
    expect(rounds).toHaveLength(1)
    expect(result.content).toEqual([{ type: 'text', text: 'effect 1' }])
    expect(effects).toBe(1)
  })

  test('puts an ask made after a step that ran beside another ask into the same round', async () => {
    const late = tool('late', async (ctx) => {
      const second = async () => {
        await ctx.step('work', () => new Promise((resolve) => setTimeout(resolve, 20)))
        return ctx.elicit('second', { message: '2', schema: Name })
      }
      await Promise.all([ctx.elicit('first', { message: '1', schema: Name }), second()])
      return 'done'
    })
    const asking = modern(serve({ tools: [late] }), { capabilities: ALL })
    const round = await asking.result('tools/call', { name: 'late' })
    expect(Object.keys((round as unknown as { inputRequests: object }).inputRequests)).toEqual(['first', 'second'])
  })

  test('sends nothing after the round ended, and repeats no progress it already reported', async () => {
    const noisy = tool('noisy', async (ctx) => {
      ctx.progress(1)
      ctx.log('info', 'begun')
      const asked = ctx.elicit('name', { message: 'Who?', schema: Name })
      setTimeout(() => ctx.progress(50), 30)
      await asked
      ctx.progress(1)
      ctx.progress(2)
      ctx.log('info', 'answered')
      return 'done'
    })
    const asking = modern(serve({ tools: [noisy] }), { capabilities: ALL })
    const options = { progressToken: 't', logLevel: 'debug' }
    const first = await asking.request('tools/call', { name: 'noisy' }, options)
    expect(first.notifications.map(({ params }) => params?.['progress'] ?? params?.['data'])).toEqual([1, 'begun'])
    const { requestState } = first.result as unknown as { requestState: string }
    const inputResponses = { name: accept({ name: 'Ada' }) }
    const second = await asking.request('tools/call', { name: 'noisy', requestState, inputResponses }, options)
    expect(second.notifications.map(({ params }) => params?.['progress'] ?? params?.['data'])).toEqual([2, 'answered'])
  })

  test('fails when it asks inside a step, which would wait for the end of the round that waits for it', async () => {
    const inside = tool('inside', (ctx) =>
      ctx.step('work', async () => (await ctx.elicit('name', { message: 'Who?', schema: Name })).action),
    )
    const { result } = await modern(serve({ tools: [inside] }, { vars: { LOG: 'off' } }), { capabilities: ALL }).call(
      'inside',
    )
    expect(result.isError).toBe(true)
  })

  test('fails when it uses a key that storage would change', async () => {
    const broken = tool('broken', (ctx) => ctx.step('\ud800', () => 'done'))
    const { result } = await modern(serve({ tools: [broken] }, { vars: { LOG: 'off' } })).call('broken')
    expect(result.isError).toBe(true)
  })

  test('gets its input and its answers as they came, whatever an earlier entry did to them', async () => {
    const changing = defineTool('changing', {
      description: 'Changes all it is given.',
      inputSchema: { type: 'object', properties: { list: { type: 'array' } } },
      async handler({ list }, ctx) {
        const { roots } = await ctx.inputRequest('roots', { method: 'roots/list' })
        const count = [(list as unknown[]).push('more'), roots.push({ uri: 'file:///more' })].join()
        await ctx.elicit('name', { message: 'Who?', schema: Name })
        return count
      },
    })
    const client = modern(serve({ tools: [changing] }), { capabilities: ALL })
    const answers = { roots: { roots: [] }, name: accept({ name: 'Jo' }) }
    const { result } = await client.answer('changing', { list: [] }, { answers })
    expect(result.content).toEqual([{ type: 'text', text: '1,1' }])
  })

  test('fails when it uses one key twice', async () => {
    const doubled = tool('doubled', async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.step('a', () => 2)
      return 'done'
    })
    const result = await modern(serve({ tools: [doubled] })).result('tools/call', { name: 'doubled' })
    expect(result.isError).toBe(true)
  })

  test('ends with an error when it asks something else under the same key on every entry', async () => {
    let entries = 0
    const restless = tool('restless', async (ctx) => {
      const schema = z.object({ [`field${++entries}`]: z.string() })
      await ctx.elicit('name', { message: 'Who?', schema })
      return 'done'
    })
    const asking = modern(serve({ tools: [restless] }), { capabilities: ALL })
    let params: Record<string, unknown> = { name: 'restless' }
    let rounds = 0
    for (;;) {
      const result = (await asking.result('tools/call', params)) as unknown as Record<string, unknown>
      if (result['resultType'] === 'complete') {
        expect(result['isError']).toBe(true)
        break
      }
      expect(++rounds).toBeLessThan(10)
      const key = Object.keys(result['inputRequests'] as object)[0]!
      const inputResponses = { [key]: accept({ field1: 'x', field2: 'x', field3: 'x' }) }
      params = { name: 'restless', requestState: result['requestState'], inputResponses }
    }
    expect(rounds).toBe(limits.askAttempts)
  })

  test('ends with an error after limits.askRounds rounds of ever new keys', async () => {
    const saved = limits.askRounds
    limits.askRounds = 3
    try {
      let entries = 0
      const endless = tool('endless', async (ctx) => {
        await ctx.elicit(`key${++entries}`, { message: 'Who?', schema: Name })
        return 'done'
      })
      const asking = modern(serve({ tools: [endless] }), { capabilities: ALL })
      let params: Record<string, unknown> = { name: 'endless' }
      for (let round = 1; round < 3; round++) {
        const { requestState } = (await asking.result('tools/call', params)) as unknown as { requestState: string }
        params = { name: 'endless', requestState }
      }
      expect(await asking.error('tools/call', params)).toMatchObject({ code: -32603 })
    } finally {
      limits.askRounds = saved
    }
  })

  test('can catch that nothing fitted, and go on', async () => {
    const patient = tool('patient', async (ctx) => {
      try {
        await ctx.elicit('name', { message: 'Who?', schema: Name })
      } catch (error) {
        if (error instanceof AskError) return `gave up on ${error.key}`
        throw error
      }
      return 'done'
    })
    const asking = modern(serve({ tools: [patient] }), { capabilities: ALL })
    const answers = { name: 1, 'name:2': 2, 'name:3': 3 }
    const { result } = await asking.answer('patient', {}, { answers: answers as never, unchecked: true })
    expect(result.content).toEqual([{ type: 'text', text: 'gave up on name' }])
  })
})
