// Mutations of what a call that asked brings back: its sealed state, and the answers.
import { base64url, CompactEncrypt } from 'jose'
import { hostileValue, INHERITED, KEYS, list, STRINGS, VALUES } from './hostile.mjs'
import { Members, nested } from './json.mjs'
import { ASKING, LEGACY, messageOf, MODERN, post } from './requests.mjs'
import { limits } from '../../src/limits.ts'
import { digestOf } from '../../src/server/canonical.ts'

/** The key of worker.ts. */
const KEY = new Uint8Array(32)

/** States an attacker could not make: sealed for a call with the right key, but wrong in one thing. */
export async function sealedStates() {
  const call = ASKING[0]
  const digest = await digestOf({ target: call.params.name, arguments: call.params.arguments })
  const sound = { p: 'anonymous', m: call.method, d: digest, x: Date.now() + 3_600_000, memory: {} }
  const header = { alg: 'dir', enc: 'A256GCM', kid: 'fuzz' }
  const seal = (value, protectedHeader = header, key = KEY) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return new CompactEncrypt(Buffer.from(text)).setProtectedHeader(protectedHeader).encrypt(key)
  }
  const states = await Promise.all([
    seal({ ...sound, x: Date.now() - 1 }),
    seal({ ...sound, x: 'never' }),
    seal({ ...sound, p: 'somebody' }),
    seal({ ...sound, m: 'prompts/get' }),
    seal({ ...sound, d: digest.toLowerCase() }),
    ...[null, [], 'text', 5].map((memory) => seal({ ...sound, memory })),
    ...[[], null, 'no JSON', '\ud800', ''].map((payload) => seal(payload)),
    seal(sound, { ...header, kid: 'other' }),
    seal(sound, { ...header, kid: '__proto__' }),
    seal(sound, { ...header, kid: 5 }),
    seal(sound, { alg: 'dir', enc: 'A256GCM' }),
    seal(sound, { ...header, enc: 'A128GCM' }, KEY.slice(16)),
    seal(sound, { ...header, enc: 'A256CBC-HS512' }, new Uint8Array(64)),
    seal(sound, { ...header, alg: 'A256KW' }),
    seal(sound, header, new Uint8Array(32).fill(1)),
    seal({ ...sound, memory: { s: { a: ['x'.repeat(100_000)] } } }),
  ])
  return states.map((state) => ({ call, state }))
}

/** Each of them once. */
export function forgeries({ sealed }) {
  return sealed.flatMap(({ call, state }) => [retry(call, state, call.answers), retry(call, state)])
}

/** A call that asks, with a state that is not its own or no longer what it was. */
export function states(random, { rounds }) {
  const { call, state: own } = random.pick(rounds)
  const answers = random.chance(0.6) ? call.answers : undefined
  if (random.chance(0.15)) return moved(random, call, own, answers)
  const state = random.weighted(tamperings(own, random, rounds))()
  const isOwn = (round) => round.call === call && typeof state === 'string' && sameBytes(round.state, state)
  // Null counts as no state.
  return retry(call, state, answers, state !== null && !rounds.some(isOwn))
}

/** A call that differs from the one its state was sealed for. */
function moved(random, { method, params }, state, answers) {
  const args = random.pick([{ topic: 'other' }, { ...params.arguments, more: 1 }, { topic: ['weather'] }])
  const others = { ...params, ...(params.uri ? { uri: 'fuzz://ask/2' } : { arguments: args }) }
  return retry({ method, params: others }, state, answers)
}

function retry({ method, params }, state, answers, isForeign = true) {
  const message = messageOf({ method, params: { ...params, inputResponses: answers, requestState: state } }, MODERN)
  return post('state', message, MODERN, { refuses: isForeign && 'a state that is not its own' })
}

function tamperings(own, random, rounds) {
  const parts = own.split('.')
  const at = random.int(parts.length)
  const withPart = (part) => parts.with(at, part).join('.')
  const withHeader = (text) => parts.with(0, base64url.encode(text)).join('.')
  const changed = (change) =>
    withHeader(JSON.stringify({ ...JSON.parse(Buffer.from(parts[0], 'base64url')), ...change }))
  const other = random.pick(rounds).state
  const kids = ['', '__proto__', 'constructor', 'other', 5, null, {}, [], 'x'.repeat(500)]
  const algorithms = [...list('none | RSA-OAEP | PBES2-HS256+A128KW | ECDH-ES | A256GCMKW'), '', null, 5, {}]
  return [
    [4, () => flipped(own, random)],
    [2, () => own.slice(0, random.int(own.length))],
    [1, () => own + random.pick(['.', 'A', '=', ' ', '.A', '\n', '\0'])],
    [2, () => other],
    [1, () => withPart(random.pick(['', 'A', 'AAAA', '%', 'é', '_-', 'A'.repeat(5_000)]))],
    [1, () => withPart(other.split('.')[at])],
    [1, () => parts.slice(0, at).join('.')],
    [1, () => parts.toReversed().join('.')],
    [1, () => changed({ kid: random.pick(kids) })],
    [1, () => changed({ alg: random.pick(algorithms), p2c: 2 ** 31, p2s: 'AAAA' })],
    [1, () => changed({ enc: random.pick(['A128GCM', 'A256CBC-HS512', 'none', '', null, []]) })],
    [1, () => changed({ zip: random.pick(['DEF', 'GZ', true]) })],
    [1, () => changed({ crit: random.pick([['x'], ['exp'], [], 'x', null]), b64: false })],
    [0.5, () => withHeader('{"__proto__":{"kid":"fuzz"},"alg":"dir","enc":"A256GCM"}')],
    [1, () => withHeader(random.pick(list('{ | null | [] | "x" | {"kid":"fuzz"} | {"kid":"fuzz","kid":"x"}')))],
    [0.5, () => withHeader(nested(5_000).text)],
    [0.5, () => JSON.stringify({ payload: own })],
    [0.5, () => '.'.repeat(random.int(20))],
    [0.5, () => 'A'.repeat(limits.requestStateBytes - 2 + random.int(4))],
    [0.5, () => `${parts[0]}.${'A'.repeat(random.int(60_000))}...`],
    [1, () => random.pick(STRINGS)],
    [1, () => random.pick(VALUES)],
    [1, () => own],
  ]
}

/** With one character replaced by another one. */
export function flipped(text, random) {
  const at = random.int(text.length)
  return text.slice(0, at) + random.pick('ABCxyz019-_.'.replace(text[at], '')) + text.slice(at + 1)
}

/** True for base64url texts whose unused bits differ at most: they say the same. */
export function sameBytes(a, b) {
  const decode = (state) => state.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))
  return decode(a).join('.') === decode(b).join('.')
}

/** Answers to questions, of every wrong kind, mostly with the state they belong to. */
export function answers(random, { rounds }) {
  const { call, state, requests } = random.pick(rounds)
  const others = [...KEYS, ...list('form | sample | roots | link | form:2 | form:99')]
  const members = Object.keys(requests).map((key) => [random.chance(0.9) ? key : `${key}:2`, answer(random)])
  if (random.chance(0.3)) members.push([random.pick(others), answer(random)])
  if (random.chance(0.2)) members.push([random.pick(INHERITED), answer(random)])
  const inputResponses = random.chance(0.1) ? hostileValue(random) : new Members(members)
  const params = { ...call.params, inputResponses, ...(random.chance(0.85) && { requestState: state }) }
  const revision = random.chance(0.93) ? MODERN : random.pick(LEGACY)
  return post('answer', messageOf({ method: call.method, params }, revision), revision)
}

/** An answer to a question of any kind, right or wrong. */
export function answer(random) {
  const content = { sure: random.pick(VALUES), name: random.pick(STRINGS), size: random.pick(VALUES), mail: 'x' }
  const role = random.pick(['assistant', 'user', 'system', 5])
  return random.pick([
    { action: 'accept', content: { sure: true, name: 'Ann' } },
    { action: 'accept', content },
    { action: 'accept', content: hostileValue(random) },
    { action: 'accept' },
    { action: random.pick(['decline', 'cancel']), content: hostileValue(random) },
    { action: random.pick(VALUES) },
    { role: 'assistant', model: 'm', content: { type: 'text', text: 'ok' } },
    { role, model: random.pick(STRINGS), content: hostileValue(random) },
    { roots: [{ uri: 'file:///a' }] },
    { roots: hostileValue(random) },
    { roots: [hostileValue(random)] },
    { error: { code: -1, message: 'no' } },
    { error: hostileValue(random) },
    hostileValue(random),
  ])
}
