// Turns what was measured into tables, with each aim beside its figure. Judges, but asserts nothing.
import { ratio } from './measure.mjs'
import { formatTable } from './table.mjs'

/** What the whole run was taken on. */
export function heading({ machine }) {
  return [
    'CPU time of the workerd process per request, in interleaved slices.',
    'µs: median of all rounds; spread: half the distance between the quartiles. Ratios are taken within a round:',
    'median per process, mean of processes; the range is that of the processes.',
    `${machine.cores} cores, ${machine.model}, load ${machine.load[0].toFixed(1)}, Node ${machine.node}`,
  ].join('\n')
}

/** `{ text, aims }`; an aim is `{ what, aim, figure, met }`. */
export function report(outcome, scenarios) {
  const aims = []
  const judge = (what, aim, figure, met) => {
    aims.push({ what, aim, figure, met })
    return `${aim}: ${met ? 'met' : 'falls short'}`
  }
  const tables = [
    ...scenarios.filter(({ name }) => outcome.cpu[name]).map((scenario) => cpuTable(scenario, outcome, judge)),
    sizeTable(outcome.sizes, judge),
    startUpTable(outcome.startUp, judge),
  ]
  return { text: [explain(outcome), ...tables].join('\n'), aims }
}

function explain({ processes, rounds, requests, warmup, toolCount }) {
  return [
    `${processes} processes of each worker, ${rounds} rounds of ${requests} requests after ${warmup} to warm up; ${toolCount} tools.`,
    'unlogged is ours with LOG=off; the others run with the variables of wrangler.toml. shipped is workers/mcp.ts.',
  ].join('\n')
}

function cpuTable({ name, aim }, { cpu }, judge) {
  const all = cpu[name]
  const rows = Object.entries(all).map(([worker, measured]) => {
    const toFloor = ratio(measured, all.floor)
    return [
      worker,
      measured.cpuUs.toFixed(0),
      `±${(measured.spread * 100).toFixed(0)} %`,
      ratio(measured, all.raw).mean.toFixed(2),
      toFloor.mean.toFixed(2),
      `${toFloor.low.toFixed(2)}-${toFloor.high.toFixed(2)}`,
      measured.requestsPerSecond.toFixed(0),
      aim && worker === 'ours' ? judgeRatio(name, aim, measured, all, judge) : '',
    ]
  })
  return formatTable(name, ['worker', 'µs', 'spread', '× raw', '× floor', 'range', 'requests/s', 'aim'], rows)
}

function judgeRatio(name, aim, measured, all, judge) {
  const figure = ratio(measured, all[aim.worker]).mean
  return judge(`${name}, ours`, `at most ${aim.ratio} × ${aim.worker}`, figure, figure <= aim.ratio)
}

function sizeTable(sizes, judge) {
  const smaller = (worker, key) => {
    if (!isJudged(worker) || !sizes.sdk) return ''
    const figure = sizes[worker][key]
    return judge(`gzip bytes, ${worker}, ${key}`, `under ${sizes.sdk[key]}`, figure, figure < sizes.sdk[key])
  }
  const rows = Object.entries(sizes).map(([worker, { gzipBytes, minifiedGzipBytes }]) => [
    worker,
    String(gzipBytes),
    smaller(worker, 'gzipBytes'),
    String(minifiedGzipBytes),
    smaller(worker, 'minifiedGzipBytes'),
  ])
  const title =
    'gzip bytes as wrangler uploads them: as wrangler.toml says (which is what runs here), and with --minify'
  return formatTable(title, ['worker', 'as configured', 'aim', 'with --minify', 'aim'], rows)
}

function startUpTable(startUp, judge) {
  const { raw, sdk } = startUp
  const rows = Object.entries(startUp).map(([worker, { wallMs, wallSpread, cpuMs }]) => [
    worker,
    wallMs.toFixed(0),
    `±${(wallSpread * 100).toFixed(0)} %`,
    (wallMs - raw.wallMs).toFixed(0),
    cpuMs.toFixed(0),
    (cpuMs - raw.cpuMs).toFixed(0),
    isJudged(worker) && sdk
      ? judge(
          `start-up ms over raw, ${worker}`,
          `under ${(sdk.wallMs - raw.wallMs).toFixed(0)} over raw`,
          wallMs - raw.wallMs,
          wallMs < sdk.wallMs,
        )
      : '',
  ])
  const title = 'start-up: from spawning workerd to the first correct answer (server/discover), medians'
  return formatTable(title, ['worker', 'ms', 'spread', 'over raw', 'CPU ms', 'over raw', 'aim'], rows)
}

function isJudged(worker) {
  return worker === 'ours' || worker === 'shipped'
}
