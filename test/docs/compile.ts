// What the compiler says of TypeScript that stands in Markdown.

import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url).href)

/**
 * What the compiler says about files laid over the repository; empty when it is content with them.
 * @param name of a folder of its own: two may compile at once
 */
export function compile(files: readonly { path: string; code: string }[], name: string): string {
  const folder = join(root, 'node_modules', '.cache', name)
  rmSync(folder, { recursive: true, force: true })
  for (const { path, code } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), code)
  }
  // rootDirs makes the two trees one: a relative import is looked for in the snippets first, then in the repository.
  const config = {
    extends: '../../../tsconfig.json',
    compilerOptions: { rootDirs: ['.', '../../..'] },
    files: [...files.map(({ path }) => path), '../../../workers/env.d.ts', '../../../src/app/env.d.ts'],
    include: [],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { status, stdout, error } = spawnSync('tsc', ['--project', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (error || status === null) throw error ?? new Error('Could not finish the compiler')
  // What is wrong in the repository itself is for `npm run types` to say.
  const found = stdout.split(/\n(?!\s)/).filter((problem) => /^(?!\.\.\/)\S/.test(problem))
  return found.join('\n')
}
