// The tables about change notifications. Judges nothing: no aim is set.
import { ratioCells } from './report-sessions.mjs'
import { mean, median, quantile, spread } from './stats.mjs'
import { formatTable } from './table.mjs'

const base = 'floor'
const missing = '-'

/** `{ text, aims }`, as of the other parts. */
export function reportListen(listen) {
  const { crowd, publishing } = listen
  const tables = [
    ...(crowd ? [idleTable, changeTable, burstTable, killTable].map((table) => table(crowd, listen)) : []),
    publishing && publishTable(publishing, listen),
  ]
  return { text: [explain(listen), ...tables.filter(Boolean)].join('\n'), aims: [] }
}

function explain({ crowd }) {
  const lines = [
    'Change notifications: subscriptions/listen of 2026-07-28. One workerd runs two Workers of the same code, the second over the',
    'objects of the first; a change is said at one and the other in turn. workerd runs all of it on one thread, so a delay is',
    'what the work for everybody before adds up to. One listener of a hundred is at the second Worker. With half of them there',
    'it is other work that is measured: of thousands who wait for their turn on one thread at one isolate, all are woken each',
    'time the other gives way. floor is a worker that holds a stream per client, fed by a hibernatable socket of one bare',
    'Durable Object, which sends all the same text: no check, filter, row or replay. sdk is the official server 2.4 with its',
    'own bus in the isolate: a function call for each, no object. It does not cross, so its listeners, and who says that',
    'something changed, are all at the first Worker.',
  ]
  if (!crowd) return lines.join('\n')
  const clientUs = Math.max(...Object.values(crowd).map(({ changes }) => median(pick(changes, 'clientUs'))))
  return [...lines, `Who receives takes up to ${clientUs.toFixed(0)} µs of another core for each.`].join('\n')
}

function idleTable(crowd, { listeners }) {
  const rows = Object.entries(crowd).map(([worker, one]) => [
    worker,
    String(one.listeners),
    one.openUs.toFixed(0),
    over(one.openUs, crowd[base].openUs),
    one.opensPerSecond.toFixed(0),
    one.idleKb.toFixed(1),
    one.idleHeapKb.toFixed(1),
    over(one.idleKb, crowd[base].idleKb),
    one.hubHeapKb === undefined ? missing : one.hubHeapKb.toFixed(1),
    one.wasAsleep === undefined ? missing : one.wasAsleep ? 'yes' : 'no',
    one.processMb.toFixed(0),
    one.commentUs.toFixed(0),
    over(one.commentUs, crowd[base].commentUs),
  ])
  const opening = ['µs to open', '× floor', 'opened/s']
  const memory = ['kB idle', 'of heap', '× floor', 'kB of hub', 'asleep', 'process MB']
  const columns = ['worker', 'listeners', ...opening, ...memory, 'µs a comment', '× floor']
  const few = crowd.ours.listeners < listeners ? `; more than ${crowd.ours.listeners} need a higher ulimit -n` : ''
  const title = [
    'listeners, nothing happens: CPU to open one; memory of each while the hub sleeps, without what is reused, and what the hub',
    `needs for each while it is awake; CPU of the one comment each is sent every 25 s${few}`,
  ].join('\n')
  return formatTable(title, columns, rows)
}

function changeTable(crowd, { rounds, halves, halfRounds }) {
  const rows = [
    ...Object.keys(crowd).map((worker) => changeRow(worker, crowd[worker], crowd[base])),
    ...Object.keys(halves).map((worker) => changeRow(`${worker}, half`, halves[worker], halves[base])),
  ]
  const delays = ['ms p50', 'p99', 'last p50', 'p99', '× floor', 'answered p50', 'p99']
  const columns = ['worker', 'µs', 'spread', '× floor', ...delays, 'other Worker']
  const title = [
    'one change, told to all: CPU for each listener; ms from the request that says it until a listener has it, until the last',
    'one has it, and until the request is answered; how many at the Worker where it was not said are told;',
    `${rounds} changes, ${halfRounds} with half of the listeners there`,
  ].join('\n')
  return formatTable(title, columns, rows)
}

function changeRow(name, { changes, delayMs, crossed = 1 }, floor) {
  const at = (values) => [0.5, 0.99].map((q) => quantile(values, q).toFixed(0))
  const us = pick(changes, 'us')
  return [
    name,
    median(us).toFixed(1),
    `±${(spread(us) * 100).toFixed(0)} %`,
    overRounds(us, pick(floor.changes, 'us')),
    delayMs.p50.toFixed(0),
    delayMs.p99.toFixed(0),
    ...at(pick(changes, 'lastMs')),
    overRounds(pick(changes, 'lastMs'), pick(floor.changes, 'lastMs')),
    ...at(pick(changes, 'answeredMs')),
    `${(crossed * 100).toFixed(0)} %`,
  ]
}

function burstTable(crowd, { burst, bursts }) {
  const rows = Object.entries(crowd).map(([worker, one]) => [
    worker,
    mean(pick(one.bursts, 'messages')).toFixed(1),
    median(pick(one.bursts, 'lastMs')).toFixed(0),
    median(pick(one.bursts, 'cpuMs')).toFixed(0),
    overRounds(pick(one.bursts, 'cpuMs'), pick(crowd[base].bursts, 'cpuMs')),
  ])
  const title = `a burst: ${burst} requests at once, half of them at each Worker, say that the same thing changed; medians of ${bursts}`
  return formatTable(title, ['worker', 'told times', 'ms to the last', 'CPU ms', '× floor'], rows)
}

function killTable(crowd, { kills }) {
  const rows = Object.entries(crowd).flatMap(([worker, one]) =>
    [false, true].flatMap((isAtOnce) => {
      const all = one.kills.filter((each) => each.isAtOnce === isAtOnce)
      if (all.length === 0) return []
      const backMs = median(pick(all, 'backMs'))
      const us = isAtOnce && pick(all, 'us')
      return [
        [
          `${worker}, ${isAtOnce ? 'at once' : 'as deployed'}`,
          isAtOnce ? '' : median(pick(all, 'halfMs')).toFixed(0),
          backMs.toFixed(0),
          ((one.listeners / backMs) * 1_000).toFixed(0),
          us ? median(us).toFixed(0) : '',
          us ? over(median(us), median(ofAtOnce(crowd[base]))) : '',
          isAtOnce ? '' : 'none',
        ],
      ]
    }),
  )
  const title = [
    'the hub is killed, and all listeners come back by themselves: spread over time by their number as deployed, or at once;',
    `CPU of Worker and hub for each; who was not told of a change made meanwhile; medians of ${kills}`,
  ].join('\n')
  const columns = ['worker', 'ms until half', 'until all', 'a second', 'µs', '× floor', 'missed']
  return formatTable(title, columns, rows)
}

function publishTable(publishing, { publishRounds, publishes }) {
  const rows = Object.entries(publishing).map(([worker, one]) => [
    worker,
    one.cpuUs.toFixed(0),
    `±${(one.spread * 100).toFixed(0)} %`,
    ratioCells(publishing, worker, base)[0],
    ratioCells(publishing, worker, 'ours')[0],
    one.p50Ms.toFixed(2),
    one.p99Ms.toFixed(2),
  ])
  const title = [
    'publishing while nobody listens, until every hub has stored it (floor stores nothing); ours has one hub unless it says;',
    `${publishRounds} rounds of ${publishes}`,
  ].join('\n')
  return formatTable(title, ['worker', 'µs', 'spread', '× floor', '× ours', 'ms p50', 'p99'], rows)
}

const pick = (all, key) => all.map((each) => each[key])

const ofAtOnce = ({ kills }) =>
  pick(
    kills.filter(({ isAtOnce }) => isAtOnce),
    'us',
  )

function over(figure, floor) {
  return (figure / floor).toFixed(2)
}

/** Of figures that were taken in the same rounds. */
function overRounds(figures, floors) {
  return median(figures.map((figure, i) => figure / floors[i])).toFixed(2)
}
