// A minimal MCP host over stdio: newline-delimited JSON-RPC with a child process, written by hand so that what crosses
// the pipe is known. Speaks 2025-11-25, as hosts that need a bridge do.
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGroup } from '../../../scripts/process-group.mjs'

const stopMs = 3_000

/**
 * `request` rejects with the code and message of an error answer. `onAsk` takes the handler of what the server asks,
 * `onNotification` that of what it tells, progress aside.
 */
export function startStdio(script, args, env) {
  const group = startGroup(process.execPath, [script, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const waiting = new Map()
  const watching = new Map()
  let answer
  let told
  let log = ''
  let nextId = 1
  const send = (message) => group.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const receive = async ({ id, method, params, result, error }) => {
    if (method === 'notifications/progress') return watching.get(params.progressToken)?.(params)
    if (method !== undefined && id !== undefined) return send({ id, result: await answer(method, params) })
    if (method !== undefined) return told({ method, params })
    waiting.get(id)?.({ result, error })
  }
  group.child.stderr.setEncoding('utf8').on('data', (text) => (log += text))
  createInterface({ input: group.child.stdout }).on('line', (line) => receive(JSON.parse(line)))
  group.exited.then(() => waiting.forEach((settle) => settle({ error: { message: `the bridge ended:\n${log}` } })))

  return {
    onAsk: (handler) => (answer = handler),
    onNotification: (handler) => (told = handler),
    notify: (method, params) => send({ method, params }),
    async request(method, params, { onProgress, signal } = {}) {
      const id = nextId++
      const answered = new Promise((settle) => waiting.set(id, settle))
      if (onProgress) watching.set(id, onProgress)
      send({ id, method, params: { ...params, ...(onProgress && { _meta: { progressToken: id } }) } })
      const cancel = () => {
        send({ method: 'notifications/cancelled', params: { requestId: id, reason: String(signal.reason) } })
        waiting.get(id)?.({ error: { code: 'cancelled', message: signal.reason.message } })
      }
      signal?.addEventListener('abort', cancel)
      const { result, error } = await answered
      waiting.delete(id)
      // The progress of a task goes on. @see 2025-11-25 basic/utilities/tasks, Task Progress Notifications
      if (!result?.task) watching.delete(id)
      if (error) throw new Error(`${error.code}: ${error.message}`)
      return result
    },
    /** Closes its input, which must end it. */
    async stop() {
      group.child.stdin.end()
      await Promise.race([group.exited, sleep(stopMs, undefined, { ref: false })])
      await group.kill()
    },
  }
}
