// What a test may read off a result. Loose on purpose: the schemas check the messages, these types only save casts.

import type { Id, JsonObject } from './revisions.ts'

export interface ContentBlock {
  type: string
  text?: string
  data?: string
  mimeType?: string
  uri?: string
  name?: string
  resource?: ResourceContents
  [key: string]: unknown
}

export interface ResourceContents {
  uri: string
  mimeType?: string
  text?: string
  blob?: string
  [key: string]: unknown
}

export interface Named {
  name: string
  title?: string
  description?: string
  [key: string]: unknown
}

export interface Tool extends Named {
  inputSchema: JsonObject
  outputSchema?: JsonObject
  annotations?: JsonObject
}

export interface InputRequest {
  method: string
  params: JsonObject & { message?: string; mode?: string; requestedSchema?: JsonObject; url?: string }
}

/** Members of any result; those of one revision are absent in the others. */
export interface AnyResult {
  _meta?: JsonObject
  resultType?: string
  ttlMs?: number
  cacheScope?: 'public' | 'private'
  nextCursor?: string
  inputRequests?: Record<string, InputRequest>
  requestState?: string
  [key: string]: unknown
}

export interface Results {
  initialize: { protocolVersion: string; capabilities: JsonObject; serverInfo: Named; instructions?: string }
  'server/discover': { supportedVersions: string[]; capabilities: JsonObject; instructions?: string }
  'tools/list': { tools: Tool[] }
  'tools/call': { content: ContentBlock[]; structuredContent?: unknown; isError?: boolean }
  'prompts/list': { prompts: (Named & { arguments?: (Named & { required?: boolean })[] })[] }
  'prompts/get': { description?: string; messages: { role: string; content: ContentBlock }[] }
  'resources/list': { resources: (Named & { uri: string; mimeType?: string })[] }
  'resources/templates/list': { resourceTemplates: (Named & { uriTemplate: string; mimeType?: string })[] }
  'resources/read': { contents: ResourceContents[] }
  'completion/complete': { completion: { values: string[]; total?: number; hasMore?: boolean } }
}

export type ResultOf<Method extends string> = Method extends keyof Results ? Results[Method] & AnyResult : AnyResult

/** A round that ended with questions. */
export interface Round {
  inputRequests: Record<string, InputRequest>
  requestState?: string
}

export interface NotificationMessage {
  method: string
  params: JsonObject & {
    progress?: number
    total?: number
    message?: string
    progressToken?: Id
    level?: string
    data?: unknown
  }
}
