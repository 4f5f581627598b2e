// workerd refuses to make code from text while it serves a request, so nothing here may try.
// @see basic/index, JSON Schema Usage

import * as z from 'zod'
import { expect, test } from 'vitest'
import { definePrompt, defineTool } from '../../src/server/index.ts'
import { describeEras, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

/** Runs with every way to `Function` and `eval` watched: the constructor is looked up anew at each use. */
async function made(run: () => Promise<unknown>): Promise<unknown[][]> {
  const attempts: unknown[][] = []
  const { Function: real, eval: realEval } = globalThis
  const refuse = (...args: unknown[]): never => {
    attempts.push(args)
    throw new EvalError('Code generation from strings disallowed for this context')
  }
  globalThis.Function = new Proxy(real, {
    construct: (_target, args) => refuse(...args),
    apply: (_t, _this, args) => refuse(...args),
  })
  // oxlint-disable-next-line no-eval
  globalThis.eval = refuse
  try {
    await run()
  } finally {
    Object.assign(globalThis, { Function: real, eval: realEval })
  }
  return attempts
}

const Deep = z.object({ list: z.array(z.union([z.string(), z.object({ a: z.int().default(1) })])).optional() })
const zod = defineTool('zod', {
  description: 'Takes and returns what zod describes.',
  inputSchema: Deep,
  outputSchema: Deep,
  handler: (input) => input,
})
const raw = defineTool('raw', {
  description: 'Takes and returns what JSON Schema describes.',
  inputSchema: { type: 'object', properties: { list: { type: 'array', items: { type: 'string', pattern: '^a' } } } },
  outputSchema: { type: 'object', properties: { list: { type: 'array' } } },
  handler: (input) => input,
})
const ask = defineTool('ask', {
  description: 'Asks.',
  async handler(_input, ctx) {
    return (await ctx.elicit('name', { message: 'Name?', schema: z.object({ name: z.string().min(2) }) })).action
  },
})
const say = definePrompt('say', {
  description: 'Says.',
  arguments: z.object({ tone: z.enum(['kind']) }),
  get: ({ tone }) => tone,
})
const fetcher = serve({ tools: [zod, raw, ask], prompts: [say] })

describeEras(
  'a request',
  (client) => {
    test('makes no code from text, whatever it validates', async () => {
      const attempts = await made(async () => {
        for (const list of [['a', 'b'], [{ a: 1 }], [5], undefined]) {
          await client.call('zod', { list })
          await client.call('raw', { list })
        }
        await client.result('prompts/get', { name: 'say', arguments: { tone: 'kind' } })
        await client.error('prompts/get', { name: 'say', arguments: { tone: 'loud' } })
      })
      expect(attempts).toEqual([])
    })
  },
  { fetcher },
)

test('an answer to an ask is validated without code from text', async () => {
  const client = modern(fetcher, { capabilities: { elicitation: {} } })
  const answers = [{ name: 'A' }, { name: 'Ada' }]
  const attempts = await made(() =>
    client.answer(
      'ask',
      {},
      {
        answers: Object.fromEntries(
          answers.map((content, i) => [i === 0 ? 'name' : `name:${i + 1}`, { action: 'accept', content }]),
        ),
      },
    ),
  )
  expect(attempts).toEqual([])
})

test('the watch sees an attempt', async () => {
  // oxlint-disable-next-line no-new-func, no-implied-eval
  expect(await made(async () => expect(() => new Function('')).toThrow(EvalError))).toEqual([['']])
})
