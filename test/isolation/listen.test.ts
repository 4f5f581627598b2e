// What a listener can learn of others: nothing. Their tasks are ids that never were, and so are their cursors.
// @see basic/patterns/subscriptions; docs/resumable-listen.md

import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defineResource, defineServer, type Server } from '../../src/server/index.ts'
import { begun, change, listen, publish, withLimits, type Listening } from '../listen/support.ts'
import { parked, stubOf, taskTool } from '../tasks/support.ts'
import { modern, TASKS, type Fetcher, type JsonObject, type ModernClient } from '../support/client.ts'
import { createRealm, dumpOf, modernPost, NAME, whole, type People, type Realm } from './support.ts'

const CURSOR = 'dev.mcp-edge/cursor'
const CAPABILITIES = {
  extensions: { ...TASKS.extensions, 'dev.mcp-edge/resumable-listen': {} },
  elicitation: { form: {} },
}
const PAGE = { resourceSubscriptions: ['test://page'] }
const NEVER_MADE = env.TASK.newUniqueId().toString()

let realm: Realm
let people: People
let server: Server
let fetcher: Fetcher
beforeAll(async () => {
  realm = await createRealm()
  people = realm.people
})
beforeEach(() => {
  withLimits({ hubWindowMs: 0 })
  server = defineServer({
    name: 'listen',
    version: '1.0.0',
    tools: [change, taskTool('asking', async (ctx) => (await ctx.elicit('name', NAME)).content?.name ?? 'nobody')],
    resources: [defineResource('test://page', { name: 'page', read: () => 'text' })],
  })
  fetcher = realm.serve(server, { RESUMABLE_LISTEN: 'on' })
})

const clientOf = (headers: Record<string, string>): ModernClient =>
  modern(fetcher, { capabilities: CAPABILITIES, headers })

describe('a task', () => {
  async function made(): Promise<string> {
    const { taskId } = await clientOf(people.alice).callTask('asking')
    await parked(taskId)
    return taskId
  }

  test('of anybody else is not listened to, and does not learn that somebody wanted to', async () => {
    const taskId = await made()
    const before = await dumpOf(stubOf(taskId))
    for (const [who, headers] of people.strangers) {
      const acknowledgement = async (id: string) => {
        const stream = await clientOf(headers).open(
          'subscriptions/listen',
          { notifications: { taskIds: [id] } },
          { id: 'x' },
        )
        const { acknowledgement: said } = await begun(stream)
        await stream.cancel()
        return JSON.stringify([stream.response.status, [...stream.response.headers], said])
      }
      const foreign = await acknowledgement(taskId)
      expect(foreign, who).toBe(await acknowledgement(NEVER_MADE))
      expect(foreign, who).toContain('"taskIds":[]')
    }
    expect(await dumpOf(stubOf(taskId))).toBe(before)
  })

  test('of anybody else is not told of when it changes', async () => {
    const taskId = await made()
    const own = await listen(clientOf(people.alice), { taskIds: [taskId], ...PAGE })
    const foreign: Listening[] = []
    for (const [, headers] of people.strangers)
      foreign.push(await listen(clientOf(headers), { taskIds: [taskId], ...PAGE }))
    expect(await own.told(1)).toEqual([`task ${taskId} input_required`])
    await clientOf(people.alice).result('tasks/cancel', { taskId })
    expect(await own.told(1)).toEqual([`task ${taskId} cancelled`])
    await publish(server, 'resource test://page')
    for (const stream of foreign) expect(await stream.told(1)).toEqual(['resource test://page'])
  })

  test('is listened to with the next token', async () => {
    const taskId = await made()
    const stream = await listen(clientOf(people.aliceAgain), { taskIds: [taskId] })
    expect(stream.agreed).toEqual({ taskIds: [taskId] })
    expect(await stream.told(1)).toEqual([`task ${taskId} input_required`])
  })
})

describe('a cursor', () => {
  async function cursor(): Promise<string> {
    const stream = await listen(clientOf(people.alice), PAGE)
    await publish(server, 'resource test://page')
    await stream.told(1)
    await stream.cancel()
    return stream.log.ids.at(-1)!
  }
  const resume = (headers: Record<string, string>, more: { header?: string; meta?: string }) => {
    const request = modernPost(
      'subscriptions/listen',
      { notifications: PAGE },
      { ...headers, ...(more.header !== undefined && { 'last-event-id': more.header }) },
      CAPABILITIES,
    )
    if (more.meta === undefined) return Promise.resolve(fetcher(request))
    return request.json<{ params: { _meta: JsonObject } }>().then((body) => {
      body.params._meta[CURSOR] = more.meta
      return fetcher(new Request(request.url, { method: 'POST', headers: request.headers, body: JSON.stringify(body) }))
    })
  }

  test.each(['header', 'meta'] as const)('of anybody else is none, in the %s', async (where) => {
    const own = await cursor()
    const [place] = own.split('.')
    for (const [who, headers] of people.strangers) {
      const foreign = await whole(await resume(headers, { [where]: own }))
      expect(foreign, who).toContain('the cursor is from no stream of yours')
      for (const unknown of ['unknown', `${place}.unknown`, `${own.slice(0, -4)}AAAA`]) {
        expect(foreign, who).toBe(await whole(await resume(headers, { [where]: unknown })))
      }
    }
  })

  test('is taken with the next token, and what was missed is told', async () => {
    const own = await cursor()
    await publish(server, 'resource test://page')
    const stream = await listen(clientOf(people.aliceAgain), PAGE, { headers: { 'last-event-id': own } })
    expect(await stream.told(1)).toEqual(['resource test://page'])
  })

  test('says nothing of whose it is', async () => {
    const text = await cursor()
    const decoded = text.split('.').map((part) => {
      try {
        return atob(part.replaceAll('-', '+').replaceAll('_', '/'))
      } catch {
        return part
      }
    })
    expect(JSON.stringify(decoded)).not.toContain('alice')
  })
})

test('how many streams one holds is no matter of anybody else', async () => {
  withLimits({ principalListeners: 1 })
  await listen(clientOf(people.alice), PAGE)
  const refused = await clientOf(people.aliceAgain).error('subscriptions/listen', { notifications: PAGE })
  expect(refused.status).toBe(429)
  for (const [, headers] of people.strangers) await (await listen(clientOf(headers), PAGE)).cancel()
  // Hers is still there.
  expect((await clientOf(people.alice).error('subscriptions/listen', { notifications: PAGE })).status).toBe(429)
})
