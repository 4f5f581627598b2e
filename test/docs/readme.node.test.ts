import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { anchorsOf, blocksOf, linksOf, spansOf } from './markdown.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const readme = read('README.md')

/** Every block says on its first line which file it is. */
const snippets = blocksOf(readme)
  .filter(({ language }) => language === 'ts')
  .map((block) => ({ ...block, path: /^\/\/ (\S+\.ts)$/m.exec(block.code)?.[1] ?? '' }))

const NOT_OURS = (name: string): boolean => name === 'node_modules' || name === 'dist' || name.startsWith('.')

/** Files that belong to hosts or to the person who runs the server, not to the repository. */
const ELSEWHERE = ['claude_desktop_config.json']
/** What a fork replaces, and may have removed. */
const REPLACED = /^(src|test)\/app(\/|$)/
const PATH =
  /^(?:(?:src|workers|durable-objects|scripts|test|docs|\.ci)(?:\/[\w./-]+)?|[\w-][\w.-]*\.(?:toml|md|json|ts|mjs))$/

const pathsOf = (markdown: string): string[] => spansOf(markdown).filter((span) => PATH.test(span))

describe('README.md', () => {
  it('holds TypeScript that compiles in the place it names', () => {
    expect(snippets.length).toBeGreaterThan(5)
    for (const { line, path } of snippets) expect(path, `the block at line ${line} names its file`).not.toBe('')
    expect(compile(snippets, 'readme')).toBe('')
  })

  it('fails on TypeScript that does not compile', () => {
    const code = "import { defineTool } from '../../server/index.ts'\nexport const wrong = defineTool('wrong', {})\n"
    expect(compile([{ path: 'src/app/tools/wrong.ts', code }], 'readme')).toContain('src/app/tools/wrong.ts(2,')
  })

  it('holds JSON that parses', () => {
    const blocks = blocksOf(readme).filter(({ language }) => language === 'json')
    expect(blocks.length).toBeGreaterThan(2)
    for (const { code, line } of blocks) expect(() => JSON.parse(code), `the block at line ${line}`).not.toThrow()
  })

  it('sends JSON with curl that parses', () => {
    const bodies = blocksOf(readme).flatMap(({ code }) =>
      Array.from(code.matchAll(/ -d '(\{[^']+)'/g), ([, body]) => body!),
    )
    expect(bodies.length).toBeGreaterThan(1)
    for (const body of bodies) expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0' })
  })

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = Array.from(
      readme.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test))\b/g),
      ([, run, short]) => run ?? short!,
    )
    expect(named).toContain('deploy')
    for (const name of named) expect(Object.keys(scripts)).toContain(name)
  })

  it('names only variables and bindings that exist, and every variable', () => {
    const environment = read('workers/env.d.ts')
    const known =
      environment + read('src/app/env.d.ts') + globSync('scripts/*.{ts,mjs}', { cwd: root }).map(read).join('')
    const named = spansOf(readme).filter((span) => /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(span))
    for (const name of named) expect(known, name).toContain(name)
    const settings = Array.from(readme.matchAll(/^\| `([A-Z_]+)` \|/gm), ([, name]) => name!)
    const variables = Array.from(environment.matchAll(/^\s*([A-Z_]+)\?: (?:string|unknown)$/gm), ([, name]) => name!)
    expect(settings.toSorted()).toEqual(variables.toSorted())
  })
})

const pages = ['README.md', 'AGENTS.md', 'CHANGELOG.md', 'durable-objects/STORAGE.md']

describe.each([...pages, ...globSync('docs/*.md', { cwd: root })])('%s', (file) => {
  const markdown = read(file)

  it('names only files that exist', () => {
    const written = snippets.map(({ path }) => path)
    const missing = pathsOf(markdown).filter((path) => {
      if (REPLACED.test(path) || ELSEWHERE.includes(path)) return false
      return !existsSync(join(root, path)) && !written.includes(path)
    })
    expect(missing).toEqual([])
  })

  it('links only to what exists', () => {
    const anchors = anchorsOf(markdown)
    const broken = linksOf(markdown).filter((target) => {
      if (target.startsWith('https://')) return false
      if (target.startsWith('#')) return !anchors.includes(target)
      const [path, anchor] = target.split('#')
      const other = join(dirname(file), path!)
      return !existsSync(join(root, other)) || (anchor !== undefined && !anchorsOf(read(other)).includes(`#${anchor}`))
    })
    expect(broken).toEqual([])
  })
})

describe('AGENTS.md', () => {
  it('draws a tree of files that exist', () => {
    const tree = blocksOf(read('AGENTS.md')).find(({ code }) => code.startsWith('src/'))!.code
    const names = Array.from(tree.matchAll(/[\w./*-]+\.(?:tsx?|md)\b/g), ([name]) => name)
    expect(names.length).toBeGreaterThan(20)
    const missing = names.filter(
      (name) => globSync([`**/${name}`, name], { cwd: root, exclude: NOT_OURS }).length === 0,
    )
    expect(missing).toEqual([])
  })
})
