// A client of the modern revision that takes tasks and listens, written for this suite: plain fetch, and every header the
// specifications ask for. @see ext-tasks; basic/transports, Streamable HTTP; basic/patterns/subscriptions
import { setTimeout as sleep } from 'node:timers/promises'
import { extension, resumable } from './extensions.mjs'

const version = '2026-07-28'
const meta = 'io.modelcontextprotocol'
const final = ['completed', 'failed', 'cancelled']

/**
 * @param takesTasks whether it declares the extension for tasks
 * @param resumes whether it declares the one for resuming
 * @param worker which Worker it asks; any, if it does not say
 */
export function connectRaw(url, { takesTasks = true, resumes = false, worker } = {}) {
  const extensions = { ...(takesTasks && { [extension]: {} }), ...(resumes && { [resumable]: {} }) }
  const capabilities = { elicitation: { form: {} }, extensions }
  let nextId = 1
  const send = async (method, params = {}, more = {}) => {
    const name = params.taskId ?? params.name
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
      ...(worker !== undefined && { 'x-worker': worker }),
      ...more,
    }
    const _meta = {
      [`${meta}/protocolVersion`]: version,
      [`${meta}/clientInfo`]: { name: 'interop', version: '1.0.0' },
      [`${meta}/clientCapabilities`]: capabilities,
    }
    const sent = { ...params, _meta: { ..._meta, ...params._meta } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params: sent })
    return fetch(url, { method: 'POST', headers, body })
  }
  const request = async (method, params, more) => {
    const response = await send(method, params, more)
    const text = await response.text()
    const isStream = response.headers.get('content-type').startsWith('text/event-stream')
    const { result, error } = JSON.parse(isStream ? [...text.matchAll(/^data: (.+)$/gm)].at(-1)[1] : text)
    if (error) throw Object.assign(errorOf({ error }), { status: response.status })
    return result
  }
  return {
    request,
    /** Opens a stream. @param headers such as `last-event-id` */
    async listen(notifications, { headers, meta: _meta } = {}) {
      const response = await send('subscriptions/listen', { notifications, ...(_meta && { _meta }) }, headers)
      if (!response.headers.get('content-type').startsWith('text/event-stream')) throw errorOf(await response.json())
      return readEvents(response)
    },
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

function errorOf({ error }) {
  return Object.assign(new Error(`${error.code}: ${error.message}`), { error })
}

function outcomeOf({ status, result, error }) {
  if (result) return result
  throw new Error(error ? `${error.code}: ${error.message}` : `the task is ${status}`)
}

/** Collects the messages and event ids of a stream until it breaks or ends. */
function readEvents(response) {
  const stream = { messages: [], ids: [], worker: response.headers.get('x-worker') }
  const read = async () => {
    let text = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (text + chunk).split('\n\n')
      text = events.pop()
      for (const event of events) {
        const fields = Object.fromEntries(
          [...event.matchAll(/^(\w+): (.*)$/gm)].map(([, name, value]) => [name, value]),
        )
        if (fields.id !== undefined) stream.ids.push(fields.id)
        if (fields.data !== undefined) stream.messages.push(JSON.parse(fields.data))
      }
    }
  }
  // That it broke is seen on the wire.
  stream.ended = read().catch(() => {})
  return stream
}
