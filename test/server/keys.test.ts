// What happens to callers when the store behind the sealing keys is down or wrong.

import * as z from 'zod'
import { expect, test } from 'vitest'
import { defineTool } from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const ask = defineTool('ask', {
  description: 'Asks.',
  handler: async (_input, ctx) => (await ctx.elicit('q', { message: 'q', schema: z.object({}) })).action,
})
const plain = defineTool('plain', { description: 'Plain.', handler: () => 'ok' })
const capabilities = { elicitation: {} }

test('a key store that is down is a 503 with Retry-After, and only for calls that need keys', async () => {
  let calls = 0
  const keys = () => {
    calls++
    return Promise.reject(new Error('storage is down'))
  }
  const client = modern(serve({ tools: [ask, plain] }, { keys, vars: { LOG: 'off' } }), { capabilities })
  const exchange = await client.request('tools/call', { name: 'ask' })
  expect(exchange.status).toBe(503)
  expect(exchange.headers.get('retry-after')).toBe('5')
  expect(exchange.error).toMatchObject({ code: -32603 })
  expect(JSON.stringify(exchange.response)).not.toContain('storage')
  calls = 0
  await client.call('plain')
  await client.result('tools/list')
  await client.result('server/discover')
  expect(calls).toBe(0)
})

test('after an outage the next call asks again', async () => {
  let isDown = true
  const secret = 'A'.repeat(43)
  const keys = async () => {
    if (isDown) throw new Error('down')
    return { keys: [{ kid: 'a', secret }], refreshAt: Number.POSITIVE_INFINITY }
  }
  const client = modern(serve({ tools: [ask] }, { keys, vars: { LOG: 'off' } }), { capabilities })
  expect((await client.request('tools/call', { name: 'ask' })).status).toBe(503)
  isDown = false
  expect((await client.result('tools/call', { name: 'ask' })).resultType).toBe('input_required')
})
