// mcp-remote, the bridge for hosts that speak only stdio, in either of its protocol modes.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerTo } from './asks.mjs'
import { environmentIn, packageFile } from './command.mjs'
import { startStdio } from './stdio.mjs'

const script = packageFile('mcp-remote', 'dist/proxy.js')
const quickMs = 1_000

/** Starts the bridge and shakes hands through it, as a host with forms, a model and roots, and `more` it can do. */
export async function connectThroughBridge(url, home, flags = [], revision = '2025-11-25', more = {}) {
  const env = environmentIn(home, { MCP_REMOTE_CONFIG_DIR: home })
  const stdio = startStdio(script, [url, '--allow-http', '--transport', 'http-only', ...flags], env)
  const adapter = adapt(stdio)
  stdio.onAsk((method, params) => answerTo(method, params, adapter))
  stdio.onNotification((notification) => adapter.heard.push(notification))
  const capabilities = { elicitation: revision === '2025-06-18' ? {} : { form: {} }, sampling: {}, roots: {}, ...more }
  const clientInfo = { name: 'interop', version: '1.0.0' }
  try {
    adapter.shaken = await stdio.request('initialize', { protocolVersion: revision, capabilities, clientInfo })
  } catch (error) {
    await stdio.stop()
    throw error
  }
  stdio.notify('notifications/initialized')
  return adapter
}

function adapt(stdio) {
  return {
    heard: [],
    about() {
      // The host speaks 2025-11-25 in both modes; the wire says what the bridge made of it.
      assert.equal(this.shaken.protocolVersion, '2025-11-25')
      return { serverInfo: this.shaken.serverInfo }
    },
    listTools: async () => (await stdio.request('tools/list')).tools,
    listResources: async () => (await stdio.request('resources/list')).resources,
    listTemplates: async () => (await stdio.request('resources/templates/list')).resourceTemplates,
    listPrompts: async () => (await stdio.request('prompts/list')).prompts,
    read: async (uri) => (await stdio.request('resources/read', { uri })).contents,
    getPrompt: async (name, args) => (await stdio.request('prompts/get', { name, arguments: args })).messages,
    complete: async (ref, argument) => (await stdio.request('completion/complete', { ref, argument })).completion,
    callTool: (name, args, { onProgress, signal } = {}) =>
      stdio.request('tools/call', { name, arguments: args }, { onProgress, signal }),
    setLevel: (level) => stdio.request('logging/setLevel', { level }),
    subscribe: (uri) => stdio.request('resources/subscribe', { uri }),
    unsubscribe: (uri) => stdio.request('resources/unsubscribe', { uri }),
    close: () => stdio.stop(),
    ...tasksOf(stdio),
  }
}

/** A host that asks for tasks and waits for them as 2025-11-25 says. */
function tasksOf(stdio) {
  const create = async (name, args, onProgress) => {
    return (await stdio.request('tools/call', { name, arguments: args, task: {} }, { onProgress })).task
  }
  return {
    startTask: (name, args) => create(name, args),
    getTask: (taskId) => stdio.request('tasks/get', { taskId }),
    taskResult: (taskId) => stdio.request('tasks/result', { taskId }),
    cancelTask: (taskId) => stdio.request('tasks/cancel', { taskId }),
    async runTask(name, args, { onProgress } = {}) {
      const { taskId, pollInterval } = await create(name, args, onProgress)
      while ((await this.getTask(taskId)).status === 'working') await sleep(pollInterval)
      return this.taskResult(taskId)
    },
  }
}

/** It looks for an authorization server before anything else. A server without one must say so at once. */
export function checkDiscovery(wire) {
  const probes = wire.exchanges.filter(({ path }) => path.includes('.well-known'))
  assert.ok(probes.length > 0)
  assert.deepEqual([...new Set(probes.map(({ status }) => status))], [404])
  const slowest = Math.max(...probes.map(({ ms }) => ms))
  assert.ok(slowest < quickMs, `${slowest} ms`)
  return `${probes.length} OAuth documents asked for, each 404, slowest ${slowest} ms`
}
