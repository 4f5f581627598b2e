// Sessions and a hub that count how often each object was constructed and entered. The counts are kept by the isolate,
// which outlives the objects on bare workerd, and read without touching one: nothing is stored and no object is asked.

import { ports } from '../../durable-objects/ports.ts'
import { createListenHubObject } from '../../durable-objects/listen-hub.ts'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createApp } from '../../src/http/app.ts'
import { defineServer, defineTool } from '../../src/server/index.ts'

export { KeyRingObject } from '../../durable-objects/key-ring.ts'

/** What happened to one object. */
export interface Counts {
  constructed: number
  /** Entries of every kind, by name. */
  entered: { [method: string]: number }
}

const counts = { session: new Map<string, Counts>(), hub: new Map<string, Counts>() }

function countsOf(kind: keyof typeof counts, { id }: DurableObjectState): Counts {
  const known = counts[kind].get(id.toString())
  if (known) return known
  const fresh: Counts = { constructed: 0, entered: {} }
  counts[kind].set(id.toString(), fresh)
  return fresh
}

const server = defineServer({
  name: 'idle',
  version: '1.0.0',
  tools: [
    defineTool('touch', {
      description: 'Says that the list of tools changed.',
      handler(_input, ctx) {
        ctx.notify.toolsListChanged()
        return 'touched'
      },
    }),
  ],
})

/** A deployable class whose objects are counted. Every way in that it has is; a way it has not constructs the object. */
function counted<C extends new (state: DurableObjectState, env: Cloudflare.Env) => object>(
  kind: keyof typeof counts,
  Real: C,
): C {
  class Counted extends (Real as new (state: DurableObjectState, env: Cloudflare.Env) => object) {
    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env)
      countsOf(kind, state).constructed++
    }
  }
  for (const name of Object.getOwnPropertyNames(Real.prototype)) {
    if (name === 'constructor') continue
    const enter = Object.getOwnPropertyDescriptor(Real.prototype, name)!.value as (...args: unknown[]) => unknown
    const value = function (this: { ctx: DurableObjectState }, ...args: unknown[]): unknown {
      const { entered } = countsOf(kind, this.ctx)
      entered[name] = (entered[name] ?? 0) + 1
      return enter.apply(this, args)
    }
    Object.defineProperty(Counted.prototype, name, { value, configurable: true, writable: true })
  }
  return Counted as unknown as C
}

export const SessionObject = counted('session', createSessionObject(server))
export const ListenHubObject = counted('hub', createListenHubObject(server))

const app = createApp({
  server,
  ...ports(server),
})

export default {
  fetch(request: Request, env: Cloudflare.Env, ctx: ExecutionContext): Response | Promise<Response> {
    if (new URL(request.url).pathname !== '/counts') return app.fetch(request, env, ctx)
    return Response.json({ sessions: [...counts.session.values()], hubs: [...counts.hub.values()] })
  },
}
