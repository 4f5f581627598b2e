// Mutations of the headers: changed, added, doubled, taken away, written oddly.
import { list } from './hostile.mjs'
import { anyMessage } from './mutate-json.mjs'
import { LEGACY, messageOf, MODERN, post, TOOLS } from './requests.mjs'

const utf8 = (text) => Buffer.from(text).toString('latin1')
const base64 = (bytes) => `=?base64?${Buffer.from(bytes).toString('base64')}?=`

const ODD = ['', ' ', '\t', '\xe9\xff', '\x7f', 'a\tb', 'a, b', utf8('é'), utf8('😀')].concat(
  list('a | 0 | null | , | ; | " | "" | \\ | * | = | __proto__'),
)

const BASE64 = [
  ...list(`=?base64?%%%?= | =?base64??= | =?base64?QQ?= | =?base64?QQ== | =?base64?Q Q==?= | =?base64?/w==?=
    | =?base64?7aCA?=
    | =?BASE64?YWRk?= | =?base64?= | =?utf-8?B?YWRk?=`),
].concat([base64('add'), '\ufeffadd', 'add\0', '', '__proto__'].map(base64))

export const ACCEPT = [
  ...list(`application/json | text/event-stream | */* | application/* | text/* | text/plain | text/html
    | application/json;q=0
    | application/json;q=0, text/event-stream | text/event-stream;q=0, */* | */*;q=0 | APPLICATION/JSON | json
    | * | ,,,
    | application/json; charset=utf-8 | application/json;q=0.5,text/event-stream;q=1 | application/jsonx`),
  'a/b,'.repeat(2_000),
]

const TYPES = [
  ...list(`application/json; charset=utf-8 | application/json;charset="UTF-8" | APPLICATION/JSON | application/json;
    | application/json; charset=utf-16 | application/json; charset= | application/json; boundary=x | application/jsonx
    | application/json, application/json | application/problem+json | text/plain | text/json
    | multipart/form-data; boundary=x
    | application/x-www-form-urlencoded | ; charset=utf-8`),
  'application/json\t; charset=latin1',
  'a'.repeat(10_000),
]

const VERSIONS = [MODERN, ...LEGACY, '9'.repeat(5_000)].concat(
  list(`2024-11-05 | 2026-07-29 | 2027-01-01 | 1900-01-01 | draft | DRAFT-2026-v1 | 2026-07-28, 2026-07-28
    | 2026-07-28 x
    | 20260728 | 2026-7-28 | v2026-07-28`),
)

export const ORIGINS = [
  ...list(`null | https://evil.example | http://localhost | http://localhost:3000 | https://127.0.0.1
    | http://[::1]:80
    | http://localhost.evil.example | http://localhost@evil.example | http://evil.example#localhost | http://LOCALHOST
    | localhost | file:// | http:// | http://[ | http://localhost/ | javascript:alert(1) | http://127.0.0.1:99999
    | http://0.0.0.0 | http://2130706433 | chrome-extension://abc`),
  'x'.repeat(5_000),
]

export const HOSTS = [
  ...list(`a b | [ | [::1 | [::1] | localhost:99999 | localhost:abc | localhost: | evil.example | user@localhost
    | localhost/x
    | localhost?x | localhost#x | %00 | %6c%6f%63alhost | .. | localhost, localhost | 127.1 | 0x7f.1 | LOCALHOST
    | localhost.
    | [::ffff:127.0.0.1] | xn--a | 1.2.3.4.5 | 256.256.256.256 | - | _ | @ | : | :// | \\ | < | ^
    | localhost\\@evil`),
  'a'.repeat(300),
  '|',
]

const [zero, one] = ['0', '1']
const TRACES = [
  '00-0-0-00',
  `00-${zero.repeat(32)}-${one.repeat(16)}-01`,
  `ff-${one.repeat(32)}-${one.repeat(16)}-01`,
  `00-${'G'.repeat(32)}-${one.repeat(16)}-01`,
  'x'.repeat(5_000),
]

const COUNTS = [
  ...list('7 | 7.0 | 07 | 7e0 | 0x7 | +7 | -0 | 7. | .7e1 | 7n | NaN | Infinity | 1e400 | 9007199254740993'),
  utf8('٧'),
]

const OTHERS =
  list(`Content-Encoding | Authorization | Cookie | X-Forwarded-Host | X-Forwarded-Proto | Forwarded | Range
    | If-Match
  | Expect | Upgrade | TE | X-HTTP-Method-Override | Access-Control-Request-Method | CF-Connecting-IP | Priority
    | Via`)

/** One header or two changed, added, doubled or taken away. */
export function headers(random, known) {
  const { revision, message } = random.chance(0.5) ? mirrored(random) : anyMessage(random, known)
  const request = post('header', message, revision)
  for (let changes = 1 + random.int(2); changes > 0; changes--) change(request.headers, random, message)
  if (random.chance(0.1)) request.headers = request.headers.map(([name, value]) => [odd(name, random), value])
  return request
}

/** A call whose headers say much about the body. */
function mirrored(random) {
  const { where } = TOOLS.route
  const other = [
    {},
    { count: null },
    { dry: undefined },
    { where: {} },
    { region: 'é' },
    { region: ' x ' },
    { count: -0 },
  ]
  const args = { ...TOOLS.route, where, ...random.pick(other) }
  const call = { method: 'tools/call', params: { name: 'route', arguments: args } }
  return { revision: MODERN, message: messageOf(call, MODERN) }
}

function change(headers, random, message) {
  const set = (name, values) => {
    const value = random.pick(values)
    const at = headers.findIndex(([known]) => known.toLowerCase() === name.toLowerCase())
    const how = at === -1 ? 'add' : random.pick(['replace', 'replace', 'replace', 'double', 'remove'])
    if (how === 'replace') headers[at] = [name, value]
    else if (how === 'remove') headers.splice(at, 1)
    else headers.push([name, value])
  }
  const near = (text) => almost(text, random)
  const { name: named, uri, taskId } = message.params ?? {}
  const name = String(named ?? uri ?? taskId ?? 'add')
  const paramNames = list('Mcp-Param-Zone | Mcp-Param-Other | Mcp-Param- | mcp-param-region | Mcp-Param-__proto__')
  random.weighted([
    [4, () => set('MCP-Protocol-Version', [...VERSIONS, ...ODD, ...near(MODERN)])],
    [3, () => set('Mcp-Method', ['tools/call', 'tools/list', ...ODD, ...near(String(message.method))])],
    [4, () => set('Mcp-Name', [...ODD, ...BASE64, ...near(name)])],
    [3, () => set('Mcp-Param-Region', ['eu-west', ...ODD, ...BASE64, ...near('eu-west')])],
    [2, () => set('Mcp-Param-Count', [...COUNTS, ...ODD, ...near('7'), base64('7')])],
    [2, () => set('Mcp-Param-Dry-Run', ['true', 'TRUE', 'false', '1', 'yes', ...ODD, base64('true')])],
    [1, () => set(random.pick(paramNames), [...ODD, ...BASE64, 'b'])],
    [3, () => set('Accept', [...ACCEPT, ...ODD])],
    [2, () => set('Content-Type', [...TYPES, ...ODD])],
    [2, () => set('Origin', [...ORIGINS, ...ODD])],
    [1.5, () => set('Host', HOSTS)],
    [1, () => set('Mcp-Session-Id', [...ODD, 'a'.repeat(64), 'x'.repeat(9_000)])],
    [0.5, () => set('Last-Event-ID', [...ODD, '1.2', 'x'.repeat(9_000)])],
    [0.5, () => set('traceparent', [...TRACES, ...ODD])],
    [0.5, () => set('tracestate', ['x'.repeat(2_000), ...ODD])],
    [1, () => set(random.pick(OTHERS), ['gzip', 'br', 'GET', 'bytes=0-1', 'websocket', 'for=1', ...ODD])],
    [0.3, () => headers.push(...Array.from({ length: 300 }, (_, i) => [`X-${i}`, 'a']))],
  ])()
}

/** Values close to the right one. */
function almost(text, random) {
  return [
    ` ${text} `,
    `\t${text}`,
    text.toUpperCase(),
    `${text} x`,
    `${text},${text}`,
    base64(text),
    base64(` ${text}`),
    text + utf8('é'),
    text + ' '.repeat(1 + random.int(6_000)),
    `${text.slice(0, 1)}${' '.repeat(random.int(6_000))}${text.slice(1)}`,
    text + 'x'.repeat(random.int(9_000)),
  ]
}

function odd(name, random) {
  const zigzag = Array.from(name, (char, i) => (i % 2 ? char.toUpperCase() : char.toLowerCase())).join('')
  return random.pick([name.toLowerCase(), name.toUpperCase(), zigzag])
}
