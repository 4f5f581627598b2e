// What a task came to may be large: a stream that listens to several of them is not taken for one that nobody reads.

import { expect, test } from 'vitest'
import { defineServer, defineTool } from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { taskClient, taskTool } from '../tasks/support.ts'
import { byHeader, listen, publish } from './support.ts'

const TOOLS = { toolsListChanged: true } as const

test('tasks with large results can be listened to together', async () => {
  const tools = [taskTool('big', () => 'x'.repeat(600_000))]
  const client = taskClient(serve(defineServer({ name: 'tasks', version: '1.0.0', tools }), { authenticate: byHeader }))
  const taskIds: string[] = []
  for (let i = 0; i < 4; i++) taskIds.push((await client.callTask('big')).taskId)
  for (const taskId of taskIds) await client.settled(taskId)
  const stream = await listen(client, { ...TOOLS, taskIds })
  expect(await stream.told(4)).toEqual(taskIds.map((taskId) => `task ${taskId} completed`))
})

test('a change that comes while a large result is on its way ends no stream', async () => {
  const tools = [taskTool('big', () => 'x'.repeat(1_500_000))]
  const server = defineServer({ name: 'tasks', version: '1.0.0', tools })
  const client = taskClient(serve(server, { authenticate: byHeader }))
  const { taskId } = await client.callTask('big')
  await client.settled(taskId)
  const stream = await client.open('subscriptions/listen', { notifications: { ...TOOLS, taskIds: [taskId] } })
  // Nothing is read yet.
  await scheduler.wait(50)
  await publish(server, 'tools')
  await scheduler.wait(50)
  const methods: unknown[] = []
  while (methods.length < 3) methods.push((await stream.messages.next()).value?.method)
  const changed = ['notifications/tasks', 'notifications/tools/list_changed']
  expect(methods).toEqual(['notifications/subscriptions/acknowledged', ...changed])
  await stream.cancel()
})

test('nor does the rest of a call whose client is still reading a large message', async () => {
  const talks = defineTool('talks', {
    description: 'Says much at once, and then little.',
    handler(_, ctx) {
      ctx.log('info', 'x'.repeat(1_500_000))
      for (let i = 0; i < 5; i++) ctx.log('info', i)
      return 'said'
    },
  })
  const client = modern(serve({ tools: [talks] }))
  const stream = await client.open('tools/call', { name: 'talks' }, { logLevel: 'info' })
  await scheduler.wait(50)
  const messages = []
  for await (const message of stream.messages) messages.push(message)
  expect(messages).toHaveLength(7)
  expect(messages.at(-1)?.result).toBeDefined()
})
