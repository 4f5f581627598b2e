// Hubs made to be crashed, and changes that can be looked up: each is counted elsewhere before it is published.

import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { createListenHubObject } from '../../durable-objects/listen-hub.ts'
import { notifier } from '../../durable-objects/ports.ts'
import type { Topic } from '../../src/protocol/topic.ts'
import { defineTool, type CallContext, type Server } from '../../src/server/index.ts'
import { counter } from './counter.ts'
import { CRASH_POINTS, type CrashPoint } from './crash-points.ts'

/** A crash to come: how often in a row, and how many ms after its point. */
interface Order {
  times: number
  afterMs: number
}

/** Objects of a class share their isolate, which outlives them: whichever comes to a point obeys. */
const orders = new Map<CrashPoint, Order>()
/** How often a hub was crashed where, since the server was started. */
const crashes: { [point: string]: number } = {}

const SHARDS = 2
/** How far away sessions are: how long a call to one takes at most, on its way there and back. */
let farMs = Number((env as { FAR_MS?: string }).FAR_MS ?? 0)

/** Hubs that can be crashed at chosen moments. */
export function createKillableHubObject(server: Server) {
  return class ListenHubObject extends createListenHubObject(server) {
    /** Tells instances apart: another one after an eviction, a crash or a kill. */
    readonly #born = crypto.randomUUID()

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, { ...env, SESSION: watched(env.SESSION, (point) => crashAt(ctx, point)) })
    }

    override publish(protocol: number, topics: readonly Topic[]): boolean {
      crashAt(this.ctx, 'as a change comes')
      const isTaken = super.publish(protocol, topics)
      crashAt(this.ctx, 'before a change is stored')
      return this.#answer(isTaken, 'when a change is stored', 'after a change was answered')
    }

    override follow(protocol: number, session: string, topics: readonly Topic[]): boolean {
      crashAt(this.ctx, 'as a session follows')
      return this.#answer(super.follow(protocol, session, topics), 'when it is stored that a session follows')
    }

    override fetch(request: Request): Response {
      crashAt(this.ctx, 'as a listener comes')
      const response = super.fetch(request)
      crashAt(this.ctx, 'as a listener is taken')
      crashLater(this.ctx, 'after a listener was taken')
      return response
    }

    override async alarm(): Promise<void> {
      await super.alarm()
      crashAt(this.ctx, 'in the alarm')
    }

    crash(): void {
      abort(this.ctx, 'at any time')
    }

    born(): string {
      return this.#born
    }

    /** Answers, unless this object is to be crashed when what it has written is stored and nobody knows. */
    #answer(value: boolean, stored: CrashPoint, answered?: CrashPoint): boolean {
      if (answered) crashLater(this.ctx, answered)
      if (!orders.has(stored)) return value
      const crashed = this.ctx.storage.sync().then(() => crashAt(this.ctx, stored))
      // Who calls an object waits for a promise as for anything else.
      return crashed.then(() => value) as unknown as boolean
    }
  }
}

/** Sessions as a hub sees them: far away, with a moment before and one after each is told. */
function watched(SESSION: Cloudflare.Env['SESSION'], at: (point: CrashPoint) => void): Cloudflare.Env['SESSION'] {
  const get = (id: DurableObjectId) => ({
    async changed(protocol: number, topics: readonly Topic[]) {
      at('before a session is told')
      await scheduler.wait((farMs * (1 + Math.random())) / 2)
      const following = await SESSION.get(id).changed(protocol, topics)
      await scheduler.wait((farMs * Math.random()) / 2)
      at('after a session was told')
      return following
    },
  })
  return { get, idFromString: (id: string) => SESSION.idFromString(id) } as unknown as Cloudflare.Env['SESSION']
}

function crashAt(ctx: DurableObjectState, point: CrashPoint): void {
  if (take(point)) abort(ctx, point)
}

function crashLater(ctx: DurableObjectState, point: CrashPoint): void {
  const order = take(point)
  if (order) setTimeout(() => abort(ctx, point), order.afterMs)
}

function take(point: CrashPoint): Order | undefined {
  const order = orders.get(point)
  if (order && --order.times <= 0) orders.delete(point)
  return order
}

function abort(ctx: DurableObjectState, point: string): void {
  crashes[point] = (crashes[point] ?? 0) + 1
  ctx.abort('a crash was asked for')
}

/** Says that something changed, once that can be looked up under `topic/`. */
async function count(env: Cloudflare.Env, topic: string): Promise<number> {
  return counter(env).add(`topic/${topic}`)
}

const changing = (['change', 'change_in_task'] as const).map((name) =>
  defineTool(name, {
    description: 'Changes a list or a resource, and says so.',
    annotations: { idempotentHint: true },
    inputSchema: z.object({ topic: z.string() }),
    ...(name === 'change_in_task' && { task: { support: 'optional', ttlMs: 30_000, pollIntervalMs: 200 } as const }),
    async handler({ topic }, ctx) {
      const version = await count(ctx.env, topic)
      tell(ctx, topic)
      return `${version}`
    },
  }),
)

function tell({ notify }: CallContext, topic: string): void {
  if (topic === 'tools') notify.toolsListChanged()
  else if (topic === 'resources') notify.resourcesListChanged()
  else notify.resourceUpdated(topic)
}

/** The same from outside of a handler. */
export async function changeOutside(request: Request, env: Cloudflare.Env): Promise<Response> {
  const topic = new URL(request.url).searchParams.get('topic') ?? ''
  const version = await count(env, topic)
  const { toolsListChanged, resourcesListChanged, resourceUpdated } = notifier(env)
  if (topic === 'tools') await toolsListChanged()
  else if (topic === 'resources') await resourcesListChanged()
  else await resourceUpdated(topic)
  return Response.json(version)
}

const crashHub = defineTool('crash_hub', {
  description: 'Crashes a hub at once, or the next that comes to a point. Says where any was since the start.',
  inputSchema: z.object({
    shard: z.int().optional(),
    point: z.enum(CRASH_POINTS).optional(),
    times: z.int().default(1),
    afterMs: z.number().default(0),
    /** Sessions are this far away from now on. */
    far: z.number().optional(),
    /** Forgets the crashes to come. */
    isEnough: z.boolean().default(false),
  }),
  async handler({ shard, point, times, afterMs, far, isEnough }, { env }) {
    if (isEnough) orders.clear()
    farMs = far ?? farMs
    if (point) orders.set(point, { times, afterMs })
    if (shard !== undefined)
      await hub(env, shard)
        .crash()
        .catch(() => undefined)
    return JSON.stringify(crashes)
  },
})

const hubs = defineTool('hubs', {
  description: 'Which instances the hubs are.',
  handler: async (_, { env }) => {
    const shards = Array.from({ length: SHARDS }, (_, shard) => hub(env, shard).born())
    return JSON.stringify(await Promise.all(shards))
  },
})

interface KillableHub {
  crash(): Promise<void>
  born(): Promise<string>
}

function hub({ LISTEN_HUB }: Cloudflare.Env, shard: number): KillableHub {
  return LISTEN_HUB.getByName(`hub-${shard}`) as unknown as KillableHub
}

export const listenTools = [...changing, crashHub, hubs]
