// What a test may read off a result. Loose on purpose: the schemas check the messages, these types only save casts.

import type { Id, JsonObject, RpcError } from './revisions.ts'

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
  ttlMs?: number | null
  cacheScope?: 'public' | 'private'
  nextCursor?: string
  inputRequests?: Record<string, InputRequest>
  requestState?: string
  [key: string]: unknown
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** What both forms of a task have. */
export interface AnyTask {
  taskId: string
  status: TaskStatus
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
}

/** A task of 2025-11-25. */
export interface LegacyTask extends AnyTask {
  ttl: number | null
  pollInterval?: number
}

/** A task of the extension, as `tools/call` hands it out or `tasks/get` reads it. */
export interface ModernTask extends AnyTask {
  _meta?: JsonObject
  resultType: 'task' | 'complete'
  ttlMs: number | null
  pollIntervalMs?: number
  /** While it is `input_required`. */
  inputRequests?: Record<string, InputRequest>
  /** When it is `completed`. */
  result?: ToolResult & AnyResult
  /** When it has `failed`. */
  error?: RpcError
}

export interface ToolResult {
  content: ContentBlock[]
  structuredContent?: unknown
  isError?: boolean
}

export interface Results {
  initialize: { protocolVersion: string; capabilities: JsonObject; serverInfo: Named; instructions?: string }
  'server/discover': { supportedVersions: string[]; capabilities: JsonObject; instructions?: string }
  'tools/list': { tools: Tool[] }
  'tools/call': ToolResult & { task?: LegacyTask; taskId?: string }
  'prompts/list': { prompts: (Named & { arguments?: (Named & { required?: boolean })[] })[] }
  'prompts/get': { description?: string; messages: { role: string; content: ContentBlock }[] }
  'resources/list': { resources: (Named & { uri: string; mimeType?: string })[] }
  'resources/templates/list': { resourceTemplates: (Named & { uriTemplate: string; mimeType?: string })[] }
  'resources/read': { contents: ResourceContents[] }
  'completion/complete': { completion: { values: string[]; total?: number; hasMore?: boolean } }
  'tasks/get': AnyTask & Partial<LegacyTask> & Partial<ModernTask>
  'tasks/result': ToolResult
  'tasks/list': { tasks: LegacyTask[] }
  'tasks/cancel': Partial<LegacyTask>
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
