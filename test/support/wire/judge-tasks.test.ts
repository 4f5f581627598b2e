// What the judge knows of tasks, in the form of 2025-11-25 and in that of the extension; every violation seen red.

import { describe, expect, it } from 'vitest'
import { TASKS } from '../client.ts'
import { createClient } from './create-client.ts'
import type { RequestOptions } from './envelope.ts'
import {
  failure,
  fakeServer,
  legacyTask,
  legacyToolResult,
  log,
  modernTask,
  ofTask,
  progress,
  stamp,
  stream,
  success,
  toolList,
  toolResult,
} from './fake-server.ts'
import { MODERN } from './revisions.ts'
import type { JsonObject, Message, Revision } from './revisions.ts'

interface Case {
  rule: string
  revision?: Revision
  method?: string
  params?: JsonObject
  capabilities?: JsonObject
  options?: RequestOptions
  answer: (message: Message) => unknown
}

type Refused = Case & { because: RegExp }

const id = { taskId: 't1' }
const named = (method: string, params?: JsonObject): JsonObject => ({
  jsonrpc: '2.0',
  method,
  ...(params && { params }),
})
const asked = (method: string, params?: JsonObject): JsonObject => ({ ...named(method, params), id: 'q' })
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } }

describe('a client of 2025-11-25', () => {
  const send = ({ revision = '2025-11-25', method = 'tasks/result', params = id, options, answer }: Case) =>
    createClient(fakeServer(answer), revision).request(method, params, options)
  const end = (message: Message) => ofTask(success(message, legacyToolResult))
  const callParams = { name: 'a', task: { ttl: 1000 } }
  const get = { method: 'tasks/get', params: id }
  const status = (task: JsonObject): JsonObject => named('notifications/tasks/status', task)

  const refused: Refused[] = [
    {
      rule: 'a task with a key of the extension',
      ...get,
      answer: (m) => success(m, { ...legacyTask, ttlMs: 1 }),
      because: /GetTaskResult at #\/ttlMs/,
    },
    {
      rule: 'a task without ttl',
      ...get,
      answer: (m) => success(m, { ...legacyTask, ttl: undefined }),
      because: /required property "ttl"/,
    },
    {
      rule: 'a time that is not ISO 8601',
      ...get,
      answer: (m) => success(m, { ...legacyTask, createdAt: 'Tue, 25 Nov 2025 10:30:00 GMT' }),
      because: /#\/createdAt: String does not match pattern/,
    },
    {
      rule: 'another task than the one asked for',
      ...get,
      answer: (m) => success(m, { ...legacyTask, taskId: 't2' }),
      because: /not the one asked for: "t1"/,
    },
    {
      rule: 'a task from tasks/get that names itself in _meta',
      ...get,
      answer: (m) => ofTask(success(m, legacyTask)),
      because: /"io.modelcontextprotocol\/related-task" does not belong on this message/,
    },
    {
      rule: 'a list that names a task in _meta',
      method: 'tasks/list',
      params: {},
      answer: (m) => ofTask(success(m, { tasks: [legacyTask] })),
      because: /related-task" does not belong on this message/,
    },
    {
      rule: 'a broken task in a list',
      method: 'tasks/list',
      params: {},
      answer: (m) => success(m, { tasks: [{ ...legacyTask, status: 'done' }] }),
      because: /ListTasksResult at #\/tasks\/0\/status/,
    },
    {
      rule: 'a cancelled task that names itself in _meta',
      method: 'tasks/cancel',
      answer: (m) => ofTask(success(m, { ...legacyTask, status: 'cancelled' })),
      because: /related-task" does not belong on this message/,
    },
    {
      rule: 'a cancelled task that goes on',
      method: 'tasks/cancel',
      answer: (m) => success(m, legacyTask),
      because: /a cancelled task is still "working"/,
    },
    {
      rule: 'an acknowledgement of the extension',
      method: 'tasks/cancel',
      answer: (m) => success(m, {}),
      because: /CancelTaskResult .*required property/,
    },
    {
      rule: 'a method of the extension',
      method: 'tasks/update',
      params: { ...id, inputResponses: {} },
      answer: (m) => success(m, {}),
      because: /"tasks\/update" has no result/,
    },
    {
      rule: 'a result of a task that does not name it',
      answer: (m) => success(m, legacyToolResult),
      because: /related-task" is missing/,
    },
    {
      rule: 'a result that names another task',
      answer: (m) => ofTask(success(m, legacyToolResult), 't2'),
      because: /related-task" is of another task than "t1"/,
    },
    {
      rule: 'a result that names its task and more',
      answer: (m) =>
        success(m, { ...legacyToolResult, _meta: { 'io.modelcontextprotocol/related-task': { ...id, status: 'x' } } }),
      because: /related-task" is not { taskId }/,
    },
    {
      rule: 'a result of a task that is no result of a tool',
      answer: (m) => ofTask(success(m, { ...legacyToolResult, resultType: 'complete' })),
      because: /CallToolResult at #\/resultType/,
    },
    {
      rule: 'the mark anywhere inside',
      answer: (m) => {
        const content = [ofTask({ params: { type: 'text', text: '' } }).params]
        return ofTask(success(m, { content }))
      },
      because: /related-task" does not belong inside a message/,
    },
    {
      rule: 'an ordinary result that names a task',
      method: 'tools/call',
      params: { name: 'a' },
      answer: (m) => ofTask(success(m, legacyToolResult)),
      because: /related-task" does not belong on this message/,
    },
    {
      rule: 'a task that nobody asked for',
      method: 'tools/call',
      params: { name: 'a' },
      answer: (m) => success(m, { task: legacyTask }),
      because: /CallToolResult at #\/task/,
    },
    {
      rule: 'a task of a prompt',
      method: 'prompts/get',
      params: callParams,
      answer: (m) => success(m, { task: legacyTask }),
      because: /GetPromptResult at #\/task/,
    },
    {
      rule: 'a flat task',
      method: 'tools/call',
      params: callParams,
      answer: (m) => success(m, legacyTask),
      because: /CallToolResult at #\/taskId/,
    },
    {
      rule: 'a new task that names another one',
      method: 'tools/call',
      params: callParams,
      answer: (m) => ofTask(success(m, { task: legacyTask }), 't2'),
      because: /of another task than "t1"/,
    },
    {
      rule: 'a status that names its task in _meta',
      answer: (m) => stream(ofTask(status(legacyTask)), end(m)),
      because: /related-task" does not belong on this message/,
    },
    {
      rule: 'a status with a result',
      answer: (m) => stream(status({ ...legacyTask, result: {} }), end(m)),
      because: /TaskStatusNotification at #\/params\/result/,
    },
    ...(
      [
        ['a form', asked('elicitation/create', form)],
        ['a request for a completion', asked('sampling/createMessage', { messages: [], maxTokens: 1 })],
        ['a request for roots', asked('roots/list')],
        ['progress', progress('of the call', 1)],
        ['a log message', log('x')],
        ['a withdrawn ask', named('notifications/cancelled', { requestId: 'q' })],
      ] as const
    ).flatMap(([what, message]): Refused[] => [
      {
        rule: `${what} on the stream of a result that does not name the task`,
        answer: (m) => stream(message, end(m)),
        because: /related-task" is missing/,
      },
      {
        rule: `${what} on the stream of a result that names another`,
        answer: (m) => stream(ofTask(message, 't2'), end(m)),
        because: /of another task than "t1"/,
      },
      {
        rule: `${what} of a task on the stream of a call`,
        method: 'tools/call',
        params: { name: 'a' },
        options: { progressToken: 'of the call' },
        answer: (m) => stream(ofTask(message), success(m, legacyToolResult)),
        because: /related-task" does not belong on this message/,
      },
    ]),
    {
      rule: 'progress of a task that repeats its value',
      answer: (m) => stream(ofTask(progress('p', 1)), ofTask(progress('p', 1)), end(m)),
      because: /does not increase: 1 after 1/,
    },
    {
      rule: 'taskSupport of another kind',
      method: 'tools/list',
      params: {},
      answer: (m) =>
        success(m, { tools: [{ name: 'a', inputSchema: { type: 'object' }, execution: { taskSupport: 'yes' } }] }),
      because: /#\/tools\/0\/execution\/taskSupport/,
    },
  ]

  it.each(refused)('refuses $rule', async (each) => {
    await expect(send(each)).rejects.toThrow(each.because)
  })

  const accepted: Case[] = [
    { rule: 'a task', ...get, answer: (m) => success(m, legacyTask) },
    { rule: 'a task that lives for ever', ...get, answer: (m) => success(m, { ...legacyTask, ttl: null }) },
    {
      rule: 'a list of tasks',
      method: 'tasks/list',
      params: {},
      answer: (m) => success(m, { tasks: [legacyTask], nextCursor: 'a' }),
    },
    {
      rule: 'a cancelled task',
      method: 'tasks/cancel',
      answer: (m) => success(m, { ...legacyTask, status: 'cancelled' }),
    },
    {
      rule: 'a task where one was asked for',
      method: 'tools/call',
      params: callParams,
      answer: (m) =>
        success(m, { task: legacyTask, _meta: { 'io.modelcontextprotocol/model-immediate-response': 'x' } }),
    },
    {
      rule: 'a new task that names itself',
      method: 'tools/call',
      params: callParams,
      answer: (m) => ofTask(success(m, { task: legacyTask })),
    },
    {
      rule: 'a result of a tool that has no tasks',
      method: 'tools/call',
      params: callParams,
      answer: (m) => success(m, legacyToolResult),
    },
    {
      rule: 'a result with all that a task says before, and progress with the token of the call that made it',
      answer: (m) =>
        stream(
          ofTask(asked('elicitation/create', form)),
          ofTask(progress('of the call', 1)),
          ofTask(progress(7, 1)),
          ofTask(progress('of the call', 2)),
          ofTask(log('x')),
          status(legacyTask),
          asked('ping'),
          named('notifications/elicitation/complete', { elicitationId: 'e' }),
          named('notifications/tools/list_changed'),
          end(m),
        ),
    },
    { rule: 'the error of a task', answer: (m) => failure(m, -32603) },
    {
      rule: 'taskSupport',
      method: 'tools/list',
      params: {},
      answer: (m) =>
        success(m, { tools: [{ name: 'a', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }] }),
    },
  ]

  it.each(accepted)('accepts $rule', async (each) => {
    await expect(send(each)).resolves.toHaveProperty('response')
  })

  it('refuses a request of its own that breaks its schema', async () => {
    const client = createClient(
      fakeServer((m) => success(m, { tasks: [] })),
      '2025-11-25',
    )
    await expect(client.request('tasks/list', { taskId: 't1' })).rejects.toThrow('ListTasksRequest at #/params/taskId')
  })
})

describe.each(['2025-03-26', '2025-06-18'] as const)('a client of %s', (revision) => {
  const send = (method: string, params: JsonObject, answer: Case['answer']) =>
    createClient(fakeServer(answer), revision).request(method, params, { unchecked: true })

  it.each(['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel'])('refuses a result of %s', async (method) => {
    await expect(send(method, id, (m) => success(m, legacyTask))).rejects.toThrow(`"${method}" has no result`)
  })

  it('refuses a task, even if it was asked for', async () => {
    const call = send('tools/call', { name: 'a', task: {} }, (m) => success(m, { task: legacyTask }))
    await expect(call).rejects.toThrow('CallToolResult at #/task')
  })

  it.each([
    ['a status of a task', named('notifications/tasks/status', legacyTask), 'not a notification that servers send'],
    ['the mark of a task', ofTask(log('x')), 'the revision has no "io.modelcontextprotocol/related-task"'],
  ])('refuses %s', async (_, message, because) => {
    const call = send('tools/call', { name: 'a' }, (m) => stream(message, success(m, legacyToolResult)))
    await expect(call).rejects.toThrow(because)
  })

  it('refuses taskSupport and the capability', async () => {
    const tool = { name: 'a', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }
    const list = send('tools/list', {}, (m) => success(m, { tools: [tool] }))
    await expect(list).rejects.toThrow('#/tools/0/execution')
    const hello = { protocolVersion: revision, capabilities: { tasks: {} }, serverInfo: { name: 'a', version: '1' } }
    await expect(send('initialize', {}, (m) => success(m, hello))).rejects.toThrow('#/capabilities/tasks')
  })
})

describe('a client of the extension', () => {
  const send = ({ method = 'tasks/get', params = id, capabilities = TASKS, options, answer }: Case) =>
    createClient(fakeServer(answer), MODERN, { capabilities }).request(method, params, options)
  const created = { ...stamp, ...modernTask, resultType: 'task' }
  const read = { ...stamp, ...modernTask, resultType: 'complete' }
  const inputRequests = { who: { method: 'elicitation/create', params: form } }
  const waiting = { ...read, status: 'input_required', inputRequests }
  const completed = { ...read, status: 'completed', result: toolResult }
  const failed = { ...read, status: 'failed', error: { code: -32603, message: 'No' } }
  const call = { method: 'tools/call', params: { name: 'a' } }
  const done = { ...stamp, resultType: 'complete' }
  const update = { method: 'tasks/update', params: { ...id, inputResponses: { who: { action: 'decline' } } } }
  const spoilt = (rule: string, result: JsonObject, because: RegExp): Refused => ({
    rule,
    answer: (m) => success(m, result),
    because,
  })

  const refused: Refused[] = [
    ...['result', 'error', 'inputRequests', 'requestState', 'task', 'ttl'].map((key): Refused => ({
      rule: `a new task with "${key}"`,
      ...call,
      answer: (m) => success(m, { ...created, [key]: {} }),
      because: new RegExp(`CreateTaskResult at #/${key}: the key is not in the schema`),
    })),
    ...['taskId', 'status', 'createdAt', 'lastUpdatedAt', 'ttlMs'].map((key): Refused => ({
      rule: `a new task without "${key}"`,
      ...call,
      answer: (m) => success(m, { ...created, [key]: undefined }),
      because: new RegExp(`CreateTaskResult .*required property "${key}"`),
    })),
    {
      rule: 'a new task that does not say which server it is from',
      ...call,
      answer: (m) => success(m, { ...created, _meta: {} }),
      because: /does not say which server/,
    },
    {
      rule: 'a task for a request that does not declare the extension',
      ...call,
      capabilities: { extensions: { 'com.example/other': {} } },
      answer: (m) => success(m, created),
      because: /the request does not declare "io.modelcontextprotocol\/tasks"/,
    },
    {
      rule: 'a task instead of a prompt',
      method: 'prompts/get',
      params: { name: 'a' },
      answer: (m) => success(m, created),
      because: /"prompts\/get" has no result of this kind/,
    },
    {
      rule: 'a task that is read without declaring the extension',
      capabilities: {},
      answer: (m) => success(m, read),
      because: /the request does not declare/,
    },
    spoilt('a task that is read as a new one', created, /"tasks\/get" has no result of this kind/),
    spoilt('a wrapped task', { ...done, task: modernTask }, /GetTaskResult at #\/task/),
    spoilt('a time without a zone', { ...read, createdAt: '2025-11-25T10:30:00' }, /#\/createdAt/),
    spoilt('a time with words', { ...read, lastUpdatedAt: `at ${modernTask.lastUpdatedAt}` }, /#\/lastUpdatedAt/),
    spoilt('a fraction of a millisecond', { ...read, ttlMs: 0.5 }, /#\/ttlMs/),
    spoilt('a poll interval of nothing', { ...read, pollIntervalMs: null }, /#\/pollIntervalMs/),
    spoilt('a status of its own', { ...read, status: 'done' }, /#\/status/),
    spoilt('another task', { ...read, taskId: 't2' }, /not the one asked for: "t1"/),
    spoilt('a working task with a result', { ...completed, status: 'working' }, /GetTaskResult at #\/result/),
    spoilt('a completed task without its result', { ...completed, result: undefined }, /required property "result"/),
    spoilt('a completed task with an error', { ...completed, error: failed.error }, /GetTaskResult at #\/error/),
    spoilt(
      'a completed task whose result has no resultType',
      { ...completed, result: legacyToolResult },
      /#\/result: .*required property "resultType"/,
    ),
    spoilt(
      'a completed task whose result is not complete',
      { ...completed, result: { ...toolResult, resultType: 'task' } },
      /2026-07-28: [^\n]*\n {2}GetTaskResult at #\/result\/resultType: [^\n]*\n\{/,
    ),
    spoilt(
      'a completed task whose result has an unknown key',
      { ...completed, result: { ...toolResult, extra: 1 } },
      /2026-07-28: [^\n]*\n {2}GetTaskResult at #\/result\/extra: [^\n]*\n\{/,
    ),
    {
      rule: 'a completed task whose result names the task as 2025-11-25 does',
      answer: (m) => success(m, { ...completed, result: ofTask({ params: toolResult }).params }),
      because: /the revision has no "io.modelcontextprotocol\/related-task"/,
    },
    spoilt('a task that waits for nothing', { ...waiting, inputRequests: {} }, /#\/inputRequests/),
    spoilt('a task that waits and does not say for what', { ...read, status: 'input_required' }, /"inputRequests"/),
    spoilt(
      'a task that asks with an unknown key',
      { ...waiting, inputRequests: { who: { ...inputRequests.who, id: 1 } } },
      /#\/inputRequests\/who/,
    ),
    spoilt('a task with requestState', { ...waiting, requestState: 's' }, /GetTaskResult at #\/requestState/),
    spoilt(
      'a failed task whose error has no code',
      { ...failed, error: { message: 'No' } },
      /required property "code"/,
    ),
    spoilt(
      'a failed task whose code is no integer',
      { ...failed, error: { code: '1', message: 'No' } },
      /GetTaskResult at #\/error\/code/,
    ),
    spoilt(
      'a failed task with a reserved code',
      { ...failed, error: { code: -32001, message: 'No' } },
      /-32001 is res/,
    ),
    spoilt(
      'a failed task whose error lacks its data',
      { ...failed, error: { code: -32021, message: 'No' } },
      /MissingRequiredClientCapabilityError .*required property "data"/,
    ),
    { rule: 'a task in answer to an update', ...update, answer: (m) => success(m, read), because: /#\/taskId/ },
    {
      rule: 'a task in answer to a cancellation',
      method: 'tasks/cancel',
      answer: (m) => success(m, { ...read, status: 'cancelled' }),
      because: /CancelTaskResult at #\/taskId/,
    },
    {
      rule: 'an acknowledgement without resultType',
      ...update,
      answer: (m) => success(m, stamp),
      because: /at #\/result: .*required property "resultType"/,
    },
    ...['tasks/result', 'tasks/list'].map((method): Refused => ({
      rule: `a result of ${method}`,
      method,
      answer: (m) => success(m, toolResult),
      because: /has no result of this kind/,
    })),
    {
      rule: 'taskSupport',
      method: 'tools/list',
      params: {},
      answer: (m) =>
        success(m, { ...toolList, tools: [{ ...toolList.tools[0], execution: { taskSupport: 'optional' } }] }),
      because: /#\/tools\/0\/execution/,
    },
    {
      rule: 'the capability of 2025-11-25',
      method: 'server/discover',
      params: {},
      answer: (m) =>
        success(m, { ...toolList, tools: undefined, supportedVersions: [MODERN], capabilities: { tasks: {} } }),
      because: /#\/capabilities\/tasks/,
    },
  ]

  it.each(refused)('refuses $rule', async (each) => {
    await expect(send(each)).rejects.toThrow(each.because)
  })

  const accepted: Case[] = [
    { rule: 'a new task', ...call, answer: (m) => success(m, { ...created, statusMessage: 'x' }) },
    { rule: 'a result although it declares the extension', ...call, answer: (m) => success(m, toolResult) },
    { rule: 'a working task', answer: (m) => success(m, { ...read, ttlMs: null, pollIntervalMs: undefined }) },
    { rule: 'a task that waits', answer: (m) => success(m, waiting) },
    { rule: 'a completed task', answer: (m) => success(m, completed) },
    {
      rule: 'a completed task of a tool that failed',
      answer: (m) => success(m, { ...completed, result: { ...toolResult, isError: true } }),
    },
    { rule: 'a failed task', answer: (m) => success(m, failed) },
    {
      rule: 'a failed task with data',
      answer: (m) => success(m, { ...failed, error: { ...failed.error, data: [1] } }),
    },
    { rule: 'a cancelled task', answer: (m) => success(m, { ...read, status: 'cancelled' }) },
    { rule: 'the acknowledgement of an update', ...update, answer: (m) => success(m, done) },
    { rule: 'the acknowledgement of a cancellation', method: 'tasks/cancel', answer: (m) => success(m, done) },
  ]

  it.each(accepted)('accepts $rule', async (each) => {
    await expect(send(each)).resolves.toHaveProperty('response')
  })

  it.each([
    ['tasks/get', { ...id, extra: 1 }, read, 'GetTaskRequest at #/params/extra'],
    ['tasks/update', id, done, 'required property "inputResponses"'],
    ['tasks/update', { ...id, inputResponses: { a: { action: 'maybe' } } }, done, '#/params/inputResponses/a'],
    ['tasks/cancel', {}, done, 'CancelTaskRequest at #/params: Instance does not have required property "taskId"'],
  ])('refuses a request of its own that breaks its schema: %s %j', async (method, params, result, because) => {
    await expect(send({ rule: '', method, params, answer: (m) => success(m, result) })).rejects.toThrow(because)
  })
})
