// The hubs, for whoever publishes, listens, or follows for a session.

import { shardsOf } from '../src/config.ts'
import { limits } from '../src/limits.ts'
import { topicKey, type Topic } from '../src/protocol/topic.ts'
import { LISTEN_PROTOCOL, type ListenPort, type ListenRefusal } from '../src/server/listen-port.ts'
import { createNotifier, type Notifier } from '../src/server/notifier.ts'
import { attachRequest, REFUSAL_STATUS } from './listen-attach.ts'
import { callObject, type HubStub } from './objects.ts'

/** The hubs as others use them, and what sessions need. */
export interface Hubs extends ListenPort {
  /** Notes that a session's object is to be told of changes, for a day at least. @throws when the shard cannot be reached */
  follow(env: Cloudflare.Env, session: string, topics: readonly Topic[]): Promise<void>
}

/** Changes that travel in one call. */
const AT_ONCE = 1_000

/** @param name of the hubs, whose shards are `name-0`, `name-1` … */
export function listenPort(name = 'hub'): Hubs {
  const stub = (env: Cloudflare.Env, shard: number) => (): HubStub => env.LISTEN_HUB.getByName(`${name}-${shard}`)
  const shardOf = (env: Cloudflare.Env, owner: string): number => topicKey(owner) % shardsOf(env)
  return {
    shardOf,
    async publish(env, topics) {
      const shards = Array.from({ length: shardsOf(env) }, (_, shard) => publishTo(stub(env, shard), topics))
      // One that cannot be reached keeps nothing from the others.
      for (const told of await Promise.allSettled(shards)) if (told.status === 'rejected') throw told.reason
    },
    async attach(env, listening) {
      const { webSocket, status } = await callObject(
        stub(env, listening.shard),
        (hub) => hub.fetch(attachRequest(listening)),
        true,
      )
      return webSocket ?? refusalOf(status)
    },
    async follow(env, session, topics) {
      const isTaken = await callObject(
        stub(env, shardOf(env, session)),
        async (hub) => hub.follow(LISTEN_PROTOCOL, session, topics),
        true,
      )
      if (!isTaken) throw new Error('the hub is of another version')
    },
  }
}

/** Tells clients of changes from outside of handlers: queue consumers, crons, webhooks. */
export function notifier(env: Cloudflare.Env, hubs: ListenPort = listenPort()): Notifier {
  return createNotifier((topic) => hubs.publish(env, [topic]))
}

/** A shard that cannot be reached is tried for a while: its listeners come back to it, and would never know. */
async function publishTo(shard: () => HubStub, topics: readonly Topic[]): Promise<void> {
  for (let i = 0; i < topics.length; i += AT_ONCE) await publishSome(shard, topics.slice(i, i + AT_ONCE))
}

async function publishSome(shard: () => HubStub, topics: readonly Topic[]): Promise<void> {
  const until = Date.now() + limits.publishMs
  for (let attempt = 0; ; attempt++) {
    try {
      const isTaken = await callObject(shard, async (hub) => hub.publish(LISTEN_PROTOCOL, topics), true)
      if (isTaken) return
      if (Date.now() >= until) throw new Error('the hub is of another version')
    } catch (error) {
      if (Date.now() >= until) throw error
    }
    await scheduler.wait(Math.min(200 * 2 ** attempt, 3_000) * (0.5 + Math.random()))
  }
}

function refusalOf(status: number): ListenRefusal {
  if (status === REFUSAL_STATUS.owner) return 'owner'
  return status === REFUSAL_STATUS.moved ? 'moved' : 'full'
}
