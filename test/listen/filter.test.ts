// What a client may ask to be told of, and what of it is agreed to: exactly what the server can tell this caller, and
// nothing is said of the rest. @see basic/patterns/subscriptions, Notification Filter and Acknowledgment

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import { definePrompt, defineResource, defineResourceTemplate, defineTool } from '../../src/server/index.ts'
import { modern, TASKS, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { as, byHeader, listen } from './support.ts'

const tool = defineTool('tool', { description: 'A tool.', handler: () => 'ok' })
const prompt = definePrompt('prompt', { description: 'A prompt.', get: () => 'ok' })
const page = defineResource('test://page', { name: 'page', read: () => 'text' })
const pages = defineResourceTemplate('test://pages/{id}', { name: 'pages', read: ({ id }) => id })
const adas = { visible: ({ principal }: { principal: string }) => principal === 'ada' }
const secret = defineResource('test://secret', { name: 'secret', ...adas, read: () => 'text' })
const secrets = defineResourceTemplate('test://secrets/{id}', { name: 'secrets', ...adas, read: ({ id }) => id })
const families = { tools: { tools: [tool] }, prompts: { prompts: [prompt] }, resources: { resources: [page] } }

const fetcher = serve(
  { tools: [tool], prompts: [prompt], resources: [page, pages, secret, secrets] },
  { authenticate: byHeader },
)
const client = modern(fetcher)

/** What is agreed to. */
const agreed = async (notifications: JsonObject, by = client): Promise<JsonObject> =>
  (await listen(by, notifications)).agreed

const LISTS = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged']
const NAMED = ['resourceSubscriptions', 'taskIds']
const everything = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['test://page'],
  taskIds: ['f'.repeat(64)],
}

describe('a filter is refused, naming the member that is wrong', () => {
  const refusals = async (params: JsonObject): Promise<string> => {
    const { status, code, message } = await client.error('subscriptions/listen', params)
    expect([status, code]).toEqual([200, -32602])
    return message
  }

  test.for<[string, JsonObject]>([
    ['missing', {}],
    ['null', { notifications: null }],
    ['a list', { notifications: [] }],
    ['a string', { notifications: 'toolsListChanged' }],
    ['true', { notifications: true }],
    ['a number', { notifications: 1 }],
  ])('where it is %s', async ([, params]) => {
    expect(await refusals(params)).toBe('Invalid params: params.notifications must be an object')
  })

  test.for(LISTS.flatMap((member) => ['true', '', 1, 0, {}, []].map((value) => [member, value] as const)))(
    'where %s is %j',
    async ([member, value]) => {
      const message = await refusals({ notifications: { [member]: value } })
      expect(message).toBe(`Invalid params: params.notifications.${member} must be a boolean`)
    },
  )

  test.for(
    NAMED.flatMap((member) => ['test://page', {}, { 0: 'a' }, true, false, 1].map((value) => [member, value] as const)),
  )('where %s is %j', async ([member, value]) => {
    const message = await refusals({ notifications: { [member]: value } })
    expect(message).toBe(`Invalid params: params.notifications.${member} must be a list of strings`)
  })

  test.for(NAMED.flatMap((member) => [1, null, true, {}, ['a']].map((value) => [member, value] as const)))(
    'where one of %s is %j',
    async ([member, value]) => {
      const message = await refusals({ notifications: { [member]: ['test://page', value, 2] } })
      expect(message).toBe(`Invalid params: params.notifications.${member}[1] must be a string`)
    },
  )

  test('where one member is wrong beside others that are not', async () => {
    const message = await refusals({ notifications: { ...everything, promptsListChanged: 'yes' } })
    expect(message).toContain('params.notifications.promptsListChanged')
  })

  test('where it names limits.listenResources URIs and one more', async () => {
    const uris = Array.from({ length: limits.listenResources }, (_, i) => `test://pages/${i}`)
    expect(await agreed({ resourceSubscriptions: uris })).toEqual({ resourceSubscriptions: uris })
    const message = await refusals({ notifications: { resourceSubscriptions: [...uris, 'test://page'] } })
    expect(message).toBe('Invalid params: params.notifications.resourceSubscriptions may hold 500 at most')
  })

  test('where it names limits.listenTasks tasks and one more, also on a server without tasks', async () => {
    const taskIds = Array.from({ length: limits.listenTasks }, (_, i) => `${i}`)
    expect(await agreed({ taskIds })).toEqual({})
    const message = await refusals({ notifications: { taskIds: [...taskIds, 'one more'] } })
    expect(message).toBe('Invalid params: params.notifications.taskIds may hold 100 at most')
  })
})

describe('what is agreed to', () => {
  test('is everything the server has, where that is asked for', async () => {
    const { taskIds: _, ...all } = everything
    expect(await agreed(all)).toEqual(all)
  })

  test('is nothing where nothing is asked for: with no, with null, or by leaving it out', async () => {
    const none = Object.fromEntries(LISTS.map((member) => [member, false]))
    expect(await agreed(none)).toEqual({})
    expect(await agreed(Object.fromEntries([...LISTS, ...NAMED].map((member) => [member, null])))).toEqual({})
    expect(await agreed({})).toEqual({})
  })

  test.for(Object.entries(families))('is of %s alone on a server that has nothing else', async ([family, options]) => {
    const resources = { resourcesListChanged: true, resourceSubscriptions: ['test://page'] }
    const expected = family === 'resources' ? resources : { [`${family}ListChanged`]: true }
    expect(await agreed(everything, modern(serve(options)))).toEqual(expected)
  })

  test('is said with the same members that asked for it, and members of another time are left out', async () => {
    const asked = { ...everything, taskIds: undefined, logs: true, resourceTemplates: ['a'], constructor: true }
    expect(await agreed(asked)).toEqual({ ...everything, taskIds: undefined })
  })

  test('is of every URI once, in the order they were asked for', async () => {
    const resourceSubscriptions = ['test://pages/b', 'test://page', 'test://pages/b', 'test://pages/a', 'test://page']
    expect(await agreed({ resourceSubscriptions })).toEqual({
      resourceSubscriptions: ['test://pages/b', 'test://page', 'test://pages/a'],
    })
  })

  test('is of no URI that the server does not serve', async () => {
    const strangers = [
      '',
      'page',
      'test:',
      'test://other',
      'TEST://page',
      'test://page/',
      'test://page#a',
      'test://pages/',
      'test://pages/a/b',
      'test://pages/..',
      'test://pages/%2e%2e',
      'test://pages/a%2Fb',
      'test://pages/a b',
      'file:///etc/passwd',
      '__proto__',
      `test://pages/${'a'.repeat(limits.uriChars)}`,
    ]
    expect(await agreed({ resourceSubscriptions: strangers })).toEqual({ resourceSubscriptions: [] })
    const mixed = [...strangers, 'test://page', 'test://pages/a']
    expect(await agreed({ resourceSubscriptions: mixed })).toEqual({
      resourceSubscriptions: ['test://page', 'test://pages/a'],
    })
  })

  test('is of no URI that is hidden from the caller', async () => {
    const resourceSubscriptions = ['test://secret', 'test://page', 'test://secrets/a']
    const ada = modern(fetcher, { headers: as('ada') })
    const eve = modern(fetcher, { headers: as('eve') })
    expect(await agreed({ resourceSubscriptions }, ada)).toEqual({ resourceSubscriptions })
    for (const other of [eve, client])
      expect(await agreed({ resourceSubscriptions }, other)).toEqual({ resourceSubscriptions: ['test://page'] })
  })

  test('is of tasks only where the server has some and the client asked', async () => {
    const withTasks = defineTool('work', { description: 'Works.', task: { support: 'optional' }, handler: () => 'ok' })
    const busy = modern(serve({ tools: [withTasks] }), { capabilities: TASKS })
    const idle = modern(fetcher, { capabilities: TASKS })
    const tools = { toolsListChanged: true }
    expect(await agreed({ ...tools, taskIds: ['f'.repeat(64)] }, busy)).toEqual({ ...tools, taskIds: [] })
    expect(await agreed({ ...tools, taskIds: [] }, busy)).toEqual({ ...tools, taskIds: [] })
    expect(await agreed(tools, busy)).toEqual(tools)
    expect(await agreed({ ...tools, taskIds: ['f'.repeat(64)] }, idle)).toEqual(tools)
  })
})
