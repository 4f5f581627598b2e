// Tasks for whoever serves requests: which object to ask, and one answer for every id that is none of the caller's.

import { CLOSE } from '../src/http/session-call.ts'
import { ProtocolError } from '../src/protocol/errors.ts'
import type { JsonObject } from '../src/protocol/json-rpc.ts'
import type { TaskSnapshot } from '../src/protocol/task.ts'
import { digestOf } from '../src/server/canonical.ts'
import { isAnonymous } from '../src/server/ports.ts'
import type { CreatedTask, TaskCall, TaskOwner, TaskPage, TaskPort, TaskWait } from '../src/server/task-port.ts'
import { expiryOf } from '../src/server/tasks.ts'
import { callObject, principalObject, reach, taskObject, type PrincipalStub, type TaskStub } from './objects.ts'

/** A task port, and where new tasks get their ids. */
export interface TaskObjects extends TaskPort {
  newId(env: Cloudflare.Env): string
}

/** Tasks in `TaskObject`s, one each. */
export function taskPort(): TaskObjects {
  const port: TaskObjects = {
    newId: (env) => env.TASK.newUniqueId().toString(),
    create: (env, call) => create(env, call, port.newId(env)),
    start: (env, taskId) => ask(env, taskId, (object) => object.start()),
    get: (env, owner, taskId) => ask(env, taskId, async (object) => (await object.get(owner)) as Found),
    scopesOf: (env, owner, taskId) => ask(env, taskId, async (object) => [...((await object.scopesOf(owner)) ?? [])]),
    listen: async (env, owner, taskId) => (await ask(env, taskId, (object) => object.listen(owner))) === true,
    async answer(env, owner, taskId, responses) {
      const taken = await ask(env, taskId, (object) => object.answer(owner, responses))
      if (taken?.tooLarge === undefined) return taken !== undefined
      const problem = `the answer to "${taken.tooLarge}" is too large to be kept`
      throw new ProtocolError('InvalidParams', `Invalid params: ${problem}`)
    },
    cancel: (env, owner, taskId) =>
      ask(env, taskId, async (object) => (await object.cancel(owner)) as Awaited<ReturnType<TaskPort['cancel']>>),
    list,
    wait,
  }
  return port
}

type Found = TaskSnapshot | undefined

/** Asks the object of a task. Undefined for an id that no object ever had, which wakes nobody. */
async function ask<T>(
  env: Cloudflare.Env,
  taskId: string,
  use: (object: TaskStub) => Promise<T>,
): Promise<T | undefined> {
  if (!isTaskId(env, taskId)) return undefined
  return reach('task', () => callObject(() => taskObject(env, taskId), use, true))
}

function isTaskId({ TASK }: Cloudflare.Env, taskId: string): boolean {
  // Only as it was handed out: the platform would also take capitals.
  if (!/^[0-9a-f]{64}$/.test(taskId)) return false
  try {
    TASK.idFromString(taskId)
    return true
  } catch {
    // Made up, or of another kind of object.
    return false
  }
}

async function create(env: Cloudflare.Env, call: TaskCall, taskId: string): Promise<CreatedTask> {
  const { auth, form } = call
  const state = await ask(env, taskId, (object) => object.create(call))
  if (!state) throw new ProtocolError('Unavailable', 'Tasks are moving to another version: try again')
  if (isAnonymous(auth)) return { taskId, state }
  // Counted when it exists: the other way round a crash between would leave a place taken by a task that never was.
  const about = { taskId, isListed: form === '2025-11-25', expiresAt: expiryOf(state) }
  const discard = (): Promise<void> => ask(env, taskId, (object) => object.discard())
  try {
    if (await atPrincipal(env, auth.principal, (object) => object.opened(about))) return { taskId, state }
  } catch (error) {
    // Nobody gets its handle, so it must not run. What cannot be discarded either runs, and expires.
    await discard().catch(() => {})
    throw error
  }
  await discard()
  throw new ProtocolError('InvalidRequest', 'Invalid request: too many tasks of yours are open at once')
}

async function list(env: Cloudflare.Env, owner: TaskOwner, cursor: string | undefined): Promise<TaskPage> {
  const page = await atPrincipal(env, owner.principal, (object) => object.list(cursor))
  if (!page) throw new ProtocolError('InvalidParams', 'Invalid params: cursor is none that this list handed out')
  const found = await Promise.all(
    page.taskIds.map(async (taskId) => {
      const snapshot = await ask(env, taskId, async (object) => (await object.get(owner)) as Found)
      return snapshot ? [{ taskId, snapshot }] : []
    }),
  )
  return { tasks: found.flat(), ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }) }
}

async function atPrincipal<T>(
  env: Cloudflare.Env,
  principal: string,
  use: (object: PrincipalStub) => Promise<T>,
): Promise<T> {
  const digest = await digestOf(principal)
  return reach('task', () => callObject(() => principalObject(env, digest), use, true))
}

/** Waits at a socket of the task, which lets its object sleep meanwhile. */
async function wait(env: Cloudflare.Env, owner: TaskOwner, taskId: string, { signal, emit }: TaskWait): Promise<Found> {
  const query = new URLSearchParams({ principal: owner.principal, form: owner.form })
  const headers = { Upgrade: 'websocket' }
  while (!signal.aborted) {
    const response = await ask(env, taskId, (object) => object.fetch(`http://task/?${query}`, { headers }))
    const socket = response?.webSocket
    if (!socket || (await closed(socket, signal, emit)) === CLOSE.finished)
      return ask(env, taskId, async (object) => (await object.get(owner)) as Found)
    // Its object restarted. After a deploy all of them do, so they are asked one by one.
    await scheduler.wait(100 + 400 * Math.random())
  }
  // Nobody is there to be answered.
  return undefined
}

/** The code a socket is closed with, by the other end or because the client left. */
function closed(socket: WebSocket, signal: AbortSignal, emit: TaskWait['emit']): Promise<number> {
  return new Promise((resolve) => {
    const leave = (): void => {
      socket.close(CLOSE.finished, 'the client went away')
      resolve(CLOSE.finished)
    }
    signal.addEventListener('abort', leave)
    socket.addEventListener('message', ({ data }) => {
      const { method, params } = JSON.parse(data as string) as { method: string; params: JsonObject }
      emit(method, params)
    })
    socket.addEventListener('close', ({ code }) => resolve(code))
    socket.accept()
    if (signal.aborted) leave()
  })
}
