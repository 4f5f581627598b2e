// Who is calling, as the fork's own function says it.

import { expect, onTestFinished, test, vi } from 'vitest'
import { defineTool, ProtocolError } from '../../src/server/index.ts'
import { describeEras } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const whoami = defineTool('whoami', { description: 'Says who is calling.', handler: (_, ctx) => ctx.auth.principal })
const fetcher = serve(
  { tools: [whoami] },
  {
    authenticate({ headers }) {
      const user = headers.get('x-user') ?? 'anonymous'
      if (user === 'blocked') throw new ProtocolError('Forbidden', 'Forbidden: you are blocked')
      if (user === 'unknowable') throw new Error('the directory is down')
      return { principal: user }
    },
  },
)

describeEras(
  'a caller',
  (client) => {
    test('is told to the handler', async () => {
      const { result } = await client.call('whoami', {}, { headers: { 'x-user': 'ada' } })
      expect(result.content[0]?.text).toBe('ada')
      expect((await client.call('whoami')).result.content[0]?.text).toBe('anonymous')
    })

    test('may be refused', async () => {
      const error = await client.error('tools/call', { name: 'whoami' }, { headers: { 'x-user': 'blocked' } })
      expect(error).toMatchObject({ status: 403, message: 'Forbidden: you are blocked' })
    })

    test('who cannot be told is let in as nobody, and the reason is logged', async () => {
      const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
      onTestFinished(() => logged.mockRestore())
      const error = await client.error('tools/call', { name: 'whoami' }, { headers: { 'x-user': 'unknowable' } })
      expect(error).toMatchObject({ status: 503, code: -32603 })
      expect(error.message).not.toContain('directory')
      expect(String(logged.mock.calls[0]?.[0])).toContain('the directory is down')
    })
  },
  { fetcher },
)
