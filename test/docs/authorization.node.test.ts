// What docs/authorization.md says of the code: examples that compile, settings that are taken, messages that exist.

import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { experimental_readRawConfig as readRawConfig } from 'wrangler'
import { parseConfig } from '../../src/config.ts'
import { limits } from '../../src/limits.ts'
import { compile } from './compile.ts'
import { blocksOf, spansOf } from './markdown.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = read('docs/authorization.md')
const of = (language: string): string[] => {
  return blocksOf(page).flatMap((block) => (block.language === language ? [block.code] : []))
}

describe('docs/authorization.md', () => {
  it('holds TypeScript that compiles in the place it names', () => {
    const files = of('ts').map((code) => ({ path: /^\/\/ (\S+\.ts)$/m.exec(code)?.[1] ?? '', code }))
    expect(files.length).toBeGreaterThan(1)
    for (const { path } of files) expect(path).not.toBe('')
    expect(compile(files, 'authorization')).toBe('')
  })

  it('holds issuers that the configuration takes', () => {
    const blocks = of('toml').filter((code) => code.includes('[[vars.AUTH_ISSUERS]]'))
    expect(blocks.length).toBeGreaterThan(6)
    for (const code of blocks) {
      const { issuers } = parseConfig({ PARTNERS_SECRET: 'a secret', ...variablesOf(code), AUTH: 'oauth' })
      expect(issuers, code).toHaveLength(1)
    }
  })

  it('names each variable and member that there is, and none that there is not', () => {
    const tables = Array.from(page.matchAll(/^\| `(\w+)` \|/gm), ([, name]) => name!)
    const config = read('src/config.ts')
    const settings = read('src/auth/settings.ts')
    const members = /const Setting = z\.strictObject\(\{\n([\s\S]*?)^\}\)/m.exec(settings)![1]!
    const known = Array.from(members.matchAll(/^ {2}(\w+):/gm), ([, name]) => name!)
    const named = tables.filter((name) => !/^[A-Z_]+$/.test(name))
    expect(named.toSorted()).toEqual(known.toSorted())
    for (const name of tables.filter((each) => /^[A-Z_]+$/.test(each))) expect(config, name).toContain(name)
  })

  it('quotes only messages that the log has', () => {
    const sources = globSync('src/**/*.ts', { cwd: root }).map(read).join('\n')
    // What jose says, from node_modules.
    const dependencies = globSync('node_modules/jose/dist/webapi/**/*.js', { cwd: root }).map(read).join('\n')
    const messages = spansOf(page).flatMap((span) => /^(?:refused|failure): (.*)$/.exec(span)?.[1] ?? [])
    expect(messages.length).toBeGreaterThan(8)
    for (const message of messages) {
      for (const part of message.split('…').flatMap((each) => each.split('is not taken: '))) {
        const text = part.replace(/^"\w+" /, '').trim()
        if (text !== '') expect(sources.includes(text) || dependencies.includes(text), text).toBe(true)
      }
    }
  })

  it('states the times of src/limits.ts', () => {
    expect(page).toContain(
      `after ${limits.issuerFreshMs / 60_000} minutes at most, or ${limits.issuerStaleMs / 60_000}`,
    )
    expect(page).toContain(
      `${limits.issuerRefreshes} look-ups in a row in each isolate, and then one every ${limits.issuerRefreshMs / 1_000} seconds`,
    )
    expect(page).toContain(`asked again every ${limits.issuerBackoffMs / 1_000} seconds`)
  })

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = Array.from(page.matchAll(/\bnpm run ([\w:-]+)/g), ([, name]) => name!)
    expect(named).toContain('deploy')
    for (const name of named) expect(Object.keys(scripts)).toContain(name)
  })
})

/** The variables of a piece of wrangler.toml. */
function variablesOf(code: string): Record<string, unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-edge-docs-'))
  try {
    const config = join(folder, 'wrangler.toml')
    writeFileSync(config, code)
    return { ...(readRawConfig({ config }).rawConfig.vars as Record<string, unknown>) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
