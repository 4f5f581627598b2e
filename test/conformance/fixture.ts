// The conformance fixture as a Worker: what the official suite calls, put together like workers/mcp.ts.

import { keyRing, sessionPort } from '../../durable-objects/ports.ts'
import { createSessionObject } from '../../durable-objects/session.ts'
import { createApp } from '../../src/http/app.ts'
import { server } from './fixture/server.ts'

export { KeyRingObject } from '../../durable-objects/key-ring.ts'

export const SessionObject = createSessionObject(server)

export default createApp({ server, keys: keyRing, sessions: sessionPort(server) })
