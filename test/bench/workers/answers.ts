// The envelopes that the two hand-written workers put around their answers, so that they say what an MCP server says.
import type { convertTools } from './tools.ts'

export interface Message {
  id: number | string
  method: string
  params?: { name?: string; arguments?: unknown; _meta?: Record<string, unknown> }
}

export const serverInfo = { name: 'bench', version: '1.0.0' }

const serverInfoKey = 'io.modelcontextprotocol/serverInfo'
const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion'

export const isModern = (message: Message) => message.params?._meta?.[protocolVersionKey] === '2026-07-28'

/** What every modern result carries. */
export const stamp = { resultType: 'complete', _meta: { [serverInfoKey]: serverInfo } }

const cacheable = { ttlMs: 300_000, cacheScope: 'public', ...stamp }

export const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...cacheable }

export const createToolList = (tools: ReturnType<typeof convertTools>) => ({ tools, ...cacheable })
