// The server under attack: the bundle of worker.ts on bare workerd, what it notes of requests, and what it hands out.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildBundle, startWorkerd } from '../support/server.mjs'
import { ask, resultOf } from './client.mjs'
import { exchange } from './http.mjs'
import { ASKING, CALLS, LEGACY, MODERN, messageOf, post, toBytes, traceIdOf } from './requests.mjs'
import { fullListenCall, learnPlaces } from './listens.mjs'
import { learnExpired, learnTasks, taskCallsOf, WITH_TASKS } from './tasks.mjs'

const config = fileURLToPath(new URL('wrangler.toml', import.meta.url))
const decoder = new TextDecoder()

/** Builds and starts it. `stop()` also removes the bundle. */
export async function startTarget() {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-edge-fuzz-'))
  try {
    await buildBundle({ config, outdir: folder })
    const server = await startWorkerd({ config, bundleDir: folder })
    const stop = async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    }
    return { ...server, stop }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Sends requests over a few connections and resolves to their answers, in the order of the requests. */
export async function sendAll(port, requests, firstIndex, connections = 6) {
  const answers = []
  const idle = []
  const send = async (i) => {
    const request = requests[i]
    const { raw, method, patienceMs } = request
    const own = raw || patienceMs ? {} : { idle }
    answers[i] = await exchange(port, toBytes(request, firstIndex + i), { method, patienceMs, ...own })
  }
  // Those that only wait hold nobody up.
  const waiting = [...requests.keys()].filter((i) => requests[i].patienceMs)
  const others = [...requests.keys()].filter((i) => !requests[i].patienceMs)
  const work = async () => {
    while (others.length > 0) await send(others.shift())
  }
  await Promise.all([...waiting.map(send), ...Array.from({ length: connections }, work)])
  // Half-closed, the server ends its side too.
  for (const socket of idle) socket.destroy()
  return answers
}

/**
 * What the worker noted since the last time, by trace. `stray` holds failures of requests without one, `telling` the events
 * that were logged with the id of a task.
 */
export async function readNotes(port) {
  const { reached, logged, ...others } = JSON.parse(await get(port, '/fuzz'))
  const byTrace = new Map()
  const at = (traceId) => {
    if (!byTrace.has(traceId)) byTrace.set(traceId, nothing())
    return byTrace.get(traceId)
  }
  const stray = []
  const telling = new Set()
  for (const [handler, traceId] of reached) at(traceId).handlers.push(handler)
  for (const line of logged) {
    const event = JSON.parse(line)
    // Who knows it may read the task.
    if (/[0-9a-f]{64}/.test(line)) telling.add(event.event)
    if (event.event === 'request' && event.era) at(event.traceId).eras.push(event)
    if (event.event !== 'failure') continue
    if (isOnPurpose(event)) at(event.traceId).isOnPurpose = true
    else if (event.traceId) at(event.traceId).failures.push(event.error)
    else stray.push(event.error)
  }
  const of = (index) => byTrace.get(traceIdOf(index)) ?? nothing()
  return { of, stray, telling, ...others }
}

function nothing() {
  return { handlers: [], eras: [], failures: [], isOnPurpose: false }
}

/** `boom` fails because it was told to; everything else that fails was made to by its input. */
function isOnPurpose({ name, error }) {
  return name === 'boom' || error.includes('inner-words-of-an-exception')
}

/**
 * States, cursors, session ids and tasks the server hands out to well-behaved clients. Throws when it does not answer them.
 */
export async function learn(port) {
  const rounds = []
  for (const call of ASKING) {
    const first = await resultOf(port, call)
    rounds.push({ call, state: first.requestState, requests: first.inputRequests })
    const isAsked = Object.keys(call.answers).every((key) => Object.hasOwn(first.inputRequests, key))
    if (!isAsked) throw new Error(`${call.params.name} asked ${Object.keys(first.inputRequests)}`)
    const params = { ...call.params, requestState: first.requestState, inputResponses: call.answers }
    const { result: second } = await ask(port, { ...call, params })
    if (second?.requestState) rounds.push({ call, state: second.requestState, requests: second.inputRequests })
  }
  const [tasks, expired, places] = await Promise.all([learnTasks(port), learnExpired(port), learnPlaces(port)])
  return {
    rounds,
    cursors: await walkLists(port),
    sessions: await Promise.all(LEGACY.map((each) => handshake(port, each))),
    tasks,
    /** By revision. */
    calls: {
      [MODERN]: [...taskCallsOf(MODERN, tasks), fullListenCall(tasks)],
      [WITH_TASKS]: taskCallsOf(WITH_TASKS, tasks),
    },
    /** Cursors of streams of changes. */
    places,
    listed: await listTasks(port, tasks),
    /** Ids that no task has. */
    strays: { ...JSON.parse(await get(port, '/fuzz/ids')), expired: [expired] },
  }
}

/** Where the first page of somebody's tasks ends. */
async function listTasks(port, tasks) {
  const { revision, principal, session } = tasks.findLast((task) => task.principal === 'ann')
  const { nextCursor } = await resultOf(port, { method: 'tasks/list', params: {} }, { revision, principal })
  if (nextCursor === undefined) throw new Error('the tasks of ann are on one page')
  return { revision, session, cursor: nextCursor }
}

/** A session of a client that cannot be asked anything, so that no call waits for its answers. */
async function handshake(port, revision) {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } }
  const { headers } = await ask(port, { method: 'initialize', params }, { revision })
  const id = headers?.get('mcp-session-id')?.[0]
  if (id === undefined) throw new Error(`no session for a client of ${revision}`)
  return { id, revision }
}

/** Every cursor of every list, page by page, by method. */
async function walkLists(port) {
  const cursors = {}
  for (const { method } of CALLS.filter((call) => call.method.endsWith('/list'))) {
    cursors[method] = []
    for (let params = {}; params;) {
      const { nextCursor } = await resultOf(port, { method, params })
      if (nextCursor !== undefined) cursors[method].push(nextCursor)
      params = nextCursor !== undefined && { cursor: nextCursor }
    }
  }
  return cursors
}

/** Throws unless the server answers like one that nothing happened to. */
export async function checkHealth(port) {
  const params = { name: 'add', arguments: { a: 2, b: 3 } }
  const { structuredContent } = await resultOf(port, { method: 'tools/call', params })
  const { tools } = await resultOf(port, { method: 'tools/list', params: {} })
  const isHealthy = structuredContent.sum === 5 && tools.length === 1 && (await get(port, '/health')) === 'ok'
  if (!isHealthy) throw new Error('the server no longer answers rightly')
}

/**
 * By how many MiB the process grows over calls that end in questions, each with a megabyte of arguments: nobody may come
 * back with the answers, so nothing of such a call may be kept. Undefined where memory cannot be told.
 */
export async function measureRetention(server, calls) {
  const params = { name: 'ask_link', arguments: { ballast: 'x'.repeat(1024 * 1024) } }
  const request = post('retention', messageOf({ method: 'tools/call', params }, MODERN), MODERN)
  const askOften = (times) =>
    sendAll(
      server.port,
      Array.from({ length: times }, () => request),
      0,
    )
  await askOften(50)
  const before = residentMiB(server.pid)
  await askOften(calls)
  return before && residentMiB(server.pid) - before
}

async function get(port, path) {
  const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  const { body } = await exchange(port, bytes, { method: 'GET' })
  if (!body) throw new Error(`no answer to GET ${path}`)
  return decoder.decode(body)
}

/** Resident memory of a process in MiB, or undefined where nothing tells. */
export function residentMiB(pid) {
  try {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
  } catch {
    // No `ps` here: the check is left out.
    return undefined
  }
}
