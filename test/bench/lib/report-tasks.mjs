// The tables about tasks. Judges nothing: no aim is set.
import { cpuCells, ratioCells } from './report-sessions.mjs'
import { formatTable } from './table.mjs'

const titles = {
  'create quick task': 'create quick task: tools/call that becomes a task, whose handler returns at once, until it has',
  'create sleeping task': 'create sleeping task: the same, until the handler sleeps',
  'get working task': 'get working task: tasks/get of one that sleeps; session is a quick call in a session of ours',
  'get completed task': 'get completed task: tasks/get with the result; session is a quick call in a session of ours',
}

/** `{ text, aims }`, as of the other parts. */
export function reportTasks(tasks) {
  const { cpu = {}, waiting = {} } = tasks
  const tables = [
    ...Object.entries(cpu).map(([scenario, all]) => cpuTable(scenario, all)),
    ...Object.entries(waiting).map(([kind, all]) => waitingTable(kind, all, tasks)),
  ]
  return { text: [explain(tasks), ...tables].join('\n'), aims: [] }
}

function explain({ processes, rounds, requests, warmup }) {
  return [
    'Tasks of the extension io.modelcontextprotocol/tasks. No peer is beside them, because none serves tasks on this platform:',
    'the official SDK has their types but nothing that runs them, and agents has neither. floor is a bare Durable Object',
    'behind a plain worker: one row and one alarm for each task, stored before it is answered, and one object call that reads',
    'the row. running is the floor that then also stores what the handler came to: one more row, and an alarm for a sleep.',
    'unlogged is ours with LOG=off; identified is ours for a caller who is not anonymous, so that its tasks are counted.',
    `${processes} processes of each worker, ${rounds} rounds of ${requests} requests after ${warmup} to warm up.`,
  ].join('\n')
}

function cpuTable(scenario, all) {
  const unit = scenario.startsWith('create') ? 'tasks/s' : 'requests/s'
  const hasRunning = 'running' in all
  const columns = ['worker', 'µs', 'spread', unit, '× floor', 'range', ...(hasRunning ? ['× running', 'range'] : [])]
  const rows = Object.keys(all).map((worker) => [
    ...cpuCells(all, worker, 'floor'),
    ...(hasRunning ? ratioCells(all, worker, 'running') : []),
  ])
  return formatTable(titles[scenario], columns, rows)
}

function waitingTable(kind, all, { waitingTasks }) {
  const rows = Object.entries(all).map(([worker, figures]) => [
    worker,
    String(figures.tasks),
    figures.awakeKb.toFixed(0),
    figures.awakeHeapKb.toFixed(1),
    figures.asleepKb.toFixed(1),
    figures.asleepHeapKb.toFixed(1),
    figures.processMb.toFixed(0),
    figures.waitingUs.toFixed(0),
    figures.finishUs.toFixed(0),
    (figures.finishUs / all.floor.finishUs).toFixed(2),
    String(figures.completed),
  ])
  const memory = ['kB awake', 'of heap', 'kB asleep', 'of heap', 'process MB']
  const columns = ['worker', 'tasks', ...memory, 'µs waiting', 'µs to finish', '× floor', 'completed']
  const isAsking = kind === 'asking'
  const few = all.ours.tasks < waitingTasks ? `; more than ${all.ours.tasks} need a higher ulimit -n` : ''
  const title = [
    `waiting tasks, ${isAsking ? 'for input' : 'asleep'}: memory for each when just created, and when its object was evicted, without what is`,
    `reused; CPU for each while it waits; CPU of its ${isAsking ? 'answer' : 'waking'}, its end and the tasks/get that shows it${few}`,
  ].join('\n')
  return formatTable(title, columns, rows)
}
