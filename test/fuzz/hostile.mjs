// Values that break programs, for any place where a value may stand.
import { Members, nested, Raw } from './json.mjs'

/** `a | b | c`, over as many lines as it takes. */
export const list = (text) => text.trim().split(/\s*\|\s*/)

const raw = (text) => list(text).map((each) => new Raw(each))

/** Names that every JavaScript object inherits, or that change what it is. */
export const INHERITED = list(
  `__proto__ | constructor | prototype | toString | valueOf | hasOwnProperty | isPrototypeOf | __defineGetter__
    | toJSON | then`,
)

export const NUMBERS =
  raw(`0 | 1 | -1 | 1.5 | -2.5 | 100 | 2147483648 | 4294967296 | 9007199254740991 | 1e21 | 1e308 | 5e-324
  | -0 | 1.0 | 1e400 | -1e400 | 9007199254740993 | -9007199254740993 | 1E-400 | 0.1e1
    | 123456789012345678901234567890`)

const BLANKS = ['', ' ', '\t', '\n', '\u0000', '\u007f', '\ufeff', '\u202e', '\u2028']
const LONG = ['x', 'é', ' ', '/', '(', '\\']
  .map((char) => char.repeat(300))
  .concat('x'.repeat(2_049), 'é'.repeat(1_500))

export const TEXTS = [
  ...list(`a | 0 | 1 | -1 | null | true | undefined | NaN | {} | [] | "" | é | 😀 | 日本語 | data: x | ../../etc/passwd
    | ..%2f..%2f | %00 | % | %zz | ' or 1=1 -- | <script>alert(1)</script> | {{7*7}} | =?base64?YQ==?=
    | =?base64?%%%?=
    | $ref | #/$defs/node`),
  'a\r\nX-Injected: 1',
  ...BLANKS,
  ...LONG,
  ...INHERITED,
]

export const STRINGS = [...TEXTS, ...raw('"\\ud800" | "\\udfff\\ud83d" | "a\\udc00" | "\\u0000" | "\\/"')]

const COMPOSITES = [
  ...raw('[] | [[]] | [null] | [1,"a",{}] | ["a","a"] | {} | {"a":{}} | {"length":1} | {"":""} | {"\\ud800":1}'),
  ...raw('{"__proto__":{"polluted":true}} | {"constructor":{"prototype":{"polluted":true}}} | [{"__proto__":[]}]'),
  ...raw('{"toString":1,"valueOf":1} | {"toJSON":1} | {"then":1} | {"a":1,"a":2}'),
  Array.from({ length: 300 }, (_, i) => i),
  new Members(INHERITED.map((key) => [key, 'x'])),
  new Members(Array.from({ length: 200 }, (_, i) => [`k${i}`, i])),
  nested(20),
  nested(20, 'object'),
]

/** Values of every type. */
export const VALUES = [null, true, false, ...NUMBERS, ...STRINGS, ...COMPOSITES]

/** One of them; composites are few, but break more than numbers do. */
export function hostileValue(random) {
  return random.weighted([
    [3, random.pick([null, true, false])],
    [5, random.pick(NUMBERS)],
    [6, random.pick(STRINGS)],
    [5, random.pick(COMPOSITES)],
  ])
}

/** Keys that do not belong where they are put. */
export const KEYS = [
  ...INHERITED,
  ...list(`id | jsonrpc | method | params | result | error | _meta | name | uri | arguments | cursor | task | taskId
    | inputResponses
    | requestState | progressToken | traceparent | io.modelcontextprotocol/protocolVersion | a.b | a/b | ~1 | %
    | $ref | é | 😀`),
  ...BLANKS,
  'k'.repeat(3_000),
  ...raw('"\\ud800" | "\\udc00x"'),
]
