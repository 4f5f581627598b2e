// Whose a task is, by token: another user's, issuer's or program's id of a task is one that never was, in both forms, in
// sessions and out of them. A refreshed token keeps every task. @see ext-tasks, Security Considerations

import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { legacy, modern, TASKS, type Fetcher, type JsonObject } from '../support/client.ts'
import { parked, recordOf, stubOf, taskTool, withLimits } from '../tasks/support.ts'
import { sessionOf } from '../sessions/support.ts'
import { createRealm, dumpOf, legacyPost, modernPost, NAME, statusOf, whole, type People } from './support.ts'

const CAPABILITIES = { ...TASKS, elicitation: { form: {} } }
const definition = {
  tools: [
    taskTool('asking', async (ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody'),
    taskTool('sleeping', async (ctx) => {
      await ctx.sleep(3_600_000)
      return 'awake'
    }),
    taskTool('quick', () => 'done'),
  ],
}

let fetcher: Fetcher
let people: People
beforeAll(async () => {
  const realm = await createRealm()
  people = realm.people
  fetcher = realm.serve(definition)
})

type Headers = Record<string, string>
const NEVER_MADE = env.TASK.newUniqueId().toString()
const RESPONSES = { name: { action: 'accept', content: { name: 'Eve' } } }

/** How a task is spoken of, in each form. */
interface Form {
  make(headers: Headers, tool?: string): Promise<string>
  methods: readonly string[]
  ask(method: string, taskId: string, headers: Headers): Promise<string>
}

const extension: Form = {
  async make(headers, tool = 'asking') {
    return (await modern(fetcher, { capabilities: CAPABILITIES, headers }).callTask(tool)).taskId
  },
  methods: ['tasks/get', 'tasks/update', 'tasks/cancel'],
  async ask(method, taskId, headers) {
    const params = { taskId, ...(method === 'tasks/update' && { inputResponses: RESPONSES }) }
    return whole(await fetcher(modernPost(method, params, headers, CAPABILITIES)))
  },
}

const request = (method: string, params: JsonObject) => ({ jsonrpc: '2.0', id: 'same', method, params })
const old: Form = {
  async make(headers, tool = 'sleeping') {
    return (await legacy(fetcher, '2025-11-25', { headers }).callTask(tool)).taskId
  },
  methods: ['tasks/get', 'tasks/cancel', 'tasks/result'],
  async ask(method, taskId, headers) {
    return whole(await fetcher(legacyPost(request(method, { taskId }), headers)))
  },
}

/** The session of each caller, made once. */
const sessions = new Map<string, Promise<string>>()
function sessionFor(headers: Headers): Promise<string> {
  const key = JSON.stringify(headers)
  let known = sessions.get(key)
  if (!known) {
    known = sessionOf(fetcher, '2025-11-25', { headers }).then(({ id }) => id)
    sessions.set(key, known)
  }
  return known
}
const inSession: Form = {
  ...old,
  async make(headers, tool = 'asking') {
    const session = await sessionOf(fetcher, '2025-11-25', { headers, capabilities: { elicitation: {} } })
    return (await session.callTask(tool)).taskId
  },
  async ask(method, taskId, headers) {
    return old.ask(method, taskId, { ...headers, 'mcp-session-id': await sessionFor(headers) })
  },
}

const forms: [string, Form][] = [
  ['of the extension', extension],
  ['of 2025-11-25', old],
  ['of 2025-11-25 in sessions', inSession],
]

describe.each(forms)('a task %s', (_, { make, methods, ask }) => {
  test.each(methods)('of anybody else is one that never was, for %s', async (method) => {
    const taskId = await make(people.alice)
    await parked(taskId)
    const before = await dumpOf(stubOf(taskId))
    for (const [who, headers] of people.strangers) {
      const foreign = await ask(method, taskId, headers)
      expect(foreign, who).toContain('no such task')
      for (const unknown of [NEVER_MADE, 'f'.repeat(64), 'unknown']) {
        expect(foreign, who).toBe(await ask(method, unknown, headers))
      }
    }
    expect(await dumpOf(stubOf(taskId))).toBe(before)
  })

  test.each(methods)('of anybody else is one that never was, for %s, also at its end', async (method) => {
    const taskId = await make(people.alice, 'quick')
    await settled(taskId)
    for (const [who, headers] of people.strangers) {
      expect(await ask(method, taskId, headers), who).toBe(await ask(method, NEVER_MADE, headers))
    }
  })

  test('is its own maker’s with the next token', async () => {
    const taskId = await make(people.alice)
    await parked(taskId)
    expect(await ask('tasks/get', taskId, people.aliceAgain)).toMatch(/input_required|working/)
    expect(await ask('tasks/cancel', taskId, people.aliceAgain)).not.toContain('no such task')
    expect((await recordOf(taskId)).state.phase).toBe('cancelled')
  })

  test('is known in its own form only, also to its maker', async () => {
    const taskId = await make(people.alice)
    await parked(taskId)
    const before = await dumpOf(stubOf(taskId))
    const others = forms.filter(([name]) => (name === 'of the extension') !== (make === extension.make))
    for (const [, other] of others) {
      for (const method of other.methods) {
        for (const headers of [people.alice, people.aliceAgain]) {
          expect(await other.ask(method, taskId, headers)).toBe(await other.ask(method, NEVER_MADE, headers))
        }
      }
    }
    expect(await dumpOf(stubOf(taskId))).toBe(before)
  })
})

/** Waits until a task of any form is at its end. */
async function settled(taskId: string): Promise<void> {
  while ((await recordOf(taskId)).state.phase !== 'done') await scheduler.wait(5)
}

test('a task of the extension takes an answer that came with the next token', async () => {
  const taskId = await extension.make(people.alice)
  await parked(taskId)
  const client = modern(fetcher, { capabilities: CAPABILITIES, headers: people.aliceAgain })
  await client.result('tasks/update', {
    taskId,
    inputResponses: { name: { action: 'accept', content: { name: 'Al' } } },
  })
  expect((await client.settled(taskId)).result?.content).toEqual([{ type: 'text', text: 'Al' }])
})

test('the result of a task of 2025-11-25 is given to the next token', async () => {
  const taskId = await old.make(people.alice, 'quick')
  expect(await old.ask('tasks/result', taskId, people.aliceAgain)).toContain('"text":"done"')
})

describe('tasks/list', () => {
  const list = (headers: Headers, cursor?: string) =>
    Promise.resolve(fetcher(legacyPost(request('tasks/list', cursor === undefined ? {} : { cursor }), headers))).then(
      whole,
    )

  test('names nothing of anybody else', async () => {
    const taskId = await old.make(people.alice)
    const realm = await createRealm()
    const nobody = await whole(
      await realm.serve(definition)(legacyPost(request('tasks/list', {}), realm.people.strangers[0]![1])),
    )
    for (const [who, headers] of people.strangers) expect(await list(headers), who).toBe(nobody)
    for (const headers of [people.alice, people.aliceAgain]) expect(await list(headers)).toContain(taskId)
  })

  test('knows no cursor of anybody else', async () => {
    const ids: string[] = []
    for (let i = 0; i < 21; i++) ids.push(await old.make(people.alice, 'quick'))
    const { nextCursor } = await legacy(fetcher, '2025-11-25', { headers: people.alice }).result('tasks/list')
    expect(nextCursor).toBeTypeOf('string')
    for (const [who, headers] of people.strangers) {
      const foreign = await list(headers, nextCursor)
      expect(foreign, who).toBe(await list(headers, btoa('tasks:9999')))
      expect(statusOf(foreign), who).toBe(200)
      for (const id of ids) expect(foreign).not.toContain(id)
    }
    expect(await list(people.aliceAgain, nextCursor)).toContain('"tasks":[{')
  })
})

test('how many tasks one has open is no matter of anybody else', async () => {
  const make = (headers: Headers) =>
    modern(fetcher, { capabilities: CAPABILITIES, headers }).request('tools/call', { name: 'asking', arguments: {} })
  expect((await make(people.alice)).result).toBeDefined()
  for (const [who, headers] of people.strangers) {
    withLimits({ principalTasks: 1 })
    await make(headers)
    expect((await make(headers)).error?.message, who).toContain('too many tasks')
    withLimits({ principalTasks: 100 })
    expect((await make(people.aliceAgain)).result, who).toBeDefined()
  }
  withLimits({ principalTasks: 1 })
  expect((await make(people.aliceAgain)).error?.message).toContain('too many tasks')
})
