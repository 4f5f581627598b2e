// A server made to be killed: it emits slowly, asks, waits, and counts its effects in an object of their own, where one
// that happened twice shows. Sessions also obey two calls no real one has: `crash` and `born`. Tasks are in
// tasks.ts, hubs in listen.ts.

// First, before anything is computed from limits.
// oxlint-disable-next-line import/no-unassigned-import
import './short-limits.ts'

import * as z from 'zod'
import { ports } from '../../durable-objects/ports.ts'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createApp } from '../../src/http/app.ts'
import type { SessionCall, SessionReply } from '../../src/http/session-call.ts'
import { resultMessage } from '../../src/protocol/messages.ts'
import { defineResourceTemplate, defineServer, defineTool, type CallContext } from '../../src/server/index.ts'
import { ANONYMOUS } from '../../src/server/ports.ts'
import { counter } from './counter.ts'
import { changeOutside, createKillableHubObject, listenTools } from './listen.ts'
import { createKillableTaskObject, taskTools } from './tasks.ts'

export { KeyRingObject } from '../../durable-objects/key-ring.ts'
export { PrincipalObject } from '../../durable-objects/principal.ts'
export { CounterObject } from './counter.ts'
export { WitnessObject } from './tasks.ts'

// Bare workerd says nothing of its own about them.
addEventListener('unhandledrejection', ({ reason }) => console.error('unhandled rejection', reason))

async function effect({ env }: CallContext, key: string): Promise<string> {
  await counter(env).add(key)
  return key
}

/** Each tool comes twice: `x` may be repeated, `x_once` may not. */
const KINDS = [
  ['', { idempotentHint: true }],
  ['_once', {}],
] as const

const counting = KINDS.map(([suffix, annotations]) =>
  defineTool(`count${suffix}`, {
    description: 'Counts to n, slowly, each number as progress and as a log message.',
    annotations,
    inputSchema: z.object({ n: z.int(), everyMs: z.number(), padding: z.int().default(0) }),
    async handler({ n, everyMs, padding }, ctx) {
      for (let i = 1; i <= n; i++) {
        ctx.progress(i, n, '·'.repeat(padding))
        await scheduler.wait(everyMs / 2)
        ctx.log('info', { i })
        await scheduler.wait(everyMs / 2)
      }
      return `counted ${n}`
    },
  }),
)

const asking = KINDS.map(([suffix, annotations]) =>
  defineTool(`ask${suffix}`, {
    description: 'Asks for a number, with effects in steps before and after, and one that is in no step.',
    annotations,
    inputSchema: z.object({ key: z.string(), workMs: z.number() }),
    async handler({ key, workMs }, ctx) {
      ctx.progress(1)
      await ctx.step('before', () => effect(ctx, `${key}/before`))
      ctx.log('info', 'before')
      const answer = await ctx.elicit('number', { message: 'Which number?', schema: z.object({ number: z.int() }) })
      ctx.log('info', 'answered')
      await scheduler.wait(workMs)
      await ctx.step('after', () => effect(ctx, `${key}/after`))
      ctx.log('info', 'after')
      await scheduler.wait(workMs)
      await effect(ctx, `${key}/bare`)
      return `number ${answer.content?.number}`
    },
  }),
)

const askingTwice = KINDS.map(([suffix, annotations]) =>
  defineTool(`ask_both${suffix}`, {
    description: 'Asks two questions at once, after having looked something up that is in no step.',
    annotations,
    inputSchema: z.object({ lookMs: z.number() }),
    async handler({ lookMs }, ctx) {
      await scheduler.wait(lookMs)
      const [left, right] = await Promise.all(
        ['left', 'right'].map((side) =>
          ctx.elicit(side, { message: `Which number ${side}?`, schema: z.object({ number: z.int() }) }),
        ),
      )
      return `numbers ${left?.content?.number} ${right?.content?.number}`
    },
  }),
)

const waiting = KINDS.map(([suffix, annotations]) =>
  defineTool(`wait${suffix}`, {
    description: 'Has an effect, waits and says nothing meanwhile.',
    annotations,
    inputSchema: z.object({ key: z.string(), ms: z.number() }),
    async handler({ key, ms }, ctx) {
      await effect(ctx, key)
      await scheduler.wait(ms)
      return `waited ${key}`
    },
  }),
)

const touch = defineTool('touch', {
  description: 'Says that an item changed.',
  annotations: { idempotentHint: true },
  inputSchema: z.object({ item: z.int() }),
  handler({ item }, ctx) {
    ctx.notify.resourceUpdated(`item://${item}`)
    return `touched ${item}`
  },
})

const effects = defineTool('effects', {
  description: 'How often which effect happened.',
  annotations: { readOnlyHint: true },
  inputSchema: z.object({ prefix: z.string() }),
  handler: async ({ prefix }, ctx) => JSON.stringify(await counter(ctx.env).counts(prefix)),
})

const item = defineResourceTemplate('item://{number}', { name: 'item', read: ({ number }) => number })

const server = defineServer({
  name: 'faults',
  version: '1.0.0',
  tools: [...counting, ...asking, ...askingTwice, ...waiting, touch, effects, ...taskTools, ...listenTools],
  resources: [item],
})

export class SessionObject extends createSessionObject(server) {
  /** Tells instances apart: another one after an eviction, a crash or a kill. */
  readonly #born = crypto.randomUUID()

  override async request(call: SessionCall): Promise<SessionReply> {
    const { id, params } = call.request
    if (params['name'] === 'crash') this.ctx.abort('a crash was asked for')
    if (params['name'] !== 'born') return super.request(call)
    const result = { content: [{ type: 'text', text: this.#born }] }
    return { kind: 'final', message: resultMessage(id, JSON.stringify(result)), status: 200 }
  }
}

export const TaskObject = createKillableTaskObject(server)

export const ListenHubObject = createKillableHubObject(server)

const app = createApp({
  server,
  ...ports(server),
  authenticate({ headers }) {
    const principal = headers.get('x-principal')
    return principal === null ? ANONYMOUS : { principal }
  },
})

export default {
  fetch(request, env, execution) {
    const isOutside = new URL(request.url).pathname === '/change'
    return isOutside ? changeOutside(request, env) : app.fetch(request, env, execution)
  },
} satisfies ExportedHandler<Cloudflare.Env>
