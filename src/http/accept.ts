// Which of the two answer types a client takes. Lenient: many hosts send one type, a wildcard or nothing.
// @see basic/transports/streamable-http, Sending Messages

import { ProtocolError } from '../protocol/errors.ts'

/** At least one is true. */
export interface Accepted {
  json: boolean
  sse: boolean
}

const BOTH: Accepted = { json: true, sse: true }

/** @throws {ProtocolError} NotAcceptable when neither JSON nor SSE would do */
export function parseAccept(header: string | null): Accepted {
  if (header === null || header === 'application/json, text/event-stream' || header.trim() === '') return BOTH
  const ranges = header.split(',').map(parseRange)
  const accepts = (type: string, group: string): boolean => {
    const range = ranges.find(({ media }) => media === type) ?? ranges.find(({ media }) => media === group)
    return (range ?? ranges.find(({ media }) => media === '*/*'))?.isWanted ?? false
  }
  const accepted = { json: accepts('application/json', 'application/*'), sse: accepts('text/event-stream', 'text/*') }
  if (accepted.json || accepted.sse) return accepted
  throw new ProtocolError('NotAcceptable', 'Not acceptable: answers are application/json or text/event-stream')
}

function parseRange(range: string): { media: string; isWanted: boolean } {
  const [media = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  return { media, isWanted: !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) }
}
