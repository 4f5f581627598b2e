// The Worker of the crossing tests, deployed twice over one set of objects, with every way a Worker has to say that
// something changed: tools, a cron, a queue, and the entrypoint for other Workers.

import * as z from 'zod'
import { createListenHubObject } from '../../../durable-objects/listen-hub.ts'
import { notifier, ports } from '../../../durable-objects/ports.ts'
import { createSessionObject } from '../../../durable-objects/session.ts'
import { createTaskObject } from '../../../durable-objects/task.ts'
import { createApp } from '../../../src/http/app.ts'
import type { Topic } from '../../../src/protocol/topic.ts'
import { definePrompt, defineResourceTemplate, defineServer, defineTool } from '../../../src/server/index.ts'

export { KeyRingObject } from '../../../durable-objects/key-ring.ts'
export { PrincipalObject } from '../../../durable-objects/principal.ts'
export { Notifier } from '../../../workers/notifier.ts'

const change = defineTool('change', {
  description: 'Says that notes and lists changed.',
  inputSchema: z.object({
    uris: z.array(z.string()).default([]),
    lists: z.array(z.enum(['tools', 'prompts', 'resources'])).default([]),
  }),
  handler({ uris, lists }, { notify }) {
    for (const uri of uris) notify.resourceUpdated(uri)
    for (const list of lists) notify[`${list}ListChanged`]()
    return 'changed'
  },
})

const work = defineTool('work', {
  description: 'Asks for a word, and is done.',
  task: { support: 'required', ttlMs: 600_000, pollIntervalMs: 200 },
  async handler(_input, ctx) {
    const answer = await ctx.elicit('word', { message: 'Which word?', schema: z.object({ word: z.string() }) })
    return answer.action === 'accept' ? answer.content.word : 'none'
  },
})

const server = defineServer({
  name: 'crossing',
  version: '1.0.0',
  tools: [change, work],
  prompts: [definePrompt('greet', { description: 'Greets.', get: () => 'Greet the user.' })],
  resources: [defineResourceTemplate('note://{id}', { name: 'note', read: ({ id }) => `The note ${id}.` })],
})

export const SessionObject = createSessionObject(server)
export const TaskObject = createTaskObject(server)

/** Changes that reached the hub, and whether it loses them. */
const hub = { published: 0, isLosing: false }

/** The deployable hub, except that a test can make it lose what it is told: who still hears of it heard it elsewhere. */
export class ListenHubObject extends createListenHubObject(server) {
  override publish(protocol: number, topics: readonly Topic[]): boolean {
    hub.published += topics.length
    return hub.isLosing || super.publish(protocol, topics)
  }
}

const app = createApp({
  server,
  ...ports(server),
})

export default {
  async fetch(request: Request, env: Cloudflare.Env, ctx: ExecutionContext): Promise<Response> {
    if (new URL(request.url).pathname !== '/hub') return app.fetch(request, env, ctx)
    if (request.method === 'PUT') hub.isLosing = (await request.json()) as boolean
    return Response.json(hub)
  },
  async scheduled(_controller, env) {
    await notifier(env).resourceUpdated('note://daily')
  },
  async queue({ messages }, env) {
    for (const { body } of messages) await notifier(env).resourceUpdated(body)
  },
} satisfies ExportedHandler<Cloudflare.Env, string>
