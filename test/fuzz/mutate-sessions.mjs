// Mutations around legacy sessions: ids that were tampered with, and what a session that is in order may be sent.
import { hostileValue, list, STRINGS, VALUES } from './hostile.mjs'
import { pathsOf, withAt } from './json.mjs'
import { flipped, sameBytes } from './mutate-states.mjs'
import { callsOf, headersOf, LEGACY, messageOf, post } from './requests.mjs'

const CURSORS = [
  ...list('0 | 1 | 0.0 | 1.0 | 1.1 | 99.99 | -1.-1 | 1e9.1 | a.b | . | ../.. | __proto__ | null'),
  'x'.repeat(5_000),
]

/** POST, GET and DELETE with ids of sessions: intact, tampered with, or something else that this server sealed. */
export function sessions(random, known) {
  const { sessions: all, rounds } = known
  const { id: own, revision } = random.pick(all)
  const isTampered = random.chance(0.5)
  const id = isTampered ? tampered(random, own, all, rounds) : own
  const request = random.weighted([
    [6, () => inSession(random, known, revision)],
    [1.5, () => plain('GET', random)],
    [isTampered ? 1 : 0, () => plain('DELETE', random)],
  ])()
  request.headers.push(['Mcp-Session-Id', id])
  const isForeign = !all.some((session) => sameBytes(session.id, id))
  // `initialize` begins a session, whatever id it comes with.
  if (isForeign && !/"initialize"/.test(String(request.body))) request.refuses = 'a session id that is none'
  return request
}

function tampered(random, own, all, rounds) {
  const other = random.pick(all).id.split('.')
  return random.pick([
    () => flipped(own, random),
    () => flipped(own, random),
    () => own.slice(0, random.int(own.length)),
    () => own + random.pick(['.', 'A', '=', ',', `, ${own}`]),
    () => own.split('.').with(random.int(5), other[random.int(5)]).join('.'),
    () => random.pick(rounds).state,
    () => random.pick(['x', '0'.repeat(64), 'A'.repeat(513), '.'.repeat(4), own.toUpperCase(), `"${own}"`]),
  ])()
}

function inSession(random, known, revision) {
  const extra = [
    { method: 'logging/setLevel', params: { level: random.pick(['debug', 'info', ...VALUES]) } },
    { method: 'resources/subscribe', params: { uri: random.pick(['fuzz://fixed', ...STRINGS]) } },
    { method: 'resources/unsubscribe', params: { uri: random.pick(['fuzz://fixed', ...STRINGS]) } },
  ]
  const message = messageOf(random.pick([...callsOf(revision, known), ...extra]), revision, random.int(1_000))
  const id = random.pick([1, 'a', ...VALUES])
  const mutated = random.weighted([
    [1, () => message],
    [3, () => withAt(message, random.pick(pathsOf(message)), hostileValue(random))],
    [1, () => ({ jsonrpc: '2.0', id, result: random.pick([{}, { action: 'accept' }, hostileValue(random)]) })],
    [1, () => ({ jsonrpc: '2.0', id, error: random.pick([{ code: -1, message: 'no' }, hostileValue(random)]) })],
    [1, () => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })],
  ])()
  return post('session', mutated, random.chance(0.8) ? revision : random.pick([...LEGACY, null]))
}

/** Without a body; a GET may come back to a place in a stream. */
function plain(method, random) {
  const headers = headersOf({}, random.pick([...LEGACY, null]))
  if (random.chance(0.6)) headers.push(['Last-Event-ID', random.pick(CURSORS)])
  return { group: 'session', method, target: '/mcp', headers }
}
