// The public API: everything `src/app` may import, and nothing else.

export { defineServer, type CachedList, type Server, type ServerOptions } from './define-server.ts'
export {
  defineTool,
  type TaskOptions,
  type TaskPreparation,
  type Tool,
  type ToolAnnotations,
  type ToolOptions,
  type ToolReturn,
} from './define-tool.ts'
export {
  defineResource,
  defineResourceTemplate,
  type ListedResource,
  type ReadReturn,
  type Resource,
  type ResourceOptions,
  type ResourceTemplate,
  type ResourceTemplateOptions,
} from './define-resource.ts'
export { definePrompt, type Prompt, type PromptOptions, type PromptReturn } from './define-prompt.ts'
export { defineForm } from './form.ts'
export { defineUpstream, type Upstream, type UpstreamOptions } from './upstream.ts'
export { AskError, ProtocolError, ToolError } from './errors.ts'
export type {
  ElicitAnswer,
  InputAnswers,
  InputAsk,
  InputParams,
  SamplingContent,
  SamplingMessage,
  UrlAnswer,
} from './asks.ts'
export type { CacheHints, Restricted } from './define.ts'
export type { CallContext, LookupContext, Notify } from './context.ts'
export type { Complete } from './completion.ts'
export type { Notifier } from './notifier.ts'
export type {
  Annotations,
  AudioContent,
  CallToolResult,
  ContentBlock,
  EmbeddedResource,
  GetPromptResult,
  ImageContent,
  PromptMessage,
  ResourceContents,
  ResourceLink,
  TextContent,
} from './content.ts'
export type { JsonSchema, Schema } from './json-schema.ts'
export type { Auth, Client, Trace } from './ports.ts'
export type { CapabilityName } from '../protocol/capabilities.ts'
export type { Icon, LogLevel } from '../protocol/meta.ts'
