// The kinds of ask: links, completions, roots, and forms at the edges. @see client/elicitation, client/sampling

import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { defineForm, defineTool, type CallContext, type InputAnswers } from '../../src/server/index.ts'
import { compileForm, secretFields } from '../../src/server/form.ts'
import { warnings } from '../../src/server/warnings.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

function asking(capabilities: object, handler: (ctx: CallContext) => Promise<string>) {
  const tool = defineTool('ask', { description: 'Asks.', handler: (_input, ctx) => handler(ctx) })
  return modern(serve({ tools: [tool] }), { capabilities: capabilities as never })
}

type Asked = { inputRequests: Record<string, { params: Record<string, unknown> }>; requestState: string }

describe('ctx.elicitUrl', () => {
  const page = (ctx: CallContext) =>
    ctx.elicitUrl('connect', { message: 'Connect', url: (id) => `https://example.com/connect?id=${id}` })

  test('sends a link with an id nobody can guess, which is the same on the retry', async () => {
    const client = asking({ elicitation: { url: {} } }, async (ctx) => {
      const { action, id } = await page(ctx)
      await ctx.elicitUrl('again', { message: 'Again', url: () => `https://example.com/again?id=${id}` })
      return action
    })
    const first = (await client.result('tools/call', { name: 'ask' })) as unknown as Asked
    const { url, mode } = first.inputRequests['connect']!.params as { url: string; mode: string }
    expect(mode).toBe('url')
    const id = new URL(url).searchParams.get('id')!
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    const params = { name: 'ask', requestState: first.requestState, inputResponses: { connect: { action: 'accept' } } }
    const second = (await client.result('tools/call', params)) as unknown as Asked
    expect(second.inputRequests['again']!.params['url']).toBe(`https://example.com/again?id=${id}`)
  })

  test('takes no answer to a link that was never shown, in the first round or a later one', async () => {
    const client = asking({ elicitation: { url: {}, form: {} } }, async (ctx) => {
      await ctx.elicit('form', { message: 'Form', schema: z.object({}) })
      return (await page(ctx)).action
    })
    const accepted = { form: { action: 'accept', content: {} }, connect: { action: 'accept' } }
    const first = (await client.result('tools/call', { name: 'ask', inputResponses: accepted })) as unknown as Asked
    expect(Object.keys(first.inputRequests)).toEqual(['connect'])
  })

  test('refuses a URL that is not https, except on localhost', async () => {
    for (const [url, isSent] of [
      ['http://example.com/', false],
      ['javascript:alert(1)', false],
      ['http://localhost:8787/', true],
    ] as const) {
      const client = asking({ elicitation: { url: {} } }, async (ctx) => {
        return (await ctx.elicitUrl('a', { message: 'Go', url: () => url })).action
      })
      const result = await client.result('tools/call', { name: 'ask' })
      expect(result.resultType, url).toBe(isSent ? 'input_required' : 'complete')
    }
  })

  test('needs the url mode: an empty elicitation capability means forms only', async () => {
    const client = asking({ elicitation: {} }, async (ctx) => (await page(ctx)).action)
    const error = await client.error('tools/call', { name: 'ask' })
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } })
  })
})

describe('ctx.inputRequest', () => {
  type Sampling = InputAnswers['sampling/createMessage']
  const message = (content: unknown) => ({ role: 'user', content })
  const sample = (params: object) => (ctx: CallContext) =>
    ctx
      .inputRequest('s', { method: 'sampling/createMessage', params: { maxTokens: 10, messages: [], ...params } })
      .then((answer: Sampling) => answer.model)

  test('returns the completion, and asks again when the answer is none', async () => {
    const client = asking({ sampling: {} }, sample({ messages: [message({ type: 'text', text: 'Hi' })] }))
    const answer = { role: 'assistant', content: { type: 'text', text: 'Hello' }, model: 'm' }
    const { result } = await client.answer(
      'ask',
      {},
      { answers: { s: { role: 'robot' }, 's:2': answer }, unchecked: true },
    )
    expect(result.content).toEqual([{ type: 'text', text: 'm' }])
  })

  test('needs sampling.tools for tools and sampling.context for context', async () => {
    const lacks = async (params: object) =>
      (await asking({ sampling: {} }, sample(params)).error('tools/call', { name: 'ask' })).data
    expect(await lacks({ tools: [] })).toEqual({ requiredCapabilities: { sampling: { tools: {} } } })
    expect(await lacks({ toolChoice: {} })).toEqual({ requiredCapabilities: { sampling: { tools: {} } } })
    expect(await lacks({ includeContext: 'thisServer' })).toEqual({
      requiredCapabilities: { sampling: { context: {} } },
    })
    const none = await asking({ sampling: {} }, sample({ includeContext: 'none' })).result('tools/call', {
      name: 'ask',
    })
    expect(none.resultType).toBe('input_required')
  })

  test('refuses tool uses and results that do not pair up, before anything is sent', async () => {
    const use = { type: 'tool_use', id: '1', name: 't', input: {} }
    const result = { type: 'tool_result', toolUseId: '1', content: [] }
    const text = { type: 'text', text: 'x' }
    const unbalanced = [
      [message([use])],
      [message(result)],
      [message(use), message(text)],
      [message(use), message([result, text])],
    ]
    for (const messages of unbalanced) {
      const answer = await asking({ sampling: {} }, sample({ messages })).result('tools/call', { name: 'ask' })
      expect(answer.isError).toBe(true)
    }
    const paired = [message(use), message([result])]
    const asked = await asking({ sampling: {} }, sample({ messages: paired })).result('tools/call', { name: 'ask' })
    expect(asked.resultType).toBe('input_required')
  })

  test('needs roots for roots', async () => {
    const client = asking({}, async (ctx) =>
      (await ctx.inputRequest('r', { method: 'roots/list' })).roots.length.toString(),
    )
    const error = await client.error('tools/call', { name: 'ask' })
    expect(error).toMatchObject({ status: 400, code: -32021, data: { requiredCapabilities: { roots: {} } } })
  })
})

describe('requires', () => {
  test('is checked before the handler runs, and names everything that is missing at once', async () => {
    let entered = false
    const tool = defineTool('needy', {
      description: 'Needs much.',
      requires: ['sampling', 'elicitation.url'],
      handler: () => {
        entered = true
      },
    })
    const error = await modern(serve({ tools: [tool] })).error('tools/call', { name: 'needy' })
    expect(error).toMatchObject({ status: 400, code: -32021 })
    expect(error.data).toEqual({ requiredCapabilities: { sampling: {}, elicitation: { url: {} } } })
    expect(entered).toBe(false)
  })
})

describe('a form', () => {
  const requested = (schema: z.ZodType) => compileForm(schema).requestedSchema['properties']

  test('is projected to the flat subset clients can show', () => {
    const schema = z.object({
      name: z.string().min(1).max(9).default('x').meta({ title: 'Name' }),
      mail: z.email(),
      age: z.int().min(0).max(150),
      score: z.number(),
      yes: z.boolean(),
      one: z.enum(['a', 'b']),
      titled: z.union([z.literal('r').meta({ title: 'Red' }), z.literal('g').meta({ title: 'Green' })]),
      many: z.array(z.enum(['a', 'b'])).min(1),
      id: z.uuid(),
    })
    expect(requested(schema)).toEqual({
      name: { type: 'string', title: 'Name', default: 'x', minLength: 1, maxLength: 9 },
      mail: { type: 'string', format: 'email' },
      age: { type: 'integer', minimum: 0, maximum: 150 },
      score: { type: 'number' },
      yes: { type: 'boolean' },
      one: { type: 'string', enum: ['a', 'b'] },
      titled: {
        type: 'string',
        oneOf: [
          { const: 'r', title: 'Red' },
          { const: 'g', title: 'Green' },
        ],
      },
      many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1 },
      id: { type: 'string' },
    })
    expect(compileForm(schema).requestedSchema['required']).not.toContain('name')
  })

  test('that no client could show is refused by defineForm, naming the field', () => {
    for (const field of [z.object({}), z.array(z.string()), z.union([z.string(), z.number()]), z.null()]) {
      expect(() => defineForm(z.object({ bad: field }))).toThrow(/"bad"/)
    }
    expect(() => defineForm(z.string())).toThrow(TypeError)
  })

  test('that asks for a secret is warned about', () => {
    const schema = z.object({ apiKey: z.string(), name: z.string() })
    expect(secretFields(compileForm(schema))).toEqual(['apiKey'])
    defineForm(schema)
    expect(warnings().join()).toContain('apiKey')
  })
})
