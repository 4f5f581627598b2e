// The server that hostile requests are sent to. Every handler notes that it ran, and for which trace; `GET /fuzz`
// hands over what was noted and logged since the last time. Nothing here is an example to follow.

import * as z from 'zod'
import { ports } from '../../durable-objects/ports.ts'
import { createListenHubObject } from '../../durable-objects/listen-hub.ts'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createTaskObject } from '../../durable-objects/task.ts'
import { createApp, type Authenticate } from '../../src/http/app.ts'
import type { TaskState } from '../../src/protocol/task.ts'
import { ANONYMOUS, type SealingKeys } from '../../src/server/ports.ts'
import type { TaskCall } from '../../src/server/task-port.ts'
import {
  defineForm,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  ProtocolError,
  ToolError,
  type CallContext,
  type LookupContext,
  type SamplingMessage,
} from '../../src/server/index.ts'
import { rawTools } from './raw-tools.ts'
import { taskTools } from './task-tools.ts'

export { PrincipalObject } from '../../durable-objects/principal.ts'

/** No answer may ever contain this. */
const SECRET = 'inner-words-of-an-exception'

let reached: [handler: string, traceId: string | null][] = []
let logged: string[] = []
let keyReads = 0
/** Task objects that were woken, those a task was made in, and ids that are right although no task was. */
const woken = new Set<string>()
const made = new Set<string>()
const spare = new Set<string>()

// Handing the log over is more reliable than reading the process's output, which is for what the runtime says.
console.log = console.warn = console.error = (line: string) => void logged.push(line)

function note(handler: string, context: LookupContext): void {
  reached.push([handler, context.trace?.traceId ?? null])
}

const add = defineTool('add', {
  description: 'Adds, with an input of every zod kind a tool is likely to have.',
  inputSchema: z.object({
    a: z.number(),
    b: z.number().int().default(1),
    note: z.string().max(200).optional(),
    mode: z.enum(['fast', 'slow']).optional(),
    tags: z.array(z.string()).max(1_000).optional(),
    amounts: z.record(z.string(), z.number()).optional(),
    nested: z.object({ deep: z.object({ leaf: z.boolean() }).optional() }).optional(),
    choice: z.union([z.object({ kind: z.literal('n'), n: z.number() }), z.string()]).optional(),
    pair: z.tuple([z.string(), z.number()]).optional(),
    mail: z.email().optional(),
    link: z.url().optional(),
    at: z.iso.datetime().optional(),
    anything: z.unknown().optional(),
  }),
  outputSchema: z.object({ sum: z.number() }),
  handler({ a, b }, context) {
    note('tool add', context)
    return { sum: Math.max(-1e300, Math.min(1e300, a + b)) }
  },
})

const echo = defineTool('echo', {
  description: 'Returns its input, whatever keys it has.',
  inputSchema: z.looseObject({ text: z.string().optional() }),
  handler(input, context) {
    note('tool echo', context)
    return JSON.stringify(input).slice(0, 2_000)
  },
})

const strict = defineTool('strict', {
  description: 'Refuses unknown keys.',
  inputSchema: z.strictObject({ id: z.string().regex(/^[a-z]{1,20}$/), count: z.int().min(0).max(10).optional() }),
  handler({ id }, context) {
    note('tool strict', context)
    return id
  },
})

const route = defineTool('route', {
  description: 'Mirrors arguments into headers.',
  inputSchema: z.object({
    region: z.string().meta({ 'x-mcp-header': 'Region' }),
    count: z.int().min(-1_000_000).max(1_000_000).optional().meta({ 'x-mcp-header': 'Count' }),
    dry: z.boolean().default(false).meta({ 'x-mcp-header': 'Dry-Run' }),
    where: z.object({ zone: z.string().meta({ 'x-mcp-header': 'Zone' }) }).optional(),
  }),
  handler({ region }, context) {
    note('tool route', context)
    return region
  },
})

const bare = defineTool('bare', {
  description: 'Takes nothing.',
  handler(_input, context) {
    note('tool bare', context)
    return 'done'
  },
})

const form = defineForm(
  z.object({
    sure: z.boolean(),
    name: z.string().max(20),
    size: z.int().min(1).max(5).optional(),
    mail: z.email().optional(),
  }),
)

const ask = defineTool('ask', {
  description: 'Steps, asks for a form, a completion and the roots, then says how often its step ran.',
  inputSchema: z.object({ topic: z.string().max(500) }),
  async handler({ topic }, context) {
    note('tool ask', context)
    await context.step('first', () => ({ topic: topic.slice(0, 100) }))
    const answer = await context.elicit('form', { message: 'Sure?', schema: form })
    if (answer.action !== 'accept') return answer.action
    const messages: SamplingMessage[] = [{ role: 'user', content: { type: 'text', text: topic } }]
    const [sample, { roots }] = await Promise.all([
      context.inputRequest('sample', { method: 'sampling/createMessage', params: { messages, maxTokens: 10 } }),
      context.inputRequest('roots', { method: 'roots/list' }),
    ])
    return `${answer.content.name} ${sample.model.slice(0, 100)} ${roots.length}`
  },
})

const askLink = defineTool('ask_link', {
  description: 'Sends the user to a page.',
  async handler(_input, context) {
    note('tool ask_link', context)
    const { action, id } = await context.elicitUrl('link', { message: 'Go', url: (id) => `https://example.com/${id}` })
    return `${action} ${id}`
  },
})

const askBriefly = defineTool('ask_briefly', {
  description: 'Its questions expire at once.',
  askTtlMs: 1,
  async handler(_input, context) {
    note('tool ask_briefly', context)
    return (await context.elicit('form', { message: 'Sure?', schema: form })).action
  },
})

const askOddly = defineTool('ask_oddly', {
  description: 'Uses keys that are members of every object.',
  async handler(_input, context) {
    note('tool ask_oddly', context)
    await context.step('constructor', () => 1)
    const answers = await Promise.all(
      ['__proto__', 'toString'].map((key) => context.elicit(key, { message: key, schema: form })),
    )
    return answers.map(({ action }) => action).join()
  },
})

const needy = defineTool('needy', {
  description: 'Is not entered without sampling with tools.',
  requires: ['sampling.tools', 'elicitation.url'],
  handler(_input, context) {
    note('tool needy', context)
    return 'had it all'
  },
})

const chatty = defineTool('chatty', {
  description: 'Reports progress and logs, so that its answer is a stream.',
  inputSchema: z.object({ times: z.int().min(0).max(20).default(2) }),
  handler({ times }, context) {
    note('tool chatty', context)
    for (let i = 0; i < times; i++) {
      context.progress(i, times, `step ${i}`)
      context.log('info', { i })
    }
    return `${times} times`
  },
})

const slow = defineTool('slow', {
  description: 'Takes longer than a quiet answer may.',
  async handler(_input, context) {
    note('tool slow', context)
    await scheduler.wait(700)
    return 'at last'
  },
})

const touch = defineTool('touch', {
  description: 'Says that things changed, whatever they are called.',
  inputSchema: z.object({ uris: z.array(z.string()).max(50).default([]), lists: z.boolean().default(false) }),
  handler({ uris, lists }, context) {
    note('tool touch', context)
    if (lists) {
      context.notify.toolsListChanged()
      context.notify.promptsListChanged()
      context.notify.resourcesListChanged()
    }
    return uris.map((uri) => isTold(uri, context)).join()
  },
})

/** False for what is no URI, of which nobody can be told. */
function isTold(uri: string, { notify }: CallContext): boolean {
  try {
    notify.resourceUpdated(uri)
    return true
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return false
  }
}

const boom = defineTool('boom', {
  description: 'Fails in every way there is.',
  inputSchema: z.object({ how: z.enum(['throw', 'reject', 'tool', 'protocol', 'output', 'value']).default('throw') }),
  outputSchema: z.object({ fine: z.boolean() }),
  async handler({ how }, context) {
    note('tool boom', context)
    if (how === 'throw') throw new Error(`${SECRET} at /srv/app/boom.ts:1:1`, { cause: new Error(SECRET) })
    if (how === 'reject') return Promise.reject(new TypeError(SECRET))
    if (how === 'tool') throw new ToolError('told so')
    if (how === 'protocol') throw new ProtocolError('InvalidParams', 'refused by the handler')
    if (how === 'output') return { fine: SECRET } as never
    // oxlint-disable-next-line no-throw-literal
    throw SECRET
  },
})

const review = definePrompt('review', {
  description: 'Has arguments.',
  arguments: z.object({ id: z.string().min(1), tone: z.enum(['kind', 'blunt']).default('kind') }),
  complete: {
    id: (value, context) => {
      note('complete review.id', context)
      return [value, `${context.known['tone'] ?? ''}`, ...Array.from({ length: 200 }, (_, i) => `id-${i}`)]
    },
  },
  get({ id, tone }, context) {
    note('prompt review', context)
    return `Review ${id}, be ${tone}.`
  },
})

const rawPrompt = definePrompt('raw_prompt', {
  description: 'Has arguments by raw schema.',
  arguments: {
    type: 'object',
    properties: { id: { type: 'string', maxLength: 50 }, toString: { type: 'string' } },
    required: ['id'],
  },
  get(input, context) {
    note('prompt raw_prompt', context)
    return JSON.stringify(input)
  },
})

const askingPrompt = definePrompt('asking_prompt', {
  description: 'Asks.',
  async get(_input, context) {
    note('prompt asking_prompt', context)
    return (await context.elicit('form', { message: 'Sure?', schema: form })).action
  },
})

const fixed = defineResource('fuzz://fixed', {
  name: 'fixed',
  cache: { ttlMs: 1_000, scope: 'public' },
  read(context) {
    note('resource fixed', context)
    return 'fixed'
  },
})

const bytes = defineResource('fuzz://bytes', {
  name: 'bytes',
  read(context) {
    note('resource bytes', context)
    return new Uint8Array([0, 255, 128])
  },
})

const item = defineResourceTemplate('fuzz://item/{id}', {
  name: 'item',
  list(context) {
    note('list item', context)
    return [1, 2, 3].map((i) => ({ uri: `fuzz://item/${i}`, name: `item ${i}` }))
  },
  complete: {
    id: (value, context) => {
      note('complete item.id', context)
      return ['1', '2', '3'].filter((id) => id.startsWith(value))
    },
  },
  read({ id }, context) {
    note('resource item', context)
    return id === 'none' ? undefined : `item ${id}`
  },
})

const tree = defineResourceTemplate('fuzz://tree/{owner}/{+path}', {
  name: 'tree',
  read({ owner, path }, context) {
    note('resource tree', context)
    if (path.split('/').some((part) => part === '..' || part === '.'))
      throw new Error('a traversal reached the handler')
    return `${owner}: ${path}`
  },
})

const askingResource = defineResourceTemplate('fuzz://ask/{id}', {
  name: 'ask',
  async read(_variables, context) {
    note('resource ask', context)
    return (await context.elicit('form', { message: 'Sure?', schema: form })).action
  },
})

const brokenResource = defineResource('fuzz://broken', {
  name: 'broken',
  read(context): string {
    note('resource broken', context)
    throw new Error(SECRET)
  },
})

const server = defineServer({
  name: 'fuzz',
  version: '1.0.0',
  title: 'Fuzz',
  instructions: 'Be careful.',
  pageSize: 1,
  tools: [
    add,
    echo,
    strict,
    route,
    bare,
    ask,
    askLink,
    askBriefly,
    askOddly,
    needy,
    chatty,
    slow,
    touch,
    boom,
    ...rawTools(note),
    ...taskTools(note, SECRET),
  ],
  prompts: [review, rawPrompt, askingPrompt],
  resources: [fixed, bytes, item, tree, askingResource, brokenResource],
})

/** One known key, so that the runner can seal what an attacker cannot. Read again for each sealing and opening. */
async function keys(): Promise<SealingKeys> {
  keyReads++
  return { keys: [{ kid: 'fuzz', secret: 'A'.repeat(43) }], refreshAt: 0 }
}

export const SessionObject = createSessionObject(server)

/** Notes that it was woken, and whether for a task. */
export class TaskObject extends createTaskObject(server) {
  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env)
    woken.add(state.id.toString())
  }

  override create(call: TaskCall): TaskState | undefined {
    made.add(this.ctx.id.toString())
    return super.create(call)
  }
}

/** Whoever says a name has it, so that there is something of others to be had. */
const authenticate: Authenticate = ({ headers }) => {
  const [, principal] = /^Bearer (ann|bob)$/.exec(headers.get('authorization') ?? '') ?? []
  return principal === undefined ? ANONYMOUS : { principal }
}

const app = createApp({
  server,
  ...ports(server),
  keys,
  authenticate,
})

app.get('/fuzz', () => {
  const wokenForNothing = [...woken].filter((id) => !made.has(id) && !spare.has(id))
  const notes = { reached, logged, keyReads, polluted: 'polluted' in {}, wokenForNothing, made: made.size }
  reached = []
  logged = []
  return Response.json(notes)
})

/** Ids that look like those of tasks: some a task could have had, whose objects cannot know it has not, and others. */
app.get('/fuzz/ids', ({ env: { TASK, SESSION, PRINCIPAL } }) => {
  for (const id of [TASK.newUniqueId(), TASK.idFromName('ann')]) spare.add(id.toString())
  const foreign = [SESSION.newUniqueId(), SESSION.idFromName('ann'), PRINCIPAL.idFromName('ann')].map(String)
  return Response.json({ spare: [...spare], foreign })
})

/** Says who is still connected. */
export class ListenHubObject extends createListenHubObject(server) {
  listeners(): number {
    return this.ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN).length
  }
}

app.get('/fuzz/listeners', async ({ env: { LISTEN_HUB } }) => {
  const hub = LISTEN_HUB.getByName('hub-0') as unknown as ListenHubObject
  return Response.json(await hub.listeners())
})

export default app
