// Tasks of modern requests: the extension `io.modelcontextprotocol/tasks`. @see ext-tasks

import { declaresTasks, REQUIRED_TASKS } from '../protocol/capabilities.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { detailedTask, taskFields } from '../protocol/modern/tasks.ts'
import { inputResponsesParam, stringParam } from '../protocol/params.ts'
import type { Server } from '../server/define-server.ts'
import type { Call } from '../server/ports.ts'
import { findTool } from '../server/run.ts'
import type { TaskPort } from '../server/task-port.ts'
import { unknownTask } from '../server/tasks.ts'
import { toTask } from './tasks.ts'

/** Answers `tasks/get`, `tasks/update` and `tasks/cancel`. @throws {ProtocolError} as every request */
export async function answerTaskMethod(
  tasks: TaskPort,
  server: Server,
  { method, params, client, auth, env }: Call,
): Promise<JsonObject> {
  if (!declaresTasks(client.capabilities)) throw missingTasks()
  const taskId = stringParam(params, 'taskId')
  const owner = { principal: auth.principal, form: 'extension' } as const
  switch (method) {
    case 'tasks/get': {
      const snapshot = await tasks.get(env, owner, taskId)
      if (!snapshot) throw unknownTask()
      return detailedTask(taskId, snapshot, server.info)
    }
    case 'tasks/update':
      if (!(await tasks.answer(env, owner, taskId, inputResponsesParam(params)))) throw unknownTask()
      return {}
    default:
      // Acknowledged also when the task had come to its end before. @see ext-tasks, Task Cancellation
      if (!(await tasks.cancel(env, owner, taskId))) throw unknownTask()
      return {}
  }
}

/**
 * Says that a call may become a task, if its tool and its client want that.
 * @throws {ProtocolError} MissingRequiredClientCapability for a tool that is nothing but a task
 */
export function offerTask(tasks: TaskPort, server: Server, call: Call): void {
  const task = findTool(server, call.auth, call.params['name'])?.task
  if (!task) return
  if (declaresTasks(call.client.capabilities)) {
    call.toTask = async (prepared) => {
      const { taskId, state } = await toTask(tasks, call, task, { form: 'extension', prepared: { value: prepared } })
      return taskFields(taskId, state)
    }
  } else if (task.support === 'required') throw missingTasks()
}

/** The refusal of what only clients that take tasks may have. */
export function missingTasks(): ProtocolError {
  const message = 'Missing required client capability: extensions.io.modelcontextprotocol/tasks'
  return new ProtocolError('MissingRequiredClientCapability', message, { requiredCapabilities: REQUIRED_TASKS })
}
