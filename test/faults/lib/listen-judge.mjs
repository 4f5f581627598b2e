// Judges what listeners were told, from a ledger of what everybody did. Pure: it is fed made-up ledgers too, which it has to
// refuse (listen-judge-check.mjs).
//
// A row is `{ id, at, event, … }`, in the order in which the harness saw it:
//   publishes { topic }                          somebody begins to change something
//   published { topic, version, from, isStored } that was answered; `from` is the row above. Not `isStored` where the answer
//                                                may have come before the change was stored, as it does after a second
//   asks { listener }, opened { listener }, closed { listener, since, how }
//                                                a connection; `since` is the row where it was asked for. `how` is 'cut' or
//                                                'left' by the harness, 'final' with the result, 'sent away' to come back,
//                                                or 'end'
//   stopped { listener }                         it listens no more
//   told { listener, topic }                     a notification came
//   knows { listener, topic, version }           and what was looked up after it: a version that was there by then
//   crash, kill, up                              a hub crashes, the server is killed, and there again
//   hit { listener }                             the object of a session is crashed
//   settled                                      everybody was given the time to learn of everything
//   probe                                        from here on nothing is struck any more

import { limits } from '../../../src/limits.ts'

export const RULES = {
  reaches: 'every change whose call was answered reaches every listener',
  alive: 'in the end every stream is alive',
  unbroken: 'while only the hub is hit no stream breaks',
  whole: 'no stream is ended because the hub is hit',
  asked: 'a listener is told only of what it asked for',
  bounded: 'a listener is told once a change, connection and fault at most',
}

/** What is told again because of a fault is told by then. */
const TOLD_MS = 5_000
/** A connection whose client is gone, as its Worker does not know, comes back to a crashed session by then. */
const STALE_MS = 10_000

/** @param listeners each `{ name, kind, topics }` */
export function judge({ rows, listeners }, ledger) {
  const faults = rows.filter(({ event }) => event === 'crash' || event === 'kill')
  const changes = rows.filter(({ event }) => event === 'published')
  const due = changes.filter((change) => !mayBeLost(change, rows))
  ledger.count('listen: changes', changes.length)
  ledger.count('listen: changes that a kill may have swallowed after an early answer', changes.length - due.length)
  const publishes = Map.groupBy(
    rows.filter(({ event }) => event === 'publishes'),
    ({ topic }) => topic,
  )
  const common = { rows, due, publishes, faults, ledger }
  for (const listener of listeners) {
    const own = rows.filter(({ listener: name }) => name === listener.name)
    judgeNews(listener, own, common)
    judgeConnections(listener, own, common)
    judgeAmount(listener, own, common)
  }
}

/** True for a change that was perhaps not stored when the server was killed: nobody can say that it was lost. */
function mayBeLost({ id, at, isStored }, rows) {
  if (isStored) return false
  return rows.some((row) => row.event === 'kill' && row.id > id && row.at < at + limits.publishMs)
}

function judgeNews({ name, kind, topics }, own, { rows, due, ledger }) {
  const probe = rows.find(({ event }) => event === 'probe')?.id ?? Number.POSITIVE_INFINITY
  const end = own.find(({ event }) => event === 'stopped')?.id ?? Number.POSITIVE_INFINITY
  for (const { id } of rows.filter((row) => row.event === 'settled' && row.id < end)) {
    // At the end only of what changes then, so that what was lost before is not lost again.
    const asked = id > probe ? due.filter((change) => change.id > probe) : due
    for (const topic of topics) {
      const newest = newestOf(asked, topic, id)
      if (newest === 0) continue
      const known = newestOf(
        own.filter(({ event }) => event === 'knows'),
        topic,
        id,
      )
      const detail = () => `${name} (${kind}) knows ${topic} ${known}, not ${newest}, at ${id}`
      ledger.check(id > probe ? RULES.alive : RULES.reaches, known >= newest, detail)
    }
  }
}

function newestOf(rows, topic, before) {
  return Math.max(0, ...rows.flatMap((row) => (row.topic === topic && row.id < before ? [row.version] : [])))
}

function judgeConnections({ name, kind }, own, { rows, ledger }) {
  for (const { event, id, at, since, how } of own) {
    if (event !== 'closed') continue
    ledger.count(`listen: connections that ${ENDS[how] ?? 'broke'}`)
    const detail = () => `${name} (${kind}) ended with '${how}' at ${id}, begun at ${since}`
    ledger.check(RULES.whole, how !== 'final', detail)
    if (how === 'end') ledger.check(RULES.unbroken, wasDown(rows, since, id), detail)
    if (how === 'sent away') ledger.check(RULES.unbroken, wasReplaced(own, at), detail)
  }
}

const ENDS = { cut: 'were cut', left: 'were left', 'sent away': 'were replaced by stale ones' }

/** True if a session was crashed, so that an older connection may have come back later than the newer one. */
function wasReplaced(own, at) {
  return own.some((row) => row.event === 'hit' && row.at < at && row.at > at - STALE_MS)
}

/** True if the server was not there all the time from one row to another. */
function wasDown(rows, from, to) {
  const before = rows.findLast(({ event, id }) => (event === 'kill' || event === 'up') && id < from)
  return before?.event === 'kill' || rows.some(({ event, id }) => event === 'kill' && id > from && id < to)
}

function judgeAmount({ name, kind, topics }, own, { publishes, faults, ledger }) {
  const connections = own.filter(({ event }) => event === 'asks').length
  const told = Map.groupBy(
    own.filter(({ event }) => event === 'told'),
    ({ topic }) => topic,
  )
  for (const [topic, news] of told) {
    ledger.check(RULES.asked, topics.includes(topic), () => `${name} (${kind}): ${topic}`)
    const attempts = publishes.get(topic) ?? []
    const near = faults.filter(({ at }) => attempts.some((row) => at > row.at && at < row.at + TOLD_MS)).length
    const most = attempts.length + connections + near
    const detail = () =>
      `${name} (${kind}): ${topic} ${news.length} times, of ${attempts.length} changes, ${connections} connections, ${near} faults`
    ledger.check(RULES.bounded, news.length <= most, detail)
    ledger.count(`listen: notifications of ${kind} listeners`, news.length)
    const more = news.length - attempts.length
    if (more > 0) ledger.count('listen: notifications more than changes', more)
  }
}

/** How long it took, faults and all. @returns ms from each answer until each listener knew, shortest first */
export function delaysOf({ rows, listeners }) {
  const due = rows.filter(({ event, isStored }) => event === 'published' && isStored)
  const delays = listeners.flatMap(({ name, topics }) => {
    const known = rows.filter(({ event, listener }) => event === 'knows' && listener === name)
    return due.flatMap(({ topic, version, at }) => {
      if (!topics.includes(topic)) return []
      const first = known.find((row) => row.topic === topic && row.version >= version)
      return first ? [Math.max(0, first.at - at)] : []
    })
  })
  return delays.toSorted((a, b) => a - b)
}
