// What passes between who changes something, who listens, and the hubs between them. HTTP uses the port, Durable Objects
// implement it.

import type { ListTopic, Topic } from '../protocol/topic.ts'

/** Raised when what passes between Worker and hub changes. What does not know a number refuses, and is asked again later. */
export const LISTEN_PROTOCOL = 1

/** One fingerprint per list of a definition, so that a changed one can be told. */
export type ListMarks = { readonly [list in ListTopic]: string }

/** What a listener is told. The first frame comes at once. */
export interface HubFrame {
  /** Everything up to it has been told. It grows with time, so it can be compared with when something was forgotten. */
  cursor: number
  topics?: Topic[]
  /** True when it is not known any more what has changed: it may have been everything. */
  isAll?: true
  /** True for a sign of life that is to be passed on: whether the client is still there shows when it is written to. */
  isPing?: true
  /** How many listen to the shard, roughly: after a restart all of them come back, and had better not at once. */
  listeners?: number
}

/** A listener on its way to a hub. */
export interface Listening {
  shard: number
  /** Whose listeners are counted together: a principal, or the address of an anonymous caller. */
  owner: string
  /** How many the owner may have. */
  limit: number
  topics: readonly Topic[]
  /** The lists as whoever holds the stream knows them. */
  lists: ListMarks
  /** Where it was before. Undefined begins with what comes from now on. */
  after: number | undefined
}

/** Why a hub takes no listener: its owner has too many, it is full, or it is no shard any more. */
export type ListenRefusal = 'owner' | 'full' | 'moved'

/** The hubs. */
export interface ListenPort {
  /**
   * Takes changes. Resolves when every shard has stored them: from then on nobody who listens misses them.
   * @throws when a shard cannot be reached for `limits.publishMs`
   */
  publish(env: Cloudflare.Env, topics: readonly Topic[]): Promise<void>
  /** A socket that is sent `HubFrame`s. @throws when the shard cannot be reached */
  attach(env: Cloudflare.Env, listening: Listening): Promise<WebSocket | ListenRefusal>
  /** The shard of an owner. All listeners of one are on the same, so that they can be counted there. */
  shardOf(env: Cloudflare.Env, owner: string): number
}
