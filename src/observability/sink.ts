// Where events go: one JSON line each on the console, which Workers Logs indexes. The only place that prints.

import type { Config } from '../config.ts'
import { isAtLeast } from '../protocol/meta.ts'
import type { Event } from './events.ts'

/** Writes an event, if the configuration wants it. */
export function report(event: Event, log: Config['log'] = 'errors'): void {
  if (log === 'off' || (log !== 'requests' && isRoutine(event))) return
  // One string: the console formats an object several times slower.
  const line = JSON.stringify(event)
  if (event.event === 'failure') console.error(line)
  else if (event.event === 'warning') console.warn(line)
  else console.log(line)
}

function isRoutine(event: Event): boolean {
  if (event.event === 'message') return !isAtLeast(event.level, 'error')
  return event.event === 'request' || event.event === 'task' || event.event === 'refused'
}

/** The failure event of something thrown. */
export function failure(
  error: unknown,
  about: { requestId?: string; method?: string; name?: string; traceId?: string },
): Event {
  if (!(error instanceof Error)) return { event: 'failure', ...about, error: textOf(error) }
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  const stack = error.stack === undefined ? {} : { stack: error.stack }
  return { event: 'failure', ...about, error: `${error.name}: ${error.message}${cause}`, ...stack }
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    // An object without a prototype, for example.
    return 'something that has no text'
  }
}
