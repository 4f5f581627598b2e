// A tool: a name, a description for the model, schemas for what goes in and out, and a handler.

import * as z from 'zod'
import { defineTool, ToolError } from '../../server/index.ts'
import { INDEX_URI, NoteId, noteLimits, noteUri } from '../notes/note.ts'
import { notes } from '../notes/notes.ts'

export const addNote = defineTool('add_note', {
  title: 'Add a note',
  description: 'Save a short note under an id and return its URI. Refuses an id that is taken, unless replace is true.',
  inputSchema: z.object({
    id: NoteId,
    text: z.string().trim().min(1).max(noteLimits.textChars).describe('The note itself, plain text or markdown.'),
    replace: z.boolean().default(false).describe('Overwrite a note that has this id.'),
  }),
  outputSchema: z.object({ uri: z.string(), replaced: z.boolean() }),
  // Hints for hosts: `replace` can lose text, and saving the same note twice changes nothing more.
  annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  // What a token must be good for. Nothing is checked with AUTH = "none".
  scopes: ['notes:write'],
  async handler({ id, text, replace }, ctx) {
    const outcome = await notes(ctx.env).put(id, text, replace)
    // The model reads the text of a ToolError, so it says what to do next.
    if (outcome === 'exists') {
      throw new ToolError(
        `There already is a note "${id}". Choose another id, or pass "replace": true to overwrite it.`,
      )
    }
    if (outcome === 'full') {
      throw new ToolError(
        `There are ${noteLimits.notes} notes, which is all there may be. Delete one with delete_note first.`,
      )
    }
    // Whoever listens is told, in whichever isolate they are connected: the list has one more, or this note is another now.
    if (outcome === 'added') ctx.notify.resourcesListChanged()
    ctx.notify.resourceUpdated(noteUri(id))
    ctx.notify.resourceUpdated(INDEX_URI)
    // With an outputSchema this becomes structuredContent, and its text copy.
    return { uri: noteUri(id), replaced: outcome === 'replaced' }
  },
})
