// What inference promises to authors. Compiled by `tsc`, never run.

import * as z from 'zod'
import {
  definePrompt,
  defineResourceTemplate,
  defineTool,
  type CallContext,
  type CallToolResult,
  type LookupContext,
} from '../../src/server/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const is = <_T extends true>(): void => {}

defineTool('infers_input', {
  description: 'The handler sees what zod puts out, not what goes in.',
  inputSchema: z.object({ a: z.string(), b: z.string().default('x'), c: z.string().transform(Number).optional() }),
  handler(input, ctx) {
    is<Equal<typeof input, { a: string; b: string; c?: number | undefined }>>()
    is<Equal<typeof ctx, CallContext>>()
    return 'ok'
  },
})

defineTool('raw_input', {
  description: 'A raw schema gives plain JSON.',
  inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
  handler(input) {
    is<Equal<(typeof input)['a'], unknown>>()
  },
})

defineTool('no_input', { description: 'No schema, no arguments.', handler: () => [{ type: 'text', text: 'ok' }] })

defineTool('structured', {
  description: 'With an output schema the handler returns the value, or a whole result around it.',
  inputSchema: z.object({ whole: z.boolean() }),
  outputSchema: z.object({ sum: z.number() }),
  handler: ({ whole }) => (whole ? { content: [], structuredContent: { sum: 1 } } : { sum: 1 }),
})

defineTool('wrong_structured', {
  description: 'Another shape is refused.',
  outputSchema: z.object({ sum: z.number() }),
  // @ts-expect-error: sum is a number
  handler: () => ({ sum: '1' }),
})

defineTool('failing', {
  description: 'An error needs no structured value.',
  outputSchema: z.object({ sum: z.number() }),
  handler: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
})

defineTool('wrong_return', {
  description: 'A number is no content.',
  // @ts-expect-error: neither text, nor content, nor a result
  handler: () => 5,
})

// @ts-expect-error: models need a description
defineTool('no_description', { handler: () => 'ok' })

defineTool('asking', {
  description: 'Answers are typed by the form, and only an accepted one has content.',
  async handler(_input, ctx) {
    const answer = await ctx.elicit('q', { message: 'q', schema: z.object({ yes: z.boolean() }) })
    if (answer.action !== 'accept') {
      is<Equal<typeof answer.content, undefined>>()
      return
    }
    is<Equal<typeof answer.content, { yes: boolean }>>()
    const { roots } = await ctx.inputRequest('r', { method: 'roots/list' })
    is<Equal<typeof roots, { uri: string; name?: string }[]>>()
    const ids = await ctx.step('ids', async () => ['a'])
    is<Equal<typeof ids, string[]>>()
    // @ts-expect-error: there is no era in a handler
    void ctx.era
  },
})

defineResourceTemplate('repo://{owner}/{+path}', {
  name: 'file',
  complete: { owner: () => [], path: () => [] },
  list(ctx) {
    is<Equal<typeof ctx, LookupContext>>()
    // @ts-expect-error: lists cannot ask
    void ctx.elicit
    return []
  },
  read(variables) {
    is<Equal<typeof variables, Record<'owner' | 'path', string>>>()
    return variables.path
  },
})

defineResourceTemplate('note://{id}', {
  name: 'note',
  // @ts-expect-error: the template has no such variable
  complete: { other: () => [] },
  read: ({ id }) => id,
})

definePrompt('review', {
  description: 'Arguments are typed by the schema.',
  arguments: z.object({ id: z.string(), tone: z.enum(['kind', 'blunt']).default('kind') }),
  complete: { id: (value) => [value] },
  get({ id, tone }) {
    is<Equal<typeof tone, 'kind' | 'blunt'>>()
    return `${id} ${tone}`
  },
})

definePrompt('bad_complete', {
  description: 'Completion only for arguments there are.',
  arguments: z.object({ id: z.string() }),
  // @ts-expect-error: no such argument
  complete: { other: () => [] },
  get: ({ id }) => id,
})

const whole: CallToolResult = { content: [{ type: 'text', text: 'x' }] }
defineTool('whole', { description: 'A whole result.', handler: () => whole })
