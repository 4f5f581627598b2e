// What `wrangler deploy` would upload: nothing in it that this server must not carry.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildBundle } from './support/server.mjs'

let folder: string
let bundle: string
/** The modules in it, which the bundler names in comments. */
let modules: string[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-edge-bundle-'))
  bundle = await readFile(await buildBundle({ outdir: folder }), 'utf8')
  modules = Array.from(bundle.matchAll(/^\/\/ (\S+\.(?:[mc]?js|tsx?))$/gm), ([, path = '']) => path)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the deployable bundle', () => {
  test('is made of the sources and of few packages', () => {
    expect(modules).toContain('workers/mcp.ts')
    expect(modules).toContain('src/protocol/era.ts')
    const packages = modules.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
    expect([...new Set(packages)].toSorted()).toEqual([
      '@cfworker/json-schema',
      'hono',
      'itty-durable',
      'itty-router',
      'jose',
      'oauth4webapi',
      'zod',
    ])
  })

  test('holds no MCP SDK', () => {
    expect(bundle).not.toContain('@modelcontextprotocol')
  })

  test('holds one of the languages of zod, its default', () => {
    const locales = modules.filter((path) => path.includes('zod/v4/locales/'))
    expect(locales.map((path) => path.replace(/^.*\//, ''))).toEqual(['en.js'])
  })

  test('imports nothing but the platform', () => {
    const imports = Array.from(bundle.matchAll(/^(?:import|export)\b[^;]*?\bfrom "([^"]+)"/gm), ([, name]) => name)
    expect([...new Set(imports)]).toEqual(['cloudflare:workers'])
    expect(bundle).not.toMatch(/\bimport\s*\(/)
    expect(bundle).not.toMatch(/(?<![.\w])require\s*\(/)
  })

  test('makes code from text in no place that can be reached', () => {
    const code = bundle.replaceAll(/^\s*(\*|\/\/).*$/gm, '')
    expect(code).not.toMatch(/(?<![.\w])eval\s*\(/)
    expect(code).not.toMatch(/(?<![.\w])Function\s*\(/)
    // zod holds two: a probe whether it may, and the compiler it would then use. `jitless` keeps it from either; that
    // nothing tries is seen in test/http/no-code-generation.test.ts.
    expect(code.match(/\bF = Function;/g)).toHaveLength(2)
    expect(code.match(/(?<![.\w])Function\b(?= *[;,)\]}.=])/g)).toHaveLength(2)
    expect(code).toMatch(/^config\(\{ jitless: true \}\);$/m)
  })

  test('is no larger than what is known to be needed', () => {
    expect(bundle.length).toBeLessThan(780_000)
  })
})
