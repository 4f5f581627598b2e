// What brought a `ToolError` about: the operator is told where there is something to tell, the model never.

import { describe, expect, test } from 'vitest'
import { definePrompt, defineResource, defineServer, defineTool, ToolError } from '../../src/server/index.ts'
import { logged } from '../isolation/support.ts'
import { describeEras, type Client } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const TEXT = 'The calendar cannot be read now.'
const CAUSE = 'connect ECONNREFUSED 10.0.0.7'

const plain = () => {
  throw new ToolError(TEXT)
}
const caused = () => {
  throw Object.assign(new ToolError(TEXT), { cause: new Error(CAUSE) })
}

const server = defineServer({
  name: 'causes',
  version: '1.0.0',
  tools: [
    defineTool('plain', { description: 'Fails.', handler: plain }),
    defineTool('caused', { description: 'Fails for a reason.', handler: caused }),
  ],
  prompts: [
    definePrompt('plain', { description: 'Fails.', get: plain }),
    definePrompt('caused', { description: 'Fails for a reason.', get: caused }),
  ],
  resources: [
    defineResource('test://plain', { name: 'plain', read: plain }),
    defineResource('test://caused', { name: 'caused', read: caused }),
  ],
})

const asks: [what: string, ask: (client: Client, name: string) => Promise<unknown>][] = [
  ['a tool', async (client, name) => (await client.result('tools/call', { name, arguments: {} })).content],
  ['a prompt', async (client, name) => client.error('prompts/get', { name })],
  ['a resource', async (client, name) => client.error('resources/read', { uri: `test://${name}` })],
]

describeEras(
  'a ToolError',
  (client) => {
    describe.each(asks)('of %s', (_, ask) => {
      test('with a cause is logged with it, and answered without', async () => {
        const lines = logged()
        const answer = JSON.stringify(await ask(client, 'caused'))
        expect(answer).toContain(TEXT)
        expect(answer).not.toContain('ECONNREFUSED')
        expect(lines).toHaveLength(1)
        expect(JSON.parse(lines[0]!)).toMatchObject({ event: 'failure', error: `ToolError: ${TEXT} (${CAUSE})` })
      })

      test('without one is between its author and the model', async () => {
        const lines = logged()
        expect(JSON.stringify(await ask(client, 'plain'))).toContain(TEXT)
        expect(lines).toEqual([])
      })
    })
  },
  { fetcher: serve(server) },
)
