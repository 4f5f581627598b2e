// Whose 2025-11-25 tasks are whose: listing one's own, page by page, and that nobody else's can be told from none at all.
// @see 2025-11-25 basic/utilities/tasks, Task Listing; Task Isolation and Access Control

import { env } from 'cloudflare:workers'
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { describe, expect, test } from 'vitest'
import { digestOf } from '../../src/server/canonical.ts'
import { legacy, modern, TASKS, type LegacyClient, type LegacyTask } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { isAsk } from '../sessions/support.ts'
import { describeCallers, sessionAs, TASKS_REVISION, taskSession, waitOn } from './legacy-support.ts'
import * as z from 'zod'
import { accept, as, byHeader, eventually, gate, later, recordOf, ring, taskTool, withLimits } from './support.ts'

let go = gate()
const quick = taskTool('quick', () => 'quick')
const held = taskTool('held', async () => {
  await go.opened
  return 'done'
})
let ran = 0
const counts = taskTool('counts', () => `${++ran}`)
const fails = taskTool('fails', () => ({ content: [{ type: 'text', text: 'no' }], isError: true }))
const asks = taskTool('asks', async (ctx) => {
  const { action } = await ctx.elicit('who', { message: 'Who?', schema: z.object({ name: z.string() }) })
  return action
})
const fetcher = serve({ tools: [counts, quick, held, fails, asks] }, { authenticate: byHeader })

const UNKNOWN = { status: 200, code: -32602, message: 'Invalid params: no such task' }
const BAD_CURSOR = { status: 200, code: -32602, message: expect.stringContaining('cursor') }

let people = 0
/** A principal that has no tasks yet. */
const somebody = (): string => `person ${++people}`

/** All tasks, page by page. */
async function listed(client: LegacyClient): Promise<{ tasks: LegacyTask[]; pages: number }> {
  const tasks: LegacyTask[] = []
  let [pages, cursor]: [number, string | undefined] = [0, undefined]
  do {
    const page: { tasks: LegacyTask[]; nextCursor?: string } = await client.result(
      'tasks/list',
      cursor === undefined ? undefined : { cursor },
    )
    tasks.push(...page.tasks)
    cursor = page.nextCursor
    pages++
  } while (cursor !== undefined)
  return { tasks, pages }
}

const make = async (client: LegacyClient, count: number, tool = 'quick'): Promise<string[]> => {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push((await client.callTask(tool)).taskId)
  return ids
}

describeCallers('tasks/list', (open) => {
  const client = (principal: string) => open(fetcher, { headers: as(principal) })

  test('is empty for who has none', async () => {
    const result = await (await client(somebody())).result('tasks/list')
    expect(result).toEqual({ tasks: [] })
  })

  test('tells of each task what tasks/get tells', async () => {
    go = gate()
    const me = await client(somebody())
    const ids = [...(await make(me, 1)), ...(await make(me, 1, 'fails')), ...(await make(me, 2, 'held'))]
    await me.result('tasks/cancel', { taskId: ids[3] })
    await Promise.all(ids.slice(0, 2).map((taskId) => me.settled(taskId)))
    const { tasks } = await me.result('tasks/list')
    expect(tasks.map(({ status }) => status)).toEqual(['completed', 'failed', 'working', 'cancelled'])
    expect(tasks).toEqual(await Promise.all(ids.map((taskId) => me.task(taskId))))
    go.open()
  })

  test('has pages, which end, and miss or repeat no task', async () => {
    withLimits({ tasksPage: 1 })
    const me = await client(somebody())
    for (const count of [1, 2, 3]) {
      await make(me, 1)
      const { tasks, pages } = await listed(me)
      expect([tasks.length, pages]).toEqual([count, count])
      expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(count)
    }
  })

  test('has pages of twenty', async () => {
    const me = await client(somebody())
    const ids = await make(me, 21)
    const first = await me.result('tasks/list')
    expect(first.tasks.map(({ taskId }) => taskId)).toEqual(ids.slice(0, 20))
    const second = await me.result('tasks/list', { cursor: first.nextCursor })
    expect([second.tasks.map(({ taskId }) => taskId), second.nextCursor]).toEqual([ids.slice(20), undefined])
  })

  test('goes on after its cursor, whatever is made meanwhile', async () => {
    withLimits({ tasksPage: 2 })
    const me = await client(somebody())
    const ids = await make(me, 3)
    const { nextCursor } = await me.result('tasks/list')
    const [added] = await make(me, 1)
    const { tasks } = await me.result('tasks/list', { cursor: nextCursor })
    expect(tasks.map(({ taskId }) => taskId)).toEqual([ids[2], added])
  })

  test.for([
    ['', 'nonsense', 'dGFza3M6MQ', btoa('tasks:'), btoa('tasks:0'), btoa('tasks:-1'), btoa('tasks:01')],
    [btoa('tasks:1 or 1=1'), btoa('tasks:2'), btoa('tasks:999999999999999'), btoa('tasks:1e3'), '\u0000', 'é'],
  ])('takes no cursor that it did not hand out: set %#', async (cursors) => {
    const me = await client(somebody())
    for (const cursor of cursors) expect(await me.error('tasks/list', { cursor })).toEqual(BAD_CURSOR)
    await make(me, 1)
    for (const cursor of cursors.filter((each) => each !== 'dGFza3M6MQ'))
      expect(await me.error('tasks/list', { cursor })).toEqual(BAD_CURSOR)
  })

  test.for([1, true, {}, [], ['x']])('wants a cursor that is text: %j', async (cursor) => {
    const me = await client(somebody())
    expect(await me.error('tasks/list', { cursor })).toEqual({
      ...UNKNOWN,
      message: 'Invalid params: params.cursor must be a string',
    })
  })

  test('does not exist for callers who are nobody', async () => {
    const nobody = await open(fetcher)
    await make(nobody, 1)
    for (const params of [undefined, {}, { cursor: 'x' }])
      expect(await nobody.error('tasks/list', params)).toEqual({
        status: 200,
        code: -32601,
        message: 'Method not found: tasks/list',
      })
  })

  test("has one's own, in whatever session they were made", async () => {
    const [ann, bob] = [somebody(), somebody()]
    const [first, second, other] = [await client(ann), await sessionAs(fetcher, ann), await client(bob)]
    const ids = [...(await make(first, 1)), ...(await make(second, 1))]
    const theirs = await make(other, 1)
    await make(await open(fetcher), 1)
    for (const each of [first, second, legacy(fetcher, TASKS_REVISION, { headers: as(ann) })])
      expect((await listed(each)).tasks.map(({ taskId }) => taskId)).toEqual(ids)
    expect((await listed(other)).tasks.map(({ taskId }) => taskId)).toEqual(theirs)
  })

  test('has no task of the extension, which counts as open all the same', async () => {
    withLimits({ tasksPage: 1 })
    const ann = somebody()
    const me = await client(ann)
    const other = modern(fetcher, { capabilities: TASKS, headers: as(ann) })
    const { taskId } = await other.callTask('quick')
    expect(await listed(me)).toEqual({ tasks: [], pages: 1 })
    const [own] = await make(me, 1)
    const { tasks, pages } = await listed(me)
    expect([tasks.map((task) => task.taskId), pages]).toEqual([[own], 1])
    expect((await other.task(taskId)).taskId).toBe(taskId)
  })

  test('has what tasks/get has, also at the end of its life', async () => {
    const me = await client(somebody())
    const created = await me.callTask('quick', {}, { ttl: 60_000 })
    const { taskId: stays } = await me.callTask('quick', {}, { ttl: 120_000 })
    await Promise.all([me.settled(created.taskId), me.settled(stays)])
    const both = async () => ({
      got: await me.request('tasks/get', { taskId: created.taskId }).then(({ result }) => result !== undefined),
      listed: (await listed(me)).tasks.some(({ taskId }) => taskId === created.taskId),
    })
    expect(await both()).toEqual({ got: true, listed: true })
    later(60_000)
    // Its alarm may ring a little later than it should.
    const between = await both()
    expect(between.got).toBe(between.listed)
    await ring(created.taskId)
    expect(await both()).toEqual({ got: false, listed: false })
    withLimits({ tasksPage: 1 })
    const { tasks, pages } = await listed(me)
    expect([tasks.map(({ taskId }) => taskId), pages]).toEqual([[stays], 1])
  })

  test('leaves nothing behind once everything has expired', async () => {
    const ann = somebody()
    const me = await client(ann)
    const index = env.PRINCIPAL.getByName(await digestOf(ann))
    const alarm = () => runInDurableObject(index, (_object, { storage }) => storage.getAlarm())
    for (const ttl of [60_000, 120_000]) {
      const { taskId } = await me.callTask('quick', {}, { ttl })
      await me.settled(taskId)
      await eventually(async () => !(await recordOf(taskId)).isUntold)
    }
    later(60_000)
    expect(await runDurableObjectAlarm(index)).toBe(true)
    expect((await alarm())! - Date.now()).toBeGreaterThan(50_000)
    later(60_000)
    expect(await runDurableObjectAlarm(index)).toBe(true)
    expect(await alarm()).toBe(null)
    expect(await me.result('tasks/list')).toEqual({ tasks: [] })
    expect(await me.error('tasks/list', { cursor: btoa('tasks:1') })).toEqual(BAD_CURSOR)
  })
})

test('a task whose client left before it was told the id does not run', async () => {
  ran = 0
  const me = legacy(fetcher, TASKS_REVISION, { headers: as(somebody()) })
  const hangUp = new AbortController()
  const params = { name: 'counts', task: {} }
  const left = me.request('tools/call', params, { signal: hangUp.signal }).catch(() => undefined)
  hangUp.abort()
  await left
  await eventually(async () => (await listed(me)).tasks[0]?.status === 'cancelled')
  await me.callTask('counts')
  await eventually(() => ran === 1)
})

describeCallers('a task that is not the callers', (open) => {
  const METHODS = ['tasks/get', 'tasks/result', 'tasks/cancel'] as const

  /** Every answer about an id, which must not tell what it is. */
  const answers = (client: LegacyClient, taskId: string) =>
    Promise.all(METHODS.map((method) => client.error(method, { taskId })))

  test('answers like one that never was: of another, of nobody, in the other form, or no id at all', async () => {
    go = gate()
    const [ann, bob] = [somebody(), somebody()]
    const me = await open(fetcher, { headers: as(bob) })
    const owner = await sessionAs(fetcher, ann)
    const nobody = await taskSession(fetcher)
    const extension = modern(fetcher, { capabilities: TASKS, headers: as(bob) })
    const foreign = [
      ...(await make(owner, 1)),
      ...(await make(owner, 1, 'held')),
      ...(await make(nobody, 1, 'held')),
      (await extension.callTask('held')).taskId,
      (await extension.callTask('quick')).taskId,
    ]
    const [own] = await make(me, 1, 'held')
    const invented = [
      env.TASK.newUniqueId().toString(),
      env.SESSION.newUniqueId().toString(),
      '0'.repeat(64),
      'f'.repeat(64),
      own!.toUpperCase(),
      ` ${own}`,
      `${own}0`,
      own!.slice(1),
      '',
      'x',
      '../..',
      'é\u0000',
      'x'.repeat(100_000),
    ]
    for (const taskId of [...foreign, ...invented])
      expect(await answers(me, taskId), taskId.slice(0, 70)).toEqual([UNKNOWN, UNKNOWN, UNKNOWN])
    expect((await me.task(own!)).status).toBe('working')
    expect((await owner.task(foreign[1]!)).status).toBe('working')
    expect((await nobody.task(foreign[2]!)).status).toBe('working')
    expect((await extension.task(foreign[3]!)).status).toBe('working')
    go.open()
  })

  test('is one of somebody for nobody, and one of nobody for somebody', async () => {
    const [nobody, ann] = [await open(fetcher), await open(fetcher, { headers: as(somebody()) })]
    const [[theirs], [mine]] = [await make(ann, 1), await make(nobody, 1)]
    expect(await answers(nobody, theirs!)).toEqual([UNKNOWN, UNKNOWN, UNKNOWN])
    expect(await answers(ann, mine!)).toEqual([UNKNOWN, UNKNOWN, UNKNOWN])
    const other = await open(fetcher)
    expect((await other.task(mine!)).taskId).toBe(mine)
  })

  test('of 2025-11-25 is none for the extension', async () => {
    const ann = somebody()
    const [own] = await make(await open(fetcher, { headers: as(ann) }), 1)
    const extension = modern(fetcher, { capabilities: TASKS, headers: as(ann) })
    for (const [method, more] of [
      ['tasks/get', {}],
      ['tasks/cancel', {}],
      ['tasks/update', { inputResponses: {} }],
    ] as const)
      expect(await extension.error(method, { taskId: own, ...more })).toMatchObject({ code: UNKNOWN.code })
  })

  test('answers at once, also where its result would be waited for', async () => {
    go = gate()
    const [held] = await make(await sessionAs(fetcher, somebody()), 1, 'held')
    const me = await open(fetcher, { headers: as(somebody()) })
    for (const accept of ['application/json, text/event-stream', 'application/json', 'text/event-stream'])
      expect(await me.error('tasks/result', { taskId: held }, { accept })).toMatchObject({ code: UNKNOWN.code })
    go.open()
  })
})

describe('an ask of somebody', () => {
  test('is neither made to nor answered by another', async () => {
    const ann = await sessionAs(fetcher, somebody())
    const bob = await sessionAs(fetcher, somebody())
    const { taskId } = await ann.callTask('asks')
    const stream = await waitOn(ann, taskId)
    const ask = await stream.until(isAsk)
    expect(await bob.error('tasks/result', { taskId })).toEqual(UNKNOWN)
    expect((await bob.reply(ask.id, { result: accept({ name: 'Bob' }) })).status).toBe(202)
    expect((await ann.task(taskId)).status).toBe('input_required')
    await ann.reply(ask.id, { result: { action: 'decline' } })
    await stream.rest()
    expect((await ann.taskResult(taskId)).content).toEqual([{ type: 'text', text: 'decline' }])
  })
})
