// The floor of a task: a plain worker before an object that stores one row and sets one alarm before the task is answered,
// and reads that row for whoever asks. Checks nothing, and runs nothing but its three tools. With RUN it also notes what
// a handler came to once the task has been answered, in one more row; a sleep in one more alarm, too.
import { DurableObject } from 'cloudflare:workers'
import { stamp, type Message as AnyMessage } from './answers.ts'

const ttlMs = 86_400_000
const leaseMs = 30_000
const pollIntervalMs = 2_000
const inputRequests = {
  number: {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: 'Which number?',
      requestedSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
    },
  },
}

interface Env {
  TASK: DurableObjectNamespace<FloorObject>
  RUN?: string
}

interface Params {
  name: 'quick' | 'nap' | 'ask'
  arguments: { ms?: number }
  taskId: string
  inputResponses: { number: { content: { number: number } } }
}

interface Message extends Omit<AnyMessage, 'params'> {
  params: Params
}

/** The row: what is answered, and what runs. */
interface Row {
  call: { name: Params['name']; arguments: Params['arguments'] }
  wakeAt?: number
  state: { status: string; createdAt: string; lastUpdatedAt: string; inputRequests?: object; result?: object }
}

export class FloorObject extends DurableObject<Env> {
  create(call: Row['call']): Row['state'] {
    const at = new Date().toISOString()
    const state = { status: 'working', createdAt: at, lastUpdatedAt: at }
    const row: Row = {
      call,
      state: call.name === 'ask' ? { ...state, status: 'input_required', inputRequests } : state,
    }
    const { ms } = call.arguments
    const isRun = this.env.RUN === 'on'
    if (ms !== undefined && !isRun) row.wakeAt = Date.now() + ms
    this.#put(row)
    void this.ctx.storage.setAlarm(row.wakeAt ?? Date.now() + (isRun ? leaseMs : ttlMs))
    if (isRun) setTimeout(() => this.#run(row), 0)
    return state
  }

  get(): Row['state'] {
    return this.#row.state
  }

  update({ number }: Params['inputResponses']): void {
    this.#complete(this.#row, `got ${number.content.number}`)
  }

  override alarm(): void {
    const row = this.#row
    if (row.wakeAt !== undefined && row.state.result === undefined) this.#complete(row, 'slept')
    void this.ctx.storage.setAlarm(Date.now() + ttlMs)
  }

  #run(row: Row): void {
    const { name, arguments: args } = row.call
    if (name === 'quick') return this.#complete(row, 'done')
    if (name === 'ask') return
    const wakeAt = Date.now() + args.ms!
    this.#put({ ...row, wakeAt })
    void this.ctx.storage.setAlarm(wakeAt)
  }

  #complete({ call, state }: Row, text: string): void {
    const { createdAt } = state
    const result = { content: [{ type: 'text', text }], ...stamp }
    this.#put({ call, state: { status: 'completed', createdAt, lastUpdatedAt: new Date().toISOString(), result } })
  }

  get #row(): Row {
    return this.ctx.storage.kv.get<Row>('task')!
  }

  #put(row: Row): void {
    this.ctx.storage.kv.put('task', row)
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { id, method, params } = await request.json<Message>()
    const result = await answer(env, method, params)
    return new Response(JSON.stringify({ jsonrpc: '2.0', id, result }), {
      headers: { 'content-type': 'application/json' },
    })
  },
}

async function answer({ TASK }: Env, method: string, params: Params): Promise<object> {
  if (method === 'tools/call') {
    const id = TASK.newUniqueId()
    const state = await TASK.get(id).create({ name: params.name, arguments: params.arguments })
    return { ...stamp, ...fields(id.toString(), state), resultType: 'task' }
  }
  const object = TASK.get(TASK.idFromString(params.taskId))
  if (method === 'tasks/get') return { ...fields(params.taskId, await object.get()), ...stamp }
  await object.update(params.inputResponses)
  return stamp
}

function fields(taskId: string, state: Row['state']): object {
  return { taskId, ttlMs, pollIntervalMs, ...state }
}
