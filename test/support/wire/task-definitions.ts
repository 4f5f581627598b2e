// The extension `io.modelcontextprotocol/tasks` of 2026-07-28 as closed definitions beside those of the core schema. Its
// own schema is in no package that is pinned here, so this is written by hand, and says a little more than that: how a
// timestamp looks, what the result of a tool is, that durations are positive and that a waiting task waits for something.

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

export const TASK_DEFINITIONS: Record<string, JsonObject> = {
  CreateTaskResult: result({ ...MEMBERS, resultType: { enum: ['task'] } }, REQUIRED),
  GetTaskResult: {
    anyOf: [
      taskThatIs('working'),
      taskThatIs('input_required', { inputRequests: { $ref: '#/$defs/InputRequests', minProperties: 1 } }),
      taskThatIs('completed', {
        result: { allOf: [{ $ref: '#/$defs/CallToolResult' }, { properties: { resultType: COMPLETE } }] },
      }),
      taskThatIs('failed', { error: { $ref: '#/$defs/Error' } }),
      taskThatIs('cancelled'),
    ],
  },
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

function taskThatIs(status: string, more: JsonObject = {}): JsonObject {
  const members = { ...MEMBERS, status: { const: status }, resultType: COMPLETE, ...more }
  return result(members, [...REQUIRED, ...Object.keys(more)])
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
