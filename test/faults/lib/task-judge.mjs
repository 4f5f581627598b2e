// Judges tasks by what their handlers did, as a witness outside of them wrote it down, and by what their clients were told.
// Pure: it is fed made-up ledgers too, which it has to refuse (task-judge-check.mjs).
//
// A sight is `{ id, at, task, run, event, what, value, instance }`, numbered in the order in which all of them happened.
// The witness lives in the server that is killed, so what was on its way to it at a kill died with it: nothing may arrive
// late. Some sights are no handler's: `kill` says what was on disk then, `stored: { task: { steps, sleeps, hasEnded,
// isGivenUp } }`; `crash` and `crashed` are one before and one after an object was ended on its own; `cancelled` and
// `expired` are what a client was told.

import { limits } from '../../../src/limits.ts'

export const RULES = {
  alone: 'no run is entered while an earlier one is alive',
  silent: 'nothing is heard of a run once it was ended or another entered',
  instance: 'an instance of an object enters its handler once',
  stored: 'a step whose result was stored is never run again',
  once: 'a run does a step once',
  kept: 'a stored result stays what it was',
  sleep: 'no sleep is cut short',
  sleepEnd: 'a sleep ends when it was to end at first, over kills too',
  answer: 'an answer reaches the handler as it was given',
  cancelled: 'nothing begins after a cancellation was acknowledged',
  expired: 'nothing begins after a task expired',
  all: 'each step of a task that ended had its effect at least once',
  state: 'every task reaches the right terminal state',
  result: 'every task has the right result, from what was stored',
  givenUp: 'only what was interrupted too often without getting on is given up',
  orphan: 'a task ends also where its client was never told of it',
}

/** Events by which a task got on, when they are new. */
const PROGRESS = new Set(['past', 'waits', 'woke', 'answered'])

/**
 * @param sights in order
 * @param tasks each `{ key, form, plan, end, fate, answers, outcome, kills }`, with how many kills there had been when
 *   its client was told of the outcome. `fate` is what was to become of it: 'ends', 'cancelled', 'expires', 'dies', or
 *   'untold' where the client never got the handle
 * @param mayEvict true where objects are evicted while their handler waits
 */
export function judge({ sights, tasks, mayEvict = false }, ledger) {
  const known = new Map(tasks.map((task) => [task.key, task]))
  const kills = sights.filter(({ event }) => event === 'kill')
  const instances = new Set()
  for (const [key, own] of Map.groupBy(sights, ({ task }) => task)) {
    if (!key) continue
    const rows = [...own, ...kills].toSorted((a, b) => a.id - b.id)
    judgeRuns(rows, { instances, mayEvict, ledger })
    judgeSteps(key, rows, ledger)
    judgeSleeps(key, rows, ledger)
    judgeMarks(rows, ledger)
    judgeAnswers(rows, known.get(key), ledger)
  }
  for (const task of tasks) {
    const own = sights.filter(({ task: key }) => key === task.key)
    judgeEnd(task, own, kills, ledger)
  }
}

function judgeRuns(rows, { instances, mayEvict, ledger }) {
  let isCrashing = false
  let current
  for (const { event, run, instance, task, id } of rows) {
    if (event === 'kill') {
      isCrashing = false
      if (current) current.state = 'dead'
    } else if (event === 'crash') {
      isCrashing = true
      if (current?.state === 'alive') current.state = 'dying'
    } else if (event === 'crashed') isCrashing = false
    else if (event === 'enter') {
      const wasParked = mayEvict && current?.last === 'waits'
      const isFree = !current || current.state !== 'alive' || current.last === 'dies' || wasParked
      ledger.check(RULES.alone, isFree, () => `${task}: run ${run} at ${id}, after ${JSON.stringify(current)}`)
      const isNew = !instances.has(instance) && run === (current?.run ?? 0) + 1
      ledger.check(RULES.instance, isNew, () => `${task}: run ${run} at ${id}`)
      instances.add(instance)
      current = { run, state: isCrashing ? 'dying' : 'alive', last: event }
      ledger.count(run === 1 ? 'tasks: runs' : 'tasks: runs that went on after an interruption')
    } else if (run > 0) {
      const isHeard = current?.run === run && current.state !== 'dead'
      ledger.check(
        RULES.silent,
        isHeard,
        () => `${task}: ${event} of run ${run} at ${id}, in ${JSON.stringify(current)}`,
      )
      if (current) current.last = event
    }
  }
}

function judgeSteps(key, rows, ledger) {
  /** What is stored of each step. */
  const stored = new Map()
  /** Who began each step, last one last. */
  const begun = new Map()
  const keep = (step, value, { id, event }) => {
    const due = stored.get(step) ?? begun.get(step)?.at(-1).id
    ledger.check(RULES.kept, value === due, () => `${key}: ${step} is ${value}, not ${due} (${event} at ${id})`)
    if (!stored.has(step) && event === 'kill') ledger.count('tasks: steps found stored at a kill before they were seen')
    stored.set(step, value)
  }
  for (const row of rows) {
    const { event, what, value, run, id } = row
    if (event === 'kill') for (const [step, kept] of Object.entries(row.stored[key]?.steps ?? {})) keep(step, kept, row)
    if (event === 'past') keep(what, value, row)
    if (event !== 'begin') continue
    ledger.check(RULES.stored, !stored.has(what), () => `${key}: ${what} again in run ${run} at ${id}`)
    const earlier = begun.get(what) ?? []
    const isOnce = earlier.every((other) => other.run !== run)
    ledger.check(RULES.once, isOnce, () => `${key}: ${what} twice in run ${run}, at ${id}`)
    begun.set(what, [...earlier, { run, id }])
  }
  for (const times of begun.values()) {
    ledger.count('tasks: steps')
    ledger.count(
      `tasks: steps that had their effect ${times.length === 1 ? 'once' : 'again, being unfinished at a fault'}`,
    )
  }
}

function judgeSleeps(key, rows, ledger) {
  const began = new Map()
  const ends = new Map()
  for (const { event, what, value, at, stored } of rows) {
    if (event === 'waits' && value !== null && !began.has(what)) began.set(what, { at, ms: value })
    for (const [sleep, end] of Object.entries(stored?.[key]?.sleeps ?? {})) {
      ledger.check(RULES.sleepEnd, (ends.get(sleep) ?? end) === end, () => `${key}: ${sleep}`)
      ends.set(sleep, end)
    }
    if (event !== 'woke') continue
    const { at: from, ms } = began.get(what) ?? { at: Infinity, ms: 0 }
    ledger.check(RULES.sleep, at >= from + ms, () => `${key}: ${what} lasted ${at - from} ms, not ${ms}`)
  }
}

function judgeMarks(rows, ledger) {
  for (const fate of ['cancelled', 'expired']) {
    const marked = rows.findIndex(({ event }) => event === fate)
    if (marked === -1) continue
    const later = rows.slice(marked).find(({ event }) => event === 'enter' || event === 'begin')
    ledger.check(RULES[fate], !later, () => JSON.stringify(later))
  }
}

function judgeAnswers(rows, task, ledger) {
  for (const { event, what, value } of rows) {
    if (event !== 'answered') continue
    const due = task?.answers[what]
    ledger.check(RULES.answer, value === due, () => `${task?.key}: ${what} is ${value}, not ${due}`)
  }
}

function judgeEnd(task, own, kills, ledger) {
  const { key, fate, form, outcome, plan } = task
  if (fate === 'untold') return judgeOrphan(task, own, kills, ledger)
  if (fate === 'expires') return
  const detail = () => `${key} (${form}, ${fate}): ${JSON.stringify(outcome)}`
  ledger.count(`tasks: ${outcome?.status ?? 'without an end'}`)
  if (outcome?.code === -32603 && outcome.text.startsWith('The task was given up')) {
    ledger.check(RULES.state, outcome.status === 'failed', detail)
    return judgeGivenUp(own, kills.slice(0, task.kills), ledger)
  }
  const expected = expectedOf(task)
  if (fate === 'cancelled' && outcome?.status === 'cancelled') return ledger.check(RULES.state, true)
  const isRight =
    outcome !== undefined &&
    expected !== undefined &&
    ['status', 'isError', 'code'].every((part) => outcome[part] === expected[part])
  ledger.check(RULES.state, isRight, () => `${detail()}, not ${JSON.stringify(expected)}`)
  if (!isRight) return
  const steps = stepsOf(plan)
  const lastOf = (step) => own.findLast(({ event, what }) => event === 'begin' && what === step)?.id
  const missing = steps.filter((step) => lastOf(step) === undefined)
  ledger.check(RULES.all, missing.length === 0, () => `${key}: ${missing}`)
  const values = { ...Object.fromEntries(steps.map((step) => [step, lastOf(step)])), ...answersOf(task) }
  const isSame = sameValues(outcome.text, { key, values })
  ledger.check(RULES.result, isSame, () => `${key}: ${outcome.text}, not ${JSON.stringify(values)}`)
}

/** @param kills those until it was given up */
function judgeGivenUp(own, kills, ledger) {
  const seen = new Set()
  let interruptions = 0
  for (const { event, what } of [...own, ...kills].toSorted((a, b) => a.id - b.id)) {
    const isNew = PROGRESS.has(event) && !seen.has(`${event} ${what}`)
    if (PROGRESS.has(event)) seen.add(`${event} ${what}`)
    if (isNew) interruptions = 0
    if (['kill', 'crash', 'dies'].includes(event)) interruptions++
  }
  const isFair = interruptions >= limits.taskAttempts
  ledger.check(RULES.givenUp, isFair, () => `${own[0]?.task}: after ${interruptions} interruptions`)
  ledger.count('tasks: given up')
}

function judgeOrphan({ key, plan }, own, kills, ledger) {
  const isEntered = own.some(({ event }) => event === 'enter')
  ledger.count(`tasks: tries whose client never got the handle, ${isEntered ? 'made all the same' : 'never run'}`)
  // What asks is answered by nobody.
  if (!isEntered || plan.some(({ kind }) => kind === 'ask' || kind === 'asks')) return
  const given = kills.findIndex(({ stored }) => stored[key]?.isGivenUp)
  if (given !== -1) judgeGivenUp(own, kills.slice(0, given + 1), ledger)
  const hasEnded = kills.some(({ stored }) => stored[key]?.hasEnded)
  ledger.check(RULES.orphan, hasEnded, () => `${key}: ${JSON.stringify(own.at(-1))}`)
}

/** How each end shows in each form: a result with `isError` is a failure in 2025-11-25 only. Nothing but `dies` has none. */
function expectedOf({ end, form, fate }) {
  if (fate === 'dies') return undefined
  if (end === 'error') return { status: 'failed', code: -32600 }
  if (end === 'isError') return { status: form === 'extension' ? 'completed' : 'failed', isError: true }
  return { status: 'completed' }
}

function stepsOf(plan) {
  return plan.flatMap(({ kind, name }) => {
    if (kind === 'step') return [name]
    return kind === 'pair' ? [`${name}-left`, `${name}-right`] : []
  })
}

/** The answers to what its plan asks. */
function answersOf({ plan, answers }) {
  const names = plan.flatMap(({ kind, name }) => {
    if (kind === 'ask') return [name]
    return kind === 'asks' ? [`${name}-left`, `${name}-right`] : []
  })
  return Object.fromEntries(names.map((name) => [name, answers[name]]))
}

function sameValues(text, due) {
  const sorted = ({ key, values }) => JSON.stringify([key, Object.entries(values).toSorted()])
  try {
    return sorted(JSON.parse(text)) === sorted(due)
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}
