// The conformance fixture as a Worker: what the official suite calls, put together like workers/mcp.ts.

import { createListenHubObject } from '../../durable-objects/listen-hub.ts'
import { ports } from '../../durable-objects/ports.ts'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createTaskObject } from '../../durable-objects/task.ts'
import { createApp } from '../../src/http/app.ts'
import { server } from './fixture/server.ts'

export { KeyRingObject } from '../../durable-objects/key-ring.ts'
export { PrincipalObject } from '../../durable-objects/principal.ts'

export const SessionObject = createSessionObject(server)
export const TaskObject = createTaskObject(server)
export const ListenHubObject = createListenHubObject(server)

export default createApp({
  server,
  ...ports(server),
})
