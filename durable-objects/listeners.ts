// Who listens to one shard: hibernatable sockets, each with its filter in its attachment, and an index made of them when
// something happens. Nothing here is stored.

import { limits } from '../src/limits.ts'
import { topicKey, type Topic } from '../src/protocol/topic.ts'
import type { HubFrame, ListenRefusal } from '../src/server/listen-port.ts'

/** What a socket remembers while its object sleeps. */
interface Attachment {
  /** Whose it is, as a number. */
  owner: number
  /** What it listens to, as numbers. */
  topics: number[]
}

/** A listener, and the turn up to which it knew everything when it came. That is only of use while changes wait. */
interface Listener extends Attachment {
  since: number
}

/** So that one who asks all the time does not have all of its listeners written to all the time. */
const PING_PAUSE_MS = 1_000

export class Listeners {
  readonly #state: DurableObjectState
  #attachments: Map<WebSocket, Listener> | undefined
  readonly #byTopic = new Map<number, Set<WebSocket>>()
  /** How many listeners an owner has, and how much they name. */
  readonly #byOwner = new Map<number, { count: number; pairs: number }>()
  #pairs = 0
  #pingedAt = 0

  constructor(state: DurableObjectState) {
    this.#state = state
  }

  get #known(): Map<WebSocket, Listener> {
    if (this.#attachments) return this.#attachments
    this.#attachments = new Map()
    for (const socket of this.#state.getWebSockets()) {
      if (socket.readyState === WebSocket.OPEN)
        this.#add(socket, { ...(socket.deserializeAttachment() as Attachment), since: 0 })
    }
    return this.#attachments
  }

  get count(): number {
    return this.#known.size
  }

  /** Says why a listener cannot be taken, if it cannot. */
  refuse(owner: string, limit: number, topics: readonly number[]): ListenRefusal | undefined {
    if (this.count >= limits.hubListeners || this.#pairs + topics.length > limits.hubTopics) return 'full'
    const { count, pairs } = this.#byOwner.get(topicKey(owner)) ?? { count: 0, pairs: 0 }
    return count >= limit || pairs + topics.length > limits.ownerTopics ? 'owner' : undefined
  }

  /** @param since the turn up to which it is told by other means */
  accept(socket: WebSocket, owner: string, topics: number[], since: number): void {
    // Before it is accepted, or it would be counted twice.
    void this.#known
    const attachment = { owner: topicKey(owner), topics }
    this.#state.acceptWebSocket(socket)
    socket.serializeAttachment(attachment satisfies Attachment)
    this.#add(socket, { ...attachment, since })
  }

  closed(socket: WebSocket): void {
    // An index that is not there yet will not have it.
    const attachment = this.#attachments?.get(socket)
    if (!attachment) return
    this.#attachments!.delete(socket)
    this.#pairs -= attachment.topics.length
    this.#count(attachment, -1)
    for (const topic of attachment.topics) {
      const sockets = this.#byTopic.get(topic)
      sockets?.delete(socket)
      if (sockets?.size === 0) this.#byTopic.delete(topic)
    }
  }

  /** Tells whoever listens to one of some topics, each once, what changed since it came. @returns how many that were */
  tell(changes: readonly (readonly [topic: Topic, turn: number])[], cursor: number): number {
    const known = this.#known
    const told = new Map<WebSocket, Topic[]>()
    for (const [topic, turn] of changes) {
      for (const socket of this.#byTopic.get(topicKey(topic)) ?? []) {
        if (known.get(socket)!.since >= turn) continue
        const others = told.get(socket)
        if (others) others.push(topic)
        else told.set(socket, [topic])
      }
    }
    // Most are told the same.
    const texts = new Map<string, string>()
    for (const [socket, changed] of told) {
      const same = changed.join('\n')
      let text = texts.get(same)
      if (text === undefined)
        texts.set(same, (text = JSON.stringify({ cursor, topics: changed, listeners: this.count } satisfies HubFrame)))
      this.#send(socket, text)
    }
    return told.size
  }

  /** Finds out who of an owner's listeners has left without being seen to: each is written to, once a second at most. */
  ping(owner: string, cursor: number, now: number): void {
    if (now - this.#pingedAt < PING_PAUSE_MS) return
    this.#pingedAt = now
    const key = topicKey(owner)
    for (const [socket, listener] of this.#known)
      if (listener.owner === key) this.send(socket, { cursor, isPing: true })
  }

  send(socket: WebSocket, frame: HubFrame): void {
    this.#send(socket, JSON.stringify(frame))
  }

  /** A socket that closes meanwhile needs nothing more: whoever is behind it comes back with its cursor. */
  #send(socket: WebSocket, text: string): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(text)
    else this.closed(socket)
  }

  #count({ owner, topics }: Attachment, by: 1 | -1): void {
    const { count, pairs } = this.#byOwner.get(owner) ?? { count: 0, pairs: 0 }
    if (count + by === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, { count: count + by, pairs: pairs + by * topics.length })
  }

  #add(socket: WebSocket, attachment: Listener): void {
    this.#attachments!.set(socket, attachment)
    this.#pairs += attachment.topics.length
    this.#count(attachment, 1)
    for (const topic of attachment.topics) {
      const sockets = this.#byTopic.get(topic)
      if (sockets) sockets.add(socket)
      else this.#byTopic.set(topic, new Set([socket]))
    }
  }
}
