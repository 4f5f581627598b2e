// Vitest global setup (Node): hands the prepared protocol schemas and the URL of a site to every test and, when the whole
// suite has run, fails it if a cell of the revision × method matrix was never seen on the wire.

import type { TestProject } from 'vitest/node'
import { startSite } from './site.mjs'
import { unseenCells } from './wire/cells.ts'
import { provideSchemas } from './wire/provide-schemas.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  provideSchemas(project)
  const site = await startSite()
  project.provide('siteUrl', site.url)
  return async () => {
    await site.stop()
    if (!(await isWholeSuite(project))) return
    const unseen = unseenCells(cellsOf(project))
    if (unseen.length > 0) throw incomplete(unseen)
  }
}

/** Vitest prints an error of the teardown with its stack and ends with exit code 1; the stack would say nothing. */
function incomplete(unseen: string[]): Error {
  const error = new Error(`${unseen.length} cells of test/support/wire/cells.ts were never seen on the wire`)
  error.stack = `${error.message}:\n  ${unseen.join('\n  ')}`
  return error
}

/** No name, tag or project filter, no watcher, and every test file of every project was among those that ran. */
async function isWholeSuite({ vitest }: TestProject): Promise<boolean> {
  const { testNamePattern, tagsFilter, project, watch } = vitest.config
  if (watch || testNamePattern !== undefined || tagsFilter?.length || project.length > 0) return false
  const ran = new Set(vitest.state.getTestModules().map(({ moduleId, project: { name } }) => `${name} ${moduleId}`))
  const all = await vitest.globTestSpecifications()
  return all.length > 0 && all.every((file) => ran.has(`${file.project.name} ${file.moduleId}`))
}

/** The checker's own tests answer themselves, so what they see does not count. */
function cellsOf({ vitest }: TestProject): Set<string> {
  const modules = vitest.state.getTestModules().filter(({ moduleId }) => !moduleId.includes('/test/support/'))
  return new Set(modules.flatMap((module) => module.meta().wireCells ?? []))
}
