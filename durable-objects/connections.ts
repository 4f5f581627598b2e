// Who is connected to which stream of a session. Hibernatable sockets: they outlive the memory of their object.

import { CLOSE, type SessionFrame } from '../src/http/session-call.ts'
import { limits } from '../src/limits.ts'

/** What a socket remembers while its object sleeps. */
interface Attachment {
  /** Counts connections, so that the newest can be told. */
  turn: number
}

/** A client that opens its stream more often than this is fighting itself for it. */
const DAMPED_WITHIN_MS = 10_000

export class Connections {
  readonly #state: DurableObjectState
  /** When connections of a stream were replaced lately. */
  readonly #replaced = new Map<number, number[]>()

  constructor(state: DurableObjectState) {
    this.#state = state
  }

  /** Takes a socket as the connection of a stream. The older one is closed, unless that happens all the time. */
  accept(socket: WebSocket, stream: number): void {
    const older = this.#of(stream).toSorted((a, b) => turnOf(b) - turnOf(a))
    const stay = older.length > 0 && this.#isFlapping(stream) ? limits.streamConnections - 1 : 0
    for (const one of older.slice(stay)) one.close(CLOSE.replaced, 'replaced')
    this.#state.acceptWebSocket(socket, [tag(stream)])
    const turn = 1 + Math.max(0, ...older.map(turnOf))
    socket.serializeAttachment({ turn } satisfies Attachment)
  }

  /**
   * Sends to the newest connection of a stream: a message goes to one. @see Multiple Connections
   * @returns false when nobody is connected
   */
  deliver(stream: number, frame: SessionFrame): boolean {
    const newest = this.#of(stream).toSorted((a, b) => turnOf(b) - turnOf(a))[0]
    if (newest) send(newest, frame)
    return newest !== undefined
  }

  close(stream: number, code: number, reason: string): void {
    for (const socket of this.#of(stream)) socket.close(code, reason)
  }

  closeAll(code: number, reason: string): void {
    for (const socket of this.#state.getWebSockets()) socket.close(code, reason)
  }

  isOpen(stream: number): boolean {
    return this.#of(stream).length > 0
  }

  get isAnyOpen(): boolean {
    return this.#state.getWebSockets().some(isOpen)
  }

  #of(stream: number): WebSocket[] {
    return this.#state.getWebSockets(tag(stream)).filter(isOpen)
  }

  #isFlapping(stream: number): boolean {
    const now = Date.now()
    const lately = (this.#replaced.get(stream) ?? []).filter((at) => at > now - DAMPED_WITHIN_MS)
    if (lately.length >= limits.streamReplacements) return true
    this.#replaced.set(stream, [...lately, now])
    return false
  }
}

/** Sends a frame to one socket. A socket that closes meanwhile needs nothing more: its client comes back for it. */
export function send(socket: WebSocket, frame: SessionFrame): void {
  if (isOpen(socket)) socket.send(JSON.stringify(frame))
}

function tag(stream: number): string {
  return `stream:${stream}`
}

function isOpen(socket: WebSocket): boolean {
  return socket.readyState === WebSocket.OPEN
}

function turnOf(socket: WebSocket): number {
  return (socket.deserializeAttachment() as Attachment).turn
}
