// What inference promises to authors. Compiled by `tsc`, never run.

import * as z from 'zod'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type Auth,
  type CallContext,
  type CallToolResult,
  type LookupContext,
  type Notifier,
  type Notify,
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

defineTool('task', {
  description: 'The handler of a task gets what was prepared, awaited.',
  inputSchema: z.object({ file: z.string() }),
  task: {
    support: 'required',
    ttlMs: null,
    pollIntervalMs: 500,
    immediateResponse: 'It has begun.',
    async prepare(input, ctx) {
      is<Equal<typeof input, { file: string }>>()
      is<Equal<typeof ctx, CallContext>>()
      return { size: 1, name: input.file }
    },
  },
  async handler(input, ctx, prepared) {
    is<Equal<typeof input, { file: string }>>()
    is<Equal<typeof prepared, { size: number; name: string }>>()
    is<Equal<typeof ctx.sleep, (ms: number, key?: string) => Promise<void>>>()
    await ctx.sleep(1_000, 'a second')
    // @ts-expect-error: a time is a number of milliseconds
    void ctx.sleep('1s')
    // @ts-expect-error: a key is a text
    void ctx.sleep(1_000, 1)
    return prepared.name
  },
})

defineTool('prepared_at_once', {
  description: 'What is prepared needs no promise.',
  task: { support: 'optional', prepare: () => ['a'] },
  handler(_input, _ctx, prepared) {
    is<Equal<typeof prepared, string[]>>()
  },
})

defineTool('unprepared_task', {
  description: 'Nothing was prepared.',
  task: { support: 'optional', ttlMs: 60_000 },
  handler(_input, _ctx, prepared) {
    is<Equal<typeof prepared, undefined>>()
  },
})

defineTool('no_task', {
  description: 'Nothing was prepared where there is no task.',
  handler(_input, _ctx, prepared) {
    is<Equal<typeof prepared, undefined>>()
  },
})

defineTool('structured_task', {
  description: 'A task returns what any tool does.',
  outputSchema: z.object({ sum: z.number() }),
  task: { support: 'optional' },
  // @ts-expect-error: sum is a number
  handler: () => ({ sum: '1' }),
})

defineTool('forbidden_task', {
  description: 'Tools without the option are forbidden to be tasks.',
  // @ts-expect-error: optional or required
  task: { support: 'forbidden' },
  handler: () => 'ok',
})

defineTool('unsupported_task', {
  description: 'A task says whether it is one for everybody.',
  // @ts-expect-error: support is missing
  task: { ttlMs: 60_000 },
  handler: () => 'ok',
})

defineTool('impatient_task', {
  description: 'Times are numbers.',
  // @ts-expect-error: null is for the lifetime
  task: { support: 'optional', pollIntervalMs: null },
  handler: () => 'ok',
})

const whole: CallToolResult = { content: [{ type: 'text', text: 'x' }] }
defineTool('whole', { description: 'A whole result.', handler: () => whole })

defineTool('for_some', {
  description: 'What is not for everybody says so by who calls.',
  inputSchema: z.object({ a: z.string() }),
  visible(auth) {
    is<Equal<typeof auth, Auth>>()
    return auth.principal.startsWith('staff:')
  },
  handler(input) {
    is<Equal<typeof input, { a: string }>>()
  },
})

const forSome = { visible: ({ principal }: Auth) => principal === 'ada' }
definePrompt('for_some', { description: 'As can a prompt.', ...forSome, get: () => 'x' })
defineResource('test://some', { name: 'some', ...forSome, read: () => 'x' })
defineResourceTemplate('some://{id}', {
  name: 'some',
  ...forSome,
  read(variables) {
    is<Equal<typeof variables, Record<'id', string>>>()
    return variables.id
  },
})

defineTool('looked_up', {
  description: 'Nothing can be looked up for it.',
  // @ts-expect-error: a promise would always be a yes
  visible: async () => false,
  handler: () => 'x',
})

defineTool('by_arguments', {
  description: 'Nor does it depend on what is asked.',
  // @ts-expect-error: who calls is all there is
  visible: (_auth, context) => context !== undefined,
  handler: () => 'x',
})

defineTool('always', {
  description: 'A function, not its answer.',
  // @ts-expect-error: left out is for everybody
  visible: true,
  handler: () => 'x',
})

defineTool('notifying', {
  description: 'In a handler nothing has to be awaited, elsewhere everything.',
  handler(_input, ctx) {
    is<Equal<typeof ctx.notify, Notify>>()
    is<Equal<ReturnType<Notify['resourceUpdated']>, void>>()
    is<Equal<ReturnType<Notifier['resourceUpdated']>, Promise<void>>>()
    is<Equal<keyof Notify, keyof Notifier>>()
    // @ts-expect-error: a resource has a URI
    ctx.notify.resourceUpdated()
  },
})
