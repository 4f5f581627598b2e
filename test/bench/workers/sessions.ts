// This repository with sessions: what workers/mcp.ts is, with the two tools the benchmark calls in one.
import * as z from 'zod'
import { ports } from '../../../durable-objects/ports.ts'
import { createListenHubObject } from '../../../durable-objects/listen-hub.ts'
import { createSessionObject } from '../../../durable-objects/session.ts'
import { createApp } from '../../../src/http/app.ts'
import { defineServer, defineTool } from '../../../src/server/index.ts'
import { serverInfo } from './answers.ts'
import { progressText } from './progress.ts'
import { add } from './tools.ts'

export { KeyRingObject } from '../../../durable-objects/key-ring.ts'

const { name, run, ...options } = add

const stream = defineTool('stream', {
  description: 'Report progress for every part, then end.',
  inputSchema: z.object({ count: z.int() }),
  async handler({ count }, ctx) {
    for (let i = 1; i <= count; i++) {
      ctx.progress(i, count, progressText(i))
      await scheduler.wait(0)
    }
    return 'streamed'
  },
})

const server = defineServer({ ...serverInfo, tools: [defineTool(name, { ...options, handler: run }), stream] })

export const SessionObject = createSessionObject(server)

export const ListenHubObject = createListenHubObject(server)

export default createApp({
  server,
  ...ports(server),
})
