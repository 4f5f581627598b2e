// What the judge knows of the stream of `subscriptions/listen`; every violation seen red.

import { describe, expect, it } from 'vitest'
import { TASKS } from '../client.ts'
import { createClient } from './create-client.ts'
import { failure, fakeServer, modernTask, progress, stamp, stream, success, toolResult } from './fake-server.ts'
import { ACKNOWLEDGED, RESUMABLE_LISTEN, SUBSCRIPTION_ID } from './listen-rules.ts'
import { MODERN } from './revisions.ts'
import type { Id, JsonObject, Message } from './revisions.ts'

const URI = 'note://1'
/** Asks for everything there is. */
const everything = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: [URI, 'note://2'],
  taskIds: ['t1', 't2'],
}

interface Case {
  rule: string
  /** What is asked for; everything by default. */
  asked?: JsonObject
  capabilities?: JsonObject
  id?: Id
  answer: (message: Message) => unknown
}

type Refused = Case & { because: RegExp }

const send = ({ asked = everything, capabilities = TASKS, id, answer }: Case) => {
  const client = createClient(fakeServer(answer), MODERN, { capabilities })
  return client.request('subscriptions/listen', { notifications: asked }, id === undefined ? {} : { id })
}

const marked = (id: Id | undefined, more: JsonObject = {}): JsonObject => ({
  ...more,
  _meta: { [SUBSCRIPTION_ID]: id },
})
const notification = ({ id }: Message, method: string, params: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  method,
  params: marked(id, params),
})
const ack = (message: Message, notifications: JsonObject = everything): JsonObject =>
  notification(message, ACKNOWLEDGED, { notifications })
const end = (message: Message): JsonObject =>
  success(message, { resultType: 'complete', _meta: { ...stamp._meta, [SUBSCRIPTION_ID]: message.id } })
/** A stream that says something between its beginning and its end. */
const saying = (message: Message, ...parts: JsonObject[]): Response => stream(ack(message), ...parts, end(message))
const task = (message: Message, more: JsonObject = {}): JsonObject =>
  notification(message, 'notifications/tasks', { ...modernTask, ...more })

const CHANGES: [method: string, member: string, params: JsonObject][] = [
  ['notifications/tools/list_changed', 'toolsListChanged', {}],
  ['notifications/prompts/list_changed', 'promptsListChanged', {}],
  ['notifications/resources/list_changed', 'resourcesListChanged', {}],
  ['notifications/resources/updated', 'resourceSubscriptions', { uri: URI }],
  ['notifications/tasks', 'taskIds', modernTask],
]

const refused: Refused[] = [
  {
    rule: 'a stream that begins with a change',
    answer: (m) => stream(notification(m, 'notifications/tools/list_changed'), ack(m), end(m)),
    because: /does not begin with its acknowledgement/,
  },
  {
    rule: 'a stream that begins with its end',
    answer: (m) => stream(end(m)),
    because: /does not begin with its acknowledgement/,
  },
  { rule: 'a result without a stream', answer: end, because: /does not begin with its acknowledgement/ },
  { rule: 'a second acknowledgement', answer: (m) => saying(m, ack(m)), because: /acknowledged twice/ },
  {
    rule: 'an acknowledgement without a filter',
    answer: (m) => stream(notification(m, ACKNOWLEDGED), end(m)),
    because: /SubscriptionsAcknowledgedNotification at #\/params: .*required property "notifications"/,
  },
  {
    rule: 'an acknowledgement of what nobody knows',
    answer: (m) => stream(ack(m, { logs: true }), end(m)),
    because: /#\/params\/notifications\/logs: the key is not in the schema/,
  },
  {
    rule: 'an acknowledgement of a task that is no string',
    answer: (m) => stream(ack(m, { taskIds: [1] }), end(m)),
    because: /#\/params\/notifications\/taskIds/,
  },
  {
    rule: 'an acknowledgement of tasks for a client that does not declare them',
    capabilities: {},
    answer: (m) => stream(ack(m, { taskIds: [] }), end(m)),
    because: /does not declare "io.modelcontextprotocol\/tasks"/,
  },
  ...CHANGES.flatMap(([method, member, params]): Refused[] => [
    {
      rule: `${method} that was asked for and not agreed to`,
      answer: (m) => stream(ack(m, { ...everything, [member]: undefined }), notification(m, method, params), end(m)),
      because: new RegExp(`"${member}" was not agreed to`),
    },
    {
      rule: `an agreement to ${member} that nobody asked for`,
      asked: { ...everything, [member]: undefined },
      answer: (m) => stream(ack(m), end(m)),
      because: new RegExp(`"${member}" is acknowledged and was not asked for`),
    },
    {
      rule: `${method} that does not say on which stream it is`,
      answer: (m) => saying(m, { jsonrpc: '2.0', method, params: { ...params, _meta: {} } }),
      because: /subscriptionId" is not the id of the request/,
    },
    {
      rule: `${method} of another stream`,
      answer: (m) => saying(m, { jsonrpc: '2.0', method, params: marked('another', params) }),
      because: /subscriptionId" is not the id of the request/,
    },
    {
      rule: `${method} with a key of its own`,
      answer: (m) => saying(m, notification(m, method, { ...params, extra: 1 })),
      because: /#\/params\/extra: the key is not in the schema/,
    },
  ]),
  ...['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'].map((member): Refused => ({
    rule: `an acknowledgement that denies ${member}`,
    answer: (m) => stream(ack(m, { ...everything, [member]: false }), end(m)),
    because: /acknowledged with no/,
  })),
  {
    rule: 'an agreement to a list that was asked for with no',
    asked: { toolsListChanged: false },
    answer: (m) => stream(ack(m, { toolsListChanged: true }), end(m)),
    because: /"toolsListChanged" is acknowledged and was not asked for/,
  },
  {
    rule: 'an agreement to a URI that nobody asked for',
    answer: (m) => stream(ack(m, { resourceSubscriptions: [URI, 'note://3'] }), end(m)),
    because: /"resourceSubscriptions" names "note:\/\/3" twice, or it was not asked for/,
  },
  {
    rule: 'an agreement that names a task twice',
    answer: (m) => stream(ack(m, { taskIds: ['t1', 't1'] }), end(m)),
    because: /"taskIds" names "t1" twice/,
  },
  {
    rule: 'a change of a URI that was not agreed to',
    answer: (m) => saying(m, notification(m, 'notifications/resources/updated', { uri: 'note://11' })),
    because: /"resourceSubscriptions" was not agreed to for "note:\/\/11"/,
  },
  {
    rule: 'a task that was not agreed to',
    answer: (m) => saying(m, task(m, { taskId: 't3' })),
    because: /"taskIds" was not agreed to for "t3"/,
  },
  ...([7, '7'] as const).map((id): Refused => ({
    rule: `the other of 7 and "7", for a request that has the ${typeof id}`,
    id,
    answer: (m) => {
      const other = id === 7 ? '7' : 7
      return stream({ jsonrpc: '2.0', method: ACKNOWLEDGED, params: marked(other, { notifications: {} }) }, end(m))
    },
    because: /subscriptionId" is not the id of the request/,
  })),
  {
    rule: 'an end that does not say which stream it ends',
    answer: (m) => stream(ack(m), success(m, { ...stamp, resultType: 'complete' })),
    because: /SubscriptionsListenResult at #\/_meta: .*required property "io.modelcontextprotocol\/subscriptionId"/,
  },
  {
    rule: 'an end of another stream',
    answer: (m) =>
      stream(ack(m), success(m, { resultType: 'complete', _meta: { ...stamp._meta, [SUBSCRIPTION_ID]: 'another' } })),
    because: /subscriptionId" is not the id of the request/,
  },
  {
    rule: 'an end with more than its mark',
    answer: (m) => stream(ack(m), success(m, { ...(end(m).result as JsonObject), notifications: {} })),
    because: /SubscriptionsListenResult at #\/notifications/,
  },
  {
    rule: 'a change after the end',
    answer: (m) => stream(ack(m), end(m), notification(m, 'notifications/tools/list_changed')),
    because: /goes on after the final response/,
  },
  {
    rule: 'a stream that breaks off',
    answer: (m) => stream(ack(m)),
    because: /ended without a response/,
  },
  ...(
    [
      ['progress', 'notifications/progress', { progressToken: 'p', progress: 1 }],
      ['a log message', 'notifications/message', { level: 'info', data: 'x' }],
      ['a withdrawal', 'notifications/cancelled', { requestId: 1 }],
    ] as const
  ).map(([what, method, params]): Refused => ({
    rule: what,
    answer: (m) => saying(m, notification(m, method, params)),
    because: /does not belong on this stream/,
  })),
  {
    rule: 'the status of a task of 2025-11-25',
    answer: (m) => saying(m, notification(m, 'notifications/tasks/status', modernTask)),
    because: /is not a notification that servers send/,
  },
  {
    rule: 'a task that looks like a result',
    answer: (m) => saying(m, task(m, { resultType: 'complete' })),
    because: /TaskNotification at #\/params\/resultType/,
  },
  {
    rule: 'a task without when it changed',
    answer: (m) => saying(m, task(m, { lastUpdatedAt: undefined })),
    because: /required property "lastUpdatedAt"/,
  },
  {
    rule: 'a task that waits and does not say for what',
    answer: (m) => saying(m, task(m, { status: 'input_required' })),
    because: /required property "inputRequests"/,
  },
  {
    rule: 'a completed task without its result',
    answer: (m) => saying(m, task(m, { status: 'completed' })),
    because: /required property "result"/,
  },
  {
    rule: 'a failed task whose code is reserved',
    answer: (m) => saying(m, task(m, { status: 'failed', error: { code: -32001, message: 'No' } })),
    because: /-32001 is reserved/,
  },
  {
    rule: 'a task that goes on after its end',
    answer: (m) => saying(m, task(m, { status: 'cancelled' }), task(m)),
    because: /the task was "cancelled" before/,
  },
]

describe('a client that listens refuses', () => {
  it.each(refused)('$rule', async (each) => {
    await expect(send(each)).rejects.toThrow(each.because)
  })

  it.each(CHANGES)('%s on the stream of a call', async (method, _member, params) => {
    const client = createClient(
      fakeServer((m) => stream(notification(m, method, params), success(m, toolResult))),
      MODERN,
    )
    await expect(client.request('tools/call', { name: 'a' })).rejects.toThrow(/does not belong on this stream/)
  })

  it.each<[string, (message: Message) => unknown]>([
    [
      'on the result of a call',
      (m) => success(m, { ...toolResult, _meta: { ...stamp._meta, [SUBSCRIPTION_ID]: m.id } }),
    ],
    [
      'on the progress of a call',
      (m) =>
        stream(
          { ...progress('p', 1), params: { ...(progress('p', 1).params as JsonObject), ...marked(m.id) } },
          success(m, toolResult),
        ),
    ],
  ])('the name of a stream %s', async (_where, answer) => {
    const call = createClient(fakeServer(answer), MODERN).request('tools/call', { name: 'a' }, { progressToken: 'p' })
    await expect(call).rejects.toThrow(/subscriptionId" does not belong on this stream/)
  })

  it.each<[string, JsonObject | undefined]>([
    ['nothing', undefined],
    ['the extension, with settings that are none', { 'dev.mcp-edge/resumable-listen': true }],
    ['another extension', TASKS.extensions],
  ])('ids for a client that declares %s', async (_what, extensions) => {
    const answer = (m: Message) => stream(ack(m, {}), 'id: 1\n\n', end(m))
    const call = send({ rule: '', asked: {}, capabilities: extensions ? { extensions } : {}, answer })
    await expect(call).rejects.toThrow(/the stream has ids, which nobody asked for/)
  })

  it('ids on the stream of a call', async () => {
    const capabilities = { extensions: { [RESUMABLE_LISTEN]: {} } }
    const server = fakeServer((m) => stream(`id: 1\ndata: ${JSON.stringify(success(m, toolResult))}\n\n`))
    const call = createClient(server, MODERN, { capabilities }).request('tools/call', { name: 'a' })
    await expect(call).rejects.toThrow(/the stream has ids/)
  })

  it('a withdrawal on the stream of a call', async () => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    const client = createClient(
      fakeServer((m) => stream(cancelled, success(m, toolResult))),
      MODERN,
    )
    await expect(client.request('tools/call', { name: 'a' })).rejects.toThrow(/does not belong on this stream/)
  })
})

describe('a client that listens accepts', () => {
  const accepted: Case[] = [
    { rule: 'a stream on which nothing happens', answer: (m) => saying(m) },
    { rule: 'less than it asked for', answer: (m) => stream(ack(m, {}), end(m)) },
    {
      rule: 'none of the URIs and tasks',
      answer: (m) => stream(ack(m, { resourceSubscriptions: [], taskIds: [] }), end(m)),
    },
    ...CHANGES.map(([method, , params]) => ({
      rule: `${method}, as often as it comes`,
      answer: (m: Message) => saying(m, notification(m, method, params), notification(m, method, params)),
    })),
    {
      rule: 'every kind of task, and the same end twice',
      answer: (m) => {
        const completed = task(m, { status: 'completed', result: toolResult })
        const inputRequests = { who: { method: 'roots/list' } }
        const failed = { taskId: 't2', status: 'failed', error: { code: -32603, message: 'No' } }
        return saying(
          m,
          task(m),
          task(m, { status: 'input_required', inputRequests }),
          completed,
          completed,
          task(m, failed),
        )
      },
    },
    {
      rule: 'ids for a client that declares what they are for',
      capabilities: { extensions: { ...TASKS.extensions, [RESUMABLE_LISTEN]: {} } },
      answer: (m) => stream(`id: 1\ndata: ${JSON.stringify(ack(m))}\n\n`, end(m)),
    },
    { rule: 'an error instead of a stream', answer: (m) => failure(m, -32602) },
  ]

  it.each(accepted)('$rule', async (each) => {
    await expect(send(each)).resolves.toHaveProperty('response')
  })
})
