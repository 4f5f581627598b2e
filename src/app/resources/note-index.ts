// One resource with a fixed URI: the table of contents, to attach to a conversation in one go.

import { defineResource } from '../../server/index.ts'
import { firstLine, INDEX_URI, noteUri } from '../notes/note.ts'
import { notes } from '../notes/notes.ts'

export const noteIndex = defineResource(INDEX_URI, {
  name: 'index',
  title: 'All notes',
  description: 'The URI and first line of every note.',
  mimeType: 'text/markdown',
  scopes: ['notes:read'],
  async read(ctx) {
    const all = await notes(ctx.env).all()
    return all.map(({ id, text }) => `- ${noteUri(id)}: ${firstLine(text)}\n`).join('')
  },
})
