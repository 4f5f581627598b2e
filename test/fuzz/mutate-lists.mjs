// Mutations of cursors, and batches, which only 2025-03-26 has.
import { hostileValue, INHERITED, list, STRINGS, TEXTS, VALUES } from './hostile.mjs'
import { Raw, toText } from './json.mjs'
import { anyMessage, anyRevision } from './mutate-json.mjs'
import { flipped } from './mutate-states.mjs'
import { CALLS, LEGACY, messageOf, MODERN, post } from './requests.mjs'
import { META } from '../../src/protocol/meta.ts'
import { limits } from '../../src/limits.ts'

const OFFSETS = list(
  '0 | -1 | 1 | 2 | 3 | 7 | 100 | 99999999 | 999999999 | 9999999999 | 1.5 | 1e3 | 01 | Infinity | NaN | é',
)
const FAMILIES = [...list('tools | prompts | resources | templates'), ...INHERITED]

/** Cursors of other lists, of no list, past the end, and almost right. */
export function cursors(random, { cursors: handedOut }) {
  const method = random.pick(Object.keys(handedOut))
  const own = random.pick(handedOut[method])
  const encoded = (text) => Buffer.from(text).toString('base64').replaceAll('=', '')
  const [family, offset] = Buffer.from(own, 'base64').toString().split(':')
  const cursor = random.weighted([
    [1, () => own],
    [1, () => random.pick([`${own}=`, `${own} `, own.slice(0, -1), own.toLowerCase()])],
    [1, () => flipped(own, random)],
    [4, () => encoded(`${family}:${random.pick([...OFFSETS, '', ' 1', '1 '])}`)],
    [3, () => encoded(`${random.pick(FAMILIES)}:${random.chance(0.5) ? offset : random.pick(OFFSETS)}`)],
    [1, () => encoded(`${family}:${offset}:${offset}`)],
    [2, () => encoded(random.pick(TEXTS))],
    [1, () => 'A'.repeat(random.int(20_000))],
    [1, () => random.pick(STRINGS)],
    [1, () => random.pick(VALUES)],
  ])()
  const { message, revision } = anyRevision(random, { method, params: { cursor } })
  // Null counts as no cursor.
  const refuses = cursor !== null && !handedOut[method].includes(cursor) && 'a cursor the list did not hand out'
  return post('cursor', message, revision, { refuses })
}

/** Arrays as bodies: what 2025-03-26 allows, and everything it does not. */
export function batches(random, known) {
  const { batchMessages } = limits
  const length = random.weighted([
    [1, 0],
    [3, 1],
    [8, 2 + random.int(5)],
    [0.4, batchMessages - 1 + random.int(3)],
    [0.1, batchMessages * 20],
  ])
  const isLong = length > 10
  const messages = Array.from({ length }, (_, i) =>
    isLong ? { jsonrpc: '2.0', id: i, method: 'ping' } : element(random, known),
  )
  const revision = random.weighted([
    [4, null],
    [6, '2025-03-26'],
    [1, random.pick([...LEGACY, MODERN, 'x'])],
  ])
  const brackets = random.chance(0.05) && `[${'['.repeat(random.int(70))}${']'.repeat(random.int(70))}]`
  const more = length > batchMessages || brackets ? { status: 400 } : {}
  const request = post('batch', new Raw(brackets || toText(messages)), revision, more)
  if (random.chance(0.1)) request.headers.push(['Accept', random.pick(['application/json', 'text/event-stream'])])
  return request
}

function element(random, known) {
  const claim = { _meta: { [META.protocolVersion]: random.pick([MODERN, ...VALUES]) } }
  return random.weighted([
    [8, () => messageOf(random.pick(CALLS), '2025-03-26', random.pick([1, 2, 'a', random.int(1_000)]))],
    [2, () => ({ jsonrpc: '2.0', id: random.int(9), method: 'ping' })],
    [2, () => ({ jsonrpc: '2.0', method: random.pick(['notifications/initialized', 'x']) })],
    [0.7, () => ({ jsonrpc: '2.0', id: random.int(9), result: {} })],
    [0.4, () => anyMessage(random, known).message],
    [0.3, () => ({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })],
    [0.3, () => ({ jsonrpc: '2.0', id: 1, method: 'ping', params: claim })],
    [0.3, () => ({ jsonrpc: '2.0', id: random.pick(VALUES), method: random.pick(STRINGS) })],
    [0.3, () => hostileValue(random)],
    [0.2, () => []],
  ])()
}
