// Modern requests: each stands alone, whatever its id and whoever runs beside it.
// @see basic/index, Statelessness; server/discover; server/tools, Error Handling

import * as z from 'zod'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defineTool, ToolError, type CallToolResult } from '../../src/server/index.ts'
import { describeEras, legacy, modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { envelope, message, post } from './post.ts'

const slowly = defineTool('slowly', {
  description: 'Echoes its text after a while.',
  inputSchema: z.object({ text: z.string(), ms: z.int() }),
  async handler({ text, ms }, ctx) {
    ctx.progress(1)
    await scheduler.wait(ms)
    return text
  },
})
const sum = defineTool('sum', {
  description: 'Adds, wrongly if told so.',
  inputSchema: z.object({ a: z.number(), b: z.number(), how: z.enum(['well', 'badly', 'throw', 'refuse']) }),
  outputSchema: z.object({ sum: z.number() }),
  handler({ a, b, how }) {
    if (how === 'throw') throw new Error('a secret of the handler')
    if (how === 'refuse') throw new ToolError('Cannot add: the numbers are too odd')
    return { sum: how === 'well' ? a + b : (`secret ${a}` as unknown as number) }
  },
})
const fetcher = serve({ tools: [slowly, sum] })

afterEach(() => void vi.restoreAllMocks())

describe('server/discover', () => {
  test('is answered without a handshake, a session or a client that says who it is', async () => {
    const body = message('server/discover', { _meta: envelope() })
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover', accept: null }
    const { status, messages } = await post(modern(fetcher), body, headers)
    expect(status).toBe(200)
    expect(messages[0]?.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      ttlMs: expect.any(Number),
      cacheScope: 'public',
    })
  })
})

describeEras(
  'requests that overlap',
  (client) => {
    test('get each its own result, although every one has the id 1', async () => {
      const texts = ['a', 'b', 'c', 'd']
      const results = texts.map(async (text, i) => {
        const options = { id: 1, ...(i % 2 === 0 && { progressToken: text }) }
        const { result, notifications } = await client.call('slowly', { text, ms: 40 - 10 * i }, options)
        return [result.content[0]?.text, notifications.length]
      })
      expect(await Promise.all(results)).toEqual([
        ['a', 1],
        ['b', 0],
        ['c', 1],
        ['d', 0],
      ])
    })
  },
  { fetcher },
)

test('requests of both eras are served side by side', async () => {
  const answers = await Promise.all([
    modern(fetcher).call('slowly', { text: 'new', ms: 10 }, { id: 1 }),
    legacy(fetcher, '2025-03-26').call('slowly', { text: 'old', ms: 10 }, { id: 1 }),
  ])
  expect(answers.map(({ result }) => [result.content[0]?.text, result.resultType])).toEqual([
    ['new', 'complete'],
    ['old', undefined],
  ])
})

test('a request that needs no memory asks for no key, and so touches no object', async () => {
  const keys = vi.fn(() => Promise.reject(new Error('asked')))
  const alone = serve({ tools: [slowly, sum] }, { keys })
  await modern(alone).result('server/discover')
  await modern(alone).call('slowly', { text: 'x', ms: 0 }, { progressToken: 1 })
  await modern(alone).result('tools/list')
  await legacy(alone, '2025-11-25').call('slowly', { text: 'x', ms: 0 })
  expect(keys).not.toHaveBeenCalled()
})

describeEras(
  'a tool with an output schema',
  (client, revision) => {
    const call = async (how: string): Promise<CallToolResult> => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const { result } = await client.call('sum', { a: 1, b: 2, how })
      return result as unknown as CallToolResult
    }

    test('answers with the value and its text copy', async () => {
      const { structuredContent, content, isError } = await call('well')
      expect([structuredContent, isError]).toEqual([revision >= '2025-06-18' ? { sum: 3 } : undefined, undefined])
      expect(content).toEqual([{ type: 'text', text: '{"sum":3}' }])
    })

    test.each([
      ['badly', /^Internal error \(request [0-9a-f-]{36}\): .* at sum$/],
      ['throw', /^Internal error \(request [0-9a-f-]{36}\)$/],
      ['refuse', /^Cannot add: the numbers are too odd$/],
    ])('answers with an error result, without the value or the inner text, when it does it %s', async (how, text) => {
      const result = await call(how)
      expect(result.isError).toBe(true)
      expect(result).not.toHaveProperty('structuredContent')
      expect((result.content[0] as { text: string }).text).toMatch(text)
      expect(JSON.stringify(result)).not.toContain('secret')
    })

    test('answers arguments that do not fit with an error result that names each field', async () => {
      const { result } = await client.call('sum', { a: 'x', how: 'well' } as JsonObject)
      expect(result.isError).toBe(true)
      expect(result.content[0]?.text).toMatch(/- a: [^]*- b: /)
    })
  },
  { fetcher },
)
