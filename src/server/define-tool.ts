// `defineTool`: a function the model may call. @see server/tools

import type { ParamHeader } from '../protocol/headers.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import type { CallToolResult, ContentBlock } from './content.ts'
import type { CallContext } from './context.ts'
import { subschemas } from './check-schema.ts'
import {
  checkDescribed,
  checkName,
  checkScopes,
  pickSet,
  type Asking,
  type Described,
  type Restricted,
} from './define.ts'
import { compileSchema, type CompiledSchema, type Parsed, type Schema } from './json-schema.ts'
import { warn } from './warnings.ts'
import type * as z from 'zod'

/** Hints about behaviour, which hosts use to decide when to ask the user. */
export interface ToolAnnotations {
  title?: string
  /** It changes nothing. */
  readOnlyHint?: boolean
  /** It may destroy something. Default true. */
  destructiveHint?: boolean
  /** Calling it again with the same arguments changes nothing more. */
  idempotentHint?: boolean
  /** It talks to an open world outside the server. Default true. */
  openWorldHint?: boolean
}

// Never `unknown`, which would absorb the hint below.
type AnyValue = {} | null | undefined
type Structured<O> = O extends z.core.$ZodType ? z.input<O> & AnyValue : AnyValue

/** Never. It makes the compiler keep the literals a handler returns, which it looks at before it knows `O`. */
type LiteralHint<O> = [O] extends [Schema | undefined] ? never : Literals
type Literals = '' | 0 | true | { [key: string]: Literals } | Literals[]

/** What a handler may return. With `outputSchema` it is the structured value, or a whole result around it. */
export type ToolReturn<O> = [O] extends [Schema]
  ? Structured<O> | (CallToolResult & ({ structuredContent: Structured<O> } | { isError: true }))
  : string | ContentBlock | ContentBlock[] | CallToolResult | void

/**
 * How a tool becomes a task: work that depends on no connection and goes on after a crash or a deploy.
 * @see ext-tasks; 2025-11-25 basic/utilities/tasks
 */
export interface TaskOptions {
  /** `optional` runs the tool as an ordinary call for clients that take no tasks, `required` refuses those. */
  support: 'optional' | 'required'
  /**
   * How long the task and its result are kept, in ms from its creation. Clients of 2025-11-25 may ask for another time, up to
   * `limits.taskTtlMs`. `null` keeps them until somebody deletes the object. Default: one day.
   */
  ttlMs?: number | null
  /** How often clients should ask for news, in ms. Default: two seconds. */
  pollIntervalMs?: number
  /** What 2025-11-25 hosts may tell the model while the task runs. @see 2025-11-25 basic/utilities/tasks, Creating Tasks */
  immediateResponse?: string
}

/** What runs before there is a task. */
export interface TaskPreparation<I extends Schema | undefined, P> {
  /**
   * Runs before the task is made, so that it may ask the client directly or refuse with `ToolError`. What it returns is
   * given to the handler, so it must be JSON. In a call that becomes no task it runs just before the handler, and in one of
   * 2025-11-25, whose clients get their task at once, inside it.
   */
  prepare?(input: Parsed<I>, context: CallContext): P | Promise<P>
}

export interface ToolOptions<I extends Schema | undefined, O extends Schema | undefined, P = undefined>
  extends Described, Asking, Restricted {
  description: string
  /**
   * A zod object, or raw JSON Schema 2020-12 of type object. Without it the tool takes no arguments.
   * A string, integer or boolean property may carry `x-mcp-header` (zod: `.meta({ 'x-mcp-header': 'Region' })`).
   */
  inputSchema?: I
  /** What the structured value looks like. Results that do not fit are refused and become "Internal error". */
  outputSchema?: O
  annotations?: ToolAnnotations
  /**
   * For tools that always take long: sends 2025-11-25 clients away after this many ms; they come back and poll for the
   * result. Spares connections that would only wait. A client that does not resume streams never gets the result, so
   * use it only where hosts are known to. @see SEP-1699
   */
  pollAfterMs?: number
  /**
   * The name of a rate-limit binding (`[[ratelimits]]`) whose limit counts for this tool, for each caller, in place of that
   * of `CALLS`. For what is dearer, or cheaper, than the rest.
   */
  rateLimit?: string
  /** Lets the tool run as a task, where its client takes tasks. */
  task?: TaskOptions & TaskPreparation<I, P>
  /**
   * Runs the tool. It may be entered again from the start after an ask, and in a task after a crash: put effects after the
   * ask or in `ctx.step`.
   * Throw `ToolError` to tell the model what went wrong; any other error shows only "Internal error".
   * @param prepared what `task.prepare` returned
   */
  handler(input: Parsed<I>, context: CallContext, prepared: P): ToolReturn<O> | Promise<ToolReturn<O>> | LiteralHint<O>
}

/** A defined tool: a frozen value, passed to `defineServer`. */
export interface Tool extends Asking, Restricted {
  readonly kind: 'tool'
  readonly name: string
  /** The entry of `tools/list`, in its richest form. */
  readonly listed: JsonObject
  readonly input: CompiledSchema | undefined
  readonly output: CompiledSchema | undefined
  readonly paramHeaders: readonly ParamHeader[]
  readonly annotations: ToolAnnotations
  readonly pollAfterMs?: number
  readonly rateLimit?: string
  readonly task?: TaskOptions & TaskPreparation<undefined, unknown>
  readonly handler: (input: never, context: CallContext, prepared: never) => unknown
}

const NO_INPUT: JsonObject = { type: 'object', properties: {} }

/**
 * Defines a tool.
 * @param name 1 to 128 visible ASCII characters; letters, digits, `_` and `-` up to 64 are accepted by every host
 * @throws {TypeError} when a name, schema, icon, `x-mcp-header` or number of milliseconds is not allowed
 */
export function defineTool<
  const I extends Schema | undefined = undefined,
  const O extends Schema | undefined = undefined,
  P = undefined,
>(name: string, options: ToolOptions<I, O, P>): Tool {
  checkName('tool', name)
  checkTask(name, options.task)
  if (options.rateLimit !== undefined && !/^\S+$/.test(options.rateLimit)) {
    throw new TypeError(`cannot define tool "${name}": rateLimit must be the name of a binding`)
  }
  checkDescribed(`tool "${name}"`, options)
  checkScopes(`tool "${name}"`, options.scopes)
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    warn(`tool "${name}": some hosts reject names with other characters than letters, digits, _ and -, or over 64`)
  }
  const input = options.inputSchema && compileInput(options.inputSchema, `tool "${name}": inputSchema`)
  const output = options.outputSchema && compileSchema(options.outputSchema, 'output', `tool "${name}": outputSchema`)
  const inputSchema = input?.json ?? NO_INPUT
  const tool: Tool = {
    kind: 'tool',
    name,
    listed: {
      name,
      ...pickSet(options, ['title', 'description']),
      inputSchema,
      ...(output && { outputSchema: output.json }),
      ...(options.task && { execution: { taskSupport: options.task.support } }),
      ...pickSet(options, ['annotations', 'icons', '_meta']),
    },
    input: input || undefined,
    output: output || undefined,
    paramHeaders: Object.freeze(findParamHeaders(inputSchema, name)),
    annotations: options.annotations ?? {},
    handler: options.handler as Tool['handler'],
    ...pickSet(options, ['requires', 'askTtlMs', 'pollAfterMs', 'visible', 'scopes', 'rateLimit']),
    ...(options.task && { task: Object.freeze({ ...options.task }) as NonNullable<Tool['task']> }),
  }
  return Object.freeze(tool)
}

function checkTask(name: string, task: TaskOptions | undefined): void {
  if (!task) return
  const refuse = (problem: string): never => {
    throw new TypeError(`cannot define tool "${name}": task.${problem}`)
  }
  if (task.support !== 'optional' && task.support !== 'required') refuse('support must be "optional" or "required"')
  const isTime = (ms: number): boolean => Number.isSafeInteger(ms) && ms > 0
  if (task.ttlMs !== undefined && task.ttlMs !== null && !isTime(task.ttlMs)) {
    refuse('ttlMs must be a whole number of milliseconds over 0, or null')
  }
  if (task.pollIntervalMs !== undefined && !isTime(task.pollIntervalMs)) {
    refuse('pollIntervalMs must be a whole number of milliseconds over 0')
  }
}

/** `type: "object"` stands at the root of every input schema, also of unions. */
function compileInput(schema: Schema, what: string): CompiledSchema {
  const { json, parse } = compileSchema(schema, 'input', what)
  if (json['type'] === 'object') return { json, parse }
  const branches = json['anyOf'] ?? json['oneOf'] ?? json['allOf']
  const isObjects =
    json['type'] === undefined &&
    Array.isArray(branches) &&
    branches.every((branch: JsonObject) => branch['type'] === 'object')
  if (!isObjects) throw new TypeError(`cannot use ${what}: arguments are an object, so the schema must be one`)
  return { json: { type: 'object', ...json }, parse }
}

/** The `x-mcp-header` annotations of a schema, checked. @see basic/transports/streamable-http, Schema Extension */
function findParamHeaders(schema: JsonObject, tool: string): ParamHeader[] {
  const found: ParamHeader[] = []
  for (const [node, path] of subschemas(schema)) {
    if (!('x-mcp-header' in node)) continue
    const header = checkParamHeader(node, path, (problem) => {
      throw new TypeError(`cannot define tool "${tool}": x-mcp-header at #/${path.join('/')} ${problem}`)
    })
    const same = found.find(({ name }) => name.toLowerCase() === header.name.toLowerCase())
    if (same) throw new TypeError(`cannot define tool "${tool}": x-mcp-header "${header.name}" is used twice`)
    found.push(header)
  }
  return found
}

function checkParamHeader(node: JsonObject, path: readonly string[], refuse: (problem: string) => never): ParamHeader {
  const { 'x-mcp-header': name, type } = node
  if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) refuse('is no header token')
  const isReachable = path.length > 0 && path.every((key, i) => i % 2 === 1 || key === 'properties')
  if (!isReachable) refuse('is not reachable by properties alone')
  if (type !== 'string' && type !== 'integer' && type !== 'boolean') refuse('is on no string, integer or boolean')
  if (type === 'integer' && !isSafeRange(node)) refuse('is on an integer that is not bounded to the safe range')
  return { name: name as string, path: path.filter((_, i) => i % 2 === 1), type: type as ParamHeader['type'] }
}

function isSafeRange({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject): boolean {
  const low = (minimum ?? exclusiveMinimum) as number
  const high = (maximum ?? exclusiveMaximum) as number
  return low >= Number.MIN_SAFE_INTEGER && high <= Number.MAX_SAFE_INTEGER
}
