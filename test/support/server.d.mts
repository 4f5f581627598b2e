// The types of server.mjs, which says what each function does.

export interface StartedServer {
  /** The MCP endpoint. */
  url: string
  origin: string
  port: number
  pid: number
  /** What it printed so far, the last 20,000 characters. */
  output(): string
  stop(): Promise<void>
  kill(): Promise<void>
}

export function startWrangler(options?: {
  config?: string
  port?: number
  vars?: Record<string, string>
  persistTo?: string
  args?: string[]
  env?: Record<string, string>
}): Promise<StartedServer>

export function buildBundle(options: { config?: string; outdir: string; args?: string[] }): Promise<string>

export function startWorkerd(options?: {
  bundleDir?: string
  config?: string
  configText?: string
  vars?: Record<string, string>
  stateDir?: string
  port?: number
  otherPorts?: number[]
}): Promise<StartedServer>

export function freePort(port?: number): Promise<number>
