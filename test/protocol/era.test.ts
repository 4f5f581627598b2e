// The era ladder, rung by rung, over HTTP: which era and revision a request belongs to, and what is refused.
// @see basic/versioning; basic/transports/streamable-http, Protocol Version Header

import { describe, expect, test } from 'vitest'
import { defineTool } from '../../src/server/index.ts'
import {
  ERA_RUNGS,
  isLegacyVersion,
  isSince,
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
  negotiate,
} from '../../src/protocol/era.ts'
import { legacy, modern, type JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'
import { CAPABILITIES, envelope, message, outcome, post, VERSION } from '../http/post.ts'

const where = defineTool('where', {
  description: 'Says which revision it is called in.',
  handler: (_input, { protocolVersion }) => protocolVersion,
})
const fetcher = serve({ tools: [where] })
const client = modern(fetcher)

interface Row {
  /** What the request is, and why it belongs there. */
  name: string
  method?: string
  header?: string
  meta?: JsonObject
  params?: JsonObject
  /** `status code`, or the revision in which it was served. */
  expected: string
}

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }

/** At least one row for each rung, and for each rung one where a later rung would decide otherwise. */
const ROWS: { [rung: string]: Row[] } = {
  'initialize without a modern claim selects legacy semantics, whatever the header says': [
    { name: 'no header', method: 'initialize', params: INITIALIZE, expected: 'legacy' },
    { name: 'a modern header', method: 'initialize', header: '2026-07-28', params: INITIALIZE, expected: 'legacy' },
    { name: 'an unknown header', method: 'initialize', header: '2099-01-01', params: INITIALIZE, expected: 'legacy' },
    {
      name: 'a claim of a legacy version',
      method: 'initialize',
      meta: { [VERSION]: '2025-11-25' },
      params: INITIALIZE,
      expected: 'legacy',
    },
    {
      name: 'a claim that is no string',
      method: 'initialize',
      meta: { [VERSION]: 1 },
      params: INITIALIZE,
      expected: 'legacy',
    },
    {
      name: 'but with a modern claim it is an unknown method',
      method: 'initialize',
      header: '2026-07-28',
      meta: envelope(),
      params: INITIALIZE,
      expected: '404 -32601',
    },
  ],
  'a claim that is no string is a broken envelope': [
    { name: 'a number', header: '2026-07-28', meta: envelope({ [VERSION]: 20260728 }), expected: '400 -32602' },
    { name: 'null', header: '2026-07-28', meta: envelope({ [VERSION]: null }), expected: '400 -32602' },
    {
      name: 'before it is compared with the header',
      header: '2025-06-18',
      meta: { [VERSION]: {} },
      expected: '400 -32602',
    },
  ],
  'header and claim disagree': [
    { name: 'a legacy header, a modern claim', header: '2025-11-25', meta: envelope(), expected: '400 -32020' },
    {
      name: 'a modern header, a legacy claim',
      header: '2026-07-28',
      meta: envelope({ [VERSION]: '2025-11-25' }),
      expected: '400 -32020',
    },
    {
      name: 'even where the claim is unknown',
      header: '2026-07-28',
      meta: envelope({ [VERSION]: '1900-01-01' }),
      expected: '400 -32020',
    },
    { name: 'even where the header is unknown', header: '1999-01-01', meta: envelope(), expected: '400 -32020' },
    { name: 'even by case', header: 'DRAFT', meta: envelope({ [VERSION]: 'draft' }), expected: '400 -32020' },
  ],
  'a claim names a version that is not modern, or not known': [
    { name: 'an old one', header: '1900-01-01', meta: envelope({ [VERSION]: '1900-01-01' }), expected: '400 -32022' },
    { name: 'a future one', header: '2099-01-01', meta: envelope({ [VERSION]: '2099-01-01' }), expected: '400 -32022' },
    { name: 'without a header', meta: envelope({ [VERSION]: '1900-01-01' }), expected: '400 -32022' },
    { name: 'draft', header: 'draft', meta: envelope({ [VERSION]: 'draft' }), expected: '400 -32022' },
    {
      name: 'a legacy one, which is no version of this envelope',
      header: '2025-11-25',
      meta: envelope({ [VERSION]: '2025-11-25' }),
      expected: '400 -32022',
    },
    { name: 'nothing', meta: envelope({ [VERSION]: '' }), expected: '400 -32022' },
  ],
  'a modern claim': [
    { name: 'with its header', header: '2026-07-28', meta: envelope(), expected: '2026-07-28' },
    { name: 'with blanks around the header', header: ' 2026-07-28\t', meta: envelope(), expected: '2026-07-28' },
    { name: 'without its header', meta: envelope(), expected: '400 -32020' },
  ],
  'a modern header without a claim': [
    { name: 'no _meta', header: '2026-07-28', expected: '400 -32602' },
    { name: 'an empty _meta', header: '2026-07-28', meta: {}, expected: '400 -32602' },
    {
      name: 'a _meta that is no object',
      header: '2026-07-28',
      params: { name: 'where', _meta: 'x' },
      expected: '400 -32602',
    },
    { name: 'only capabilities', header: '2026-07-28', meta: { [CAPABILITIES]: {} }, expected: '400 -32602' },
  ],
  'a legacy header without a claim': [
    { name: '2025-03-26', header: '2025-03-26', expected: '2025-03-26' },
    { name: '2025-06-18', header: '2025-06-18', expected: '2025-06-18' },
    { name: '2025-11-25', header: '2025-11-25', expected: '2025-11-25' },
    {
      name: 'reserved _meta keys, as some hosts send',
      header: '2025-11-25',
      meta: { [CAPABILITIES]: {} },
      expected: '2025-11-25',
    },
    { name: 'a method of modern revisions', method: 'server/discover', header: '2025-11-25', expected: '200 -32601' },
  ],
  'a header that names no version known here': [
    { name: 'an old one', header: '1999-01-01', expected: '400 -32022' },
    { name: 'the one with another transport', header: '2024-11-05', expected: '400 -32022' },
    { name: 'a future one', header: '2099-01-01', expected: '400 -32022' },
    { name: 'no date at all', header: 'latest', expected: '400 -32022' },
    { name: 'two at once', header: '2025-06-18, 2025-11-25', expected: '400 -32022' },
    {
      name: 'even for a method of modern revisions',
      method: 'server/discover',
      header: '1999-01-01',
      expected: '400 -32022',
    },
  ],
  'no version at all, but a method only modern revisions have': [
    { name: 'discover without an envelope', method: 'server/discover', expected: '400 -32602' },
  ],
  'no version at all': [
    { name: 'is taken for 2025-03-26', expected: '2025-03-26' },
    { name: 'also with reserved _meta keys', meta: { [CAPABILITIES]: {} }, expected: '2025-03-26' },
    { name: 'also for an unknown method', method: 'nope', expected: '200 -32601' },
  ],
}

/** Sends the row with every header that a modern request needs, so that only the version decides. */
async function place({
  method = 'tools/call',
  header,
  meta,
  params = { name: 'where' },
  expected,
}: Row): Promise<string> {
  const revision = expected === 'legacy' ? '2025-06-18' : expected
  const client = isLegacyVersion(revision) ? legacy(fetcher, revision) : modern(fetcher)
  const body = message(method, { ...params, ...(meta && { _meta: meta }) })
  const answer = await post(client, body, {
    'mcp-method': method,
    'mcp-name': 'where',
    ...(header !== undefined && { 'mcp-protocol-version': header }),
  })
  const result = answer.messages[0]?.result as { content?: { text: string }[]; protocolVersion?: string } | undefined
  if (result?.protocolVersion !== undefined) return 'legacy'
  return result?.content?.[0]?.text ?? outcome(answer)
}

describe.each(Object.entries(ROWS))('%s', (_rung, rows) => {
  test.each(rows)('$name → $expected', async (row) => {
    expect(await place(row)).toBe(row.expected)
  })
})

test('every rung of the era ladder has rows, in the order of the ladder', () => {
  expect(Object.keys(ROWS)).toEqual(ERA_RUNGS.map(({ name }) => name))
})

test('an unsupported version is answered with what is supported and what was requested', async () => {
  for (const requested of ['1900-01-01', 'draft', '2025-11-25']) {
    const meta = envelope({ [VERSION]: requested })
    const { messages } = await post(client, message('tools/list', { _meta: meta }), {
      'mcp-protocol-version': requested,
    })
    expect(messages[0]?.error?.data).toEqual({ supported: ['2026-07-28'], requested })
  }
})

test('an unsupported version is quoted in full in the data, however long, and clipped in the message', async () => {
  const requested = 'v'.repeat(500)
  const { messages } = await post(client, message('tools/list'), { 'mcp-protocol-version': requested })
  expect(messages[0]?.error?.data).toEqual({ supported: ['2026-07-28'], requested })
  expect(messages[0]?.error?.message.length).toBeLessThan(140)
})

test('the two lists of versions do not mix', () => {
  expect(MODERN_VERSIONS).toEqual(['2026-07-28'])
  expect(LEGACY_VERSIONS).toEqual(['2025-11-25', '2025-06-18', '2025-03-26'])
})

test.each([
  ['2025-03-26', '2025-03-26'],
  ['2025-06-18', '2025-06-18'],
  ['2025-11-25', '2025-11-25'],
  ['2024-11-05', '2025-11-25'],
  ['2026-07-28', '2025-11-25'],
  ['2099-01-01', '2025-11-25'],
  [undefined, '2025-11-25'],
])('negotiate answers %s with %s', (requested, expected) => {
  expect(negotiate(requested)).toBe(expected)
})

test('isSince compares revisions by date', () => {
  expect(isSince('2025-06-18', '2025-06-18')).toBe(true)
  expect(isSince('2025-11-25', '2025-06-18')).toBe(true)
  expect(isSince('2025-03-26', '2025-06-18')).toBe(false)
})

test('a revision that is served once says nothing about the next request', async () => {
  await legacy(fetcher, '2025-06-18').result('initialize')
  expect(await place({ name: '', header: '2026-07-28', meta: envelope(), expected: '2026-07-28' })).toBe('2026-07-28')
  expect(await place({ name: '', expected: '2025-03-26' })).toBe('2025-03-26')
})
