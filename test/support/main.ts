// The Worker the workerd tests run in: the deployable one, except that its session and task objects serve the definition of
// the test that made them. Vitest runs tests and objects in one isolate, so a map between them is enough.

import { DurableObject } from 'cloudflare:workers'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createTaskObject } from '../../durable-objects/task.ts'
import type { Watcher } from '../../durable-objects/task-store.ts'
import { server as app } from '../../src/app/server.ts'
import type { SessionCall } from '../../src/http/session-call.ts'
import type { JsonObject, JsonRpcAnswer } from '../../src/protocol/json-rpc.ts'
import type { TaskSnapshot, TaskState } from '../../src/protocol/task.ts'
import type { Server } from '../../src/server/index.ts'
import type { Topic } from '../../src/server/ports.ts'
import type { TaskCall, TaskOwner, TaskUpdate } from '../../src/server/task-port.ts'

// Whatever the Worker exports; the two objects below take the place of its own.
export * from '../../workers/mcp.ts'
export { default } from '../../workers/mcp.ts'

/** The server of each session or task object a test made, by the object's id; others serve the app. */
export const servers = new Map<string, Server>()

type Inner = InstanceType<ReturnType<typeof createSessionObject>>

export class SessionObject extends DurableObject<Cloudflare.Env> {
  readonly inner: Inner

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env)
    this.inner = new (createSessionObject(servers.get(state.id.toString()) ?? app))(state, env)
  }

  request(call: SessionCall): ReturnType<Inner['request']> {
    return this.inner.request(call)
  }
  notified(method: string, params: JsonObject): boolean {
    return this.inner.notified(method, params)
  }
  answered(answer: JsonRpcAnswer): Promise<boolean> {
    return this.inner.answered(answer)
  }
  taskChanged(update: TaskUpdate): boolean {
    return this.inner.taskChanged(update)
  }
  taskSaid(taskId: string, method: string, params: JsonObject): void {
    this.inner.taskSaid(taskId, method, params)
  }
  topic(topic: Topic): void {
    this.inner.topic(topic)
  }
  completed(elicitationId: string): void {
    this.inner.completed(elicitationId)
  }
  end(expiresAt: number): Promise<boolean> {
    return this.inner.end(expiresAt)
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

type InnerTask = InstanceType<ReturnType<typeof createTaskObject>>

export class TaskObject extends DurableObject<Cloudflare.Env> {
  #inner: InnerTask | undefined

  /** Made at the first call: a task of a session serves what its session does. */
  get inner(): InnerTask {
    const server = servers.get(this.ctx.id.toString()) ?? app
    return (this.#inner ??= new (createTaskObject(server))(this.ctx, this.env))
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
