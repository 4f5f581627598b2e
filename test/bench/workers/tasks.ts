// This repository with tasks: what workers/mcp.ts is, with tools that become tasks and one that is called in a session.
// With CALLER every caller is that principal, who has an object of its own; without it everybody is anonymous.
import * as z from 'zod'
import { ports } from '../../../durable-objects/ports.ts'
import { createListenHubObject } from '../../../durable-objects/listen-hub.ts'
import { createSessionObject } from '../../../durable-objects/session.ts'
import { createTaskObject } from '../../../durable-objects/task.ts'
import { createApp } from '../../../src/http/app.ts'
import { defineServer, defineTool } from '../../../src/server/index.ts'
import { serverInfo } from './answers.ts'
import { add } from './tools.ts'

export { KeyRingObject } from '../../../durable-objects/key-ring.ts'
export { PrincipalObject } from '../../../durable-objects/principal.ts'

type Env = Cloudflare.Env & { CALLER?: string }

const { name, run, ...options } = add
const task = { support: 'required' } as const

const quick = defineTool('quick', { description: 'Return at once.', task, handler: () => 'done' })

const nap = defineTool('nap', {
  description: 'Sleep, then return.',
  inputSchema: z.object({ ms: z.int() }),
  task,
  async handler({ ms }, ctx) {
    await ctx.sleep(ms)
    return 'slept'
  },
})

const ask = defineTool('ask', {
  description: 'Ask for a number, and return it.',
  task,
  async handler(_, ctx) {
    const answer = await ctx.elicit('number', { message: 'Which number?', schema: z.object({ number: z.int() }) })
    return `got ${answer.content?.number}`
  },
})

const server = defineServer({
  ...serverInfo,
  tools: [defineTool(name, { ...options, handler: run }), quick, nap, ask],
})
const appOptions = { server, ...ports(server) }
const app = createApp(appOptions)
const identified = createApp({ ...appOptions, authenticate: (_, env: Env) => ({ principal: env.CALLER! }) })

export const SessionObject = createSessionObject(server)
export const TaskObject = createTaskObject(server)

export const ListenHubObject = createListenHubObject(server)

export default {
  fetch: (request, env, ctx) => (env.CALLER === undefined ? app : identified).fetch(request, env, ctx),
} satisfies ExportedHandler<Env>
