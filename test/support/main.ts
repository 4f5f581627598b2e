// The Worker the workerd tests run in: the deployable one, except that its session objects serve the definition of the
// test that made them. Vitest runs tests and objects in one isolate, so a map between them is enough.

import { DurableObject } from 'cloudflare:workers'
import { createSessionObject } from '../../durable-objects/session.ts'
import { server as app } from '../../src/app/server.ts'
import type { SessionCall } from '../../src/http/session-call.ts'
import type { JsonObject, JsonRpcAnswer } from '../../src/protocol/json-rpc.ts'
import type { Server } from '../../src/server/index.ts'

// Whatever the Worker exports; the SessionObject below takes the place of its own.
export * from '../../workers/mcp.ts'
export { default } from '../../workers/mcp.ts'

/** The server of each session object a test made, by the object's id; others serve the app. */
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
  answered(answer: JsonRpcAnswer): boolean {
    return this.inner.answered(answer)
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
