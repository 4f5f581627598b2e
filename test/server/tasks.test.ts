// The state machine of tasks, every transition from every phase, and how long a task lives.

import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.ts'
import type { TaskOutcome, TaskState } from '../../src/protocol/task.ts'
import { ANONYMOUS } from '../../src/server/ports.ts'
import {
  cancelled,
  created,
  done,
  expiryOf,
  isFinal,
  lifetime,
  reported,
  unknownTask,
  waiting,
} from '../../src/server/tasks.ts'

const NOW = Date.UTC(2026, 6, 28, 12)
const LATER = NOW + 1_500
const at = (now: number): string => new Date(now).toISOString()

const result = { result: { content: [{ type: 'text', text: 'fine' }] } }
const phases: Record<TaskState['phase'], TaskState> = {
  working: reported(created(NOW, 60_000, 2_000), 'half of it', NOW),
  input_required: { ...created(NOW, 60_000, 2_000), phase: 'input_required' },
  done: done(created(NOW, 60_000, 2_000), result, NOW),
  cancelled: cancelled(created(NOW, 60_000, 2_000), NOW),
}
const moves: Record<string, (state: TaskState) => TaskState> = {
  'is asked for input': (state) => waiting(state, true, LATER),
  'has its answers': (state) => waiting(state, false, LATER),
  'reports progress': (state) => reported(state, 'three of four', LATER),
  'comes to a result': (state) => done(state, result, LATER),
  'comes to an error': (state) => done(state, { error: { code: -32603, message: 'broken' } }, LATER),
  'is cancelled': (state) => cancelled(state, LATER),
}

test('a task begins in working, with both times the same', () => {
  expect(created(NOW, 60_000, 2_000)).toEqual({
    phase: 'working',
    createdAt: at(NOW),
    updatedAt: at(NOW),
    ttlMs: 60_000,
    pollIntervalMs: 2_000,
  })
  expect(created(NOW, null, 1).ttlMs).toBeNull()
})

describe('a task that is', () => {
  test.for([
    ['working', 'is asked for input', 'input_required'],
    ['working', 'has its answers', 'working'],
    ['working', 'reports progress', 'working'],
    ['working', 'comes to a result', 'done'],
    ['working', 'comes to an error', 'done'],
    ['working', 'is cancelled', 'cancelled'],
    ['input_required', 'is asked for input', 'input_required'],
    ['input_required', 'has its answers', 'working'],
    ['input_required', 'reports progress', 'input_required'],
    ['input_required', 'comes to a result', 'done'],
    ['input_required', 'comes to an error', 'done'],
    ['input_required', 'is cancelled', 'cancelled'],
  ] as const)('%s and %s becomes %s', ([phase, move, next]) => {
    const before = structuredClone(phases[phase])
    const after = moves[move]!(phases[phase])
    expect(after).toMatchObject({ phase: next, createdAt: at(NOW), ttlMs: 60_000, pollIntervalMs: 2_000 })
    expect(isFinal(after)).toBe(next === 'done' || next === 'cancelled')
    expect(phases[phase]).toEqual(before)
  })

  test.for(
    (['done', 'cancelled'] as const).flatMap((phase) => Object.keys(moves).map((move) => [phase, move] as const)),
  )('%s and %s stays as it is', ([phase, move]) => {
    const before = structuredClone(phases[phase])
    expect(moves[move]!(phases[phase])).toBe(phases[phase])
    expect(phases[phase]).toEqual(before)
  })
})

test('the time of the last update is that of the last change', () => {
  for (const [phase, move] of [
    ['working', 'is asked for input'],
    ['input_required', 'has its answers'],
    // Other asks are open now, though the phase is the same.
    ['input_required', 'is asked for input'],
    ['working', 'has its answers'],
    ['working', 'reports progress'],
    ['input_required', 'reports progress'],
    ['working', 'comes to a result'],
    ['working', 'is cancelled'],
  ] as const) {
    expect(moves[move]!(phases[phase]).updatedAt, `${phase} ${move}`).toBe(at(LATER))
  }
  expect(reported(phases.working, 'half of it', LATER)).toBe(phases.working)
})

describe('the message', () => {
  const ended = (outcome: TaskOutcome): TaskState => done(phases.working, outcome, LATER)

  test('is what was reported last, also while the task waits', () => {
    expect(reported(phases.working, 'three of four', LATER).message).toBe('three of four')
    expect(waiting(phases.working, true, LATER).message).toBe('half of it')
  })

  test('of a success is none', () => {
    expect(ended(result)).not.toHaveProperty('message')
  })

  test('of a failure is what went wrong, cut short', () => {
    expect(ended({ error: { code: -32603, message: 'broken' } }).message).toBe('broken')
    const image = { type: 'image', data: '', mimeType: 'image/png' }
    const content = [image, { type: 'text', text: 'not today' }, { type: 'text', text: 'nor ever' }]
    expect(ended({ result: { content, isError: true } }).message).toBe('not today')
    expect(ended({ error: { code: -32603, message: 'x'.repeat(10_000) } }).message!.length).toBeLessThan(1_000)
  })

  test.for([{ content: [image()] }, { content: [] }, {}])('of a failure without text is none: %j', (failed) => {
    expect(ended({ result: { ...failed, isError: true } })).not.toHaveProperty('message')
  })

  test('of a cancelled task says so', () => {
    expect(phases.cancelled.message).toBe('The client cancelled the task.')
  })

  function image() {
    return { type: 'image', data: '', mimeType: 'image/png' }
  }
})

test('a task expires its lifetime after it was made, or never', () => {
  expect(expiryOf(phases.working)).toBe(NOW + 60_000)
  expect(expiryOf(moves['is asked for input']!(phases.working))).toBe(NOW + 60_000)
  expect(expiryOf(created(NOW, null, 2_000))).toBe(Number.POSITIVE_INFINITY)
})

describe('how long a task lives', () => {
  const HOUR = 3_600_000
  const DAY = 24 * HOUR
  const somebody = { principal: 'somebody' }
  const of = (ttlMs?: number | null) => ({ support: 'optional' as const, ...(ttlMs !== undefined && { ttlMs }) })

  test('where nobody asks, is what its tool says, else a day', () => {
    for (const auth of [ANONYMOUS, somebody]) {
      expect(lifetime(of(), auth)).toBe(limits.defaultTaskTtlMs)
      expect(lifetime(of(HOUR), auth)).toBe(HOUR)
      expect(lifetime(of(90 * DAY), auth)).toBe(90 * DAY)
      expect(lifetime(of(null), auth)).toBeNull()
    }
  })

  test('where the client asks, is that, up to a cap', () => {
    expect(lifetime(of(), somebody, limits.taskTtlMs)).toBe(limits.taskTtlMs)
    expect(lifetime(of(), somebody, limits.taskTtlMs + 1)).toBe(limits.taskTtlMs)
    expect(lifetime(of(), ANONYMOUS, limits.anonymousTaskTtlMs)).toBe(limits.anonymousTaskTtlMs)
    expect(lifetime(of(), ANONYMOUS, limits.anonymousTaskTtlMs + 1)).toBe(limits.anonymousTaskTtlMs)
    expect(lifetime(of(HOUR), ANONYMOUS, 2 * HOUR)).toBe(2 * HOUR)
    expect(lifetime(of(2 * HOUR), ANONYMOUS, HOUR)).toBe(HOUR)
  })

  test('may be more than the cap only up to what its tool says', () => {
    for (const auth of [ANONYMOUS, somebody]) {
      expect(lifetime(of(90 * DAY), auth, 89 * DAY)).toBe(89 * DAY)
      expect(lifetime(of(90 * DAY), auth, 91 * DAY)).toBe(90 * DAY)
      expect(lifetime(of(null), auth, 9_000 * DAY)).toBe(9_000 * DAY)
    }
  })

  test('is never for ever because a client asks, nor less than a second, nor a fraction', () => {
    expect(lifetime(of(), somebody, Number.MAX_VALUE)).toBe(limits.taskTtlMs)
    for (const requested of [0, 1, limits.minTaskTtlMs - 1]) {
      expect(lifetime(of(), somebody, requested)).toBe(limits.minTaskTtlMs)
    }
    expect(lifetime(of(), somebody, 1_234.5)).toBe(1_235)
  })
})

test('what is no task of the caller is refused in one way', () => {
  expect(unknownTask().encode('modern')).toEqual({ code: -32602, message: 'Invalid params: no such task' })
  expect(unknownTask().encode('legacy')).toEqual(unknownTask().encode('modern'))
})
