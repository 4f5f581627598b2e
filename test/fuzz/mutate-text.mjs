// Mutations of a message as text: cut, changed, encoded otherwise, nested too deep.
import { list } from './hostile.mjs'
import { nested, toText, withMember } from './json.mjs'
import { anyMessage } from './mutate-json.mjs'
import { messageOf, post } from './requests.mjs'
import { limits } from '../../src/limits.ts'

const PUNCTUATION = [
  ...list(', | } | ] | { | [ | " | : | \\ | // | /**/ | NaN | undefined | \''),
  '\n',
  '\u2028',
  '\\u0000',
  '\\ud800',
]

// Bytes UTF-8 does not have, an overlong slash, a surrogate, a NUL.
const BYTES = [[0xff], [0xc0], [0xc1], [0xfe], [0x80], [0xf5], [0xe2], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x00]]

const WHOLES = list('null | true | 0 | "x" | [] | {} | undefined | {"jsonrpc":"2.0"} | <xml/> | a=b&c=d')

/** The text of a message broken as text. */
export function texts(random, known) {
  const { revision, message } = anyMessage(random, known)
  const text = toText(message)
  const body = Buffer.from(text)
  const at = random.int(body.length)
  const bom = Buffer.from([0xef, 0xbb, 0xbf])
  const splice = (inserted, removed = 0) =>
    Buffer.concat([body.subarray(0, at), Buffer.from(inserted), body.subarray(at + removed)])
  const inHex = (char) => (random.chance(0.3) ? `\\u00${char.charCodeAt(0).toString(16)}` : char)
  const changed = random.weighted([
    [3, () => body.subarray(0, at)],
    [1, () => body.subarray(at)],
    [2, () => splice(random.bytes(1 + random.int(3)), random.int(4))],
    [3, () => splice(random.pick(BYTES))],
    [3, () => splice(random.pick(PUNCTUATION), random.int(2))],
    [0.5, () => Buffer.concat([bom, body])],
    [0.5, () => Buffer.concat([bom, bom, body])],
    [0.5, () => Buffer.from(text, 'utf16le')],
    [0.5, () => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])],
    [0.5, () => Buffer.concat([body, body])],
    [1, () => Buffer.concat([body, Buffer.from(random.pick(['\n', ' ', '\0', 'x', ',', ']', '\u00a0']))])],
    [1, () => Buffer.from(random.pick(['', ...WHOLES]) + ' '.repeat(random.int(20)))],
    [0.5, () => Buffer.from(text.replaceAll('"', "'"))],
    [1, () => Buffer.from(text.replaceAll(':', random.pick([' : ', ':\n', ':\t', '=', '::'])))],
    // Not the letters of hexadecimal ids: how many of those there are differs from run to run.
    [1, () => Buffer.from(text.replace(/[g-z]/g, inHex))],
    [1, () => random.bytes(random.int(200))],
  ])()
  return post('text', message, revision, { body: changed })
}

/** Nesting just below, at, above and far above the limit, in the places that take any value. */
export function depths(random, known) {
  const { revision, message } = anyMessage(random, known)
  const kind = random.pick(['array', 'object', 'mixed'])
  const place = random.weighted([
    [3, ['params', 'arguments', 'anything']],
    [2, ['params', '_meta', 'x']],
    [1, ['params', 'x']],
    [1, ['id']],
    [1, ['params']],
    [1, ['x']],
  ])
  const around = limits.jsonDepth - place.length
  const levels = random.weighted([
    [6, around - 3 + random.int(7)],
    [2, 1 + random.int(500)],
    [1, 1_000 + random.int(3)],
    [1, 100_000 + random.int(3)],
  ])
  const name = random.pick(['add', 'echo', 'raw_objects', 'raw_logic', 'raw_tree'])
  const call = messageOf({ method: 'tools/call', params: { name, arguments: { a: 1, id: 'x' } } }, revision)
  const base = place[1] === 'arguments' ? call : message
  if (random.chance(0.15)) {
    const open = random.pick(['[', '{"a":', '[{"a":']).repeat(levels)
    return post('depth', base, revision, { body: Buffer.from(open) })
  }
  // Brackets inside a string nest nothing.
  if (random.chance(0.1)) return post('depth', { ...base, x: '[{"'.repeat(levels) }, revision)
  return post('depth', withMember(base, place.slice(0, -1), place.at(-1), nested(levels, kind)), revision)
}
