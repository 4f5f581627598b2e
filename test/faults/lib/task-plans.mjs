// What the tasks of a run do, drawn from the seed: every kind in both forms, of several steps each.

import { createRandom } from '../../support/random.mjs'

/** How a task goes, and how often among twenty. `end` and `fate` are as the judge knows them. */
const KINDS = [
  [3, { kind: 'steps', stages: ['step', 'step', 'pair', 'bare', 'step', 'sleep'] }],
  [3, { kind: 'sleeps', stages: ['step', 'sleep', 'step', 'sleep', 'bare', 'step'] }],
  [5, { kind: 'asks', stages: ['step', 'ask', 'step', 'sleep', 'asks', 'step'] }],
  [2, { kind: 'fails', end: 'isError', stages: ['step', 'ask', 'step', 'bare', 'sleep', 'step'] }],
  [2, { kind: 'errs', end: 'error', stages: ['step', 'sleep', 'pair', 'ask', 'step'] }],
  [2, { kind: 'cancelled', fate: 'cancelled', stages: ['step', 'sleep', 'ask', 'step', 'step', 'step', 'sleep'] }],
  [2, { kind: 'expires', fate: 'expires', stages: ['step', 'long sleep', 'step', 'long step', 'ask', 'long sleep'] }],
  [1, { kind: 'dies', fate: 'dies', stages: ['step', 'step', 'die'] }],
]

/** The least and the most ms of a stage. */
const LENGTHS = {
  step: [10, 600],
  pair: [50, 500],
  bare: [10, 300],
  sleep: [50, 1_500],
  'long sleep': [1_000, 3_000],
  'long step': [1_500, 3_000],
}

/** How a client of 2025-11-25 waits for a task: on the stream of `tasks/result`, or by polling until it must not any more. */
const FLOWS = ['stream', 'stream', 'again', 'poll', 'poll']

/** @returns `count` tasks to make, in an order of their own for each form */
export function plansFor(seed, count) {
  const random = createRandom(seed ^ 0x7a5c)
  const round = KINDS.flatMap(([times, kind]) => Array.from({ length: times }, () => kind))
  const forms = ['extension', '2025-11-25']
  // Kinds come in turn, so that each is there in both forms however few there are.
  const turns = Array.from({ length: count }, (_, i) => ({ form: forms[i % 2], about: round[(i >> 1) % round.length] }))
  const plans = turns.map(({ form, about }, i) => planOf(random, `t${i + 1}`, form, about))
  return shuffled(random, plans)
}

function planOf(random, name, form, { kind, end = 'result', fate = 'ends', stages }) {
  return {
    name,
    form,
    kind,
    end,
    fate,
    plan: stages.flatMap((stage, i) => stageOf(random, stage, i)),
    flow: random.pick(FLOWS),
    /** Whether an answer waits for the next kill. */
    holds: random.chance(0.5),
    seed: random.between(0, 2 ** 31),
  }
}

/** One stage, or now and then none: steps are what it is about, so they stay. */
function stageOf(random, stage, i) {
  const isSpared = ['bare', 'sleep', 'pair'].includes(stage) && random.chance(0.25)
  const [least, most] = LENGTHS[stage] ?? [0, 0]
  const ms = random.between(least, most)
  return isSpared ? [] : [{ kind: stage.replace('long ', ''), name: `${i}-${stage.replace(' ', '-')}`, ms }]
}

function shuffled(random, list) {
  const rest = [...list]
  return list.map(() => rest.splice(random.int(rest.length), 1)[0])
}
