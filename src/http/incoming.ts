// What every handler of the endpoint needs to know of one HTTP request, gathered once.

import type { HeaderSource } from '../protocol/headers.ts'
import type { Auth, CallPort, Trace } from '../server/ports.ts'

/** One HTTP request, after the checks that need no JSON-RPC. */
export interface Incoming {
  headers: HeaderSource
  env: Cloudflare.Env
  auth: Auth
  requestId: string
  trace?: Trace
  port: CallPort
}
