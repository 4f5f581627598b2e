// What the client sends, and what its shorthands make of the answers.

import { describe, expect, it } from 'vitest'
import { describeEras, legacy, modern } from '../client.ts'
import {
  failure,
  fakeServer,
  legacyToolResult,
  log,
  progress,
  sse,
  stamp,
  stream,
  success,
  toolList,
  toolResult,
} from './fake-server.ts'
import type { JsonObject, Message } from './revisions.ts'

const ok = (message: Message) => success(message, toolResult)

async function bodyOf(request: Request | undefined): Promise<Message> {
  return (await request!.json()) as Message
}

describe('modern', () => {
  it('sends the envelope and the headers of its revision', async () => {
    const server = fakeServer(ok)
    const client = modern(server, { capabilities: { elicitation: {} }, headers: { 'x-test': '1' } })
    await client.request('tools/call', { name: 'é' }, { progressToken: 'p', logLevel: 'info' })
    const [request] = server.requests
    expect(Object.fromEntries(request!.headers)).toEqual({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?w6k=?=',
      'x-test': '1',
    })
    expect((await bodyOf(request)).params).toEqual({
      name: 'é',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'mcp-edge-tests', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
        'io.modelcontextprotocol/logLevel': 'info',
        progressToken: 'p',
      },
    })
  })

  it('never repeats a request id, and uses both types', async () => {
    const client = modern(fakeServer(ok))
    const ids = await Promise.all(
      Array.from({ length: 6 }, async () => (await client.request('tools/call', { name: 'a' })).response.id),
    )
    expect(new Set(ids).size).toBe(6)
    expect(new Set(ids.map((id) => typeof id))).toEqual(new Set(['number', 'string']))
  })

  it('leaves out and overrides what it is told to', async () => {
    const server = fakeServer((message) => failure(message, -32602))
    const client = modern(server)
    await client.error(
      'tools/list',
      {},
      { omitHeaders: ['Mcp-Method'], headers: { 'mcp-protocol-version': 'x' }, accept: null },
    )
    await client.error('tools/list', {}, { meta: null })
    await client.error('tools/list', {}, { meta: { 'io.modelcontextprotocol/clientInfo': undefined } })
    const [first, second, third] = server.requests
    expect(first!.headers.has('mcp-method') || first!.headers.has('accept')).toBe(false)
    expect(first!.headers.get('mcp-protocol-version')).toBe('x')
    expect((await bodyOf(second)).params).toEqual({})
    expect((await bodyOf(third)).params!._meta).not.toHaveProperty('io.modelcontextprotocol/clientInfo')
  })

  it('splits an answer into notifications and response', async () => {
    const answer = (message: Message) => stream(': c\n\n', progress('p', 1), log('x'), success(message, toolResult))
    const exchange = await modern(fakeServer(answer)).request(
      'tools/call',
      { name: 'a' },
      { progressToken: 'p', logLevel: 'debug' },
    )
    expect(exchange).toMatchObject({
      status: 200,
      contentType: 'text/event-stream',
      result: toolResult,
      log: { comments: 1, ids: [] },
    })
    expect(exchange.notifications.map(({ method }) => method)).toEqual([
      'notifications/progress',
      'notifications/message',
    ])
    expect(exchange.frames).toMatch(/^: c\n\ndata: /)
  })

  it('tells result from error', async () => {
    const client = modern(
      fakeServer((message) => (message.method === 'tools/list' ? failure(message, -32602, [1]) : ok(message))),
    )
    expect(await client.error('tools/list')).toEqual({ status: 200, code: -32602, message: 'No', data: [1] })
    expect(await client.result('tools/call', { name: 'a' })).toEqual(toolResult)
    await expect(client.result('tools/list')).rejects.toThrow('tools/list was answered with an error')
    await expect(client.error('tools/call', { name: 'a' })).rejects.toThrow('tools/call was answered with a result')
  })

  it('mirrors marked arguments of a call from one tools/list over all its pages', async () => {
    const region = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
    const server = fakeServer((message) => {
      if (message.method !== 'tools/list') return ok(message)
      if (message.params!.cursor === undefined) return success(message, { ...toolList, nextCursor: '2' })
      return success(message, { ...toolList, tools: [{ name: 'far', inputSchema: region }] })
    })
    const client = modern(server)
    expect((await client.call('far', { region: 'eu' })).result.content[0]!.text).toBe('ok')
    await client.call('far', { region: 'us' })
    expect(server.requests.map(({ headers }) => headers.get('mcp-param-region'))).toEqual([null, null, 'eu', 'us'])
  })

  it('answers what a tool asks until the result is complete', async () => {
    const ask = {
      method: 'elicitation/create',
      params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
    }
    const server = fakeServer((message) => {
      if (message.method === 'tools/list') return success(message, toolList)
      const { requestState, inputResponses } = message.params as { requestState?: string; inputResponses?: JsonObject }
      if (requestState === undefined)
        return success(message, {
          ...stamp,
          resultType: 'input_required',
          inputRequests: { a: ask },
          requestState: 's1',
        })
      if (requestState === 's1')
        return success(message, {
          ...stamp,
          resultType: 'input_required',
          inputRequests: { b: ask },
          requestState: 's2',
        })
      return success(message, { ...toolResult, structuredContent: inputResponses })
    })
    const answers = {
      a: { action: 'accept', content: {} },
      b: (_: unknown, round: number) => ({ action: 'decline', content: { round } }),
    }
    const client = modern(server)
    const { rounds, result } = await client.answer('t', {}, { answers })
    expect(rounds.map(({ requestState }) => requestState)).toEqual(['s1', 's2'])
    expect(result.structuredContent).toEqual({ b: { action: 'decline', content: { round: 2 } } })
    await expect(client.answer('t', {}, { answers: {} })).rejects.toThrow('nothing is prepared for "a"')
  })

  it('opens a stream, reads some of it and hangs up', async () => {
    let hungUp = false
    const server = fakeServer(() => {
      const frames = new TextEncoder().encode(`: one\n\ndata: ${JSON.stringify(progress('p', 1))}\n\n`)
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(frames),
        cancel: () => void (hungUp = true),
      })
      return sse(body)
    })
    const {
      messages,
      cancel,
      log: seen,
      response,
    } = await modern(server).open('tools/call', { name: 'a' }, { progressToken: 'p' })
    expect(response.status).toBe(200)
    expect((await messages.next()).value).toEqual(progress('p', 1))
    const pending = messages.next()
    await cancel()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect({ hungUp, comments: seen.comments }).toEqual({ hungUp: true, comments: 1 })
  })

  it('judges an open stream message by message', async () => {
    const answer = (message: Message) => stream(progress('p', 1), progress('p', 1), success(message, toolResult))
    const { messages } = await modern(fakeServer(answer)).open('tools/call', { name: 'a' }, { progressToken: 'p' })
    await messages.next()
    await expect(messages.next()).rejects.toThrow('does not increase')
  })
})

describe('legacy', () => {
  it('sends its version as a header, except when it initializes', async () => {
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } }
    const server = fakeServer((message) =>
      success(message, message.method === 'initialize' ? result : legacyToolResult),
    )
    const client = legacy(server, '2025-06-18', { capabilities: { roots: {} } })
    expect(await client.result('initialize')).toEqual(result)
    await client.call('a')
    expect(server.requests.map(({ headers }) => headers.get('mcp-protocol-version'))).toEqual([null, '2025-06-18'])
    const clientInfo = { name: 'mcp-edge-tests', version: '1.0.0' }
    expect((await bodyOf(server.requests[0])).params).toEqual({
      protocolVersion: '2025-06-18',
      capabilities: { roots: {} },
      clientInfo,
    })
    expect((await bodyOf(server.requests[1])).params).toEqual({ name: 'a' })
  })

  it('sends no params unless there are some', async () => {
    const server = fakeServer((message) => success(message, {}))
    await legacy(server, '2025-11-25').request('ping')
    expect(await bodyOf(server.requests[0])).not.toHaveProperty('params')
  })

  it('expects nothing but 202 for a notification', async () => {
    const server = fakeServer(() => new Response(null, { status: 202 }))
    expect(await legacy(server, '2025-11-25').notify('notifications/initialized')).toMatchObject({
      status: 202,
      text: '',
    })
    expect(await bodyOf(server.requests[0])).toEqual({ jsonrpc: '2.0', method: 'notifications/initialized' })
  })
})

describe('raw', () => {
  const tools = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

  it('sends what it is given and nothing else', async () => {
    const server = fakeServer((message) => success(message, { tools: [] }))
    const answer = await legacy(server, '2025-11-25').raw({
      body: tools,
      headers: { 'content-type': 'text/x' },
      path: '/mcp/',
    })
    expect(answer).toMatchObject({ status: 200, contentType: 'application/json', messages: [{ id: 1 }] })
    expect(server.requests[0]).toMatchObject({ method: 'POST', url: 'http://localhost/mcp/' })
    expect(Object.fromEntries(server.requests[0]!.headers)).toEqual({ 'content-type': 'text/x' })
  })

  it('judges the answer by what was asked, and by another revision on demand', async () => {
    const client = modern(fakeServer((message) => success(message, { tools: [] })))
    await expect(client.raw({ body: tools })).rejects.toThrow('required property "resultType"')
    await expect(client.raw({ body: tools, as: '2025-06-18' })).resolves.toMatchObject({ status: 200 })
  })

  it('takes a batch on 2025-03-26 only, and every response of it', async () => {
    const body = JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
    const both = fakeServer((messages) => (messages as unknown as Message[]).map((message) => success(message, {})))
    const one = fakeServer((messages) => [success((messages as unknown as Message[])[0]!, {})])
    expect((await legacy(both, '2025-03-26').raw({ body })).messages).toHaveLength(2)
    await expect(legacy(both, '2025-06-18').raw({ body })).rejects.toThrow('the answer is an array')
    await expect(legacy(one, '2025-03-26').raw({ body })).rejects.toThrow('the answer lacks a response')
  })

  it('lets an error leave out an id, but not invent one', async () => {
    const broken = '{"jsonrpc":'
    const anonymous = modern(() => Response.json(failure({ jsonrpc: '2.0' }, -32700), { status: 400 }))
    const inventive = modern(() => Response.json(failure({ jsonrpc: '2.0', id: 1 }, -32700), { status: 400 }))
    await expect(anonymous.raw({ body: broken })).resolves.toMatchObject({ status: 400 })
    await expect(inventive.raw({ body: broken })).rejects.toThrow('no request could be read')
  })

  it('reads the request in bytes too, and expects no body for HEAD', async () => {
    const client = legacy(
      fakeServer((message) => success(message, { tools: [] })),
      '2025-11-25',
    )
    const body = new TextEncoder().encode(tools)
    await expect(client.raw({ body })).resolves.toMatchObject({ messages: [{ id: 1 }] })
    const head = legacy(() => new Response(null, { headers: { 'content-type': 'application/json' } }), '2025-11-25')
    await expect(head.raw({ method: 'HEAD' })).resolves.toMatchObject({ text: '', messages: [] })
  })

  it('leaves other JSON and other content types alone', async () => {
    const health = modern(() => Response.json({ ok: true }))
    expect(await health.raw({ path: '/health' })).toMatchObject({ json: { ok: true }, messages: [] })
    await expect(health.raw({ method: 'GET' })).rejects.toThrow('2026-07-28')
    expect(await modern(() => new Response('hi', { status: 405 })).raw()).toMatchObject({ status: 405, text: 'hi' })
  })
})

const described: string[] = []

describeEras(
  'describeEras hands out a client of each revision in the range',
  (client, revision) => {
    described.push(revision)
    it('and the revision', () => expect(client.revision).toBe(revision))
  },
  { since: '2025-06-18', until: '2025-11-25', fetcher: fakeServer(ok) },
)

it('describeEras keeps to the range', () => {
  expect(described).toEqual(['2025-06-18', '2025-11-25'])
})
