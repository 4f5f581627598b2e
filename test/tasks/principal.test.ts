// The index of an identified principal: an entry for each task it made, as long as the task lives.

import { env } from 'cloudflare:workers'
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import * as z from 'zod'
import { describe, expect, test, vi } from 'vitest'
import { PrincipalObject } from '../../durable-objects/principal.ts'
import { limits } from '../../src/limits.ts'
import { digestOf } from '../../src/server/canonical.ts'
import { legacy } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import {
  as,
  byHeader,
  crash,
  eventually,
  later,
  parked,
  recordOf,
  ring,
  storedOf,
  taskClient,
  taskTool,
  update,
} from './support.ts'

const MINUTE = 60_000
const asks = async (ctx: Parameters<Parameters<typeof taskTool>[1]>[0]) =>
  (await ctx.elicit('name', { message: 'Who?', schema: z.object({}) })).action
const fetcher = serve(
  {
    tools: [
      taskTool('quick', () => 'done', { task: { ttlMs: MINUTE } }),
      taskTool('asking', asks, { task: { ttlMs: 2 * MINUTE } }),
      taskTool('asking_briefly', asks, { task: { ttlMs: MINUTE } }),
      taskTool('eternal', asks, { task: { ttlMs: null } }),
    ],
  },
  { authenticate: byHeader },
)

let counter = 0

/** A principal of its own for each test, and what is stored of it. */
async function somebody() {
  const name = `principal ${++counter}`
  const stub = env.PRINCIPAL.getByName(await digestOf(name))
  return {
    client: taskClient(fetcher, as(name)),
    headers: as(name),
    stub,
    stored: () =>
      runInDurableObject(stub, async (_object, { storage }) => {
        const isThere = storage.sql.exec(`select 1 from sqlite_master where name = 'task'`).toArray().length > 0
        const rows = isThere ? storage.sql.exec('select * from task order by place').toArray() : undefined
        return { rows, alarm: await storage.getAlarm() }
      }),
    ring: () => runDurableObjectAlarm(stub),
  }
}

describe('an entry', () => {
  test('is made with the task, and says when it ends and whether it is listed', async () => {
    const { client, headers, stored } = await somebody()
    const { taskId, createdAt } = await client.callTask('asking')
    const old = await legacy(fetcher, '2025-11-25', { headers }).callTask('asking')
    const { rows, alarm } = await stored()
    expect(rows).toEqual([
      { place: 1, id: taskId, is_listed: 0, is_open: 1, expires_at: expect.any(Number) },
      { place: 2, id: old.taskId, is_listed: 1, is_open: 1, expires_at: expect.any(Number) },
    ])
    const expiresAt = rows![0]!['expires_at'] as number
    expect(Math.abs(expiresAt - Date.parse(createdAt) - 2 * MINUTE)).toBeLessThan(MINUTE)
    expect(alarm).toBe(expiresAt)
  })

  test('that is not listed goes when the task ends: done, answered or cancelled', async () => {
    const { client, stored } = await somebody()
    const done = await client.callTask('quick')
    const answered = await client.callTask('asking')
    const cancelled = await client.callTask('asking')
    const open = await client.callTask('asking')
    await client.reached(answered.taskId, 'input_required')
    await update(client, answered.taskId, { name: { action: 'decline' } })
    await client.result('tasks/cancel', { taskId: cancelled.taskId })
    await eventually(async () => (await stored()).rows!.length === 1)
    expect((await stored()).rows).toMatchObject([{ id: open.taskId, is_open: 1 }])
    await eventually(async () => !(await recordOf(done.taskId)).isUntold)
  })

  test('that is listed is only closed then', async () => {
    const { headers, stored } = await somebody()
    const old = legacy(fetcher, '2025-11-25', { headers })
    const { taskId } = await old.callTask('quick')
    await old.settled(taskId)
    await eventually(async () => (await stored()).rows![0]!['is_open'] === 0)
    expect((await stored()).rows).toMatchObject([{ id: taskId, is_listed: 1, is_open: 0 }])
  })

  test('goes later, by the alarm of the task, when its object could not be reached', async () => {
    const { client, stored } = await somebody()
    const { taskId } = await client.callTask('asking')
    await client.reached(taskId, 'input_required')
    await parked(taskId)
    const closed = vi.spyOn(PrincipalObject.prototype, 'closed').mockImplementation(() => {
      throw new Error('out of order')
    })
    await client.result('tasks/cancel', { taskId })
    await eventually(() => closed.mock.calls.length > 0)
    expect((await stored()).rows).toMatchObject([{ id: taskId, is_open: 1 }])
    expect((await recordOf(taskId)).isUntold).toBe(true)
    expect((await storedOf(taskId)).alarm).toBeLessThanOrEqual(Date.now() + limits.leaseMs)
    closed.mockRestore()
    await crash(taskId)
    await ring(taskId)
    await eventually(async () => ((await stored()).rows ?? []).length === 0)
    await eventually(async () => !(await recordOf(taskId)).isUntold)
  })

  test('goes when the task expires, and with the last one everything', async () => {
    const { client, stored, ring: ringIt } = await somebody()
    const { taskId: first } = await client.callTask('asking_briefly')
    const { taskId: second } = await client.callTask('asking')
    const rowsNow = async () => (await stored()).rows?.map(({ id }) => id)
    expect(await rowsNow()).toEqual([first, second])
    later(MINUTE + 1)
    await ringIt()
    expect(await rowsNow()).toEqual([second])
    expect((await stored()).alarm).toBe((await stored()).rows![0]!['expires_at'])
    later(MINUTE)
    await ringIt()
    expect(await stored()).toEqual({ rows: undefined, alarm: null })
    expect(await ringIt()).toBe(false)
  })

  test('of a task without end needs no alarm, and leaves nothing when it goes', async () => {
    const { client, stored } = await somebody()
    const { taskId } = await client.callTask('eternal')
    expect(await stored()).toMatchObject({ rows: [{ id: taskId, expires_at: null }], alarm: null })
    await client.reached(taskId, 'input_required')
    await update(client, taskId, { name: { action: 'decline' } })
    await client.settled(taskId)
    await eventually(async () => !(await recordOf(taskId)).isUntold)
    expect(await stored()).toEqual({ rows: undefined, alarm: null })
  })
})

test('an index is begun anew after its end', async () => {
  const { client, stored, ring: ringIt } = await somebody()
  await client.callTask('quick')
  later(MINUTE + 1)
  await ringIt()
  const { taskId } = await client.callTask('quick')
  expect((await stored()).rows!.map(({ id }) => id)).toEqual([taskId])
})

test('a task that is made twice, since its first answer was lost, is one', async () => {
  const { stored, stub } = await somebody()
  const about = { taskId: 'a'.repeat(64), isListed: false, expiresAt: Date.now() + MINUTE }
  expect([await stub.opened(about), await stub.opened(about)]).toEqual([true, true])
  expect((await stored()).rows).toHaveLength(1)
})

test('asking an index that is none writes nothing', async () => {
  const { headers, stored, stub } = await somebody()
  const old = legacy(fetcher, '2025-11-25', { headers })
  expect((await old.result('tasks/list')).tasks).toEqual([])
  await stub.closed('a'.repeat(64))
  expect(await stored()).toEqual({ rows: undefined, alarm: null })
})

test('nothing is kept of those that are anonymous', async () => {
  const client = taskClient(fetcher)
  await client.settled((await client.callTask('quick')).taskId)
  const stub = env.PRINCIPAL.getByName(await digestOf('anonymous'))
  const tables = await runInDurableObject(stub, (_object, { storage }) =>
    storage.sql.exec(`select name from sqlite_master where name = 'task'`).toArray(),
  )
  expect(tables).toEqual([])
})
