// A tool that only reads. Its answer is structured, so that a program can use it as well as a model.

import * as z from 'zod'
import { defineTool } from '../../server/index.ts'
import { firstLine, noteUri } from '../notes/note.ts'
import { notes } from '../notes/notes.ts'

export const searchNotes = defineTool('search_notes', {
  title: 'Search notes',
  description: 'Find the notes that contain every word of a query, in any case. An empty query finds all of them.',
  inputSchema: z.object({
    query: z.string().max(200).default('').describe('Words to look for, separated by spaces.'),
    limit: z.int().min(1).max(100).default(20).describe('How many notes to return at most.'),
  }),
  outputSchema: z.object({
    notes: z.array(z.object({ id: z.string(), uri: z.string(), firstLine: z.string() })),
    total: z.int().describe('How many notes match, also those over the limit.'),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  scopes: ['notes:read'],
  async handler({ query, limit }, ctx) {
    const found = await notes(ctx.env).search(query.split(/\s+/).filter(Boolean))
    const shown = found.slice(0, limit).map(({ id, text }) => ({ id, uri: noteUri(id), firstLine: firstLine(text) }))
    return { notes: shown, total: found.length }
  },
})
