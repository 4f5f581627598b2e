// The server under attack: the bundle of worker.ts on bare workerd, what it notes of requests, and what it hands out.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildBundle, startWorkerd } from '../support/server.mjs'
import { exchange } from './http.mjs'
import { ASKING, CALLS, LEGACY, MODERN, messageOf, post, toBytes, traceIdOf } from './requests.mjs'

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
  let next = 0
  const work = async () => {
    while (next < requests.length) {
      const i = next++
      const request = requests[i]
      const { raw, method } = request
      answers[i] = await exchange(port, toBytes(request, firstIndex + i), { method, idle: raw ? undefined : idle })
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  // Half-closed, the server ends its side too.
  for (const socket of idle) socket.destroy()
  return answers
}

/** What the worker noted since the last time, by trace. `stray` holds failures of requests without one. */
export async function readNotes(port) {
  const { reached, logged, keyReads, polluted } = JSON.parse(await get(port, '/fuzz'))
  const byTrace = new Map()
  const at = (traceId) => {
    if (!byTrace.has(traceId)) byTrace.set(traceId, nothing())
    return byTrace.get(traceId)
  }
  const stray = []
  for (const [handler, traceId] of reached) at(traceId).handlers.push(handler)
  for (const line of logged) {
    const event = JSON.parse(line)
    if (event.event === 'request' && event.era) at(event.traceId).eras.push(event.era)
    if (event.event !== 'failure') continue
    if (isOnPurpose(event)) at(event.traceId).isOnPurpose = true
    else if (event.traceId) at(event.traceId).failures.push(event.error)
    else stray.push(event.error)
  }
  const of = (index) => byTrace.get(traceIdOf(index)) ?? nothing()
  return { of, stray, keyReads, polluted }
}

function nothing() {
  return { handlers: [], eras: [], failures: [], isOnPurpose: false }
}

/** `boom` fails because it was told to; everything else that fails was made to by its input. */
function isOnPurpose({ name, error }) {
  return name === 'boom' || error.includes('inner-words-of-an-exception')
}

/** States, cursors and session ids the server hands out to well-behaved clients. Throws when it does not answer them. */
export async function learn(port) {
  const rounds = []
  for (const call of ASKING) {
    const first = await call200(port, call)
    rounds.push({ call, state: first.requestState, requests: first.inputRequests })
    const isAsked = Object.keys(call.answers).every((key) => Object.hasOwn(first.inputRequests, key))
    if (!isAsked) throw new Error(`${call.params.name} asked ${Object.keys(first.inputRequests)}`)
    const params = { ...call.params, requestState: first.requestState, inputResponses: call.answers }
    const second = await call200(port, { ...call, params }, true)
    if (second?.requestState) rounds.push({ call, state: second.requestState, requests: second.inputRequests })
  }
  return {
    rounds,
    cursors: await walkLists(port),
    sessions: await Promise.all(LEGACY.map((each) => handshake(port, each))),
  }
}

/** A session of a client that cannot be asked anything, so that no call waits for its answers. */
async function handshake(port, revision) {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } }
  const request = post('health', messageOf({ method: 'initialize', params }, revision), revision)
  const { headers } = await exchange(port, toBytes(request), { method: 'POST' })
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
      const { nextCursor } = await call200(port, { method, params })
      if (nextCursor !== undefined) cursors[method].push(nextCursor)
      params = nextCursor !== undefined && { cursor: nextCursor }
    }
  }
  return cursors
}

/** Throws unless the server answers like one that nothing happened to. */
export async function checkHealth(port) {
  const params = { name: 'add', arguments: { a: 2, b: 3 } }
  const { structuredContent } = await call200(port, { method: 'tools/call', params })
  const { tools } = await call200(port, { method: 'tools/list', params: {} })
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
  const ask = (times) =>
    sendAll(
      server.port,
      Array.from({ length: times }, () => request),
      0,
    )
  await ask(50)
  const before = residentMiB(server.pid)
  await ask(calls)
  return before && residentMiB(server.pid) - before
}

async function call200(port, call, mayFail = false) {
  const request = post('health', messageOf(call, MODERN), MODERN)
  const answer = await exchange(port, toBytes(request), { method: 'POST' })
  const { result } = JSON.parse(decoder.decode(answer.body ?? Buffer.from('{}')))
  if (!result && !mayFail) throw new Error(`no result for a valid ${call.method}: ${decoder.decode(answer.body)}`)
  return result
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
