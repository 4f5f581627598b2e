// A tool that takes a while: it reports progress, and each page is a step, done once in the life of the call even when
// the handler is entered again.

import * as z from 'zod'
import { defineTool } from '../../server/index.ts'
import { notes } from '../notes/notes.ts'
import { renderNote } from '../notes/render.ts'

export const exportNotes = defineTool('export_notes', {
  title: 'Export all notes',
  description: 'Render every note into one document and return it.',
  inputSchema: z.object({ format: z.enum(['html', 'markdown']).default('markdown') }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler({ format }, ctx) {
    const ids = await ctx.step('ids', () => notes(ctx.env).ids())
    let document = ''
    for (const [i, id] of ids.entries()) {
      // The caller may be gone: stop instead of working for nobody.
      ctx.signal.throwIfAborted()
      document += await ctx.step(`page:${id}`, async () => {
        const note = await notes(ctx.env).get(id)
        return note ? renderNote(note, format) : ''
      })
      // Only sent to callers that asked for progress.
      ctx.progress(i + 1, ids.length, `Rendered ${id}`)
    }
    return document === '' ? 'There are no notes to export.' : document
  },
})
