// The error table, frozen: code and HTTP status per era, typed by hand from the specification.
// @see basic/index, Error Codes; basic/transports/streamable-http

import { describe, expect, test } from 'vitest'
import { ERRORS, ProtocolError, type ErrorName } from '../../src/protocol/errors.ts'
import { defineResource, defineTool } from '../../src/server/index.ts'
import { describeEras, modern } from '../support/client.ts'
import { serve } from '../support/serve.ts'

/** name, code on modern, code on legacy, HTTP status on modern, HTTP status on legacy */
const PINS: [ErrorName, number, number, number, number][] = [
  ['ParseError', -32700, -32700, 400, 400],
  ['InvalidRequest', -32600, -32600, 400, 400],
  ['MethodNotFound', -32601, -32601, 404, 200],
  ['InvalidParams', -32602, -32602, 200, 200],
  ['InvalidEnvelope', -32602, -32602, 400, 400],
  ['InternalError', -32603, -32603, 200, 200],
  ['HeaderMismatch', -32020, -32020, 400, 400],
  ['MissingRequiredClientCapability', -32021, -32021, 400, 200],
  ['UnsupportedProtocolVersion', -32022, -32022, 400, 400],
  ['ResourceNotFound', -32602, -32002, 200, 200],
  ['UrlElicitationRequired', -32042, -32042, 200, 200],
  ['SessionNotFound', -32600, -32600, 404, 404],
  ['SessionRequired', -32600, -32600, 400, 400],
  ['Unauthorized', -32600, -32600, 401, 401],
  ['InsufficientScope', -32600, -32600, 403, 403],
  ['MalformedAuthorization', -32600, -32600, 400, 400],
  ['Forbidden', -32600, -32600, 403, 403],
  ['MethodNotAllowed', -32600, -32600, 405, 405],
  ['NotAcceptable', -32600, -32600, 406, 406],
  ['ContentTooLarge', -32600, -32600, 413, 413],
  ['UnsupportedMediaType', -32600, -32600, 415, 415],
  ['TooManyRequests', -32600, -32600, 429, 429],
  ['Unavailable', -32603, -32603, 503, 503],
]

test.each(PINS)('%s is %i (%i on legacy) with HTTP %i (%i on legacy)', (name, modern, legacy, onModern, onLegacy) => {
  const error = new ProtocolError(name, 'x')
  expect(error.encode('modern')).toEqual({ code: modern, message: 'x' })
  expect(error.encode('legacy')).toEqual({ code: legacy, message: 'x' })
  expect(error.status('modern')).toBe(onModern)
  expect(error.status('legacy')).toBe(onLegacy)
})

test('every error of the table is pinned, and cites its page', () => {
  expect(PINS.map(([name]) => name)).toEqual(Object.keys(ERRORS))
  for (const { spec } of Object.values(ERRORS)) expect(spec).not.toBe('')
})

test('an error carries data only where there is some', () => {
  expect(new ProtocolError('InvalidParams', 'x', { a: 1 }).encode('modern')).toHaveProperty('data', { a: 1 })
  expect(new ProtocolError('InvalidParams', 'x', null).encode('modern')).toHaveProperty('data', null)
  expect(new ProtocolError('InvalidParams', 'x').encode('modern')).not.toHaveProperty('data')
})

describe('an own error code', () => {
  test.each([-32768, -32700, -32602, -32099, -32042, -32020, -32019, -32002, -32001, -32000, 1.5, Number.NaN])(
    'is refused inside the range that JSON-RPC reserves: %d',
    (code) => {
      expect(() => new ProtocolError(code, 'x')).toThrow(RangeError)
    },
  )

  test.each([-32769, -31999, 0, 1001])('is taken outside of it: %d', (code) => {
    expect(new ProtocolError(code, 'x').encode('legacy')).toEqual({ code, message: 'x' })
    expect(new ProtocolError(code, 'x').status('modern')).toBe(200)
  })
})

const own = defineTool('own', {
  description: 'Throws an error of the application.',
  handler() {
    throw new ProtocolError(1001, 'Could not reserve: sold out', { seats: 0 })
  },
})
const gone = defineResource('test://gone', { name: 'gone', read: () => undefined })

describeEras(
  'an error of a handler',
  (client, revision) => {
    test('keeps its own code, text and data, with HTTP 200', async () => {
      expect(await client.error('tools/call', { name: 'own' })).toEqual({
        status: 200,
        code: 1001,
        message: 'Could not reserve: sold out',
        data: { seats: 0 },
      })
    })

    test('says of a missing resource what its revision says: -32602 with the URI on modern, -32002 on legacy', async () => {
      const error = await client.error('resources/read', { uri: 'test://gone' })
      expect(error).toMatchObject({ status: 200, data: { uri: 'test://gone' } })
      expect(error.code).toBe(revision === '2026-07-28' ? -32602 : -32002)
    })
  },
  { fetcher: serve({ tools: [own], resources: [gone] }) },
)

test('a handler cannot send a code that only legacy revisions have', async () => {
  const forbidden = defineTool('forbidden', {
    description: 'Tries.',
    handler() {
      throw new ProtocolError(-32042, 'x')
    },
  })
  const { result } = await modern(serve({ tools: [forbidden] }, { vars: { LOG: 'off' } })).call('forbidden')
  expect(result).toMatchObject({ isError: true })
})
