// The conformance fixture as a Worker: what the official suite calls, put together like workers/mcp.ts.

import { keyRing } from '../../durable-objects/ports.ts'
import { createApp } from '../../src/http/app.ts'
import { server } from './fixture/server.ts'

export { KeyRingObject } from '../../durable-objects/key-ring.ts'

export default createApp({ server, keys: keyRing })
