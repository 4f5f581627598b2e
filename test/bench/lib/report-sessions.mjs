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
  const peer = agent
    ? `agent is McpAgent of agents ${agent}, with its own storage and its keep-alive.`
    : `McpAgent of Cloudflare's agents is not installed, so it is not measured; an earlier measurement was ${agentBefore} × object.`
  return [
    'Sessions of 2025-11-25. object is a bare Durable Object behind a plain worker: it returns the text it was given, and',
    'sends events over a hibernatable socket without storing them; storing inserts one row for each. held is a stream of',
    'the worker alone.',
    'unlogged is ours with LOG=off; stateless is the same call without a session. All objects store on disk.',
    peer,
    `${processes} processes of each worker, ${rounds} rounds of ${requests} calls, or of two calls of ${events} events.`,
  ].join('\n')
}

function callTable(all, judge) {
  const rows = Object.entries(all).map(([worker, measured]) => {
    const toObject = ratio(measured, all.object)
    return [
      ...cpuCells(worker, measured, toObject),
      worker === 'ours' ? judgeCall(toObject.mean, judge) : '',
    ]
  })
  const columns = ['worker', 'µs', 'spread', '× object', 'range', 'requests/s', 'aim']
  return formatTable('session call: tools/call that is quick and quiet, answered in JSON', columns, rows)
}

function judgeCall(figure, judge) {
  return judge('session call, ours', `at most ${callAim} × object`, figure, figure <= callAim)
}

function streamTable(all, { events }) {
  const rows = Object.entries(all).map(([worker, measured]) => cpuCells(worker, measured, ratio(measured, all.object)))
  const columns = ['worker', 'µs/event', 'spread', '× object', 'range', 'events/s']
  const title = `session stream: tools/call with ${events} progress events, from the handler to the client; ours stores each first`
  return formatTable(title, columns, rows)
}

function cpuCells(worker, { cpuUs, spread, requestsPerSecond }, toObject) {
  return [
    worker,
    cpuUs.toFixed(0),
    `±${(spread * 100).toFixed(0)} %`,
    toObject.mean.toFixed(2),
    `${toObject.low.toFixed(2)}-${toObject.high.toFixed(2)}`,
    requestsPerSecond.toFixed(0),
  ]
}

function idleTable(idle, { idleSeconds, idleStreams }, judge) {
  const rows = Object.entries(idle).map(([worker, { streams, openedKb, idleKb, processMb, cpuUsPerMinute }]) => [
    worker,
    String(streams),
    openedKb.toFixed(0),
    idleKb.toFixed(0),
    (idleKb / idle.held.idleKb).toFixed(2),
    processMb.toFixed(0),
    cpuUsPerMinute.toFixed(0),
    worker === 'ours' ? judgeIdle(idleKb / idle.held.idleKb, judge) : '',
  ])
  const columns = ['worker', 'streams', 'kB opened', 'kB idle', '× held', 'process MB', 'CPU µs/minute', 'aim']
  const few = idle.ours.streams < idleStreams ? `; more than ${idle.ours.streams} need a higher ulimit -n` : ''
  const title = `idle streams: resident memory for each, when opened and ${idleSeconds} s later${few}`
  return formatTable(title, columns, rows)
}

function judgeIdle(figure, judge) {
  return judge('idle stream, ours', `at most ${idleAim} × held`, figure, figure <= idleAim)
}
