// A client of the modern revision that takes tasks, written for this suite: plain fetch, and every header the
// specifications ask for. @see ext-tasks; basic/transports, Streamable HTTP
import { setTimeout as sleep } from 'node:timers/promises'
import { extension } from './tasks.mjs'

const version = '2026-07-28'
const meta = 'io.modelcontextprotocol'
const final = ['completed', 'failed', 'cancelled']

/** @param takesTasks whether it declares the extension */
export function connectRaw(url, { takesTasks = true } = {}) {
  const capabilities = { elicitation: { form: {} }, ...(takesTasks && { extensions: { [extension]: {} } }) }
  let nextId = 1
  const request = async (method, params = {}) => {
    const name = params.taskId ?? params.name
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    }
    const _meta = {
      [`${meta}/protocolVersion`]: version,
      [`${meta}/clientInfo`]: { name: 'interop', version: '1.0.0' },
      [`${meta}/clientCapabilities`]: capabilities,
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params: { ...params, _meta } })
    const response = await fetch(url, { method: 'POST', headers, body })
    const text = await response.text()
    const isStream = response.headers.get('content-type').startsWith('text/event-stream')
    const { result, error } = JSON.parse(isStream ? [...text.matchAll(/^data: (.+)$/gm)].at(-1)[1] : text)
    if (error) throw Object.assign(new Error(`${error.code}: ${error.message}`), { error, status: response.status })
    return result
  }
  return {
    request,
    discover: () => request('server/discover'),
    listTools: async () => (await request('tools/list')).tools,
    callTool: (name, args) => request('tools/call', { name, arguments: args }),
    async startTask(name, args) {
      const result = await this.callTool(name, args)
      if (result.resultType !== 'task') throw new Error(`no task but ${JSON.stringify(result)}`)
      return result
    },
    getTask: (taskId) => request('tasks/get', { taskId }),
    updateTask: (taskId, inputResponses) => request('tasks/update', { taskId, inputResponses }),
    cancelTask: (taskId) => request('tasks/cancel', { taskId }),
    taskResult: async (taskId) => outcomeOf(await request('tasks/get', { taskId })),
    async runTask(name, args) {
      return this.finishTask(await this.startTask(name, args))
    },
    /** Asks for the task as often as it says, and answers what is asked, each question once. */
    async finishTask({ taskId, pollIntervalMs }) {
      const seen = new Set()
      for (;;) {
        await sleep(pollIntervalMs)
        const task = await this.getTask(taskId)
        if (final.includes(task.status)) return outcomeOf(task)
        const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !seen.has(key))
        if (open.length === 0) continue
        open.forEach(([key]) => seen.add(key))
        await this.updateTask(taskId, Object.fromEntries(open.map(([key, { params }]) => [key, this.answer(params)])))
      }
    },
  }
}

function outcomeOf({ status, result, error }) {
  if (result) return result
  throw new Error(error ? `${error.code}: ${error.message}` : `the task is ${status}`)
}
