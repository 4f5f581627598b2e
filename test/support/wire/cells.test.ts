// The matrix itself, and that the client fills it in.

import { expect, it } from 'vitest'
import { modern } from '../client.ts'
import { expectedCells, unseenCells } from './cells.ts'
import { failure, fakeServer, stamp, stream, progress, success, toolResult } from './fake-server.ts'

it('unseenCells names what is missing and nothing else', () => {
  const all = expectedCells()
  expect(all).toHaveLength(new Set(all).size)
  expect(all).toContain('2026-07-28 prompts/get input_required')
  expect(all).toContain('2025-03-26 ping result')
  expect(all).toContain('2025-11-25 tools/call task')
  expect(all).toContain('2026-07-28 tasks/update error')
  expect(all).toContain('2026-07-28 subscriptions/listen result')
  expect(all).toContain('2026-07-28 notifications/resources/updated notification')
  expect(all).not.toContain('2025-06-18 tasks/get result')
  expect(all).not.toContain('2026-07-28 ping result')
  expect(all).not.toContain('2025-11-25 subscriptions/listen result')
  expect(unseenCells(new Set(all))).toEqual([])
  expect(unseenCells(new Set(all.slice(1)))).toEqual([all[0]])
  expect(unseenCells(new Set())).toEqual(all)
})

it('a client records the cells of what it has seen', async ({ task }) => {
  const server = fakeServer((message) => {
    if (message.method === 'resources/read')
      return success(message, { ...stamp, resultType: 'input_required', requestState: 's' })
    return message.method === 'tools/list'
      ? failure(message, -32602)
      : stream(progress('p', 1), success(message, toolResult))
  })
  const client = modern(server)
  await client.request('tools/call', { name: 'a' }, { progressToken: 'p' })
  await client.request('resources/read', { uri: 'note://1' })
  await client.request('tools/list')
  expect(task.file.meta.wireCells).toEqual([
    '2026-07-28 notifications/progress notification',
    '2026-07-28 tools/call result',
    '2026-07-28 resources/read input_required',
    '2026-07-28 tools/list error',
  ])
})
