// The conformance runner's own rules: what it lets pass decides what this repository may claim.
import { describe, expect, test } from 'vitest'
import { type Check, judge } from './judge.ts'

const check = (id: string, status: string): Check => ({ id, status, description: 'd' })
const ran = (...checks: Check[]) => new Map([['caching', checks]])
const why = 'not built'

describe('judge', () => {
  test('passes a scenario whose checks all succeed', () => {
    const verdict = judge(ran(check('a', 'SUCCESS'), check('b', 'INFO')), ['caching'], [])
    expect(verdict).toEqual({ passed: ['caching'], failed: [], unclaimed: [] })
  })

  test.each(['FAILURE', 'WARNING', 'SKIPPED'])('fails a scenario with a %s check', (status) => {
    const { failed } = judge(ran(check('a', 'SUCCESS'), check('b', status)), [], [])
    expect(failed).toEqual([{ scenario: 'caching', reasons: [`${status} b: d`] }])
  })

  test('fails a required scenario that never ran', () => {
    const { failed } = judge(new Map(), ['caching'], [])
    expect(failed).toEqual([{ scenario: 'caching', reasons: ['did not run'] }])
  })

  test('fails a scenario without a single successful check', () => {
    const { failed } = judge(ran(check('a', 'INFO')), [], [])
    expect(failed[0]?.reasons).toEqual(['checked nothing'])
  })

  test('lets a baseline entry excuse its own check only', () => {
    const outcomes = ran(check('a', 'SUCCESS'), check('b', 'SKIPPED'), check('c', 'FAILURE'))
    const { failed } = judge(outcomes, [], [{ scenario: 'caching', check: 'b', why }])
    expect(failed[0]?.reasons).toEqual(['FAILURE c: d'])
  })

  test('reports a scenario that the baseline does not claim apart from those that pass', () => {
    const verdict = judge(ran(check('a', 'FAILURE')), ['caching'], [{ scenario: 'caching', why }])
    expect(verdict).toEqual({ passed: [], failed: [], unclaimed: [{ scenario: 'caching', why }] })
  })

  test.each([undefined, 'a'])('fails a stale entry for check %s', (id) => {
    const entry = { scenario: 'caching', why, ...(id === undefined ? {} : { check: id }) }
    expect(judge(ran(check('a', 'SUCCESS')), [], [entry]).failed).toHaveLength(1)
  })

  test('does not call an entry stale whose scenario did not run', () => {
    const { failed } = judge(ran(check('a', 'SUCCESS')), [], [{ scenario: 'tools-list', why }])
    expect(failed).toEqual([])
  })
})
