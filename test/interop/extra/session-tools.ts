// Tools for what only sessions have: streams to cut and to come back to, questions on them, and news of changes.

import * as z from 'zod'
import { defineResourceTemplate, defineTool, ProtocolError } from '../../../src/server/index.ts'

const stepMs = 100

export const count = defineTool('count', {
  description: 'Report progress and log a line every 100 ms until the number is reached.',
  inputSchema: z.object({ to: z.int() }),
  annotations: { readOnlyHint: true },
  async handler({ to }, ctx) {
    for (let i = 1; i <= to; i++) {
      ctx.progress(i, to)
      ctx.log('info', `step ${i}`)
      await scheduler.wait(stepMs)
    }
    return `Counted to ${to}.`
  },
})

export const pause = defineTool('pause', {
  description: 'Say nothing for a while.',
  inputSchema: z.object({ ms: z.int() }),
  annotations: { readOnlyHint: true },
  async handler({ ms }) {
    await scheduler.wait(ms)
    return `Paused for ${ms} ms.`
  },
})

export const poll = defineTool('poll', {
  description: 'Take 2.5 s, during which the client is sent away.',
  annotations: { readOnlyHint: true },
  pollAfterMs: 500,
  async handler(_, ctx) {
    ctx.progress(1, 2)
    await scheduler.wait(1_000)
    ctx.progress(2, 2)
    await scheduler.wait(1_500)
    return 'Polled.'
  },
})

export const failLate = defineTool('fail_late', {
  description: 'Report progress, then fail with a JSON-RPC error.',
  async handler(_, ctx) {
    ctx.progress(1, 2)
    await scheduler.wait(stepMs)
    throw new ProtocolError('InvalidParams', 'Failed late')
  },
})

export const askModel = defineTool('ask_model', {
  description: 'Ask the model of the client for a word.',
  async handler(_, ctx) {
    const { content, model } = await ctx.inputRequest('word', {
      method: 'sampling/createMessage',
      params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say a word.' } }], maxTokens: 10 },
    })
    return JSON.stringify({ content, model })
  },
})

export const askRoots = defineTool('ask_roots', {
  description: 'Ask the client for its roots.',
  async handler(_, ctx) {
    const { roots } = await ctx.inputRequest('roots', { method: 'roots/list' })
    return JSON.stringify(roots)
  },
})

export const change = defineTool('change', {
  description: 'Tell whoever watches that the weather of some places has changed, and the lists if that is asked for.',
  inputSchema: z.object({ places: z.array(z.string()), lists: z.boolean().default(false) }),
  handler({ places, lists }, { notify }) {
    for (const place of places) notify.resourceUpdated(`weather://${place}`)
    if (lists) {
      notify.resourcesListChanged()
      notify.toolsListChanged()
    }
    return 'Changed.'
  },
})

/** A place for each row: whoever watches one hears nothing of what others do. */
export const weather = defineResourceTemplate('weather://{place}', { name: 'weather', read: () => 'sunny' })
