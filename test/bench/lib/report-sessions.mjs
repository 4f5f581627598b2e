// The tables about sessions, with each aim beside its figure. Judges, but asserts nothing.
import { ratio } from './measure.mjs'
import { formatTable } from './table.mjs'

const callAim = 2
const idleAim = 1
/** Taken once, on another machine, before this benchmark had sessions. */
const agentBefore = 6.9

/** `{ text, aims }`; an aim is `{ what, aim, figure, met }`. */
export function reportSessions(sessions) {
  const aims = []
  const judge = (what, aim, figure, met) => {
    aims.push({ what, aim, figure, met })
    return `${aim}: ${met ? 'met' : 'falls short'}`
  }
  const { cpu = {}, idle } = sessions
  const tables = [
    cpu['session call'] && callTable(cpu['session call'], judge),
    cpu['session stream'] && streamTable(cpu['session stream'], sessions),
    idle && idleTable(idle, sessions, judge),
  ]
  return { text: [explain(sessions), ...tables.filter(Boolean)].join('\n'), aims }
}

function explain({ agent, processes, rounds, requests, events }) {
  return [
    'Sessions of 2025-11-25. object is a bare Durable Object behind a plain worker: it returns the text it was given, and',
    'sends events over a hibernatable socket to a stream the worker holds; storing also inserts a row for each. held is a',
    'stream of the worker alone. unlogged is ours with LOG=off; stateless is the same call without a session.',
    agent
      ? `agent is McpAgent of agents ${agent}, which stores and keeps alive in its own way.`
      : `McpAgent of Cloudflare's agents is not installed and not measured; an earlier measurement was ${agentBefore} × object.`,
    `${processes} processes of each worker, ${rounds} rounds of ${requests} calls, or of two calls of ${events} events.`,
  ].join('\n')
}

function callTable(all, judge) {
  const judgeCall = (figure) => judge('session call, ours', `at most ${callAim} × object`, figure, figure <= callAim)
  const title = 'session call: tools/call that is quick and quiet, answered in JSON'
  const aimOf = (worker) => (worker === 'ours' ? judgeCall(ratio(all.ours, all.object).mean) : '')
  const rows = Object.keys(all).map((worker) => [...cpuCells(all, worker, 'object'), aimOf(worker)])
  return formatTable(title, ['worker', 'µs', 'spread', 'calls/s', '× object', 'range', 'aim'], rows)
}

function streamTable(all, { events }) {
  const title = `session stream: tools/call with ${events} progress events, from the handler to the client; µs for each`
  const rows = Object.keys(all).map((worker) => [
    ...cpuCells(all, worker, 'object'),
    ...ratioCells(all, worker, 'storing'),
  ])
  return formatTable(title, ['worker', 'µs', 'spread', 'events/s', '× object', 'range', '× storing', 'range'], rows)
}

export function cpuCells(all, worker, base) {
  const { cpuUs, spread, requestsPerSecond } = all[worker]
  const figures = [cpuUs.toFixed(0), `±${(spread * 100).toFixed(0)} %`, requestsPerSecond.toFixed(0)]
  return [worker, ...figures, ...ratioCells(all, worker, base)]
}

export function ratioCells(all, worker, base) {
  const { mean, low, high } = ratio(all[worker], all[base])
  return [mean.toFixed(2), `${low.toFixed(2)}-${high.toFixed(2)}`]
}

function idleTable(idle, { idleSeconds, idleStreams }, judge) {
  const rows = Object.entries(idle).map(([worker, { streams, awakeKb, idleKb, processMb, cpuUsPerMinute }]) => [
    worker,
    String(streams),
    awakeKb.toFixed(0),
    idleKb.toFixed(0),
    (idleKb / idle.held.idleKb).toFixed(2),
    (idleKb / idle.object.idleKb).toFixed(2),
    processMb.toFixed(0),
    cpuUsPerMinute.toFixed(0),
    worker === 'ours' ? judgeIdle(idleKb / idle.held.idleKb, judge) : '',
  ])
  const columns = [
    'worker',
    'streams',
    'kB awake',
    'kB idle',
    '× held',
    '× object',
    'process MB',
    'CPU µs/minute',
    'aim',
  ]
  const few = idle.ours.streams < idleStreams ? `; more than ${idle.ours.streams} need a higher ulimit -n` : ''
  const title = `idle streams: resident memory for each, when just opened and ${idleSeconds} s later, without what is reused${few}`
  return formatTable(title, columns, rows)
}

function judgeIdle(figure, judge) {
  return judge('idle stream, ours', `at most ${idleAim} × held`, figure, figure <= idleAim)
}
