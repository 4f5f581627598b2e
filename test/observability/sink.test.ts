// Where events go: the level of each, what LOG keeps, and how a failure is described.

import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Event } from '../../src/observability/events.ts'
import { failure, report } from '../../src/observability/sink.ts'
import { defineTool } from '../../src/server/index.ts'
import { modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const EVENTS: Event[] = [
  { event: 'request', requestId: 'r', method: 'ping', status: 200, ms: 1, principal: 'anonymous' },
  { event: 'failure', error: 'Error: x' },
  { event: 'warning', message: 'x' },
]

afterEach(() => void vi.restoreAllMocks())

function capture(run: () => void): string[] {
  const lines: string[] = []
  for (const level of ['log', 'error', 'warn'] as const) {
    vi.spyOn(console, level).mockImplementation((line: string) => void lines.push(`${level} ${line}`))
  }
  run()
  return lines
}

describe('report', () => {
  test('writes each event as one line of JSON, on the level it deserves', () => {
    const lines = capture(() => EVENTS.forEach((event) => report(event, 'requests')))
    expect(lines).toEqual(['log', 'error', 'warn'].map((level, i) => `${level} ${JSON.stringify(EVENTS[i])}`))
  })

  test('leaves requests out unless they are wanted, and everything when it is off', () => {
    expect(capture(() => EVENTS.forEach((event) => report(event)))).toHaveLength(2)
    expect(capture(() => EVENTS.forEach((event) => report(event, 'errors')))).toHaveLength(2)
    expect(capture(() => EVENTS.forEach((event) => report(event, 'off')))).toEqual([])
  })
})

describe('failure', () => {
  test('keeps the name, the message, the cause and the stack of an error', () => {
    const error = new TypeError('could not', { cause: new Error('because') })
    expect(failure(error, { requestId: 'r' })).toEqual({
      event: 'failure',
      requestId: 'r',
      error: 'TypeError: could not (because)',
      stack: error.stack,
    })
  })

  test('takes whatever was thrown', () => {
    expect(failure('text', {})).toEqual({ event: 'failure', error: 'text' })
    expect(failure(undefined, {})).toEqual({ event: 'failure', error: 'undefined' })
  })
})

test('a definition that some hosts will not take is logged as a warning, once and at the first request', async () => {
  const lines: string[] = []
  vi.spyOn(console, 'warn').mockImplementation((line: string) => void lines.push(line))
  const dotted = defineTool('notes.add', { description: 'Adds.', handler: () => 'ok' })
  const client = modern(serve({ tools: [dotted] }))
  await client.result('tools/list')
  await client.result('tools/list')
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toEqual({ event: 'warning', message: expect.stringContaining('"notes.add"') })
})
