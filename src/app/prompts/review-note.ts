// A prompt: a message the user picks, with arguments that the host fills in. Enums complete themselves.

import * as z from 'zod'
import { definePrompt, ProtocolError } from '../../server/index.ts'
import { NoteId, noteUri } from '../notes/note.ts'
import { notes } from '../notes/notes.ts'

export const reviewNote = definePrompt('review_note', {
  title: 'Review a note',
  description: 'Review a note in one tone.',
  arguments: z.object({
    id: NoteId,
    tone: z.enum(['kind', 'blunt']).default('kind').describe('How to say it.'),
  }),
  scopes: ['notes:read'],
  complete: { id: (typed, ctx) => notes(ctx.env).ids(typed) },
  async get({ id, tone }, ctx) {
    const note = await notes(ctx.env).get(id)
    if (!note) throw new ProtocolError('InvalidParams', `Unknown note: ${id}`)
    const resource = { uri: noteUri(id), mimeType: 'text/markdown', text: note.text }
    return [
      {
        role: 'user',
        content: { type: 'text', text: `Review this note: what is unclear, what is missing? Be ${tone}.` },
      },
      { role: 'user', content: { type: 'resource', resource } },
    ]
  },
})
