// Shows that the judge of tasks can say no: it is given a ledger that is right, and then ones with one thing wrong each.

import { limits } from '../../../src/limits.ts'
import { judge, RULES } from './task-judge.mjs'

/** Checks every rule of the judge but those it is not the source of. */
export function checkJudge(ledger) {
  const right = brokenBy(story())
  ledger.check('the judge of tasks finds nothing wrong in a ledger that is right', right.length === 0, () => `${right}`)
  const seen = new Set()
  for (const [rule, name, corrupt] of CORRUPTIONS) {
    const broken = brokenBy(corrupt(story()))
    seen.add(rule)
    ledger.check('the judge of tasks sees a ledger that is wrong', broken.includes(rule), () => `${name}: ${broken}`)
  }
  const untested = Object.values(RULES).filter((rule) => !seen.has(rule))
  ledger.check('each rule of the judge of tasks can be broken', untested.length === 0, () => untested.join())
}

/** The rules a ledger breaks. */
function brokenBy(story) {
  const broken = new Set()
  judge(story, { check: (rule, isKept) => isKept || broken.add(rule), count: () => {} })
  return [...broken]
}

/** A task that is killed in its second step, crashed in its sleep and then asks; one that is cancelled, and others. */
function story() {
  const plan = [
    { kind: 'step', name: 's1' },
    { kind: 'step', name: 's2' },
    { kind: 'sleep', name: 'z', ms: 100 },
    { kind: 'ask', name: 'q' },
  ]
  const short = [{ kind: 'step', name: 's1' }]
  const rows = [
    ['a', 1, 'enter'],
    ['a', 1, 'begin', 's1'],
    ['a', 1, 'did', 's1'],
    ['a', 1, 'past', 's1', 2],
    ['a', 1, 'begin', 's2'],
    ['', 0, 'kill', { a: { steps: { s1: 2 } } }],
    ['a', 2, 'enter'],
    ['a', 2, 'past', 's1', 2],
    ['a', 2, 'begin', 's2'],
    ['a', 2, 'did', 's2'],
    ['a', 2, 'past', 's2', 9],
    ['a', 2, 'waits', 'z', 100],
    ['a', 0, 'crash'],
    ['a', 0, 'crashed'],
    ['a', 3, 'enter'],
    ['a', 3, 'past', 's1', 2],
    ['a', 3, 'past', 's2', 9],
    ['a', 3, 'waits', 'z', 100],
    ['a', 3, 'woke', 'z'],
    ['a', 3, 'waits', 'q'],
    ['a', 3, 'answered', 'q', 5],
    ['a', 3, 'ends', 'result'],
    ['b', 1, 'enter'],
    ['b', 1, 'begin', 's1'],
    ['b', 0, 'cancelled'],
    ['c', 1, 'enter'],
    ['c', 1, 'begin', 's1'],
    ['c', 0, 'expired'],
    ['d', 1, 'enter'],
    ['d', 1, 'dies', 'x'],
    ...Array.from({ length: limits.taskAttempts - 1 }, (_, i) => [
      ['d', i + 2, 'enter'],
      ['d', i + 2, 'dies', 'x'],
    ]).flat(),
    ['e', 1, 'enter'],
    ['e', 1, 'begin', 's1'],
    ['e', 1, 'did', 's1'],
    ['e', 1, 'past', 's1', 0],
    ['e', 1, 'ends', 'isError'],
    ['f', 1, 'enter'],
    ['f', 1, 'begin', 's1'],
    ['', 0, 'kill', { a: { sleeps: { z: '7' } }, f: { hasEnded: true } }],
    ['', 0, 'kill', { a: { sleeps: { z: '7' } } }],
  ]
  const sights = rows.map(([task, run, event, what = null, value = null], i) => {
    const about = event === 'kill' ? { stored: what } : { what, value }
    return { id: i + 1, at: 50 * i, task, run, event, ...about, instance: event === 'enter' ? `${task}${run}` : null }
  })
  const of = (key) => sights.find(({ task, event }) => task === key && event === 'begin').id
  for (const sight of sights) if (sight.task === 'e' && sight.event === 'past') sight.value = of('e')
  const text = (key, values) => JSON.stringify({ key, values })
  const task = { form: 'extension', end: 'result', fate: 'ends', answers: {}, plan: short, kills: 1 }
  const tasks = [
    { ...task, key: 'a', plan, answers: { q: 5 }, outcome: outcome('completed', text('a', { s1: 2, s2: 9, q: 5 })) },
    { ...task, key: 'b', fate: 'cancelled', outcome: outcome('cancelled') },
    { ...task, key: 'c', fate: 'expires' },
    { ...task, key: 'd', fate: 'dies', plan: [{ kind: 'die', name: 'x' }], outcome: givenUp() },
    { ...task, key: 'e', form: '2025-11-25', end: 'isError' },
    { ...task, key: 'f', fate: 'untold' },
  ]
  tasks[4].outcome = { ...outcome('failed', text('e', { s1: of('e') })), isError: true }
  return { sights, tasks }
}

function outcome(status, text) {
  return { status, ...(text !== undefined && { text }) }
}

function givenUp() {
  return { status: 'failed', code: -32603, text: 'The task was given up: it was interrupted' }
}

/** Each breaks one rule: `[rule, what is wrong, how]`. */
const CORRUPTIONS = [
  [RULES.alone, 'a run is entered with no kill before', without(({ event }) => event === 'kill')],
  [RULES.alone, 'a run is entered with no crash before', without(({ event }) => event.startsWith('crash'))],
  [RULES.alone, 'a crash is over before the run it should have ended', moved('crash', 'crashed')],
  [RULES.silent, 'an earlier run is heard of later', changed((row) => row.id === 11 && { run: 1 })],
  [RULES.silent, 'a run is heard of after the kill', added(6.5, { task: 'a', run: 1, event: 'did', what: 's2' })],
  [RULES.instance, 'an instance enters twice', changed((row) => row.instance === 'a3' && { instance: 'a2' })],
  [RULES.instance, 'a run is not counted', changed((row) => row.event === 'enter' && row.run === 3 && { run: 4 })],
  [RULES.stored, 'a finished step is run again', added(15.5, { task: 'a', run: 3, event: 'begin', what: 's1' })],
  [RULES.stored, 'a step is run again that was on disk', stored(6, { a: { steps: { s2: 5 } } })],
  [RULES.once, 'a run does a step twice', added(9.5, { task: 'a', run: 2, event: 'begin', what: 's2' })],
  [RULES.kept, 'a result is another one later', changed((row) => row.id === 16 && { value: 3 })],
  [RULES.kept, 'another result is on disk', stored(6, { a: { steps: { s1: 3 } } })],
  [RULES.sleep, 'a sleep is too short', changed((row) => row.event === 'woke' && { at: row.at - 300 })],
  [RULES.sleepEnd, 'a sleep begins anew', stored(-1, { a: { sleeps: { z: '8' } } })],
  [RULES.answer, 'another answer arrives', changed((row) => row.event === 'answered' && { value: 6 })],
  [
    RULES.cancelled,
    'a step begins after the cancellation',
    added(100, { task: 'b', run: 1, event: 'begin', what: 's2' }),
  ],
  [RULES.expired, 'a run is entered after the end', added(100, { task: 'c', run: 2, event: 'enter', instance: 'c2' })],
  [RULES.all, 'a step never ran', without(({ task, what }) => task === 'e' && what === 's1')],
  [RULES.state, 'a task has no end', told('a', undefined)],
  [RULES.state, 'what always dies has no end', told('d', undefined)],
  [RULES.state, 'a task fails', told('a', outcome('failed', 'x'))],
  [RULES.state, 'a failure is taken for a success', told('e', outcome('completed', 'x'))],
  [RULES.state, 'what always dies succeeds', told('d', outcome('completed', '{"key":"d","values":{}}'))],
  [RULES.result, 'a result is of an execution that was not stored', told('a', outcome('completed', wrongResult()))],
  [RULES.result, 'a result is no JSON', told('a', outcome('completed', 'x'))],
  [RULES.givenUp, 'a task is given up too soon', without(({ task, run }) => task === 'd' && run > 2)],
  [RULES.givenUp, 'a task that got on is given up', told('a', givenUp())],
  [RULES.givenUp, 'an unknown task is given up too soon', stored(-1, { f: { hasEnded: true, isGivenUp: true } })],
  [RULES.orphan, 'an unknown task stops', stored(-2, {})],
]

function wrongResult() {
  return JSON.stringify({ key: 'a', values: { s1: 2, s2: 5, q: 5 } })
}

function without(isGone) {
  return (story) => ({ ...story, sights: story.sights.filter((row) => !isGone(row)) })
}

function changed(change) {
  return (story) => ({ ...story, sights: story.sights.map((row) => ({ ...row, ...change(row) })) })
}

/** Has something else on disk at the kill that is the `at`th sight, or so many before the end. */
function stored(at, found) {
  return (story) => {
    const { id } = story.sights.at(at < 0 ? at : at - 1)
    return changed((row) => row.id === id && { stored: found })(story)
  }
}

function added(id, row) {
  const whole = { at: 50 * id, what: null, value: null, instance: null, ...row, id }
  return (story) => ({ ...story, sights: [...story.sights, whole].toSorted((a, b) => a.id - b.id) })
}

/** Puts two sights of the first task to its beginning. */
function moved(...events) {
  return (story) => {
    const at = (row) => (row.task === 'a' && events.includes(row.event) ? { ...row, id: row.id / 100 } : row)
    return { ...story, sights: story.sights.map(at).toSorted((a, b) => a.id - b.id) }
  }
}

/** Has a client be told something else. */
function told(key, outcome) {
  return (story) => ({
    ...story,
    tasks: story.tasks.map((task) => (task.key === key ? { ...task, outcome } : task)),
  })
}
