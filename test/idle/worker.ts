// Sessions that count how often each object was constructed and entered. The counts are kept by the isolate, which
// outlives the objects on bare workerd, and read without touching one: nothing is stored and no object is asked.

import { keyRing, sessionPort, taskPort } from '../../durable-objects/ports.ts'
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

const counts = new Map<string, Counts>()

function countsOf(objectId: string): Counts {
  const known = counts.get(objectId)
  if (known) return known
  const fresh: Counts = { constructed: 0, entered: {} }
  counts.set(objectId, fresh)
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

const RealSession = createSessionObject(server)
const ENTRIES = new Set(Object.getOwnPropertyNames(RealSession.prototype).filter((name) => name !== 'constructor'))

/** The deployable object. Every way in that it has is counted; a way it has not, such as a message, constructs it. */
export class SessionObject extends RealSession {
  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env)
    countsOf(state.id.toString()).constructed++
  }
}

for (const name of ENTRIES) {
  const enter = Object.getOwnPropertyDescriptor(RealSession.prototype, name)!.value as (...args: unknown[]) => unknown
  const counted = function (this: SessionObject, ...args: unknown[]): unknown {
    const { entered } = countsOf((this as unknown as { ctx: DurableObjectState }).ctx.id.toString())
    entered[name] = (entered[name] ?? 0) + 1
    return enter.apply(this, args)
  }
  Object.defineProperty(SessionObject.prototype, name, { value: counted, configurable: true, writable: true })
}

const app = createApp({ server, keys: keyRing, sessions: sessionPort(server), tasks: taskPort() })

export default {
  fetch(request: Request, env: Cloudflare.Env, ctx: ExecutionContext): Response | Promise<Response> {
    if (new URL(request.url).pathname === '/counts') return Response.json([...counts.values()])
    return app.fetch(request, env, ctx)
  },
}
