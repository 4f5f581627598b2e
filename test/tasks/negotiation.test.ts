// Who is told of tasks, and who may ask for them. @see ext-tasks, Capability Negotiation; 2025-11-25 tasks, Capabilities

import { describe, expect, test } from 'vitest'
import { defineTool } from '../../src/server/index.ts'
import { LEGACY, legacy, modern, TASKS } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { as, byHeader, taskClient, taskTool } from './support.ts'

const plain = defineTool('plain', { description: 'Never a task.', handler: () => 'plain' })
const optional = taskTool('optional', () => 'optional')
const required = taskTool('required', () => 'required', { task: { support: 'required' } })
const withTasks = serve({ tools: [plain, optional, required] }, { authenticate: byHeader })
const withoutTasks = serve({ tools: [plain] }, { authenticate: byHeader })

const MISSING = { code: -32021, data: { requiredCapabilities: TASKS } }
const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

describe('server/discover', () => {
  test('names the extension where a tool may be a task, and no tasks of 2025-11-25', async () => {
    const { capabilities } = await modern(withTasks).result('server/discover')
    expect(capabilities).toMatchObject(EXTENSION)
    expect(capabilities).not.toHaveProperty('tasks')
  })

  test('names no extension where none may', async () => {
    const { capabilities } = await modern(withoutTasks).result('server/discover')
    expect(capabilities).not.toHaveProperty('extensions')
  })
})

describe('initialize', () => {
  test.for(LEGACY)('of %s', async (revision) => {
    for (const headers of [{}, as('somebody')]) {
      const hello = await legacy(withTasks, revision, { headers }).result('initialize')
      const list = 'x-principal' in headers ? { list: {} } : {}
      const tasks = { ...list, cancel: {}, requests: { tools: { call: {} } } }
      expect(hello.capabilities['tasks']).toEqual(revision === '2025-11-25' ? tasks : undefined)
      expect(hello.capabilities).not.toHaveProperty('extensions')
    }
    const hello = await legacy(withoutTasks, revision).result('initialize')
    expect(hello.capabilities).not.toHaveProperty('tasks')
  })
})

describe('tools/list', () => {
  test('on modern says nothing of it', async () => {
    for (const client of [modern(withTasks), taskClient(withTasks)]) {
      const { tools } = await client.result('tools/list')
      expect(tools.map(({ name }) => name)).toEqual(['plain', 'optional', 'required'])
      for (const tool of tools) expect(tool).not.toHaveProperty('execution')
    }
  })

  test.for(LEGACY)('on %s', async (revision) => {
    const { tools } = await legacy(withTasks, revision).result('tools/list')
    const said = tools.map((tool) => (tool as { execution?: unknown }).execution)
    const support = [undefined, { taskSupport: 'optional' }, { taskSupport: 'required' }]
    expect(said).toEqual(revision === '2025-11-25' ? support : [undefined, undefined, undefined])
  })
})

describe('a client that does not declare the extension', () => {
  const nearly: [string, object][] = [
    ['declares nothing', {}],
    ['declares other extensions', { extensions: { 'com.example/other': {} } }],
    ['declares it as an experiment', { experimental: { 'io.modelcontextprotocol/tasks': {} } }],
    ['declares tasks of 2025-11-25', { tasks: { requests: { tools: { call: {} } } } }],
  ]

  test.for(nearly)('and %s has its calls answered inline', async ([, capabilities]) => {
    const client = modern(withTasks, { capabilities: capabilities as never })
    const { result } = await client.request('tools/call', { name: 'optional' }, { unchecked: true })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'optional' }] })
    expect(result).not.toHaveProperty('taskId')
  })

  test.for(nearly)('and %s is refused by what only runs as a task', async ([, capabilities]) => {
    const client = modern(withTasks, { capabilities: capabilities as never })
    expect(await client.error('tools/call', { name: 'required' })).toMatchObject({ status: 400, ...MISSING })
  })

  test('cannot ask for tasks, not even for its own', async () => {
    const { taskId } = await taskClient(withTasks).callTask('optional')
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const params = method === 'tasks/update' ? { taskId, inputResponses: {} } : { taskId }
      expect(await modern(withTasks).error(method, params), method).toMatchObject({ status: 400, ...MISSING })
    }
    expect((await taskClient(withTasks).settled(taskId)).status).toBe('completed')
  })

  test('has declared it for one request only, whatever it said before', async () => {
    const client = modern(withTasks)
    const declared = { 'io.modelcontextprotocol/clientCapabilities': TASKS }
    const task = (await client.call('optional', undefined, { meta: declared })).result
    expect(task.resultType).toBe('task')
    expect((await client.call('optional')).result.resultType).toBe('complete')
  })
})

test('a declaration that is no object declares nothing', async () => {
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': true } } as never
  const { result } = await modern(withTasks, { capabilities }).request(
    'tools/call',
    { name: 'optional' },
    { unchecked: true },
  )
  expect(result?.resultType).toBe('complete')
})

test('settings inside the declaration, of which there are none yet, change nothing', async () => {
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': { future: true } } }
  expect((await modern(withTasks, { capabilities }).callTask('optional')).status).toBe('working')
})

test('a tool without the option never becomes a task', async () => {
  const { result } = await taskClient(withTasks).call('plain')
  expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'plain' }] })
})

test('the parameter of 2025-11-25 is ignored on modern', async () => {
  for (const name of ['plain', 'optional']) {
    const { result } = await modern(withTasks).request(
      'tools/call',
      { name, task: { ttl: 60_000 } },
      { unchecked: true },
    )
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: name }] })
  }
})

describe('a server without tools that may be tasks has no methods about them', () => {
  test.for(['tasks/get', 'tasks/update', 'tasks/cancel'])('%s', async (method) => {
    for (const client of [modern(withoutTasks), taskClient(withoutTasks)]) {
      const error = await client.error(method, { taskId: '0'.repeat(64), inputResponses: {} })
      expect(error).toMatchObject({ status: 404, code: -32601 })
    }
  })
})

test.for(['tasks/result', 'tasks/list'])('%s, which the extension took away, does not exist', async (method) => {
  const client = taskClient(withTasks, as('somebody'))
  const { taskId } = await client.callTask('optional')
  const params = method === 'tasks/list' ? {} : { taskId }
  expect(await client.error(method, params)).toMatchObject({ status: 404, code: -32601 })
})

describe('Mcp-Name is the id of the task', () => {
  test.for(['tasks/get', 'tasks/update', 'tasks/cancel'])('and %s without it is refused', async (method) => {
    const client = taskClient(withTasks)
    const { taskId } = await client.callTask('optional')
    await client.settled(taskId)
    const params = method === 'tasks/update' ? { taskId, inputResponses: {} } : { taskId }
    const mismatch = { status: 400, code: -32020 }
    expect(await client.error(method, params, { omitHeaders: ['mcp-name'] })).toMatchObject(mismatch)
    for (const name of ['optional', taskId.toUpperCase(), `${taskId}0`, '']) {
      expect(await client.error(method, params, { headers: { 'mcp-name': name } }), name).toMatchObject(mismatch)
    }
    expect((await client.request(method, params)).status).toBe(200)
  })
})

describe('parameters that are none', () => {
  test.for(['tasks/get', 'tasks/update', 'tasks/cancel'])('%s without an id names the field', async (method) => {
    const error = await taskClient(withTasks).error(method, { inputResponses: {} })
    expect(error).toMatchObject({ code: -32602 })
    expect(error.message).toContain('taskId')
  })

  test.for(['nothing', null, 'accept', []])('tasks/update with %j for answers names the field', async (answers) => {
    const client = taskClient(withTasks)
    const { taskId } = await client.callTask('optional')
    const error = await client.error('tasks/update', {
      taskId,
      ...(answers !== 'nothing' && { inputResponses: answers }),
    })
    expect(error).toMatchObject({ status: 200, code: -32602 })
    expect(error.message).toContain('inputResponses')
  })
})
