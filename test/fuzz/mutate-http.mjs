// Mutations of HTTP itself: methods, paths, framing.
import { list } from './hostile.mjs'
import { ACCEPT, HOSTS, ORIGINS } from './mutate-headers.mjs'
import { anyMessage } from './mutate-json.mjs'
import { post, toBytes } from './requests.mjs'

// CONNECT is left out: workerd answers it with 500 before any Worker runs, and Cloudflare's edge never forwards it.
const METHODS =
  list(`GET | HEAD | PUT | PATCH | DELETE | OPTIONS | POST | TRACE | QUERY | SEARCH | PROPFIND | PURGE | MERGE | MKCOL
  | LOCK | REPORT | SUBSCRIBE | get | BREW`)

const PATHS = [
  ...list(`/ | /mcp | /mcp/ | /mcp// | //mcp | /mcp/x | /MCP | /%6dcp | /mcp%2f | /mcp% | /mcp%zz | /mcp%00
    | /mcp%c0%af | /mcp?x=1
    | /mcp?__proto__=1 | /mcp#x | /mcp;x | /./mcp | /../mcp | /x/../mcp | /health | /health/ | /favicon.ico
    | /robots.txt
    | /.well-known/oauth-protected-resource | /.well-known/oauth-protected-resource/mcp | /sse | /messages
    | /__proto__
    | /mcp/.well-known/oauth-authorization-server | /constructor | * | mcp | http://localhost/mcp
    | http://evil.example/mcp
    | /: | /\\mcp | /{mcp}`),
  `/${'a'.repeat(4_000)}`,
  `/mcp?${'a'.repeat(20_000)}`,
]

/** Methods on paths, with and without a body. */
export function routes(random, known) {
  const { revision, message } = anyMessage(random, known)
  const request = post('route', message, revision)
  request.method = random.pick(METHODS)
  request.target = random.pick(PATHS)
  if (random.chance(0.3)) request.headers.push(['Accept', random.pick(ACCEPT)])
  if (random.chance(0.3)) request.headers.push(['Origin', random.pick(ORIGINS)])
  if (random.chance(0.15)) request.headers[0] = ['Host', random.pick(HOSTS)]
  if (request.method === 'OPTIONS') request.headers.push(['Access-Control-Request-Method', 'POST'])
  if (random.chance(0.7) && !['POST', 'PUT', 'PATCH'].includes(request.method)) delete request.body
  return request
}

/** Bytes that are almost HTTP. The runtime's parser refuses most; what it lets through is answered like the rest. */
export function framings(random, known) {
  const { revision, message } = anyMessage(random, known)
  const request = post('framing', message, revision)
  if (random.chance(0.25)) return { ...request, chunks: 1 + random.int(40) }
  const text = random.weighted([
    [4, () => wrongLength(request, random)],
    [3, () => wrongChunks(request, random)],
    [4, () => wrongHead(request, random)],
    [1, () => noHttp(random)],
  ])()
  return { ...request, raw: Buffer.from(text, 'latin1') }
}

/** The head without its last blank line, the header that says how long the body is, and the body. */
function parts(request) {
  const whole = toBytes(request).toString('latin1')
  const end = whole.indexOf('\r\n\r\n')
  const body = whole.slice(end + 4)
  return { whole, head: whole.slice(0, end), length: `Content-Length: ${body.length}`, body }
}

function wrongLength(request, random) {
  const { whole, head, length, body } = parts(request)
  const announce = (value) => `${head.replace(length, `Content-Length: ${value}`)}\r\n\r\n${body}`
  return random.pick([
    () => whole.slice(0, -1 - random.int(body.length)),
    () => whole.slice(0, random.int(whole.length)),
    () => announce(body.length + 1 + random.int(1_000)),
    () => announce(random.int(body.length)),
    () => announce(random.pick(list('-1 | abc | 1e2 | 0x10 | 99999999999999999999 | +5 | 5, 5 | 5.0'))),
    () => announce(''),
    () => `${head}\r\nContent-Length: ${body.length + random.int(2)}\r\n\r\n${body}`,
  ])()
}

function wrongChunks(request, random) {
  const { head, length, body } = parts(request)
  const size = body.length.toString(16)
  const short = (body.length - 1 - random.int(20)).toString(16)
  const encoding = random.pick(list('gzip | identity | chunked, chunked | x | gzip, chunked'))
  const chunked = (text) => `${head.replace(length, 'Transfer-Encoding: chunked')}\r\n\r\n${text}`
  return random.pick([
    () => `${head}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
    () => `${head}\r\nTransfer-Encoding: ${encoding}\r\n\r\n${body}`,
    () => chunked(`${size}\r\n${body}\r\n`),
    () => chunked(`${size}\r\n${body}\r\n0\r\n\r\n`),
    () => chunked(`${size};ext=1\r\n${body}\r\n0\r\nX-Trailer: 1\r\n\r\n`),
    () => chunked(`${random.pick(list('zz | -1 | ffffffffffffffff | 0x5'))}\r\n${body}\r\n0\r\n\r\n`),
    () => chunked(`${short}\r\n${body}\r\n0\r\n\r\n`),
  ])()
}

function wrongHead(request, random) {
  const { whole, head, body } = parts(request)
  const withHeader = (line) => `${head}\r\n${line}\r\n\r\n${body}`
  return random.pick([
    () =>
      withHeader(
        random.pick(['X-A', ': b', 'X A: b', 'X-A : b', ' folded', 'X-A: a\0b', 'X-A: a\rb', '\0: b', 'X-A: \x80\xff']),
      ),
    () => withHeader(Array.from({ length: 1_500 }, (_, i) => `X-${i}: a`).join('\r\n')),
    () => withHeader(`X-Long: ${'a'.repeat(random.int(300_000))}`),
    () => withHeader('Expect: 100-continue'),
    () => whole.replaceAll('\r\n', '\n'),
    () => `\r\n\r\n${whole}`,
    () => whole.replace('HTTP/1.1', random.pick(list('HTTP/1.0 | HTTP/2.0 | HTTP/1.2 | HTTP/ | http/1.1'))),
    () =>
      whole.replace('Host: localhost\r\n', random.pick(['', 'Host:\r\n', 'Host: localhost\r\nHost: evil.example\r\n'])),
    () =>
      whole.replace(
        ' /mcp ',
        random.pick(['  /mcp ', '\t/mcp ', ' ', ' /mcp\0 ', ' /\xff ', ' http:// ', ' http://[ ']),
      ),
  ])()
}

function noHttp(random) {
  return random.pick([
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    `\x16\x03\x01\x00\xa5\x01\x00\x00\xa1${random.bytes(20).toString('latin1')}`,
    random.bytes(1 + random.int(300)).toString('latin1'),
  ])
}
