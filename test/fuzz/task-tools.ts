// Tools that become tasks. The runner makes tasks of all of them in advance; hostile requests call the first two as well,
// so those are over soon however they are called.

import * as z from 'zod'
import {
  defineForm,
  defineTool,
  ProtocolError,
  ToolError,
  type CallContext,
  type LookupContext,
  type SamplingMessage,
  type Tool,
} from '../../src/server/index.ts'

const TASK = { ttlMs: 86_400_000, pollIntervalMs: 100 } as const

const form = defineForm(
  z.object({ sure: z.boolean(), name: z.string().max(20), size: z.int().min(1).max(5).optional() }),
)

/** @param note called with the name of a handler when it runs; @param secret what no answer may contain */
export function taskTools(note: (handler: string, context: LookupContext) => void, secret: string): Tool[] {
  const errand = defineTool('errand', {
    description:
      'Steps, reports, asks if it is told to, sleeps briefly, and ends as it is told. Its questions expire at once.',
    inputSchema: z.object({
      topic: z.string().max(500).default(''),
      ms: z.int().min(0).max(300).default(5),
      asks: z.boolean().default(false),
      how: z.enum(['well', 'tool', 'protocol', 'throw']).default('well'),
    }),
    task: { support: 'optional', immediateResponse: 'It has begun.', ...TASK },
    askTtlMs: 1,
    async handler({ topic, ms, asks, how }, context) {
      note('tool errand', context)
      context.progress(1, 2, topic)
      context.log('info', { topic })
      const kept = await context.step('first', () => topic.slice(0, 100))
      const action = asks ? (await context.elicit('form', { message: 'Sure?', schema: form })).action : 'unasked'
      await context.sleep(ms)
      if (how === 'tool') throw new ToolError('told so')
      if (how === 'protocol') throw new ProtocolError('InvalidParams', 'refused by the handler')
      if (how === 'throw') throw new Error(`${secret} at /srv/app/errand.ts:1:1`)
      return `${kept} ${action}`
    },
  })

  const booking = defineTool('booking', {
    description: 'Is nothing but a task, and asks before it is one.',
    inputSchema: z.object({ topic: z.string().max(500).default('') }),
    task: {
      support: 'required',
      ...TASK,
      async prepare({ topic }, context) {
        note('prepare booking', context)
        const { action } = await context.elicit('form', { message: 'Sure?', schema: form })
        return { action, topic }
      },
    },
    handler(_input, context, { action, topic }) {
      note('tool booking', context)
      return `${topic} ${action}`
    },
  })

  const interview = defineTool('interview', {
    description: 'Asks everything at once, and stands any answer.',
    inputSchema: z.object({ questions: z.int().min(1).max(32) }),
    task: { support: 'required', ...TASK },
    async handler({ questions }, context) {
      note('tool interview', context)
      const answers = await Promise.allSettled(Array.from({ length: questions }, (_, i) => question(context, i)))
      return answers.map(({ status }) => status).join()
    },
  })

  const hold = defineTool('hold', {
    description: 'Is a task for longer than any attack lasts.',
    task: { support: 'required', ...TASK },
    async handler(_input, context) {
      note('tool hold', context)
      await context.sleep(3_600_000)
    },
  })

  return [errand, booking, interview, hold]
}

/** One of the four kinds, in turn. */
async function question(context: CallContext, i: number): Promise<unknown> {
  const key = `q${i}`
  const messages: SamplingMessage[] = [{ role: 'user', content: { type: 'text', text: key } }]
  switch (i % 4) {
    case 0:
      return context.elicit(key, { message: key, schema: form })
    case 1:
      return context.inputRequest(key, { method: 'sampling/createMessage', params: { messages, maxTokens: 10 } })
    case 2:
      return context.inputRequest(key, { method: 'roots/list' })
    default:
      return context.elicitUrl(key, { message: key, url: (id) => `https://example.com/${id}` })
  }
}
