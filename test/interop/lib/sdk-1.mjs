// The SDK of version 1, with its experimental methods for tasks.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { answerTo } from './asks.mjs'
import { adapt, speaking } from './client-2.mjs'

export async function connectSdk1(url, revision, listChanged) {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} }
  const options = { capabilities, ...(listChanged && { listChanged }) }
  const client = new Client({ name: 'interop', version: '1.0.0' }, options)
  const transport = new StreamableHTTPClientTransport(new URL(url), speaking(revision))
  const adapter = adapt(client, transport, (params, options) => client.callTool(params, undefined, options))
  for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema]) {
    client.setRequestHandler(schema, ({ method, params }) => answerTo(method, params, adapter))
  }
  await client.connect(transport)
  const about = async () => ({ serverInfo: client.getServerVersion(), negotiated: transport.protocolVersion })
  return Object.assign(adapter, { about }, adaptTasks(client))
}

/** Its experimental methods for tasks. */
export function adaptTasks(client) {
  const { tasks } = client.experimental
  // It chooses by itself for tools it has seen in a list, and is told here for all others.
  const stream = (name, args, { onProgress: onprogress } = {}) =>
    tasks.callToolStream({ name, arguments: args }, undefined, { task: {}, ...(onprogress && { onprogress }) })
  return {
    async runTask(name, args, options) {
      for await (const { type, result, error } of stream(name, args, options)) {
        if (type === 'error') throw error
        if (type === 'result') return result
      }
    },
    async startTask(name, args) {
      for await (const { type, task, error } of stream(name, args)) {
        if (type === 'error') throw error
        if (type === 'taskCreated') return task
      }
    },
    getTask: (taskId) => tasks.getTask(taskId),
    taskResult: (taskId) => tasks.getTaskResult(taskId, CallToolResultSchema),
    cancelTask: (taskId) => tasks.cancelTask(taskId),
    listTasks: () => tasks.listTasks(),
  }
}
