// Who may call from a web page: Host and Origin against DNS rebinding, checked before anything else.
// @see basic/transports/streamable-http, Security & Endpoint

import { describe, expect, test } from 'vitest'
import { modern, type Fetcher } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, message } from './post.ts'

const plain = serve({})
const configured = serve(
  {},
  {
    vars: {
      PUBLIC_URL: 'https://mcp.example.com',
      ALLOWED_ORIGINS: 'https://app.example.com, http://tool.example.com:8080/',
    },
  },
)
const lan = serve({}, { vars: { PUBLIC_URL: 'http://mcp.lan:8787' } })

async function discover(fetcher: Fetcher, url: string, origin?: string): Promise<number> {
  const headers = { ...(origin !== undefined && { origin }) }
  const client = modern(fetcher, { url: `${url}/mcp`, headers })
  return (await client.request('server/discover')).status
}

describe('over http', () => {
  test.each([
    'http://localhost',
    'http://localhost:8787',
    'http://127.0.0.1',
    'http://127.0.0.1:3000',
    'http://[::1]:1',
  ])('a loopback host is served: %s', async (url) => {
    expect(await discover(plain, url)).toBe(200)
  })

  test.each([
    'http://evil.example',
    'http://localhost.evil.example',
    'http://127.0.0.1.nip.io',
    'http://localhost-x',
    'http://10.0.0.1',
    'http://0.0.0.0:8787',
    'http://[::2]',
  ])('another host is refused with 403 even without Origin, since a rebound name looks like that: %s', async (url) => {
    expect(await discover(plain, url)).toBe(403)
    expect(await discover(plain, url, url)).toBe(403)
  })

  test('the host of PUBLIC_URL is served, with its port alone', async () => {
    expect(await discover(lan, 'http://mcp.lan:8787')).toBe(200)
    expect(await discover(lan, 'http://mcp.lan:8787', 'http://mcp.lan:8787')).toBe(200)
    expect(await discover(lan, 'http://mcp.lan')).toBe(403)
    expect(await discover(lan, 'http://other.lan:8787')).toBe(403)
    expect(await discover(lan, 'http://localhost:8787')).toBe(200)
  })
})

describe('over https', () => {
  test.each(['https://mcp-edge.example.workers.dev', 'https://mcp.example.com', 'https://localhost'])(
    'any host is served, since routing and a certificate brought the request here: %s',
    async (url) => {
      expect(await discover(plain, url)).toBe(200)
      expect(await discover(plain, url, url)).toBe(200)
    },
  )
})

describe('an Origin', () => {
  test.each([
    ['none', undefined],
    ['its own', 'https://mcp.example.com'],
    ['a page on the same machine', 'http://localhost:6274'],
    ['a page on the same machine, by address', 'http://127.0.0.1:5173'],
    ['a page on the same machine, by IPv6', 'http://[::1]:5173'],
    ['a page on the same machine over https', 'https://localhost:3000'],
    ['one that is configured', 'https://app.example.com'],
    ['one that is configured, with a port', 'http://tool.example.com:8080'],
  ])('is served: %s', async (_what, origin) => {
    expect(await discover(configured, 'https://mcp.example.com', origin)).toBe(200)
  })

  test.each([
    ['another site', 'https://evil.example'],
    ['null', 'null'],
    ['nothing', ''],
    ['its own over http', 'http://mcp.example.com'],
    ['its own with a port', 'https://mcp.example.com:8443'],
    ['a site below its own', 'https://x.mcp.example.com'],
    ['one that is configured, with another scheme', 'http://app.example.com'],
    ['one that is configured, with another port', 'http://tool.example.com'],
    ['a name that begins like loopback', 'http://localhost.evil.example'],
    ['a name that ends like loopback', 'http://evil.localhost.example'],
    ['loopback as a user', 'http://localhost@evil.example'],
    ['loopback with a path', 'http://localhost:5173/x'],
    ['loopback of another scheme', 'ftp://localhost'],
    ['an extension', 'chrome-extension://localhost'],
    ['two at once', 'http://localhost, https://evil.example'],
  ])('is refused with 403: %s', async (_what, origin) => {
    expect(await discover(configured, 'https://mcp.example.com', origin)).toBe(403)
  })

  test('of PUBLIC_URL is served where a proxy or tunnel leads to another host', async () => {
    expect(await discover(configured, 'http://localhost:8787', 'https://mcp.example.com')).toBe(200)
    expect(await discover(plain, 'http://localhost:8787', 'https://mcp.example.com')).toBe(403)
  })

  test('is checked on every method and path of the server', async () => {
    const headers = { origin: 'https://evil.example' }
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'HEAD']) {
      for (const path of ['/mcp', '/mcp/', '/', '/nothing']) {
        const response = await plain(new Request(`http://localhost${path}`, { method, headers }))
        expect([method, path, response.status]).toEqual([method, path, 403])
      }
    }
  })

  test('is refused before the body is read, with a JSON-RPC error that has no id', async () => {
    let reads = 0
    const text = JSON.stringify(message('server/discover', { _meta: envelope() }))
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      reads++
      controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    }
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 })
    const headers = { origin: 'https://evil.example', 'content-type': 'text/plain', accept: 'text/plain' }
    const response = await plain(new Request('http://localhost/mcp', { method: 'POST', body, headers }))
    expect([response.status, await response.json()]).toEqual([
      403,
      { jsonrpc: '2.0', error: { code: -32600, message: expect.stringContaining('ALLOWED_ORIGINS') } },
    ])
    expect(reads).toBe(0)
  })
})
