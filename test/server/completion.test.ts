// Completion of prompt arguments and template variables. @see server/utilities/completion

import * as z from 'zod'
import { expect, test } from 'vitest'
import { definePrompt, defineResource, defineResourceTemplate } from '../../src/server/index.ts'
import { describeEras } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const prompt = definePrompt('review', {
  description: 'Review.',
  arguments: z.object({ id: z.string(), tone: z.enum(['kind', 'blunt', 'keen']).default('kind') }),
  complete: { id: (value, { known }) => [`${value}1`, `${value}-${known['tone'] ?? 'none'}`] },
  get: ({ id, tone }) => `${id} ${tone}`,
})
const template = defineResourceTemplate('note://{id}', {
  name: 'note',
  complete: { id: () => Array.from({ length: 250 }, (_, i) => String(i)) },
  read: ({ id }) => id,
})
const plain = defineResource('test://plain', { name: 'plain', read: () => 'x' })
const fetcher = serve({ prompts: [prompt], resources: [template, plain] })

describeEras(
  'completion/complete',
  (client) => {
    const ask = (ref: object, name: string, value: string, more: object = {}) => ({
      ref,
      argument: { name, value },
      ...more,
    })
    const review = { type: 'ref/prompt', name: 'review' }
    const note = { type: 'ref/resource', uri: 'note://{id}' }

    test('asks the callback with what was typed and what is known', async () => {
      const context = { arguments: { tone: 'kind' } }
      const since = client.revision >= '2025-06-18' ? { context } : {}
      const { completion } = await client.result('completion/complete', ask(review, 'id', 'n', since))
      const last = client.revision >= '2025-06-18' ? 'n-kind' : 'n-none'
      expect(completion).toEqual({ values: ['n1', last], total: 2, hasMore: false })
    })

    test('completes enums by itself, ignoring case', async () => {
      const { completion } = await client.result('completion/complete', ask(review, 'tone', 'K'))
      expect(completion.values).toEqual(['kind', 'keen'])
    })

    test('sends at most 100 values, with the total', async () => {
      const { completion } = await client.result('completion/complete', ask(note, 'id', ''))
      expect(completion.values).toHaveLength(100)
      expect(completion).toMatchObject({ total: 250, hasMore: true })
    })

    test('refuses unknown prompts, templates, arguments and malformed parameters', async () => {
      const bad = [
        ask({ type: 'ref/prompt', name: 'nothing' }, 'id', ''),
        ask({ type: 'ref/resource', uri: 'other://{id}' }, 'id', ''),
        ask({ type: 'ref/resource', uri: 'test://plain' }, 'id', ''),
        ask(review, 'nothing', ''),
        ask(review, 'toString', ''),
        ask(note, 'nothing', ''),
        ask({ type: 'ref/tool', name: 'x' }, 'id', ''),
        { ref: review },
        { ref: review, argument: { name: 'id' } },
        { ref: review, argument: { name: 'id', value: 5 } },
        ask(review, 'id', '', { context: { arguments: { tone: 5 } } }),
      ]
      for (const params of bad) {
        expect(await client.error('completion/complete', params), JSON.stringify(params)).toMatchObject({
          code: -32602,
          status: 200,
        })
      }
    })
  },
  { fetcher },
)
