// The types of start.mjs, which says what each function does.

import type { StartedServer } from '../support/server.mjs'

export interface StartedAuth {
  /** The MCP endpoint. */
  mcp: string
  /** The issuer. */
  auth: string
  /** Calls a method of the entrypoint `TokenValidator`, if `caller` was asked for. */
  call(method: string, ...args: unknown[]): Promise<unknown>
  output(): string
  exited: Promise<number>
  pid: number
  stop(): Promise<void>
}

export function startAuth(options?: {
  vars?: (mcp: string) => Record<string, string>
  env?: Record<string, string>
  flags?: string[]
  caller?: boolean
}): Promise<StartedAuth>

export function startCaller(registry: string): Promise<StartedServer>

export interface Documents {
  origin: string
  ca: string
  seen: string[]
  stop(): Promise<void>
}

export function serveDocuments(answer: (path: string) => object | Promise<object>): Promise<Documents>
