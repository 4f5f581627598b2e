// Calling a session's object when the platform has lost it: again where that is harmless, told where it may not be.

import { expect, test } from 'vitest'
import { sessionPort } from '../../durable-objects/ports.ts'
import { SESSION_PROTOCOL, type SessionCall } from '../../src/http/session-call.ts'
import { defineServer } from '../../src/server/index.ts'
import { tool } from './support.ts'

const server = defineServer({
  name: 'test',
  version: '1.0.0',
  tools: [tool('once', () => ''), tool('read_only', () => '', { annotations: { readOnlyHint: true } })],
})
const final = { kind: 'final', message: '{}', status: 200 }

/** A namespace whose objects fail with each error in turn, and then answer. */
function failing(...errors: object[]) {
  let calls = 0
  const request = async (): Promise<object> => {
    const error = errors[calls++]
    if (error) throw Object.assign(new Error('lost'), error)
    return final
  }
  const env = { SESSION: { idFromString: (id: string) => id, get: () => ({ request }) } } as unknown as Cloudflare.Env
  const send = (method: string, name?: string) => {
    const facts = {
      objectId: 'x',
      version: '2025-11-25',
      principal: 'p',
      client: { capabilities: {} },
      expiresAt: 0,
    } as const
    const call: SessionCall = {
      protocol: SESSION_PROTOCOL,
      facts,
      auth: { principal: 'p' },
      request: { kind: 'request', id: 1, method, params: name === undefined ? {} : { name } } as never,
      requestId: 'r',
      takesStream: true,
      primes: true,
    }
    return sessionPort(server).request(env, call, undefined)
  }
  return { send, calls: () => calls }
}

const reset = { durableObjectReset: true }

test('a lost object is asked again for what may be repeated, three times at most', async () => {
  for (const [method, name] of [['tools/call', 'read_only'], ['tools/list'], ['logging/setLevel']] as const) {
    const once = failing(reset, { retryable: true })
    expect(await once.send(method, name)).toEqual(final)
    expect(once.calls()).toBe(3)
  }
  const dead = failing(reset, reset, reset, reset)
  expect(await dead.send('tools/call', 'read_only')).toMatchObject({ kind: 'final' })
  expect(dead.calls()).toBe(3)
})

test('a lost object is not asked again for a tool that may not be repeated: the call was interrupted', async () => {
  const once = failing(reset)
  const reply = await once.send('tools/call', 'once')
  expect(once.calls()).toBe(1)
  expect(JSON.parse((reply as { message: string }).message)).toMatchObject({ id: 1, result: { isError: true } })
})

test('an overloaded object is not asked again, and anything but a tool is answered with 503', async () => {
  const full = failing({ overloaded: true, retryable: true })
  expect(await full.send('tools/call', 'read_only')).toEqual({ kind: 'busy' })
  expect(full.calls()).toBe(1)
  expect(await failing({}).send('resources/read')).toEqual({ kind: 'busy' })
})
