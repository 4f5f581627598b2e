// W3C trace context: what is taken, from where, and what a handler gets of it.
// @see basic/index, OpenTelemetry trace context

import { describe, expect, test } from 'vitest'
import { readTrace } from '../../src/observability/trace.ts'
import { defineTool } from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'
const OTHER = '00-11111111111111111111111111111111-2222222222222222-00'
const TRACE = { traceId: '0af7651916cd43dd8448eb211c80319c', traceparent: PARENT }

const headers = (values: Record<string, string> = {}): { get(name: string): string | null } => ({
  get: (name) => values[name] ?? null,
})

describe('readTrace', () => {
  test('reads _meta, else the headers', () => {
    expect(readTrace({ _meta: { traceparent: PARENT } }, headers())).toEqual(TRACE)
    expect(readTrace({}, headers({ traceparent: PARENT }))).toEqual(TRACE)
    expect(readTrace({ _meta: { traceparent: PARENT } }, headers({ traceparent: OTHER }))).toEqual(TRACE)
    expect(readTrace({ _meta: { traceparent: 'x' } }, headers({ traceparent: PARENT }))).toEqual(TRACE)
    expect(readTrace({ _meta: 'x' }, headers())).toBeUndefined()
  })

  test('takes the state from where the parent came from', () => {
    const both = headers({ traceparent: OTHER, tracestate: 'other=1' })
    expect(readTrace({ _meta: { traceparent: PARENT, tracestate: 'a=1' } }, both)).toEqual({
      ...TRACE,
      tracestate: 'a=1',
    })
    expect(readTrace({ _meta: { traceparent: PARENT } }, both)).toEqual(TRACE)
    const inHeaders = headers({ traceparent: PARENT, tracestate: 'b=2' })
    expect(readTrace({ _meta: { tracestate: 'a=1' } }, inHeaders)).toEqual({ ...TRACE, tracestate: 'b=2' })
  })

  test('drops a state that is too long or no string, and keeps the parent', () => {
    for (const tracestate of ['x'.repeat(513), 5]) {
      expect(readTrace({ _meta: { traceparent: PARENT, tracestate } }, headers())).toEqual(TRACE)
    }
  })

  test.each([
    '',
    'x',
    PARENT.toUpperCase(),
    PARENT.slice(0, -1),
    `${PARENT}0`,
    PARENT.replace('00-0', 'ff-0'),
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
  ])('ignores what is no traceparent: %j', (traceparent) => {
    expect(readTrace({ _meta: { traceparent } }, headers())).toBeUndefined()
  })
})

test('a handler gets the trace, to go on with it', async () => {
  const trace = defineTool('trace', {
    description: 'Shows it.',
    handler: (_input, ctx) => JSON.stringify(ctx.trace ?? null),
  })
  const client = modern(serve({ tools: [trace] }))
  const meta = { traceparent: PARENT, tracestate: 'a=1' }
  const { result } = await client.call('trace', {}, { meta })
  expect(JSON.parse(result.content[0]!.text!)).toEqual({ ...TRACE, tracestate: 'a=1' })
  expect((await client.call('trace')).result.content[0]?.text).toBe('null')
})
