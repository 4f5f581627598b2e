// Tools for tests over real TCP: they wait, emit, and remember in this isolate what became of them.

import * as z from 'zod'
import { ports } from '../../durable-objects/ports.ts'
import { createListenHubObject } from '../../durable-objects/listen-hub.ts'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createApp } from '../../src/http/app.ts'
import { defineServer, defineTool } from '../../src/server/index.ts'

export { KeyRingObject } from '../../durable-objects/key-ring.ts'

/** What became of each call of `wait`, by the name its caller gave it. Times are ms since the epoch. */
const calls: { [name: string]: { started: number; aborted?: number; cleanedUp?: number; finished?: number } } = {}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const wait = defineTool('wait', {
  description: 'Waits until its time is over or its caller is gone, then cleans up for a while.',
  inputSchema: z.object({ name: z.string(), ms: z.number(), cleanUpMs: z.number().default(0) }),
  async handler({ name, ms, cleanUpMs }, ctx) {
    const call: (typeof calls)[string] = (calls[name] = { started: Date.now() })
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms)
        ctx.signal.addEventListener('abort', () => {
          call.aborted = Date.now()
          clearTimeout(timer)
          reject(ctx.signal.reason)
        })
      })
      call.finished = Date.now()
      return 'waited'
    } finally {
      await sleep(cleanUpMs)
      call.cleanedUp = Date.now()
    }
  },
})

const chat = defineTool('chat', {
  description: 'Reports progress every 50 ms, in words that are easy to break apart.',
  inputSchema: z.object({ times: z.number() }),
  async handler({ times }, ctx) {
    for (let i = 1; i <= times; i++) {
      ctx.progress(i, times, `👩‍👩‍👧‍👦 ${i} — ünïcödé`)
      await sleep(50)
    }
    return '🎉'
  },
})

const seen = defineTool('seen', {
  description: 'What became of the calls of wait.',
  handler: () => JSON.stringify(calls),
})

const server = defineServer({ name: 'e2e', version: '1.0.0', tools: [wait, chat, seen] })

export const SessionObject = createSessionObject(server)

export const ListenHubObject = createListenHubObject(server)

export default createApp({
  server,
  ...ports(server),
})
