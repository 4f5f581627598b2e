// Running what an author wrote: tools, prompts and resources, with everything that can go wrong in them.
// Only `ToolError` and `ProtocolError` show their text to the caller.

import { clip } from '../protocol/clip.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { argumentsParam, promptArguments, stringParam } from '../protocol/params.ts'
import { requireCapabilities } from './asks.ts'
import { isContentBlock, isToolResult, text, toContent, toPromptResult, type CallToolResult } from './content.ts'
import { createContext, type CallContext } from './context.ts'
import { isVisible, type Asking, type CacheHints } from './define.ts'
import type { Server } from './define-server.ts'
import { isUri, type Resource, type ResourceTemplate } from './define-resource.ts'
import type { Tool } from './define-tool.ts'
import { ToolError } from './errors.ts'
import { describeIssues } from './json-schema.ts'
import type { Auth, Call } from './ports.ts'
import { toContents } from './resource-contents.ts'

/** What a call of a tool came to: its result, or the task it became. */
export type Called = { result: CallToolResult } | { task: JsonObject }

/**
 * Calls a tool.
 * @throws {ProtocolError} for an unknown tool, bad parameters, or what the handler threw of that kind
 */
export async function callTool(server: Server, call: Call): Promise<Called> {
  const name = stringParam(call.params, 'name')
  const tool = call.isAdmitted ? server.tools.get(name) : findTool(server, call.auth, name)
  if (!tool) throw new ProtocolError('InvalidParams', `Unknown tool: ${clip(name)}`)
  enter(call, tool)
  const args = argumentsParam(call.params)
  call.port.checkParamHeaders?.(tool.paramHeaders, args)
  try {
    const input = tool.input ? await tool.input.parse(args) : { ok: true as const, value: {} }
    if (!input.ok) return { result: toolError(`Invalid arguments for ${name}:\n${describeIssues(input.issues)}`) }
    const context = createContext(call)
    const prepare = call.prepared ? undefined : tool.task?.prepare
    const prepared = prepare ? await prepare(input.value as never, context) : call.prepared?.value
    if (tool.task && call.toTask) return { task: await call.toTask(prepared) }
    const value = await tool.handler(input.value as never, context, prepared as never)
    return { result: await toToolResult(call, tool, value) }
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    // What brought it about is for the operator, where there is something.
    if (!(error instanceof ToolError) || error.cause !== undefined) call.port.report(error)
    if (error instanceof ToolError) return { result: toolError(error.message) }
    return { result: toolError(`Internal error (request ${call.requestId})`) }
  }
}

/** The tool of that name, if it exists for this caller. */
export function findTool(server: Server, auth: Auth, name: unknown): Tool | undefined {
  const tool = server.tools.get(name as string)
  return tool && isVisible(tool, auth) ? tool : undefined
}

/** What every definition that may ask says about its calls. @throws {ProtocolError} MissingRequiredClientCapability */
function enter(call: Call, { requires, askTtlMs }: Asking): void {
  if (requires) requireCapabilities(call, requires)
  if (askTtlMs !== undefined) call.askTtlMs = askTtlMs
}

function toolError(message: string): CallToolResult {
  return { content: [text(message)], isError: true }
}

async function toToolResult(call: Call, tool: Tool, value: unknown): Promise<CallToolResult> {
  const isWhole = isToolResult(value, tool.output !== undefined)
  if (isWhole && !value.content.every(isContentBlock)) throw new TypeError('the handler returned malformed content')
  if (isWhole && value.isError) {
    const { structuredContent: _, ...error } = value
    return error
  }
  if (tool.output === undefined) return isWhole ? withTextCopy(value) : { content: toContent(value) }
  const checked = await tool.output.parse(isWhole ? value.structuredContent : value)
  if (checked.ok) {
    const result = isWhole ? value : { content: [] }
    return withTextCopy({ ...result, structuredContent: checked.value })
  }
  call.port.report(new TypeError(`the result does not fit the output schema:\n${describeIssues(checked.issues)}`))
  const fields = checked.issues.map(({ path }) => path || '(value)').join(', ')
  return toolError(`Internal error (request ${call.requestId}): the result does not fit the output schema at ${fields}`)
}

/** Older hosts read only text, so structured content always comes with a text copy. */
function withTextCopy(result: CallToolResult): CallToolResult {
  const { structuredContent, content } = result
  if (structuredContent === undefined || content.some(({ type }) => type === 'text')) return result
  return { ...result, content: [...content, text(JSON.stringify(structuredContent))] }
}

/** Renders a prompt. @throws {ProtocolError} for an unknown prompt or bad arguments */
export async function getPrompt(server: Server, call: Call): Promise<JsonObject> {
  const name = stringParam(call.params, 'name')
  const prompt = server.prompts.get(name)
  if (!prompt || !isVisible(prompt, call.auth))
    throw new ProtocolError('InvalidParams', `Unknown prompt: ${clip(name)}`)
  enter(call, prompt)
  const args = promptArguments(call.params)
  return guarded(call, async () => {
    const input = prompt.input ? await prompt.input.parse(args) : { ok: true as const, value: {} }
    if (!input.ok) {
      throw new ProtocolError('InvalidParams', `Invalid arguments for ${name}:\n${describeIssues(input.issues)}`)
    }
    const result = toPromptResult(await prompt.get(input.value as never, createContext(call)))
    return { description: prompt.description, ...result }
  })
}

/** What was read, and how long it may be kept. */
export interface ReadResult {
  result: JsonObject
  cache: CacheHints
}

/** Reads a resource. @throws {ProtocolError} ResourceNotFound with the URI, or InvalidParams for what is no URI */
export async function readResource(server: Server, call: Call): Promise<ReadResult> {
  const uri = stringParam(call.params, 'uri')
  if (!isUri(uri))
    throw new ProtocolError('InvalidParams', 'Invalid params: params.uri must be an absolute URI', { uri })
  for (const { found, read } of candidates(server, call.auth, uri)) {
    enter(call, found)
    const result = await guarded(call, async () => toContents(uri, found.mimeType, await read(createContext(call))))
    if (result) return { result, cache: found.cache }
  }
  throw new ProtocolError('ResourceNotFound', `Resource not found: ${uri}`, { uri })
}

/** True if a URI is one this server serves to this caller, as far as can be told without reading it. */
export function findResource(server: Server, auth: Auth, uri: string): boolean {
  return isUri(uri) && !candidates(server, auth, uri).next().done
}

/** What may answer a read of that URI for this caller. */
export function matching(server: Server, auth: Auth, uri: string): (Resource | ResourceTemplate)[] {
  return isUri(uri) ? Array.from(candidates(server, auth, uri), ({ found }) => found) : []
}

interface Candidate {
  found: Resource | ResourceTemplate
  read(context: CallContext): unknown
}

/** The resource of that URI, else every template that matches it, in the order they were defined. */
function* candidates(server: Server, auth: Auth, uri: string): Generator<Candidate> {
  const resource = server.resources.get(uri)
  if (resource && isVisible(resource, auth)) return yield { found: resource, read: resource.read }
  for (const template of server.templates) {
    const variables = template.uriTemplate.match(uri)
    if (variables && isVisible(template, auth))
      yield { found: template, read: (context) => template.read(variables as never, context) }
  }
}

/** Runs author code outside tools: what it throws becomes a JSON-RPC error. */
export async function guarded<T>(call: Call, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    if (!(error instanceof ToolError) || error.cause !== undefined) call.port.report(error)
    if (error instanceof ToolError) throw new ProtocolError('InternalError', error.message)
    throw new ProtocolError('InternalError', `Internal error (request ${call.requestId})`)
  }
}
