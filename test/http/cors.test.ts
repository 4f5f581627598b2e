// CORS: every answer can be read by a page that may call, errors included, and a preflight lists what it may send.

import * as z from 'zod'
import { afterEach, expect, test, vi } from 'vitest'
import { defineTool } from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, message, post } from './post.ts'

const steps = defineTool('steps', {
  description: 'Reports progress.',
  inputSchema: z.object({ region: z.string().optional().meta({ 'x-mcp-header': 'Region' }) }),
  handler(_input, ctx) {
    ctx.progress(1)
    return 'ok'
  },
})
const fetcher = serve({ tools: [steps] })
const client = modern(fetcher)
const MODERN = { 'mcp-protocol-version': '2026-07-28' }
const call = message('tools/call', { name: 'steps', _meta: envelope({ progressToken: 1 }) })
const callHeaders = { ...MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'steps' }

const get = (path: string, init: RequestInit = {}): Promise<Response> =>
  Promise.resolve(fetcher(new Request(`http://localhost${path}`, init)))

/** Status, and an answer of that kind. */
const ANSWERS: [what: string, status: number, send: () => Promise<{ status: number; headers: Headers }>][] = [
  ['a JSON result', 200, () => client.request('server/discover')],
  ['a stream', 200, () => post(client, call, callHeaders)],
  ['an accepted notification', 202, () => client.notify('notifications/cancelled')],
  ['broken JSON', 400, () => post(client, '{')],
  ['a refused envelope', 400, () => post(client, message('tools/list'), MODERN)],
  ['a refused header', 400, () => client.request('tools/list', {}, { omitHeaders: ['mcp-method'] })],
  ['an unsupported version', 400, () => post(client, message('tools/list'), { 'mcp-protocol-version': 'x' })],
  ['an unknown method', 404, () => client.request('nope')],
  ['an unknown path', 404, () => get('/nothing')],
  ['a well-known path', 404, () => get('/.well-known/oauth-protected-resource/mcp')],
  ['GET', 405, () => get('/mcp')],
  ['GET of a browser', 405, () => get('/mcp', { headers: { accept: 'text/html' } })],
  ['DELETE', 405, () => get('/mcp', { method: 'DELETE' })],
  ['a refused Accept', 406, () => post(client, call, { accept: 'text/plain' })],
  ['a large body', 413, () => post(client, 'x', { 'content-length': '99999999' })],
  ['a refused content type', 415, () => post(client, call, { 'content-type': 'text/plain' })],
  ['a refused Origin', 403, () => get('/mcp', { headers: { origin: 'https://evil.example' } })],
  ['a broken configuration', 503, () => broken()],
  ['health', 200, () => get('/health')],
  ['the page of the server', 200, () => get('/')],
  ['a preflight', 204, () => get('/mcp', { method: 'OPTIONS' })],
]

function broken(): Promise<Response> {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const unconfigured = serve({}, { vars: { PUBLIC_URL: 'nowhere' } })
  return Promise.resolve(unconfigured(new Request('http://localhost/mcp', { method: 'POST', body: '{}' })))
}

afterEach(() => void vi.restoreAllMocks())

test.each(ANSWERS)('a page can read %s (%i)', async (_what, status, send) => {
  const answer = await send()
  expect(answer.status).toBe(status)
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
  const exposed = list(answer.headers.get('access-control-expose-headers'))
  for (const name of ['www-authenticate', 'mcp-session-id', 'mcp-protocol-version', 'retry-after']) {
    expect(exposed).toContain(name)
  }
})

test('a preflight allows every header of the protocol, those that tools declare, and every method', async () => {
  const headers = {
    origin: 'http://localhost:6274',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'mcp-param-region',
  }
  for (const path of ['/mcp', '/mcp/']) {
    const { status, headers: answered } = await get(path, { method: 'OPTIONS', headers })
    expect(status).toBe(204)
    expect(list(answered.get('access-control-allow-headers')).toSorted()).toEqual([
      'accept',
      'authorization',
      'baggage',
      'content-type',
      'last-event-id',
      'mcp-method',
      'mcp-name',
      'mcp-param-region',
      'mcp-protocol-version',
      'mcp-session-id',
      'traceparent',
      'tracestate',
    ])
    expect(list(answered.get('access-control-allow-methods'))).toEqual(['get', 'post', 'delete', 'options'])
    expect(Number(answered.get('access-control-max-age'))).toBeGreaterThan(0)
  }
})

test('a preflight comes before anything that needs a credential, a body or a session', async () => {
  const { status, body } = await get('/mcp', { method: 'OPTIONS', headers: { accept: 'text/plain' } })
  expect([status, body]).toEqual([204, null])
})

function list(header: string | null): string[] {
  return (header ?? '').split(',').map((name) => name.trim().toLowerCase())
}
