// The Worker the workerd tests run in: the deployable one, except that its objects serve the definition of the test that
// made them. Vitest runs tests and objects in one isolate, so a map between them is enough.

import { DurableObject, env } from 'cloudflare:workers'
import { createListenHubObject } from '../../durable-objects/listen-hub.ts'
import { listenPort, type Hubs } from '../../durable-objects/listen-port.ts'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createTaskObject } from '../../durable-objects/task.ts'
import type { Watcher } from '../../durable-objects/task-store.ts'
import { server as app } from '../../src/app/server.ts'
import type { SessionCall } from '../../src/http/session-call.ts'
import type { JsonObject, JsonRpcAnswer } from '../../src/protocol/json-rpc.ts'
import type { TaskSnapshot, TaskState } from '../../src/protocol/task.ts'
import type { Topic } from '../../src/protocol/topic.ts'
import type { Auth, Server } from '../../src/server/index.ts'
import type { TaskCall, TaskOwner, TaskUpdate } from '../../src/server/task-port.ts'

// Whatever the Worker exports; the objects below take the place of its own.
export * from '../../workers/mcp.ts'
export { default } from '../../workers/mcp.ts'

/** The server of each object a test made, by the object's id; others serve the app. */
export const servers = new Map<string, Server>()

const hubs = new WeakMap<Server, Hubs>()

/** The hubs of one server: tests hear nothing of what others publish. */
export function hubsOf(server: Server): Hubs {
  let known = hubs.get(server)
  if (!known) {
    const name = `hub-of-${crypto.randomUUID()}`
    for (let shard = 0; shard < 4; shard++) {
      servers.set(env.LISTEN_HUB.idFromName(`${name}-${shard}`).toString(), server)
    }
    known = listenPort(name)
    hubs.set(server, known)
  }
  return known
}

type Inner = InstanceType<ReturnType<typeof createSessionObject>>

export class SessionObject extends DurableObject<Cloudflare.Env> {
  readonly inner: Inner

  constructor(state: DurableObjectState, bindings: Cloudflare.Env) {
    super(state, bindings)
    const server = servers.get(state.id.toString()) ?? app
    this.inner = new (createSessionObject(server, hubsOf(server)))(state, bindings)
  }

  request(call: SessionCall, token?: string): ReturnType<Inner['request']> {
    return this.inner.request(call, token)
  }
  notified(method: string, params: JsonObject): boolean {
    return this.inner.notified(method, params)
  }
  answered(answer: JsonRpcAnswer, auth?: Auth): Promise<boolean | readonly string[]> {
    return this.inner.answered(answer, auth)
  }
  taskChanged(update: TaskUpdate): boolean {
    return this.inner.taskChanged(update)
  }
  taskSaid(taskId: string, method: string, params: JsonObject): void {
    this.inner.taskSaid(taskId, method, params)
  }
  changed(protocol: number, topics: readonly Topic[]): ReturnType<Inner['changed']> {
    return this.inner.changed(protocol, topics)
  }
  completed(elicitationId: string): void {
    this.inner.completed(elicitationId)
  }
  end(expiresAt: number): Promise<boolean> {
    return this.inner.end(expiresAt)
  }
  override fetch(request: Request): Promise<Response> {
    return this.inner.fetch(request)
  }
  override webSocketClose(socket: WebSocket, code: number): void {
    this.inner.webSocketClose(socket, code)
  }
  override alarm(): Promise<void> {
    return this.inner.alarm()
  }
}

type InnerTask = InstanceType<ReturnType<typeof createTaskObject>>

export class TaskObject extends DurableObject<Cloudflare.Env> {
  #inner: InnerTask | undefined

  /** Made at the first call: a task of a session serves what its session does. */
  get inner(): InnerTask {
    const server = servers.get(this.ctx.id.toString()) ?? app
    return (this.#inner ??= new (createTaskObject(server, hubsOf(server)))(this.ctx, this.env))
  }

  create(call: TaskCall): TaskState | undefined {
    const server = call.session === undefined ? undefined : servers.get(call.session)
    if (server) servers.set(this.ctx.id.toString(), server)
    return this.inner.create(call)
  }
  discard(): Promise<void> {
    return this.inner.discard()
  }
  start(): void {
    this.inner.start()
  }
  get(owner: TaskOwner): TaskSnapshot | undefined {
    return this.inner.get(owner)
  }
  scopesOf(owner: TaskOwner): readonly string[] | undefined {
    return this.inner.scopesOf(owner)
  }
  listen(owner: TaskOwner): boolean {
    return this.inner.listen(owner)
  }
  answer(owner: TaskOwner, responses: JsonObject): { tooLarge?: string } | undefined {
    return this.inner.answer(owner, responses)
  }
  answered(owner: TaskOwner, key: string, raw: unknown): void {
    this.inner.answered(owner, key, raw)
  }
  cancel(owner: TaskOwner): ReturnType<InnerTask['cancel']> {
    return this.inner.cancel(owner)
  }
  watch(owner: TaskOwner, watcher: Watcher, waits: readonly number[]): Promise<TaskSnapshot | undefined> {
    return this.inner.watch(owner, watcher, waits)
  }
  override fetch(request: Request): Response {
    return this.inner.fetch(request)
  }
  override webSocketClose(socket: WebSocket, code: number): void {
    this.inner.webSocketClose(socket, code)
  }
  override alarm(): Promise<void> {
    return this.inner.alarm()
  }
}

type InnerHub = InstanceType<ReturnType<typeof createListenHubObject>>

export class ListenHubObject extends DurableObject<Cloudflare.Env> {
  #inner: InnerHub | undefined

  get inner(): InnerHub {
    const server = servers.get(this.ctx.id.toString()) ?? app
    return (this.#inner ??= new (createListenHubObject(server))(this.ctx, this.env))
  }

  publish(protocol: number, topics: readonly Topic[]): boolean {
    return this.inner.publish(protocol, topics)
  }
  follow(protocol: number, session: string, topics: readonly Topic[]): boolean {
    return this.inner.follow(protocol, session, topics)
  }
  override fetch(request: Request): Response {
    return this.inner.fetch(request)
  }
  override webSocketClose(socket: WebSocket): void {
    this.inner.webSocketClose(socket)
  }
  override webSocketError(socket: WebSocket): void {
    this.inner.webSocketError(socket)
  }
  override alarm(): Promise<void> {
    return this.inner.alarm()
  }
}
