// The fixture answers what the suite documents, so that `npm test` notices a broken one without running the suite.
// Stricter than the suite: whole results, not just their shape.

import { describe, expect, test } from 'vitest'
import { describeEras, legacy, modern, worker } from '../support/client.ts'
import type { Client, JsonObject } from '../support/client.ts'

const TOOLS = [
  'test_simple_text',
  'test_image_content',
  'test_audio_content',
  'test_embedded_resource',
  'test_multiple_content_types',
  'test_error_handling',
  'test_tool_with_progress',
  'test_tool_with_logging',
  'test_sampling',
  'test_elicitation',
  'test_elicitation_sep1034_defaults',
  'test_elicitation_sep1330_enums',
  'test_reconnection',
  'json_schema_2020_12_tool',
  'test_missing_capability',
  'test_streaming_elicitation',
  'test_logging_tool',
  'test_param_headers',
  'test_trigger_tool_change',
  'test_trigger_prompt_change',
  'test_input_required_result_elicitation',
  'test_input_required_result_sampling',
  'test_input_required_result_list_roots',
  'test_input_required_result_request_state',
  'test_input_required_result_multiple_inputs',
  'test_input_required_result_multi_round',
  'test_input_required_result_tampered_state',
  'test_input_required_result_capabilities',
  'greet',
  'slow_compute',
  'failing_job',
  'protocol_error_job',
  'confirm_delete',
  'multi_input',
  'test_tool_with_task',
]

const client = modern(worker, { capabilities: { elicitation: {} } })

async function contentOf(client: Client, tool: string): Promise<unknown> {
  return (await client.call(tool)).result.content
}

describeEras('the fixture', (client) => {
  test('answers test_simple_text with the documented text', async () => {
    const text = 'This is a simple text response for testing.'
    expect(await contentOf(client, 'test_simple_text')).toEqual([{ type: 'text', text }])
  })

  test('answers test_multiple_content_types with a text, a PNG and JSON', async () => {
    const resource = {
      uri: 'test://mixed-content-resource',
      mimeType: 'application/json',
      text: '{"test":"data","value":123}',
    }
    expect(await contentOf(client, 'test_multiple_content_types')).toEqual([
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', mimeType: 'image/png', data: expect.stringMatching(/^iVBORw0KGgo/) },
      { type: 'resource', resource },
    ])
  })

  test('answers test_audio_content with a WAV', async () => {
    const [audio] = (await client.call('test_audio_content')).result.content
    expect(audio).toMatchObject({ type: 'audio', mimeType: 'audio/wav' })
    expect(atob(audio?.data ?? '')).toMatch(/^RIFF.{4}WAVE/s)
  })

  test('answers test_error_handling with the documented error text', async () => {
    const text = 'This tool intentionally returns an error for testing'
    const { result } = await client.call('test_error_handling')
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text }] })
  })

  test('reports 0, 50 and 100 of 100 before test_tool_with_progress ends', async () => {
    const { notifications } = await client.call('test_tool_with_progress', {}, { progressToken: 'token' })
    expect(notifications.map(({ method, params }) => [method, params])).toEqual(
      [0, 50, 100].map((progress) => ['notifications/progress', { progressToken: 'token', progress, total: 100 }]),
    )
  })

  test('reads the documented resources', async () => {
    const read = async (uri: string) => (await client.result('resources/read', { uri })).contents
    expect(await read('test://static-text')).toEqual([
      { uri: 'test://static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
    ])
    expect(await read('test://static-binary')).toEqual([
      { uri: 'test://static-binary', mimeType: 'image/png', blob: expect.stringMatching(/^iVBORw0KGgo/) },
    ])
    const uri = 'test://template/123/data'
    const text = '{"id":"123","templateTest":true,"data":"Data for ID: 123"}'
    expect(await read(uri)).toEqual([{ uri, mimeType: 'application/json', text }])
  })

  test('renders test_prompt_with_arguments with the documented text', async () => {
    const params = { name: 'test_prompt_with_arguments', arguments: { arg1: 'hello', arg2: 'world' } }
    const text = "Prompt with arguments: arg1='hello', arg2='world'"
    expect((await client.result('prompts/get', params)).messages).toEqual([
      { role: 'user', content: { type: 'text', text } },
    ])
  })

  test('completes arg1 of test_prompt_with_arguments', async () => {
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' }
    const { completion } = await client.result('completion/complete', { ref, argument: { name: 'arg1', value: 'par' } })
    expect(completion).toEqual({ values: ['paris', 'park', 'party'], total: 3, hasMore: false })
  })
})

describe('the fixture on 2026-07-28', () => {
  test('lists every tool the suite calls, with a description, and first one without arguments', async () => {
    const { tools } = await client.result('tools/list')
    expect(tools[0]?.name).toBe('test_simple_text')
    expect(tools.filter(({ description }) => !description)).toEqual([])
    expect(tools.map(({ name }) => name).toSorted()).toEqual(TOOLS.toSorted())
  })

  test('keeps the 2020-12 keywords of json_schema_2020_12_tool, and enforces them', async () => {
    const { tools } = await client.result('tools/list')
    const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
    expect(schema).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $defs: { address: { $anchor: 'addressDef' } },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } } },
      // oxlint-disable-next-line unicorn/no-thenable
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    })
    const isError = async (args: JsonObject) =>
      (await client.call('json_schema_2020_12_tool', args)).result.isError === true
    expect(await isError({ contactMethod: 'phone', phone: '1', address: { city: 'x' } })).toBe(false)
    expect(await isError({ contactMethod: 'phone', email: 'a@b.c' })).toBe(true)
    expect(await isError({ phone: '1', address: { city: 1 } })).toBe(true)
    expect(await isError({ email: 'a@b.c', more: 1 })).toBe(true)
  })

  test('sends three messages at info from test_tool_with_logging, if asked to', async () => {
    const { notifications } = await client.call('test_tool_with_logging', {}, { logLevel: 'info' })
    expect(notifications.map(({ params }) => [params.level, params.data])).toEqual([
      ['info', 'Tool execution started'],
      ['info', 'Tool processing data'],
      ['info', 'Tool execution completed'],
    ])
    expect((await client.call('test_tool_with_logging')).notifications).toEqual([])
  })

  test('ends the stream of test_streaming_elicitation with its question', async () => {
    const answer = await client.request('tools/call', { name: 'test_streaming_elicitation' }, { progressToken: 1 })
    expect(answer.contentType).toBe('text/event-stream')
    expect(answer.notifications.map(({ params }) => params.progress)).toEqual([1])
    expect(answer.result?.resultType).toBe('input_required')
  })

  test('takes the arguments of test_param_headers only with their headers', async () => {
    const args = { region: 'Zürich', priority: 3 }
    expect((await client.call('test_param_headers', args)).result.content).toEqual([
      { type: 'text', text: '{"region":"Zürich","priority":3}' },
    ])
    const error = await client.error('tools/call', { name: 'test_param_headers', arguments: args })
    expect(error).toMatchObject({ status: 400, code: -32020 })
  })

  test('refuses test_missing_capability with the missing capability', async () => {
    expect(await modern(worker).error('tools/call', { name: 'test_missing_capability' })).toMatchObject({
      status: 400,
      code: -32021,
      data: { requiredCapabilities: { sampling: {} } },
    })
  })
})

describe('the fixture without a session', () => {
  test.for(['test_sampling', 'test_elicitation'])('fails %s instead of pretending', async (tool) => {
    const args = { prompt: 'p', message: 'm' }
    const { result } = await legacy(worker, '2025-11-25').call(tool, args)
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('cannot be asked') }] })
  })
})

describe('the fixture, to who listens,', () => {
  const LIST_CHANGED = { tools: 'notifications/tools/list_changed', prompts: 'notifications/prompts/list_changed' }

  test('tells of test_trigger_tool_change and test_trigger_prompt_change what was asked for, and nothing else', async () => {
    const listen = (notifications: JsonObject) => client.open('subscriptions/listen', { notifications })
    const [tools, prompts, both] = await Promise.all([
      listen({ toolsListChanged: true }),
      listen({ promptsListChanged: true }),
      listen({ toolsListChanged: true, promptsListChanged: true }),
    ])
    const next = async ({ messages }: typeof tools) => (await messages.next()).value?.method
    for (const stream of [tools, prompts, both])
      expect(await next(stream)).toBe('notifications/subscriptions/acknowledged')
    // Without capabilities, as the suite calls them.
    await modern(worker).call('test_trigger_tool_change')
    expect([await next(tools), await next(both)]).toEqual([LIST_CHANGED.tools, LIST_CHANGED.tools])
    await modern(worker).call('test_trigger_prompt_change')
    // Of the tools it was never told.
    expect([await next(prompts), await next(both)]).toEqual([LIST_CHANGED.prompts, LIST_CHANGED.prompts])
    await Promise.all([tools, prompts, both].map(({ cancel }) => cancel()))
  })

  test('agrees to watch test://watched-resource', async () => {
    const notifications = { resourceSubscriptions: ['test://watched-resource', 'test://nonexistent'] }
    const stream = await client.open('subscriptions/listen', { notifications })
    const { value } = await stream.messages.next()
    expect(value?.params?.notifications).toEqual({ resourceSubscriptions: ['test://watched-resource'] })
    await stream.cancel()
  })

  test('announces the extension that lets a stream be resumed', async () => {
    const { capabilities } = await client.result('server/discover')
    expect(capabilities.extensions).toHaveProperty(['dev.mcp-edge/resumable-listen'])
    expect(capabilities).toMatchObject({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    })
  })
})
