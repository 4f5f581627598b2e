// Serves a server definition of a test inside workerd, through the real routes, keys and platform objects.

import { env } from 'cloudflare:workers'
import { createExecutionContext } from 'cloudflare:test'
import { keyRing, quotaPort, sessionPort, taskPort } from '../../durable-objects/ports.ts'
import { createApp, type Authenticate } from '../../src/http/app.ts'
import type { SessionPort } from '../../src/http/session.ts'
import { defineServer, type Server, type ServerOptions } from '../../src/server/index.ts'
import type { KeySource } from '../../src/server/ports.ts'
import type { TaskPort } from '../../src/server/task-port.ts'
import type { Fetcher } from './client.ts'
import { hubsOf, servers } from './main.ts'

export interface ServeOptions {
  /** Variables over those of wrangler.toml. */
  vars?: Partial<Cloudflare.Env>
  keys?: KeySource
  /** Who is calling, for tests with several principals. */
  authenticate?: Authenticate
}

/** A fetcher that reaches `server`. */
export function serve(
  server: Server | Partial<ServerOptions>,
  { vars = {}, keys = keyRing, authenticate }: ServeOptions = {},
): Fetcher {
  const defined = 'info' in server ? server : defineServer({ name: 'test', version: '1.0.0', ...server })
  const app = createApp({
    server: defined,
    keys,
    sessions: sessionsOf(defined),
    tasks: tasksOf(defined),
    hubs: hubsOf(defined),
    quotas: quotaPort(),
    ...(authenticate && { authenticate }),
  })
  const bindings = { ...env, LOG: 'errors', ...vars }
  return (request) => app.fetch(request, bindings, createExecutionContext())
}

/** The real sessions, whose objects serve this definition. */
function sessionsOf(server: Server): SessionPort {
  const port = sessionPort(server)
  return {
    ...port,
    newId(bindings) {
      const id = port.newId(bindings)
      servers.set(id, server)
      return id
    },
  }
}

/** The real tasks, whose objects serve this definition. */
function tasksOf(server: Server): TaskPort {
  const port = taskPort()
  const { newId } = port
  port.newId = (bindings) => {
    const id = newId(bindings)
    servers.set(id, server)
    return id
  }
  return port
}
