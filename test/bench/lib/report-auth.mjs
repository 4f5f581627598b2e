// The tables about authorization. Judges nothing: no aim is set.
import { difference, ratio } from './measure.mjs'
import { formatTable } from './table.mjs'

const titles = {
  'authorized call': 'authorized call: a modern tools/call',
  'authorized session call': 'authorized session call: the same in a session of 2025-11-25',
}

/** `{ text, aims }`, as of the other parts. */
export function reportAuth(auth) {
  const tables = Object.entries(auth.cpu).map(([scenario, cells]) => callTable(scenario, cells, auth))
  return { text: [explain(auth), ...tables, askedTable(auth)].join('\n'), aims: [] }
}

function explain({ processes, rounds, requests, warmup }) {
  return [
    'Authorization, while the keys of the issuer and the opaque token are known. floor is the hand-written worker behind',
    "jose's createRemoteJWKSet and jwtVerify; provider is that worker behind OAuthResourceServer of Cloudflare's",
    'workers-oauth-provider, and sdk the official SDK behind its requireBearerAuth, each with the same verification by jose.',
    'large is an RS256 token with 20 scopes and more claims; opaque one that ours asked its issuer about; session is ours.',
    'Keys of RS256 have 2,048 bits. checking: what the same worker takes more than without authorization (provider: than',
    'floor), a difference within a round as ratios are, and its share of the request.',
    `${processes} processes of each worker, ${rounds} rounds of ${requests} requests after ${warmup} to warm up.`,
  ].join('\n')
}

function callTable(scenario, cells, { cells: of }) {
  const hasFloor = 'floor none' in cells
  const rows = Object.entries(cells).map(([name, measured]) => {
    const { worker, kind, bytes } = of[name]
    const { cpuUs, spread, requestsPerSecond } = measured
    const floor = cells[`floor ${kind}`]
    return [
      name,
      bytes > 0 ? String(bytes) : '',
      cpuUs.toFixed(0),
      `±${(spread * 100).toFixed(0)} %`,
      requestsPerSecond.toFixed(0),
      ...(hasFloor ? [floor ? ratio(measured, floor).mean.toFixed(2) : ''] : []),
      ...(kind === 'none' ? [] : checkingCells(measured, kind, cells[`${worker} none`] ?? cells['floor none'], cells)),
    ]
  })
  const columns = ['worker, token', 'bytes', 'µs', 'spread', 'requests/s', ...(hasFloor ? ['× floor'] : [])]
  const checking = ['µs checking', 'range', 'share', ...(hasFloor ? ['× floor'] : [])]
  return formatTable(titles[scenario], [...columns, ...checking], rows)
}

function checkingCells(measured, kind, without, cells) {
  const { mean, low, high } = difference(measured, without)
  const floor = cells[`floor ${kind}`]
  return [
    mean.toFixed(0),
    `${low.toFixed(0)}-${high.toFixed(0)}`,
    `${((mean / measured.cpuUs) * 100).toFixed(0)} %`,
    ...(floor ? [(mean / difference(floor, cells['floor none']).mean).toFixed(2)] : []),
  ]
}

function askedTable({ asked }) {
  const rows = Object.entries(asked).map(([worker, { warmingUp, measured }]) => [
    worker,
    String(warmingUp),
    String(measured),
  ])
  const title = 'requests to the issuer, of all processes; what is forged is refused while warming up'
  return formatTable(title, ['worker', 'warming up', 'measured'], rows)
}
