// Mutations of what handlers and lookups get, everything above them being right: arguments, names, URIs.
import { hostileValue, INHERITED, KEYS, list, STRINGS, VALUES } from './hostile.mjs'
import { getAt, isObject, Members, pathsOf, Raw, withAt, withMember } from './json.mjs'
import { anyRevision } from './mutate-json.mjs'
import { post, TOOLS } from './requests.mjs'
import { limits } from '../../src/limits.ts'

function send(group, random, call) {
  const { message, revision } = anyRevision(random, call)
  return post(group, message, revision)
}

const callTool = (name, args) => ({ method: 'tools/call', params: { name, arguments: args } })

/** Arguments that the tool's schema may or may not take. */
export function toolArguments(random) {
  const name = random.pick(Object.keys(TOOLS))
  let args = TOOLS[name]
  for (let changes = 1 + random.int(2); changes > 0 && !(args instanceof Members); changes--) {
    const paths = pathsOf(args)
    const objects = [[], ...paths.filter((path) => isObject(getAt(args, path)))]
    args =
      paths.length === 0 || random.chance(0.3)
        ? withMember(args, random.pick(objects), random.pick(KEYS), hostileValue(random))
        : withAt(args, random.pick(paths), random.chance(0.15) ? undefined : hostileValue(random))
  }
  return send('arguments', random, callTool(name, args))
}

const UNITS = [
  ...list('a | a. | a@ | a: | /a | 1 | {a} | (a | %41 | http://a:a@ | "\\ | :: | 0: | - | .1 | P1D | [ | \\ | é'),
  ' ',
]

/** Strings made for slow regular expressions, where a schema names a format. */
export function formats(random) {
  const text = random.pick(UNITS).repeat(1 + random.int(3_000)) + random.pick(['', '\u0000', '!', ' '])
  const format = random.pick(
    list(`date | time | date-time | duration | uri | uri-reference | uri-template | email | hostname | ipv4
    | ipv6 | regex | uuid
      | json-pointer | relative-json-pointer`),
  )
  const isRaw = random.chance(0.7)
  const args = isRaw
    ? { [format]: random.pick(['', 'http://', 'a@', 'P']) + text }
    : { a: 1, [random.pick(['mail', 'link', 'at'])]: text }
  return send('format', random, callTool(isRaw ? 'raw_strings' : 'add', args))
}

/** Names every object inherits, wherever a name is looked up. */
export function inheritedNames(random) {
  const [name, other] = [random.pick(INHERITED), random.pick(INHERITED)]
  const value = random.pick(VALUES)
  const object = (own, ...keys) => keys.reduce((at, key) => withMember(at, [], key, value), own)
  const call = random.pick([
    { method: name, params: {} },
    callTool(name),
    callTool('echo', object({}, name, other)),
    callTool('strict', object({ id: 'abc' }, name)),
    callTool('raw_objects', object({ id: 'x' }, name)),
    callTool('raw_objects', { id: 'x', mapped: object({}, name) }),
    callTool('raw_logic', object({}, name, other)),
    callTool('add', { a: 1, amounts: object({}, name, other) }),
    { method: 'tools/call', params: { name: 'ask_oddly', inputResponses: object({}, name) } },
    { method: 'prompts/get', params: { name } },
    { method: 'prompts/get', params: { name: 'review', arguments: object({ id: '1' }, name) } },
    { method: 'prompts/get', params: { name: 'raw_prompt', arguments: { id: '1', [name]: 'text' } } },
    { method: 'resources/read', params: { uri: `fuzz://item/${name}` } },
    { method: 'resources/read', params: { uri: `${name}:x` } },
    { method: random.pick(['tools/list', 'resources/list']), params: { cursor: name } },
    complete({ type: 'ref/prompt', name }, { name: other, value: 'a' }),
    complete({ type: 'ref/prompt', name: 'review' }, { name, value: 'a' }),
    complete({ type: 'ref/resource', uri: 'fuzz://item/{id}' }, { name, value: 'a' }),
    complete(
      { type: 'ref/prompt', name: 'review' },
      { name: 'id', value: 'a' },
      { arguments: object({}, name, other) },
    ),
  ])
  const { message, revision } = anyRevision(random, call)
  return post('inherited name', random.chance(0.2) ? withMember(message, [], other, value) : message, revision)
}

function complete(ref, argument, context) {
  return { method: 'completion/complete', params: { ref, argument, context } }
}

/** What is asked to complete, and with what. */
export function completions(random) {
  const ref = random.pick([
    { type: 'ref/prompt', name: 'review' },
    { type: 'ref/prompt', name: 'review' },
    { type: 'ref/resource', uri: 'fuzz://item/{id}' },
    { type: 'ref/resource', uri: 'fuzz://fixed' },
    { type: random.pick(STRINGS), name: 'review' },
    { type: 'ref/prompt', name: random.pick(STRINGS) },
    { type: 'ref/resource', uri: random.pick(STRINGS) },
    hostileValue(random),
  ])
  const name = random.pick(['id', 'id', 'tone', 'nothing', random.pick(STRINGS)])
  const argument = random.chance(0.8) ? { name, value: random.pick(STRINGS) } : hostileValue(random)
  const known = [
    undefined,
    {},
    { arguments: { tone: 'kind' } },
    { arguments: hostileValue(random) },
    hostileValue(random),
  ]
  return send('completion', random, complete(ref, argument, random.pick(known)))
}

const SEGMENTS = [
  ...list(`.. | . | %2e%2e | %2E. | ..%2f | %2f | %5c | \\ | %00 | %0a | % | %zz | %c3%28 | %ed%a0%80 | // | ?
    | # | a b | é | 😀
    | {id} | {+path} | * | ~ | @ | ; | = | none | %252e%252e | a`),
].concat([' ', '\t', '\u0000'])

/** URIs that traverse, encode, overflow or are none. */
export function uris(random) {
  const segment = () => (random.chance(0.05) ? 'x'.repeat(random.int(limits.uriChars)) : random.pick(SEGMENTS))
  const path = Array.from({ length: 1 + random.int(4) }, segment).join(random.pick(['/', '/', '', '?']))
  const known = random.pick(list('item | tree | tree/me | ask | fixed'))
  const scheme = random.pick(['', ...list('FUZZ | file | http | javascript | data | urn | 1 | a b')])
  const uri = random.weighted([
    [6, `fuzz://${known}/${path}`],
    [1, `${scheme}:${random.pick(['', '//', '///'])}${path}`],
    [1, `fuzz://item/${'a'.repeat(limits.uriChars - 12 + random.int(3))}`],
    [1, random.pick(STRINGS)],
    [1, new Raw(`"fuzz://item/\\ud800${random.int(10)}"`)],
  ])
  return send('uri', random, { method: 'resources/read', params: { uri } })
}
