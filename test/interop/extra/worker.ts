// A second server for the clients: a call to cancel, an argument that travels in a header, two questions in one round,
// tasks, and what sessions have. `STREAM_MAX_AGE_MS` makes its streams end while somebody watches; `RETRY_MS` tells apart
// who comes back when told from who comes back by itself.

import { DurableObject, env } from 'cloudflare:workers'
import * as z from 'zod'
import { ports } from '../../../durable-objects/ports.ts'
import { createListenHubObject } from '../../../durable-objects/listen-hub.ts'
import { createSessionObject } from '../../../durable-objects/session.ts'
import { createTaskObject } from '../../../durable-objects/task.ts'
import { createApp } from '../../../src/http/app.ts'
import { limits } from '../../../src/limits.ts'
import { defineServer, defineTool } from '../../../src/server/index.ts'
import { askModel, askRoots, change, count, failLate, pause, poll, weather } from './session-tools.ts'
import * as taskTools from './task-tools.ts'

export { KeyRingObject } from '../../../durable-objects/key-ring.ts'
export { PrincipalObject } from '../../../durable-objects/principal.ts'

interface OwnEnv {
  STREAM_MAX_AGE_MS?: number
  RETRY_MS?: number
  CANCELLED: DurableObjectNamespace<CancelledObject>
}

const { STREAM_MAX_AGE_MS, RETRY_MS, CANCELLED } = env as unknown as OwnEnv
limits.streamMaxAgeMs = STREAM_MAX_AGE_MS ?? limits.streamMaxAgeMs
limits.retryMs = RETRY_MS ?? limits.retryMs

/** Which waits saw their caller leave, wherever they ran. */
export class CancelledObject extends DurableObject {
  add(key: string): void {
    this.ctx.storage.kv.put(key, true)
  }
  has(key: string): boolean {
    return this.ctx.storage.kv.get(key) === true
  }
}

const wait = defineTool('wait', {
  description: 'Report progress every 100 ms for 10 s, unless the caller leaves.',
  inputSchema: z.object({ key: z.string() }),
  task: { support: 'optional', ttlMs: 600_000, pollIntervalMs: 200 },
  async handler({ key }, ctx) {
    for (let i = 1; i <= 100; i++) {
      if (ctx.signal.aborted) {
        ctx.waitUntil(CANCELLED.getByName('all').add(key))
        return 'Cancelled.'
      }
      ctx.progress(i, 100)
      await scheduler.wait(100)
    }
    return 'Waited.'
  },
})

const wasCancelled = defineTool('was_cancelled', {
  description: 'Say whether the wait with this key saw its caller leave.',
  inputSchema: z.object({ key: z.string() }),
  handler: async ({ key }) => ((await CANCELLED.getByName('all').has(key)) ? 'yes' : 'no'),
})

const locate = defineTool('locate', {
  description: 'Repeat a city that must also be in the header Mcp-Param-City.',
  inputSchema: z.object({ city: z.string().meta({ 'x-mcp-header': 'City' }) }),
  handler: ({ city }) => city,
})

const askTwice = defineTool('ask_twice', {
  description: 'Ask for a name and a number at the same time.',
  async handler(_, ctx) {
    const [name, size] = await Promise.all([
      ctx.elicit('name', { message: 'Which name?', schema: z.object({ name: z.string() }) }),
      ctx.elicit('size', { message: 'Which size?', schema: z.object({ size: z.int() }) }),
    ])
    return JSON.stringify([name, size].map((answer) => (answer.action === 'accept' ? answer.content : answer.action)))
  },
})

const tools = [wait, wasCancelled, locate, askTwice, askModel, askRoots, count, pause, poll, failLate, change]
const server = defineServer({
  name: 'interop-extra',
  version: '1.0.0',
  tools: [...tools, ...Object.values(taskTools)],
  resources: [weather],
})

export const SessionObject = createSessionObject(server)
export const TaskObject = createTaskObject(server)

export const ListenHubObject = createListenHubObject(server)

export default createApp({
  server,
  ...ports(server),
})
