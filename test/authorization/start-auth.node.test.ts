// What `npm run start:auth` says when it cannot start, and which scopes it grants when it does.

import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { startAuth } from './start.mjs'

function start(...flags: string[]): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, ['--no-warnings', 'scripts/start-auth.mjs', ...flags], { encoding: 'utf8' })
}

describe('start:auth refuses', () => {
  test.each([
    ['a port that is none', ['--port', '70000'], '"70000" is no port'],
    ['a port without a number', ['--auth-port'], '--auth-port needs a value'],
    ['a variable without a value', ['--auth-var=LOG'], '--auth-var takes NAME:VALUE, not "LOG"'],
  ])('%s', (_what, flags, message) => {
    const { status, stderr } = start(...flags)
    expect([status, stderr]).toEqual([2, `cannot start: ${message}\n`])
  })

  test('a port that is taken, instead of talking to whoever has it', async () => {
    const other = createServer().listen(0, 'localhost')
    await new Promise((listening) => other.once('listening', listening))
    const { port } = other.address() as AddressInfo
    const { status, stderr } = start(`--port=${port}`)
    other.close()
    expect([status, stderr]).toEqual([2, `cannot start: port ${port} is taken\n`])
  })
})

test('start:auth grants what the MCP server has hosts ask for, whatever that is, and offline_access', async () => {
  const site = await startAuth()
  try {
    const scopes = async (url: URL): Promise<string[]> => (await (await fetch(url)).json()).scopes_supported ?? []
    const asked = await scopes(new URL('/.well-known/oauth-protected-resource/mcp', site.mcp))
    const granted = await scopes(new URL('/.well-known/oauth-authorization-server', site.auth))
    expect(granted.toSorted()).toEqual([...asked, 'offline_access'].toSorted())
    // Nothing of the example is known here: its definitions may be gone.
    expect(site.output()).not.toContain('add_note')
  } finally {
    await site.stop()
  }
})
