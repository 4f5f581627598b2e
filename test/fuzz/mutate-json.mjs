// Mutations of a message as JSON: types, members, ids, envelopes.
import { hostileValue, INHERITED, KEYS, list, NUMBERS, STRINGS, VALUES } from './hostile.mjs'
import { getAt, isObject, pathsOf, withAt, withMember } from './json.mjs'
import { ASKING, CALLS, callsOf, headersOf, LEGACY, messageOf, MODERN, post, REVISIONS } from './requests.mjs'
import { META } from '../../src/protocol/meta.ts'

/** A valid message of a random call, and its revision. */
export function anyMessage(random, known) {
  const revision = random.weighted([
    [6, MODERN],
    [3, random.pick(LEGACY)],
    [1, null],
  ])
  return { revision, message: messageOf(random.pick(callsOf(revision, known)), revision, random.int(1_000)) }
}

/** A call with the envelope of a revision, mostly the modern one. */
export function anyRevision(random, call) {
  const revision = random.chance(0.7) ? MODERN : random.pick(LEGACY)
  return { revision, message: messageOf(call, revision) }
}

/** Sends the mutated message, mostly with headers that fit it, sometimes with those that fitted before. */
function send(group, random, mutated, { message, revision }) {
  return post(group, mutated, revision, random.chance(0.2) && { headers: headersOf(message, revision) })
}

/** Each path of each method's request in each revision, once with a wrong value and once without it. */
export function everyPath(random, known) {
  return REVISIONS.flatMap((revision) => {
    const kindOf = ({ method, params }) => (params?.task ? `${method} for a task` : method)
    const richest = new Map(callsOf(revision, known).map((call) => [kindOf(call), call]))
    return [...richest.values()].flatMap((call) => {
      const message = messageOf(call, revision)
      return pathsOf(message).flatMap((path) => [
        post('every path', withAt(message, path, hostileValue(random)), revision),
        post('every path', withAt(message, path, undefined), revision),
      ])
    })
  })
}

/** A wrong value anywhere in the message, or two. */
export function wrongType(random, known) {
  const valid = anyMessage(random, known)
  const wrong = (message) => withAt(message, random.pick(pathsOf(message)), hostileValue(random))
  const once = wrong(valid.message)
  return send('wrong type', random, random.chance(0.2) && pathsOf(once).length > 0 ? wrong(once) : once, valid)
}

/** A member taken away, or one that does not belong there, or one that occurs twice. */
export function members(random, known) {
  const valid = anyMessage(random, known)
  const { message } = valid
  const paths = pathsOf(message)
  if (random.chance(0.35)) return send('member missing', random, withAt(message, random.pick(paths), undefined), valid)
  const at = random.pick([[], ...paths.filter((path) => isObject(getAt(message, path)))])
  const own = Object.keys(getAt(message, at))
  if (random.chance(0.3) && own.length > 0) {
    const key = random.pick(own)
    const twice = random.chance(0.5) ? getAt(message, [...at, key]) : hostileValue(random)
    return send('member twice', random, withMember(message, at, key, twice), valid)
  }
  return send('member extra', random, withMember(message, at, random.pick(KEYS), hostileValue(random)), valid)
}

/** The fields of the envelope and of the handshake, with values that are nearly right. */
export function envelopes(random, known) {
  const revision = random.chance(0.75) ? MODERN : random.pick([...LEGACY, null])
  const handshake = callsOf(revision, known).find(({ method }) => method === 'initialize')
  return handshake && random.chance(0.7)
    ? badHandshake(random, handshake, revision)
    : badEnvelope(random, known, revision)
}

function badHandshake(random, call, revision) {
  const path = ['params', ...random.pick(pathsOf(call.params))]
  const versions = list('2025-06-18 | 2024-11-05 | 2026-07-28 | 2099-01-01 | 1.0')
  const value = random.pick([hostileValue(random), hostileValue(random), random.pick(versions), undefined])
  return post('handshake', withAt(messageOf(call, revision), path, value), revision)
}

function badEnvelope(random, known, revision) {
  const key = random.pick([...Object.values(META), META.protocolVersion, META.clientCapabilities])
  const calls = key === META.clientCapabilities && random.chance(0.7) ? ASKING : callsOf(revision, known)
  const message = messageOf(random.pick(calls), revision)
  const near = [undefined, {}, {}, { form: {} }, { url: {} }, { tools: {} }, { listChanged: true }]
  const capability = () => random.pick([...near, hostileValue(random)])
  const value = random.pick([
    () => ({ elicitation: capability(), sampling: capability(), roots: capability(), extensions: capability() }),
    () => ({ [random.pick(INHERITED)]: {} }),
    () => random.pick(list('2026-07-28 | 2025-11-25 | 2027-01-01 | draft | debug | emergency | fatal')),
    () => ({ name: random.pick(VALUES), version: random.pick(VALUES) }),
    () => ({ name: 'n'.repeat(random.int(3_000)), version: 'v', icons: random.pick(VALUES) }),
    () => hostileValue(random),
  ])()
  const mutated = withAt(message, ['params', '_meta', key], value)
  const isVersion = key === META.protocolVersion && typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)
  return post('envelope', mutated, revision, isVersion && random.chance(0.5) && { headers: headersOf(mutated, value) })
}

/** Ids and progress tokens of every type. */
export function ids(random, known) {
  const { revision, message } = anyMessage(random, known)
  const id = random.pick([...NUMBERS, ...VALUES, 'i'.repeat(20_000), '\u00e9'.repeat(50)])
  if (random.chance(0.7)) return post('id', { ...message, id }, revision)
  return post('progress token', withMember(message, ['params', '_meta'], 'progressToken', id), revision)
}

/** Notifications and answers, which nobody waits for, and what is none of either. */
export function oneWay(random) {
  const id = random.pick([1, 'a', ...VALUES])
  const notified = random.pick(list('notifications/initialized | notifications/cancelled | notifications/progress | x'))
  const params = random.pick([undefined, {}, { requestId: id }, { _meta: random.pick(VALUES) }, hostileValue(random)])
  const message = random.pick([
    { method: notified, params },
    { method: random.pick(STRINGS), params },
    { id, result: random.pick([{}, { roots: [] }, hostileValue(random)]) },
    { id, error: random.pick([{ code: -1, message: 'no' }, hostileValue(random)]) },
    { id, result: {}, error: { code: 1, message: '' } },
    { jsonrpc: random.pick(VALUES), id: 1, ...random.pick(CALLS) },
  ])
  return post('one way', { jsonrpc: '2.0', ...message }, random.pick(REVISIONS))
}

/** Requests nothing is wrong with. */
export function valid(random, known) {
  const { revision, message } = anyMessage(random, known)
  const number = random.int(2 ** 31)
  return post('valid', { ...message, id: random.chance(0.5) ? number : `id-${number}` }, revision)
}
