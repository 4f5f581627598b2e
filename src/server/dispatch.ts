// From a checked request to a result, the same for every era: which function answers which method.

import { clip } from '../protocol/clip.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { completeParams, cursorParam } from '../protocol/params.ts'
import { complete } from './completion.ts'
import { createLookupContext } from './context.ts'
import { isVisible, type CacheHints, type Restricted } from './define.ts'
import type { CachedList, Server } from './define-server.ts'
import { paginate } from './pagination.ts'
import type { Call } from './ports.ts'
import { callTool, getPrompt, guarded, readResource } from './run.ts'
import { mayUse } from './scopes.ts'

/** A result in its richest form; encoders narrow it to a revision. */
export interface Outcome {
  result: JsonObject
  /** Set on the results that carry caching hints on modern revisions. */
  cache?: CacheHints
  /** Names a result that is the same for every caller, so that its encoding may be kept. */
  fixed?: string
  /** True if the result is a task that will come to the real one. */
  isTask?: true
}

/**
 * Answers one request. The method is known to exist in the caller's era.
 * @throws {ProtocolError} everything that is answered with a JSON-RPC error
 */
export async function dispatch(server: Server, call: Call): Promise<Outcome> {
  switch (call.method) {
    case 'tools/call': {
      const called = await callTool(server, call)
      return 'task' in called
        ? { result: called.task, isTask: true }
        : { result: called.result as unknown as JsonObject }
    }
    case 'tools/list':
      return listFixed(server, call, 'tools', server.tools.values())
    case 'prompts/list':
      return listFixed(server, call, 'prompts', server.prompts.values())
    case 'resources/templates/list':
      return listFixed(server, call, 'templates', server.templates, 'resourceTemplates')
    case 'resources/list':
      return listResources(server, call)
    case 'resources/read':
      return readResource(server, call)
    case 'prompts/get':
      return { result: await getPrompt(server, call) }
    case 'completion/complete': {
      const params = completeParams(call.params)
      return { result: await guarded(call, () => complete(server, params, createLookupContext(call))) }
    }
    default:
      throw new ProtocolError('MethodNotFound', `Method not found: ${clip(call.method)}`)
  }
}

interface Listed extends Restricted {
  readonly listed: JsonObject
}

function listFixed(
  server: Server,
  call: Call,
  list: CachedList,
  entries: Iterable<Listed>,
  member: string = list,
): Outcome {
  const cursor = cursorParam(call.params)
  const outcome = listPage(server, list, member, listedFor(call, entries), cursor)
  if (server.restricted.has(list)) return outcome
  return { ...outcome, fixed: cursor === undefined ? call.method : `${call.method} ${cursor}` }
}

/** What of a list this caller may see. */
function listedFor(call: Call, entries: Iterable<Listed>): JsonObject[] {
  return Array.from(entries).flatMap((entry) => (isVisible(entry, call.auth) ? [entry.listed] : []))
}

function listPage(
  server: Server,
  list: CachedList,
  member: string,
  items: readonly JsonObject[],
  cursor: string | undefined,
): Outcome {
  const page = paginate(list, items, server.pageSize, cursor)
  const next = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }
  return { result: { [member]: page.items, ...next }, cache: server.cache[list] }
}

/** Fixed resources first, then what templates contribute, computed for this caller. */
async function listResources(server: Server, call: Call): Promise<Outcome> {
  // What is kept from a caller is kept from it by name, too.
  const isOpen = ({ scopes = [] }: Restricted): boolean => mayUse(server, call.auth, scopes)
  const templates = server.templates.filter((each) => each.list && isVisible(each, call.auth) && isOpen(each))
  const lists = templates.map(({ list }) => list!)
  if (lists.length === 0) return listFixed(server, call, 'resources', server.resources.values())
  const cursor = cursorParam(call.params)
  const items = listedFor(call, server.resources.values())
  const context = createLookupContext(call)
  await guarded(call, async () => {
    for (const computed of await Promise.all(lists.map((list) => list(context)))) {
      items.push(...(computed as unknown as JsonObject[]))
    }
  })
  return listPage(server, 'resources', 'resources', items, cursor)
}
