// Results as modern revisions want them: the one place that stamps `resultType`, `serverInfo` and caching hints.
// @see basic/index, Results; server/utilities/caching

import { isObject, type JsonObject } from '../json-rpc.ts'
import { META, type Implementation } from '../meta.ts'

/** Hints as they stand in a result. */
export interface WireCache {
  ttlMs: number
  cacheScope: 'public' | 'private'
}

/** A finished result. Extensions and handlers may have set other `_meta` keys, which stay. */
export function completeResult(result: JsonObject, serverInfo: Implementation, cache?: WireCache): JsonObject {
  return { ...result, ...cache, resultType: 'complete', _meta: stamped(result, serverInfo) }
}

/** A list without what its entries have for 2025-11-25 alone. */
export function modernList(result: JsonObject): JsonObject {
  const { tools } = result
  if (!Array.isArray(tools)) return result
  return { ...result, tools: tools.map((tool) => (isObject(tool) ? withoutExecution(tool) : tool)) }
}

/** Modern servers decide themselves what becomes a task. */
function withoutExecution({ execution: _, ...tool }: JsonObject): JsonObject {
  return tool
}

/** A call that became a task. @see ext-tasks, Polymorphic Results */
export function taskResult(task: JsonObject, serverInfo: Implementation): JsonObject {
  return { ...task, resultType: 'task', _meta: stamped({}, serverInfo) }
}

/** A round that ends with questions. It carries no caching hints. @see basic/patterns/mrtr */
export function inputRequiredResult(
  inputRequests: JsonObject,
  requestState: string,
  serverInfo: Implementation,
): JsonObject {
  return { resultType: 'input_required', inputRequests, requestState, _meta: stamped({}, serverInfo) }
}

function stamped({ _meta }: JsonObject, serverInfo: Implementation): JsonObject {
  return { ...(_meta as JsonObject | undefined), [META.serverInfo]: serverInfo }
}
