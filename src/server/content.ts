// What a handler may return, and how it becomes the content of a result.
// @see server/tools, Tool Result; server/prompts, Data Types

import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import type { Icon } from '../protocol/meta.ts'

/** Hints on how to show or use something. `priority` is 0 to 1, `lastModified` an ISO 8601 time. */
export interface Annotations {
  audience?: ('user' | 'assistant')[]
  priority?: number
  lastModified?: string
}

interface Block {
  annotations?: Annotations
  _meta?: JsonObject
}

export interface TextContent extends Block {
  type: 'text'
  text: string
}

/** `data` is base64. */
export interface ImageContent extends Block {
  type: 'image'
  data: string
  mimeType: string
}

/** `data` is base64. */
export interface AudioContent extends Block {
  type: 'audio'
  data: string
  mimeType: string
}

export interface ResourceLink extends Block {
  type: 'resource_link'
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  size?: number
  icons?: Icon[]
}

/** What a resource holds. `blob` is base64. */
export type ResourceContents = { uri: string; mimeType?: string; _meta?: JsonObject } & (
  | { text: string }
  | { blob: string }
)

export interface EmbeddedResource extends Block {
  type: 'resource'
  resource: ResourceContents
}

export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** The whole result of a tool call, for handlers that need all of it. */
export interface CallToolResult {
  content: ContentBlock[]
  structuredContent?: unknown
  isError?: boolean
  _meta?: JsonObject
}

export interface PromptMessage {
  role: 'user' | 'assistant'
  content: ContentBlock
}

export interface GetPromptResult {
  description?: string
  messages: PromptMessage[]
  _meta?: JsonObject
}

/** True for one block of content with the members its type needs. */
export function isContentBlock(value: unknown): value is ContentBlock {
  if (!isObject(value)) return false
  const { type, text, data, mimeType, uri, name, resource } = value
  if (type === 'text') return typeof text === 'string'
  if (type === 'image' || type === 'audio') return typeof data === 'string' && typeof mimeType === 'string'
  if (type === 'resource_link') return typeof uri === 'string' && typeof name === 'string'
  return type === 'resource' && isObject(resource) && typeof resource['uri'] === 'string'
}

export function text(value: string): TextContent {
  return { type: 'text', text: value }
}

/** True for a value that is meant as a whole `CallToolResult`, not as the structured value of a tool. */
export function isToolResult(value: unknown, hasOutputSchema: boolean): value is CallToolResult {
  if (!isObject(value) || !Array.isArray(value['content'])) return false
  return !hasOutputSchema || 'structuredContent' in value || value['isError'] === true
}

/**
 * Content from what a handler returned.
 * @throws {TypeError} for a value that is no content
 */
export function toContent(value: unknown): ContentBlock[] {
  if (value === undefined) return []
  if (typeof value === 'string') return [text(value)]
  if (isContentBlock(value)) return [value]
  if (Array.isArray(value) && value.every(isContentBlock)) return value
  throw new TypeError('the handler returned neither text, nor content, nor a result')
}

/**
 * Prompt messages from what a prompt returned: a string is one user message.
 * @throws {TypeError} for a value that is no message
 */
export function toPromptResult(value: unknown): GetPromptResult {
  if (typeof value === 'string') return { messages: [{ role: 'user', content: text(value) }] }
  if (Array.isArray(value) && value.every(isPromptMessage)) return { messages: value }
  if (isObject(value) && Array.isArray(value['messages']) && value['messages'].every(isPromptMessage)) {
    return value as unknown as GetPromptResult
  }
  throw new TypeError('the prompt returned neither text nor messages')
}

function isPromptMessage(value: unknown): value is PromptMessage {
  return (
    isObject(value) && (value['role'] === 'user' || value['role'] === 'assistant') && isContentBlock(value['content'])
  )
}
