// This repository with change notifications: what workers/mcp.ts is, with resources to listen to. Beside /mcp it answers
// what the benchmark needs: it publishes, counts a hub's listeners, kills hubs, and lets listeners come back sooner.
import { createListenHubObject } from '../../../durable-objects/listen-hub.ts'
import { notifier, ports } from '../../../durable-objects/ports.ts'
import { shardsOf } from '../../../src/config.ts'
import { createApp } from '../../../src/http/app.ts'
import { limits } from '../../../src/limits.ts'
import { defineResourceTemplate, defineServer, defineTool } from '../../../src/server/index.ts'
import { serverInfo } from './answers.ts'
import { add } from './tools.ts'

const { name, run, ...options } = add
const { reattachMs } = limits

const change = defineResourceTemplate('bench://change/{id}', {
  name: 'change',
  read: ({ id }) => `what ${id} is`,
})
const server = defineServer({
  ...serverInfo,
  tools: [defineTool(name, { ...options, handler: run })],
  resources: [change],
})

/** The hub, which can be counted and killed. */
export class ListenHubObject extends createListenHubObject(server) {
  readonly #bornMs = Date.now()

  state(): { listeners: number; bornMs: number } {
    return { listeners: this.ctx.getWebSockets().length, bornMs: this.#bornMs }
  }

  kill(): void {
    this.ctx.abort('killed by the benchmark')
  }
}

const app = createApp({
  server,
  ...ports(server),
})

export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    switch (pathname) {
      case '/publish':
        await notifier(env).resourceUpdated(searchParams.get('uri')!)
        return new Response(null, { status: 204 })
      case '/hubs':
        return Response.json(await Promise.all(hubsOf(env).map((hub) => hub.state())))
      case '/kill':
        // Each call fails, since what it calls is gone.
        await Promise.allSettled(hubsOf(env).map((hub) => hub.kill()))
        return new Response(null, { status: 204 })
      case '/reattach':
        limits.reattachMs = Number(searchParams.get('ms') ?? reattachMs)
        return new Response(null, { status: 204 })
      case '/nothing':
        return new Response(null, { status: 204 })
      default:
        return app.fetch(request, env, ctx)
    }
  },
} satisfies ExportedHandler<Cloudflare.Env>

function hubsOf(env: Cloudflare.Env): DurableObjectStub<ListenHubObject>[] {
  const hubs = env.LISTEN_HUB as unknown as DurableObjectNamespace<ListenHubObject>
  return Array.from({ length: shardsOf(env) }, (_, shard) => hubs.getByName(`hub-${shard}`))
}
