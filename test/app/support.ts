// What the example's tests share: notes to begin with, and the object they are in.

import { reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach } from 'vitest'
import { notes } from '../../src/app/notes/notes.ts'

/** The one object the example keeps its notes in. */
export const store = () => notes(env)

/** Begins every test with exactly these notes. */
export function startWith(texts: { [id: string]: string } = {}): void {
  beforeEach(async () => {
    await reset()
    for (const [id, text] of Object.entries(texts)) await store().put(id, text, false)
  })
}
