// What `npm run start:auth` says when it cannot start, before anything runs.

import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'

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
