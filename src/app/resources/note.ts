// A family of resources: one template, and what is needed to list, complete and read what it stands for.

import { defineResourceTemplate } from '../../server/index.ts'
import { firstLine, noteUri } from '../notes/note.ts'
import { notes } from '../notes/notes.ts'

export const note = defineResourceTemplate('note://{id}', {
  name: 'note',
  title: 'Note',
  description: 'One note. add_note and search_notes give its URI.',
  mimeType: 'text/markdown',
  scopes: ['notes:read'],
  async list(ctx) {
    const all = await notes(ctx.env).all()
    return all.map(({ id, text, changedAt }) => ({
      uri: noteUri(id),
      name: id,
      description: firstLine(text),
      mimeType: 'text/markdown',
      annotations: { lastModified: new Date(changedAt).toISOString() },
    }))
  },
  complete: { id: (typed, ctx) => notes(ctx.env).ids(typed) },
  async read({ id }, ctx) {
    const found = await notes(ctx.env).get(id)
    // undefined means that there is no such resource.
    return found?.text
  },
})
