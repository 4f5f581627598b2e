// The extension `io.modelcontextprotocol/tasks` of 2026-07-28 as closed definitions beside those of the core schema. Its
// own schema is in no package that is pinned here, so this is written by hand, and says a little more than that: how a
// timestamp looks, what the result of a tool is, that durations are positive and that a waiting task waits for something.
// A notification of a task has what `tasks/get` gives, without what makes that a result.

import type { JsonObject } from './revisions.ts'

/** RFC 3339, as `toISOString` writes it or with an offset. */
export const TIMESTAMP: JsonObject = {
  type: 'string',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d)$',
}

/** A `const` would do, but it counts as the mark of another kind of thing when a fault is explained. */
const COMPLETE: JsonObject = { enum: ['complete'] }

const DURATION = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }

const MEMBERS: JsonObject = {
  taskId: { type: 'string' },
  status: { enum: ['working', 'input_required', 'completed', 'failed', 'cancelled'] },
  statusMessage: { type: 'string' },
  createdAt: TIMESTAMP,
  lastUpdatedAt: TIMESTAMP,
  ttlMs: { type: ['integer', 'null'], ...DURATION },
  pollIntervalMs: { type: 'integer', ...DURATION },
}
const REQUIRED = ['taskId', 'status', 'createdAt', 'lastUpdatedAt', 'ttlMs']

/** What a task has beside its members, by its status. */
const DETAILS: Record<string, JsonObject> = {
  working: {},
  input_required: { inputRequests: { $ref: '#/$defs/InputRequests', minProperties: 1 } },
  completed: { result: { allOf: [{ $ref: '#/$defs/CallToolResult' }, { properties: { resultType: COMPLETE } }] } },
  failed: { error: { $ref: '#/$defs/Error' } },
  cancelled: {},
}

export const TASK_DEFINITIONS: Record<string, JsonObject> = {
  CreateTaskResult: result({ ...MEMBERS, resultType: { enum: ['task'] } }, REQUIRED),
  GetTaskResult: detailed((members, required) => result({ ...members, resultType: COMPLETE }, required)),
  TaskNotification: closed(
    {
      jsonrpc: { const: '2.0' },
      method: { const: 'notifications/tasks' },
      params: detailed((members, required) =>
        closed({ _meta: { $ref: '#/$defs/NotificationMetaObject' }, ...members }, ['_meta', ...required]),
      ),
    },
    ['jsonrpc', 'method', 'params'],
  ),
  UpdateTaskResult: result({ resultType: COMPLETE }),
  CancelTaskResult: result({ resultType: COMPLETE }),
  GetTaskRequest: request('tasks/get'),
  UpdateTaskRequest: request('tasks/update', { inputResponses: { $ref: '#/$defs/InputResponses' } }),
  CancelTaskRequest: request('tasks/cancel'),
}

export const TASK_REQUESTS: Record<string, string> = {
  'tasks/get': 'GetTaskRequest',
  'tasks/update': 'UpdateTaskRequest',
  'tasks/cancel': 'CancelTaskRequest',
}

export const TASK_RESULTS: Record<string, string> = {
  'tasks/get': 'GetTaskResult',
  'tasks/update': 'UpdateTaskResult',
  'tasks/cancel': 'CancelTaskResult',
}

export const TASK_NOTIFICATIONS: Record<string, string> = { 'notifications/tasks': 'TaskNotification' }

/** What the extension adds to the filter of `subscriptions/listen`, asked for or acknowledged. */
export const TASK_FILTER: JsonObject = { taskIds: { type: 'array', items: { type: 'string' } } }

/** A task with all that its status brings along. */
function detailed(shape: (members: JsonObject, required: string[]) => JsonObject): JsonObject {
  const kinds = Object.entries(DETAILS).map(([status, details]) =>
    shape({ ...MEMBERS, status: { const: status }, ...details }, [...REQUIRED, ...Object.keys(details)]),
  )
  return { anyOf: kinds }
}

function result(properties: JsonObject, required: string[] = []): JsonObject {
  return closed({ _meta: { $ref: '#/$defs/ResultMetaObject' }, ...properties }, ['resultType', ...required])
}

function request(method: string, more: JsonObject = {}): JsonObject {
  const params = { _meta: { $ref: '#/$defs/RequestMetaObject' }, taskId: { type: 'string' }, ...more }
  return closed(
    {
      jsonrpc: { const: '2.0' },
      id: { $ref: '#/$defs/RequestId' },
      method: { const: method },
      params: closed(params, Object.keys(params)),
    },
    ['jsonrpc', 'id', 'method', 'params'],
  )
}

function closed(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}
