// Whose a task is: for everybody else its id is one that never was, whatever they try, and trying leaves no trace.
// @see ext-tasks, Security Considerations

import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import { legacy, modern, TASKS, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { accept, as, byHeader, NOTHING, parked, storedOf, taskClient, taskTool, update } from './support.ts'

const tools = [
  taskTool('asking', async (ctx) => {
    const answer = await ctx.elicit('name', { message: 'Who?', schema: z.object({ name: z.string() }) })
    return answer.content?.name ?? answer.action
  }),
  taskTool('quick', () => 'done'),
  taskTool('who', (ctx) => ctx.auth.principal),
]
const fetcher = serve({ tools }, { authenticate: byHeader })
const ada = taskClient(fetcher, as('ada'))
const eve = taskClient(fetcher, as('eve'))
const anybody = taskClient(fetcher)

const METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const
const paramsOf = (method: string, taskId: string): JsonObject =>
  method === 'tasks/update' ? { taskId, inputResponses: { name: accept({ name: 'Eve' }) } } : { taskId }

/** The whole HTTP answer, byte for byte. The request always has the same id. */
async function answerTo(client: typeof ada, method: string, taskId: string): Promise<string> {
  const { status, headers, log } = await client.request(method, paramsOf(method, taskId), { id: 'same' })
  return JSON.stringify([status, [...headers], log.text])
}

const NEVER_MADE = env.TASK.newUniqueId().toString()
/** Ids that lead to no task of anybody. */
const others: [string, string][] = [
  ['one that was never made', NEVER_MADE],
  ['one made up', 'f'.repeat(64)],
  ['a short one', 'f'.repeat(63)],
  ['a long one', 'f'.repeat(65)],
  ['none at all', ''],
  ['no hex', 'a task of mine'],
  ['a path', '../../tasks'],
  ['an object of another kind', env.SESSION.newUniqueId().toString()],
  ['the object of a principal', env.PRINCIPAL.idFromName('ada').toString()],
  ['a name', '__proto__'],
  ['one as long as a request allows', 'f'.repeat(4_000)],
]

/** An open task of Ada. */
async function openTask(): Promise<string> {
  const { taskId } = await ada.callTask('asking')
  await ada.reached(taskId, 'input_required')
  await parked(taskId)
  return taskId
}

for (const method of METHODS) {
  describe(method, () => {
    test('gives everybody but the owner the answer of an id that never was', async () => {
      const taskId = await openTask()
      const unknown = await answerTo(eve, method, NEVER_MADE)
      expect(JSON.parse(unknown)).toMatchObject([
        200,
        {},
        '{"jsonrpc":"2.0","id":"same","error":{"code":-32602,"message":"Invalid params: no such task"}}',
      ])
      const before = await storedOf(taskId)
      for (const client of [eve, anybody]) expect(await answerTo(client, method, taskId)).toBe(unknown)
      expect(await storedOf(taskId)).toEqual(before)
    })

    test('gives the answer also for a task at its end', async () => {
      const { taskId } = await ada.callTask('quick')
      const task = await ada.settled(taskId)
      expect(await answerTo(eve, method, taskId)).toBe(await answerTo(eve, method, NEVER_MADE))
      expect(await ada.task(taskId)).toEqual(task)
    })

    test.for(others)('gives the same answer to %s', async ([, taskId]) => {
      const unknown = await answerTo(ada, method, NEVER_MADE)
      for (const client of [ada, eve, anybody]) expect(await answerTo(client, method, taskId)).toBe(unknown)
    })

    test('takes an id only as it was handed out', async () => {
      const taskId = await openTask()
      const unknown = await answerTo(ada, method, NEVER_MADE)
      for (const changed of [taskId.toUpperCase(), ` ${taskId}`, `${taskId} `, `${taskId}\n`]) {
        expect(await answerTo(ada, method, changed), JSON.stringify(changed)).toBe(unknown)
      }
    })

    test('does not know tasks of 2025-11-25', async () => {
      for (const [headers, client] of [
        [as('ada'), ada],
        [{}, anybody],
      ] as const) {
        const { taskId } = await legacy(fetcher, '2025-11-25', { headers }).callTask('quick')
        expect(await answerTo(client, method, taskId)).toBe(await answerTo(client, method, NEVER_MADE))
      }
    })
  })
}

test('2025-11-25 does not know tasks of the extension', async () => {
  for (const [headers, client] of [
    [as('ada'), ada],
    [{}, anybody],
  ] as const) {
    const old = legacy(fetcher, '2025-11-25', { headers })
    const { taskId } = await client.callTask('quick')
    await client.settled(taskId)
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/result']) {
      const unknown = await old.error(method, { taskId: NEVER_MADE })
      expect(unknown).toMatchObject({ code: -32602 })
      expect(await old.error(method, { taskId })).toEqual(unknown)
    }
  }
})

test('what others send to a task changes nothing for its owner', async () => {
  const taskId = await openTask()
  for (const client of [eve, anybody])
    for (const method of METHODS) await client.request(method, paramsOf(method, taskId))
  await update(ada, taskId, { name: accept({ name: 'Ada' }) })
  expect((await ada.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'Ada' }])
})

test('an anonymous task is known to whoever has its id, but to nobody who says who they are', async () => {
  const { taskId } = await anybody.callTask('asking')
  await anybody.reached(taskId, 'input_required')
  const other = modern(fetcher, { capabilities: TASKS, clientInfo: { name: 'another', version: '2' } })
  expect((await other.task(taskId)).status).toBe('input_required')
  expect(await answerTo(ada, 'tasks/get', taskId)).toBe(await answerTo(ada, 'tasks/get', NEVER_MADE))
})

test('a handler is told who made its task', async () => {
  const { taskId } = await ada.callTask('who')
  expect((await ada.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'ada' }])
})

test('principals whose names only look alike are others', async () => {
  const taskId = await openTask()
  for (const name of ['Ada', 'ada2', 'ad', 'anonymous2']) {
    const other = taskClient(fetcher, as(name))
    expect(await answerTo(other, 'tasks/get', taskId), name).toBe(await answerTo(other, 'tasks/get', NEVER_MADE))
  }
})

describe('probing', () => {
  test('with ids that nobody made wakes no object', async () => {
    const woken: string[] = []
    const TASK = new Proxy(env.TASK, {
      get(namespace, name) {
        const member = (Reflect.get(namespace, name, namespace) as (...args: unknown[]) => unknown).bind(namespace)
        return (...args: unknown[]) => {
          if (String(name).startsWith('get')) woken.push(String(args[0]))
          return member(...args)
        }
      },
    })
    const probing = taskClient(serve({ tools }, { vars: { TASK } }))
    for (const [, taskId] of others.filter(([name]) => name !== 'one that was never made')) {
      for (const method of METHODS) await probing.request(method, paramsOf(method, taskId))
    }
    expect(woken).toEqual([])
    await probing.request('tasks/get', { taskId: NEVER_MADE })
    expect(woken).toEqual([NEVER_MADE])
  })

  test('writes nothing', async () => {
    const taskId = await openTask()
    const before = await storedOf(taskId)
    for (const method of METHODS) {
      for (const client of [ada, eve, anybody]) await answerTo(client, method, NEVER_MADE)
      for (const client of [eve, anybody]) await answerTo(client, method, taskId)
    }
    expect(await storedOf(NEVER_MADE)).toEqual(NOTHING)
    expect(await storedOf(taskId)).toEqual(before)
  })
})
