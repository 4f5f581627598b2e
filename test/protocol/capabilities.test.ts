// What a client must have declared before it may be asked, and how it is told what is missing.
// @see basic/index, Per-request protocol fields; client/elicitation, Capabilities

import { describe, expect, test } from 'vitest'
import { hasCapability, requiredCapabilities, type CapabilityName } from '../../src/protocol/capabilities.ts'
import { defineTool } from '../../src/server/index.ts'
import type { ClientCapabilities } from '../../src/protocol/meta.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const NAMES: CapabilityName[] = [
  'elicitation.form',
  'elicitation.url',
  'sampling',
  'sampling.tools',
  'sampling.context',
  'roots',
]

test.each<[ClientCapabilities, CapabilityName[]]>([
  [{}, []],
  [{ elicitation: {} }, ['elicitation.form']],
  [{ elicitation: { form: {} } }, ['elicitation.form']],
  [{ elicitation: { url: {} } }, ['elicitation.url']],
  [{ elicitation: { form: {}, url: {} } }, ['elicitation.form', 'elicitation.url']],
  [{ sampling: {} }, ['sampling']],
  [{ sampling: { tools: {} } }, ['sampling', 'sampling.tools']],
  [{ sampling: { context: {} } }, ['sampling', 'sampling.context']],
  [{ roots: {} }, ['roots']],
  [{ experimental: { roots: {} }, extensions: { sampling: {} } }, []],
])('hasCapability reads %j as %j', (declared, expected) => {
  expect(NAMES.filter((name) => hasCapability(declared, name))).toEqual(expected)
})

describe('requiredCapabilities', () => {
  test('nests a mode below its feature and joins what belongs together', () => {
    expect(requiredCapabilities(['elicitation.url'])).toEqual({ elicitation: { url: {} } })
    expect(requiredCapabilities(['elicitation.form', 'elicitation.url', 'roots'])).toEqual({
      elicitation: { form: {}, url: {} },
      roots: {},
    })
    expect(requiredCapabilities(['sampling', 'sampling.tools'])).toEqual({ sampling: { tools: {} } })
  })
})

test('a call that needs what was not declared is refused with 400, -32021 and everything that is missing', async () => {
  const needy = defineTool('needy', {
    description: 'Needs three things.',
    requires: ['elicitation.url', 'sampling.tools', 'roots'],
    handler: () => 'no',
  })
  const client = modern(serve({ tools: [needy] }), { capabilities: { roots: {}, elicitation: {} } })
  expect(await client.error('tools/call', { name: 'needy' })).toMatchObject({
    status: 400,
    code: -32021,
    data: { requiredCapabilities: { elicitation: { url: {} }, sampling: { tools: {} } } },
  })
})
