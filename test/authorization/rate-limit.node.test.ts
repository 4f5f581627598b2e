// The limit of wrangler.authorization.toml, as workerd counts it.

import { expect, test } from 'vitest'
import { freePort, startWrangler } from '../support/server.mjs'

test('wrangler.authorization.toml limits what one address may ask for', async () => {
  const port = await freePort()
  const server = await startWrangler({
    config: 'wrangler.authorization.toml',
    port,
    vars: {
      ISSUER: `http://localhost:${port}`,
      RESOURCES: 'https://mcp.example.com/mcp',
      UPSTREAM_ISSUER: 'https://login.example.com/',
      UPSTREAM_CLIENT_ID: 'edge',
      UPSTREAM_CLIENT_SECRET: 'x',
      COOKIE_SECRET: 'a secret for cookies of at least 32 characters',
    },
  })
  try {
    const statuses: number[] = []
    // Periods begin with the minute: of two that this loop may touch, one has more than the limit.
    for (let i = 0; i < 242 && statuses.at(-1) !== 429; i++) {
      const response = await fetch(`${server.origin}/authorize`)
      await response.body?.cancel()
      statuses.push(response.status)
    }
    expect(statuses.at(-1)).toBe(429)
    expect(statuses.length).toBeGreaterThan(120)
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set([400]))
    expect((await fetch(`${server.origin}/health`)).status).toBe(200)
  } finally {
    await server.stop()
  }
})
