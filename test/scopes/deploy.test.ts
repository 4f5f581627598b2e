// Tasks that were made before a deploy: which scopes they need when their tool says something else now, or is gone.
// @see basic/authorization, Scope Challenge Handling

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defineServer, defineTool, type Tool } from '../../src/server/index.ts'
import { legacyPost, modernPost, statusOf, whole } from '../isolation/support.ts'
import { eventually, hibernate, recordOf } from '../tasks/support.ts'
import { legacy, modern, TASKS, type Fetcher } from '../support/client.ts'
import { servers } from '../support/main.ts'
import { createScopeRealm, expectRefused, ran, type ScopeRealm } from './support.ts'

let realm: ScopeRealm
let writer: Record<string, string>
let reader: Record<string, string>
beforeAll(async () => {
  realm = await createScopeRealm()
  writer = await realm.ada('notes:write')
  reader = await realm.ada('notes:read')
})
beforeEach(() => {
  ran.length = 0
})

const task = (name: string, scopes?: readonly string[]): Tool =>
  defineTool(name, {
    description: 'A task.',
    task: { support: 'optional' },
    ...(scopes && { scopes }),
    handler: () => 'what only some may read',
  })
const serverOf = (...tools: Tool[]) => defineServer({ name: 'deployed', version: '1.0.0', tools })

type Headers = Record<string, string>

/** Each form of tasks: how one is made, how one is asked for, and its methods. */
const forms = [
  {
    form: 'of the extension',
    methods: ['tasks/get', 'tasks/update', 'tasks/cancel'],
    make: async (fetcher: Fetcher) =>
      (await modern(fetcher, { capabilities: TASKS, headers: writer }).callTask('job')).taskId,
    send: (fetcher: Fetcher, method: string, taskId: string, headers: Headers) => {
      const params = { taskId, ...(method === 'tasks/update' && { inputResponses: {} }) }
      return fetcher(modernPost(method, params, headers, TASKS))
    },
  },
  {
    form: 'of 2025-11-25',
    methods: ['tasks/get', 'tasks/cancel', 'tasks/result'],
    make: async (fetcher: Fetcher) => (await legacy(fetcher, '2025-11-25', { headers: writer }).callTask('job')).taskId,
    send: (fetcher: Fetcher, method: string, taskId: string, headers: Headers) =>
      fetcher(legacyPost({ jsonrpc: '2.0', id: 1, method, params: { taskId } }, headers)),
  },
]

describe.each(forms)('a task $form', ({ methods, make, send }) => {
  /** A task of `before` that is done, whose object and Worker then serve `after`. */
  async function deployed(before: Tool[], after: Tool[]): Promise<{ taskId: string; fetcher: Fetcher }> {
    const taskId = await make(realm.serve(serverOf(...before) as never))
    await eventually(async () => (await recordOf(taskId)).state.phase === 'done')
    await eventually(async () => !(await recordOf(taskId)).isUntold)
    await hibernate(taskId)
    const server = serverOf(...after)
    servers.set(taskId, server)
    return { taskId, fetcher: realm.serve(server as never) }
  }

  test.each<[what: string, rest: Tool[]]>([
    ['while another tool needs scopes', [task('other', ['other:use'])]],
    ['when no tool is left that needs any', [task('other')]],
  ])('whose tool is gone keeps the scopes it was made with, %s', async (_, rest) => {
    const { taskId, fetcher } = await deployed([task('job', ['notes:write'])], rest)
    for (const method of methods) await expectRefused(await send(fetcher, method, taskId, reader), 'notes:write')
    const answer = await whole(await send(fetcher, 'tasks/get', taskId, writer))
    expect([statusOf(answer), answer]).toEqual([200, expect.stringContaining('completed')])
  })

  test('whose tool needs other scopes now needs those', async () => {
    const { taskId, fetcher } = await deployed(
      [task('job', ['notes:write'])],
      [task('job', ['notes:read', 'jobs:see'])],
    )
    for (const method of methods) {
      await expectRefused(await send(fetcher, method, taskId, writer), 'notes:read jobs:see')
      await expectRefused(await send(fetcher, method, taskId, reader), 'notes:read jobs:see')
    }
    const both = await realm.ada('jobs:see notes:read')
    expect(statusOf(await whole(await send(fetcher, 'tasks/get', taskId, both)))).toBe(200)
  })

  test('whose tool needed none needs what it needs now', async () => {
    const { taskId, fetcher } = await deployed([task('job')], [task('job', ['notes:write'])])
    for (const method of methods) {
      await expectRefused(await send(fetcher, method, taskId, reader), 'notes:write')
    }
    expect(statusOf(await whole(await send(fetcher, 'tasks/get', taskId, writer)))).toBe(200)
  })

  test('whose tool needs none any more needs none', async () => {
    const { taskId, fetcher } = await deployed([task('job', ['notes:write'])], [task('job'), task('x', ['other:use'])])
    expect(statusOf(await whole(await send(fetcher, 'tasks/get', taskId, reader)))).toBe(200)
  })
})

test('a list of tasks leaves out those of a tool that is gone, and those of one that needs more now', async () => {
  const sub = `ada-${crypto.randomUUID()}`
  const client = async (fetcher: Fetcher, scope: string) => {
    const token = await realm.issuer.mint({ sub, scope })
    return legacy(fetcher, '2025-11-25', { headers: { authorization: `Bearer ${token}` } })
  }
  const before = await client(
    realm.serve(serverOf(task('gone', ['a']), task('more', ['a']), task('same')) as never),
    'a',
  )
  const ids: string[] = []
  for (const tool of ['gone', 'more', 'same']) ids.push((await before.callTask(tool)).taskId)
  const after = serverOf(task('more', ['a', 'b']), task('same'))
  for (const taskId of ids) {
    await eventually(async () => !(await recordOf(taskId)).isUntold)
    await hibernate(taskId)
    servers.set(taskId, after)
  }
  const listed = async (scope: string) => {
    const { tasks } = await (await client(realm.serve(after as never), scope)).result('tasks/list')
    return tasks.map(({ taskId }) => taskId)
  }
  expect(await listed('a b')).toEqual(ids)
  expect(await listed('a')).toEqual([ids[0], ids[2]])
  expect(await listed('b')).toEqual([ids[2]])
})
