// A tool that asks the user. The handler runs twice: up to the question, and from the start again with the answer.
// So everything before `ctx.elicit` only looks, and the deleting comes after it.

import * as z from 'zod'
import { defineForm, defineTool, ToolError } from '../../server/index.ts'
import { firstLine, INDEX_URI, NoteId, noteUri } from '../notes/note.ts'
import { notes } from '../notes/notes.ts'

// Checked when the Worker starts: forms are flat, or a client could not show them.
const Confirmation = defineForm(z.object({ confirm: z.boolean().meta({ title: 'Yes, delete it' }) }))

export const deleteNote = defineTool('delete_note', {
  title: 'Delete a note',
  description: 'Delete a note for good, after the user has confirmed it.',
  inputSchema: z.object({ id: NoteId }),
  annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  scopes: ['notes:write'],
  async handler({ id }, ctx) {
    const note = await notes(ctx.env).get(id)
    if (!note) throw new ToolError(`There is no note "${id}". Find the right id with search_notes.`)
    const answer = await ctx.elicit('confirm', {
      message: `Delete note "${id}" (${firstLine(note.text)})? This cannot be undone.`,
      schema: Confirmation,
    })
    // Declining is an answer, not an error.
    if (answer.action !== 'accept' || !answer.content.confirm) return `Kept ${id}: the user did not confirm.`
    await notes(ctx.env).delete(id)
    // After the effect, so that who hears of it and looks finds it done.
    ctx.notify.resourcesListChanged()
    ctx.notify.resourceUpdated(noteUri(id))
    ctx.notify.resourceUpdated(INDEX_URI)
    return `Deleted ${id}.`
  },
})
