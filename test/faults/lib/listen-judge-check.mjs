// Shows that the judge of changes can say no: it is given a ledger that is right, and then ones with one thing wrong each.

import { judge, RULES } from './listen-judge.mjs'

/** Checks every rule of the judge. */
export function checkJudge(ledger) {
  const right = brokenBy(story())
  ledger.check(
    'the judge of changes finds nothing wrong in a ledger that is right',
    right.length === 0,
    () => `${right}`,
  )
  const seen = new Set()
  for (const [rule, name, corrupt] of CORRUPTIONS) {
    const broken = brokenBy(corrupt(story()))
    seen.add(rule)
    const isSeen = broken.length === 1 && broken[0] === rule
    ledger.check('the judge of changes sees a ledger that is wrong', isSeen, () => `${name}: ${broken}`)
  }
  const untested = Object.values(RULES).filter((rule) => !seen.has(rule))
  ledger.check('each rule of the judge of changes can be broken', untested.length === 0, () => untested.join())
}

/** The rules a ledger breaks. */
function brokenBy(story) {
  const broken = new Set()
  judge(story, { check: (rule, isKept) => isKept || broken.add(rule), count: () => {} })
  return [...broken]
}

const listeners = [
  { name: 'p', kind: 'plain', topics: ['x', 'y'] },
  { name: 'r', kind: 'resumable', topics: ['x'] },
  { name: 's', kind: 'session', topics: ['x', 'y'] },
]

/** A crash, a cut and a kill; the answer to one change came early, and the kill swallowed it. */
function story() {
  const rows = [
    [1, 'asks p'],
    [2, 'opened p'],
    [3, 'asks r'],
    [4, 'opened r'],
    [5, 'asks s'],
    [6, 'opened s'],
    [10, 'publishes x'],
    [11, 'told p x'],
    [12, 'published x 1'],
    [13, 'knows p x 1'],
    [14, 'crash'],
    [15, 'told r x'],
    [16, 'told s x'],
    [17, 'knows r x 1'],
    [18, 'knows s x 1'],
    // Told again, since the hub had not noted that it was.
    [19, 'told s x'],
    [20, 'knows s x 1'],
    [30, 'settled'],
    [31, 'closed r 3 cut'],
    [32, 'publishes x'],
    [33, 'published x 2'],
    [34, 'told p x'],
    [35, 'knows p x 2'],
    [36, 'asks r'],
    [37, 'opened r'],
    [38, 'told r x'],
    [39, 'knows r x 2'],
    [40, 'told s x'],
    [41, 'knows s x 2'],
    [50, 'publishes y'],
    [51, 'published y 1 early'],
    [52, 'kill'],
    [53, 'closed p 1 end'],
    [54, 'closed r 36 end'],
    [55, 'closed s 5 end'],
    [56, 'asks s'],
    [57, 'up'],
    [58, 'closed s 56 end'],
    [60, 'asks p'],
    [61, 'opened p'],
    [62, 'knows p x 2'],
    [63, 'knows p y 1'],
    [64, 'asks r'],
    [65, 'opened r'],
    [66, 'asks s'],
    [67, 'opened s'],
    [70, 'settled'],
    [70.1, 'hit s'],
    [70.2, 'closed s 66 away'],
    [70.3, 'asks s'],
    [70.4, 'opened s'],
    [71, 'closed r 64 left'],
    [72, 'asks r'],
    [73, 'opened r'],
    [80, 'probe'],
    [81, 'publishes x'],
    [82, 'published x 3'],
    [83, 'told p x'],
    [84, 'knows p x 3'],
    [85, 'told r x'],
    [86, 'knows r x 3'],
    [87, 'told s x'],
    [88, 'knows s x 3'],
    [90, 'settled'],
    [91, 'closed s 70.3 left'],
    [92, 'stopped s'],
    [93, 'publishes x'],
    [94, 'published x 4'],
    [95, 'told p x'],
    [96, 'knows p x 4'],
    [97, 'told r x'],
    [98, 'knows r x 4'],
    [99, 'settled'],
  ]
  return { rows: rows.map(([id, text]) => row(id, text)), listeners }
}

/** A row, from its number and its words. It happens at 20 ms times its number. */
function row(id, text) {
  const [event, ...words] = text.split(' ')
  return { id, at: 20 * id, event, ...WORDS[event]?.(...words) }
}

const WORDS = {
  publishes: (topic) => ({ topic }),
  published: (topic, version, early) => ({ topic, version: Number(version), isStored: early === undefined }),
  asks: (listener) => ({ listener }),
  opened: (listener) => ({ listener }),
  stopped: (listener) => ({ listener }),
  closed: (listener, since, how) => ({ listener, since: Number(since), how: how === 'away' ? 'sent away' : how }),
  hit: (listener) => ({ listener }),
  told: (listener, topic) => ({ listener, topic }),
  knows: (listener, topic, version) => ({ listener, topic, version: Number(version) }),
}

/** Each breaks one rule and no other: `[rule, what is wrong, how]`. */
const CORRUPTIONS = [
  [RULES.reaches, 'a plain listener is not told', without(34, 35, 62)],
  [RULES.reaches, 'one that resumes is not told what it missed', without(38, 39)],
  [RULES.reaches, 'a session is not told', without(40, 41)],
  [RULES.reaches, 'what was looked up is older than the change', replaced(41, 'knows s x 1')],
  [RULES.reaches, 'a listener learns of it too late', moved(41, 70.5)],
  [RULES.reaches, 'a stored change is swallowed by the kill', replaced(51, 'published y 1')],
  [RULES.reaches, 'no kill is there that swallowed it', withoutKill],
  [RULES.alive, 'a stream says nothing any more', without(85, 86, 97, 98)],
  [RULES.alive, 'a stream says nothing after another has stopped', without(97, 98)],
  [RULES.unbroken, 'a stream breaks at a crash', added(20.5, 'closed s 5 end')],
  [RULES.unbroken, 'a stream breaks after the server is back', replaced(58, 'closed s 58 end')],
  [RULES.unbroken, 'a session is sent away that was not hit', without(70.1)],
  [RULES.whole, 'a stream is ended', added(20.5, 'closed p 1 final')],
  [RULES.asked, 'a listener is told of what it did not ask for', added(20.5, 'told r y')],
  [RULES.bounded, 'a listener is told again and again', added(...repeated(20.5, 'told p x', 12))],
]

function without(...ids) {
  return (story) => ({ ...story, rows: story.rows.filter(({ id }) => !ids.includes(id)) })
}

/** Without the kill, and what would be wrong without it. */
function withoutKill(story) {
  const isOfKill = ({ id }) => (id >= 52 && id < 64) || id === 72
  return { ...story, rows: story.rows.filter((row) => !isOfKill(row)) }
}

function replaced(at, text) {
  return (story) => ({ ...story, rows: story.rows.map((one) => (one.id === at ? row(at, text) : one)) })
}

function added(...entries) {
  const more = entries.flatMap((entry, i) => (typeof entry === 'number' ? [row(entry, entries[i + 1])] : []))
  return (story) => ({ ...story, rows: [...story.rows, ...more].toSorted((a, b) => a.id - b.id) })
}

function moved(from, to) {
  return (story) => {
    const rows = story.rows.map((one) => (one.id === from ? { ...one, id: to, at: 20 * to } : one))
    return { ...story, rows: rows.toSorted((a, b) => a.id - b.id) }
  }
}

function repeated(id, text, times) {
  return Array.from({ length: times }, (_, i) => [id + i / 100, text]).flat()
}
