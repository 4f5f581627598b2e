// The routes around the endpoint, and what each answers that is not a POST.
// @see basic/transports/streamable-http, Earlier Streamable HTTP Revisions

import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defineServer, defineTool } from '../../src/server/index.ts'
import { modern, worker } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const server = defineServer({
  name: 'routes',
  version: '1.2.3',
  title: 'Routes <b>&',
  instructions: 'Use <i>well</i>.',
})
const fetcher = serve(server)
const send = async (path: string, init: RequestInit = {}): Promise<Response> =>
  fetcher(new Request(`http://localhost${path}`, { redirect: 'manual', ...init }))

const ALLOW = 'GET, POST, DELETE, OPTIONS'

describe('/mcp', () => {
  test('and /mcp/ are the same endpoint, without a redirect', async () => {
    for (const path of ['/mcp', '/mcp/', '/mcp?x=1']) {
      const client = modern(fetcher, { url: `http://localhost${path}` })
      expect((await client.request('server/discover')).status).toBe(200)
    }
  })

  test.each(['GET', 'DELETE', 'PUT', 'PATCH'])(
    'answers %s with 405, Allow and a JSON-RPC error without id',
    async (method) => {
      for (const path of ['/mcp', '/mcp/']) {
        for (const headers of [{}, { 'last-event-id': 'y' }, { accept: 'text/event-stream' }]) {
          const response = await send(path, { method, headers })
          expect([response.status, response.headers.get('allow')]).toEqual([405, ALLOW])
          expect(await response.json()).toEqual({
            jsonrpc: '2.0',
            error: { code: -32600, message: expect.any(String) },
          })
        }
      }
    },
  )

  test('answers HEAD with 405, Allow and no body', async () => {
    for (const accept of ['*/*', 'text/html']) {
      const response = await send('/mcp', { method: 'HEAD', headers: { accept } })
      expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([405, ALLOW, ''])
    }
  })

  test('answers a browser with 405, Allow and a page that says what to do', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const response = await send('/mcp', { headers: { accept } })
    expect([response.status, response.headers.get('allow')]).toEqual([405, ALLOW])
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const page = await response.text()
    expect(page).toContain('http://localhost/mcp')
    expect(page).toContain('Routes &lt;b&gt;&amp;')
    expect(page).not.toContain('<b>')
    expect(page).not.toContain('<i>')
  })

  test('answers a browser that writes its types in capitals with the page, too', async () => {
    const response = await send('/mcp', { headers: { accept: 'Text/HTML' } })
    expect([response.status, response.headers.get('content-type')]).toEqual([405, 'text/html; charset=utf-8'])
  })

  test('takes a GET that names the type of streams for one of a client, whatever else it takes', async () => {
    const response = await send('/mcp', { headers: { accept: 'text/event-stream, text/html;q=0.1' } })
    expect([response.status, response.headers.get('content-type')]).toEqual([405, 'application/json'])
  })

  test('ignores a session id and a cursor of older revisions, and mints none', async () => {
    const client = modern(fetcher, { headers: { 'mcp-session-id': 'made-up', 'last-event-id': '7' } })
    const { status, headers } = await client.request('server/discover')
    expect([status, headers.get('mcp-session-id')]).toEqual([200, null])
  })
})

describe('beside the endpoint', () => {
  test('/health is 200 for GET and HEAD', async () => {
    const response = await send('/health')
    expect([response.status, await response.text()]).toEqual([200, 'ok'])
    expect((await send('/health', { method: 'HEAD' })).status).toBe(200)
  })

  test('/ is a page with the address to paste, that of PUBLIC_URL where there is one', async () => {
    const response = await send('/')
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await response.text()).toContain('<code>http://localhost/mcp</code>')
    const tunnelled = serve(server, { vars: { PUBLIC_URL: 'https://mcp.example.com' } })
    const page = await (await tunnelled(new Request('http://localhost:8787/'))).text()
    expect(page).toContain('<code>https://mcp.example.com/mcp</code>')
  })

  test('a page runs nothing, loads nothing and cannot be framed', async () => {
    const policy = (await send('/')).headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('script-src')
  })

  test.each([
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/mcp/.well-known/oauth-protected-resource',
    '/mcp/x',
    '/MCP',
    '/sse',
    '/register',
    '/favicon.ico',
  ])('%s is 404, also for POST and HEAD', async (path) => {
    for (const method of ['GET', 'POST', 'HEAD']) {
      const response = await send(path, { method })
      expect([method, response.status]).toEqual([method, 404])
    }
  })
})

afterEach(() => void vi.restoreAllMocks())

describe('a broken configuration', () => {
  test.each([
    ['PUBLIC_URL', 'nowhere'],
    ['PUBLIC_URL', 'ftp://example.com'],
    ['PUBLIC_URL', 'https://example.com/mcp'],
    ['ALLOWED_ORIGINS', 'https://ok.example, evil'],
    ['STATE_KEYS', 'short-and-secret'],
    ['STATE_KEYS', ''],
    ['LISTEN_SHARDS', 'several'],
    ['LISTEN_SHARDS', '0.5'],
    ['LISTEN_SHARDS', '6500000000'],
    ['LISTEN_SHARDS', ''],
    ['RESUMABLE_LISTEN', 'sometimes'],
    ['LOG', 'everything'],
  ])('is 503, and the log alone says which variable it is, never its value: %s=%s', async (name, value) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const broken = serve(server, { vars: { [name]: value } })
    const response = await broken(new Request('http://localhost/mcp', { method: 'POST', body: '{}' }))
    const text = await response.text()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(JSON.parse(text)).toEqual({ jsonrpc: '2.0', error: { code: -32603, message: expect.any(String) } })
    expect(text).not.toContain(name)
    expect(log).toHaveBeenCalledTimes(1)
    const line = String(log.mock.calls[0]![0])
    expect(line).toContain(name)
    if (value !== '') expect(line).not.toContain(value)
  })

  test('leaves /health alone', async () => {
    const broken = serve(server, { vars: { LOG: 'everything' } })
    expect((await broken(new Request('http://localhost/health'))).status).toBe(200)
  })
})

describe('LISTEN_SHARDS', () => {
  test.each([
    ['0', 503],
    ['1', 200],
    ['64', 200],
    ['65', 503],
  ])('is 1 to 64: %s is answered with %i', async (LISTEN_SHARDS, status) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const response = await serve(server, { vars: { LISTEN_SHARDS } })(new Request('http://localhost/'))
    expect(response.status).toBe(status)
  })

  test.each([
    [{ LISTEN_SHARDS: undefined as never }, ['0']],
    [{ LISTEN_SHARDS: '3' }, ['0', '1', '2']],
  ])('is how many objects take each change, one by default: %j', async (vars, shards) => {
    const called: string[] = []
    const LISTEN_HUB = new Proxy(env.LISTEN_HUB, {
      get(namespace, name) {
        const member = (Reflect.get(namespace, name, namespace) as (...args: unknown[]) => unknown).bind(namespace)
        return (...args: unknown[]) => {
          if (name === 'getByName') called.push(String(args[0]))
          return member(...args)
        }
      },
    })
    const change = defineTool('change', {
      description: 'Changes.',
      handler(_input, ctx) {
        ctx.notify.toolsListChanged()
        return 'changed'
      },
    })
    await modern(serve({ tools: [change] }, { vars: { ...vars, LISTEN_HUB } })).call('change')
    expect(called.map((name) => name.split('-').at(-1))).toEqual(shards)
  })
})

describe('RESUMABLE_LISTEN', () => {
  const tools = [defineTool('any', { description: 'Any.', handler: () => 'x' })]
  const extensionsOf = async (vars: Partial<Cloudflare.Env>) =>
    (await modern(serve({ tools }, { vars })).result('server/discover')).capabilities['extensions']

  test('is off unless it says on', async () => {
    expect(await extensionsOf({ RESUMABLE_LISTEN: undefined as never })).toBeUndefined()
    expect(await extensionsOf({ RESUMABLE_LISTEN: 'off' })).toBeUndefined()
    expect(await extensionsOf({ RESUMABLE_LISTEN: 'on' })).toEqual({ 'dev.mcp-edge/resumable-listen': {} })
  })
})

test('the Worker itself serves /mcp and /health', async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {})
  expect((await modern(worker).request('server/discover')).status).toBe(200)
  expect(await (await worker(new Request('http://localhost/health'))).text()).toBe('ok')
})
