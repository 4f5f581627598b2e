// The rules that no compiler checks: which layer may know which, what the wire layer may not touch, which numbers are
// whose, and what every file owes its reader.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { limits } from '../src/limits.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Source {
  path: string
  text: string
  /** The text without comments and without what is between quotes. */
  code: string
  /** Every module it imports, relative ones as paths from the root. */
  imports: string[]
}

function readSources(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => !/(^|\/)(node_modules|\.wrangler)\//.test(path))
    .toSorted()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      const bare = text.replaceAll(COMMENT, (_all, quoted: string | undefined) => quoted ?? ' ')
      return { path, text, code: bare.replaceAll(QUOTED, "''"), imports: importsOf(path, bare) }
    })
}

/** A comment, or something between quotes that may look like one. */
const COMMENT = /\/\/[^\n]*|\/\*[^]*?\*\/|('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)/g
/** Templates stay, since they hold code. */
const QUOTED = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g

function importsOf(path: string, code: string): string[] {
  return Array.from(code.matchAll(IMPORT), ([, name = '']) =>
    name.startsWith('.') ? posix.join(dirname(path), name) : name,
  )
}

const sources = ['src', 'durable-objects', 'workers'].flatMap(readSources)
const tests = readSources('test')
const within = (folder: string): Source[] => sources.filter(({ path }) => path.startsWith(folder))

/** What each layer may import: files and folders of this repository, and packages. */
const LAYERS: { [layer: string]: string[] } = {
  'src/limits.ts': [],
  'src/network.ts': [],
  'src/config.ts': ['src/auth/settings.ts', 'zod'],
  'src/protocol/': ['src/protocol/'],
  'src/server/': [
    'src/network.ts',
    'src/server/',
    'src/protocol/',
    'src/limits.ts',
    'zod',
    'zod/v4/core',
    'jose',
    'oauth4webapi',
    '@cfworker/json-schema',
  ],
  'src/observability/': ['src/observability/', 'src/protocol/', 'src/server/ports.ts', 'src/config.ts'],
  'src/auth/': [
    'src/network.ts',
    'src/auth/',
    'src/observability/sink.ts',
    'src/server/',
    'src/protocol/',
    'src/config.ts',
    'src/limits.ts',
    'jose',
    'oauth4webapi',
    'zod',
  ],
  'src/http/': [
    'src/network.ts',
    'src/http/',
    'src/auth/',
    'src/observability/',
    'src/server/',
    'src/protocol/',
    'src/config.ts',
    'src/limits.ts',
    'hono',
    'hono/',
  ],
  'src/app/': ['src/app/', 'src/server/index.ts', 'zod', 'cloudflare:workers'],
  'durable-objects/': [
    'durable-objects/',
    'src/protocol/',
    'src/server/',
    'src/http/legacy.ts',
    'src/http/legacy-tasks.ts',
    'src/http/session-call.ts',
    'src/http/session.ts',
    'src/http/session-id.ts',
    'src/observability/sink.ts',
    'src/config.ts',
    'src/limits.ts',
    'cloudflare:workers',
    'itty-durable/itty-durable.js',
  ],
  'src/authorization/': [
    'src/network.ts',
    'src/authorization/',
    'src/observability/sink.ts',
    'cloudflare:workers',
    '@cloudflare/workers-oauth-provider',
    'hono',
    'hono/',
    'jose',
    'oauth4webapi',
    'zod',
  ],
  'workers/': [
    'workers/',
    'durable-objects/',
    'src/app/',
    'src/authorization/',
    'src/http/',
    'src/server/index.ts',
    'cloudflare:workers',
  ],
}

describe('a layer imports only what is below it', () => {
  test.each(Object.entries(LAYERS))('%s', (layer, allowed) => {
    const isAllowed = (name: string): boolean =>
      allowed.some((each) => name === each || (each.endsWith('/') && name.startsWith(each)))
    // Which packages a fork uses in its part is its own affair.
    const isOurs = (name: string): boolean => /^(src|durable-objects|workers|test|scripts)\//.test(name)
    const isForbidden = (name: string): boolean => !isAllowed(name) && (layer !== 'src/app/' || isOurs(name))
    const strays = within(layer).flatMap(({ path, imports }) =>
      imports.filter(isForbidden).map((name) => `${path} → ${name}`),
    )
    expect(strays).toEqual([])
  })

  test('and every source file belongs to a layer', () => {
    const layers = Object.keys(LAYERS)
    expect(sources.filter(({ path }) => !layers.some((layer) => path.startsWith(layer)))).toEqual([])
    for (const layer of layers) expect(within(layer).length).toBeGreaterThan(0)
  })

  test('and imports are found at all, also those of types', () => {
    const [tool] = within('src/server/define-tool.ts')
    expect(tool?.imports).toContain('src/protocol/json-rpc.ts')
    expect(tool?.imports).toContain('zod')
    expect(within('workers/mcp.ts')[0]?.imports).toContain('durable-objects/key-ring.ts')
    expect(within('workers/env.d.ts')[0]?.imports).toContain('durable-objects/key-ring.ts')
  })
})

/** Where `names` stand in the code of `files`, as words of their own. */
function uses(files: readonly Source[], names: readonly string[]): string[] {
  return files.flatMap(({ path, code }) =>
    names.filter((name) => new RegExp(`(?<![\\w$.#])${name}\\b`).test(code)).map((name) => `${path}: ${name}`),
  )
}

test('the wire layer touches neither network, nor clock, nor chance', () => {
  const names = ['fetch', 'Request', 'Response', 'Headers', 'URL', 'crypto', 'Date', 'performance', 'Math\\.random']
  const timers = ['setTimeout', 'setInterval', 'queueMicrotask', 'scheduler', 'navigator', 'caches', 'Cloudflare']
  expect(uses(within('src/protocol/'), [...names, ...timers])).toEqual([])
})

test('nothing in the Worker leans on Node', () => {
  expect(sources.filter(({ imports }) => imports.some((name) => name.startsWith('node:')))).toEqual([])
  expect(uses(sources, ['process', 'Buffer', 'require', '__dirname', 'setImmediate'])).toEqual([])
})

test('only the sink prints', () => {
  expect(uses(sources, ['console'])).toEqual(['src/observability/sink.ts: console'])
})

test('nothing in the sources makes code from text', () => {
  expect(sources.filter(({ code }) => /\b(eval|Function)\s*\(/.test(code)).map(({ path }) => path)).toEqual([])
})

describe('an error code', () => {
  const codes = sources.flatMap(({ path, code }) =>
    Array.from(code.matchAll(/-32\d{3}\b/g), ([literal]) => `${path} ${literal}`),
  )

  test('stands in the error table alone', () => {
    expect(new Set(codes.map((each) => each.split(' ')[0]))).toEqual(new Set(['src/protocol/errors.ts']))
  })

  test('is none that the specification took back or never gave', () => {
    const literals = new Set(codes.map((each) => Number(each.split(' ')[1])))
    // The bounds of the range that JSON-RPC reserves are compared with, never sent.
    for (const bound of [-32768, -32000]) literals.delete(bound)
    expect([...literals].toSorted((a, b) => a - b)).toEqual([
      -32700, -32603, -32602, -32601, -32600, -32042, -32022, -32021, -32020, -32002,
    ])
  })
})

describe('a cap', () => {
  test.each(Object.keys(limits))('is enforced and tested: %s', (name) => {
    const mentions = (files: readonly Source[], how: string): string[] =>
      files.filter(({ text }) => new RegExp(how).test(text)).map(({ path }) => path)
    expect(mentions(sources, `\\blimits\\.${name}\\b`)).not.toEqual([])
    // Tests read a cap, or lower it; the file that pins them all proves nothing about one.
    const others = tests.filter(({ path }) => path !== 'test/protocol/limits.test.ts')
    const isTested = [...mentions(tests, `\\blimits\\.${name}\\b`), ...mentions(others, `\\b${name}: `)]
    expect(isTested).not.toEqual([])
  })
})

test('every source file opens with what it is for', () => {
  const ours = sources.filter(({ path }) => !path.startsWith('src/app/'))
  const silent = ours.filter(({ text }) => !/^(\/\/ \S|\/\*\* \S)/.test(text))
  expect(silent.map(({ path }) => path)).toEqual([])
})
