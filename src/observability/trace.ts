// W3C trace context, from `_meta` first and the headers else. Malformed context is ignored, as W3C asks.
// @see basic/index, OpenTelemetry trace context

import type { HeaderSource } from '../protocol/headers.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import type { Trace } from '../server/ports.ts'

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** The caller's trace, if it sent one. */
export function readTrace(params: JsonObject, headers: HeaderSource): Trace | undefined {
  const meta = params['_meta']
  const fields = isObject(meta) ? meta : {}
  const inMeta = parse(fields['traceparent'])
  if (inMeta) return withState(inMeta, fields['tracestate'])
  const inHeaders = parse(headers.get('traceparent'))
  return inHeaders && withState(inHeaders, headers.get('tracestate'))
}

function parse(traceparent: unknown): Trace | undefined {
  const match = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null
  if (!match || match[1] === 'ff' || /^0+$/.test(match[2]!) || /^0+$/.test(match[3]!)) return undefined
  return { traceId: match[2]!, traceparent: match[0] }
}

function withState(trace: Trace, tracestate: unknown): Trace {
  return typeof tracestate === 'string' && tracestate.length <= 512 ? { ...trace, tracestate } : trace
}
