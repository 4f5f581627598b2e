// A tool that takes a while. Clients that take tasks get one at once and come back for the result; for others it runs as
// an ordinary call. Each page is a step, done once even when the handler is entered again, after a crash for example.

import * as z from 'zod'
import { defineTool } from '../../server/index.ts'
import { notes } from '../notes/notes.ts'
import { renderNote } from '../notes/render.ts'

export const exportNotes = defineTool('export_notes', {
  title: 'Export all notes',
  description: 'Render every note into one document and return it.',
  inputSchema: z.object({ format: z.enum(['html', 'markdown']).default('markdown') }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  scopes: ['notes:read'],
  task: {
    support: 'optional',
    ttlMs: 3_600_000,
    pollIntervalMs: 2_000,
    immediateResponse: 'The export has begun. Ask for its result in a moment.',
  },
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
      // Sent to callers that asked for progress; of a task it becomes the status message.
      ctx.progress(i + 1, ids.length, `Rendered ${id}`)
    }
    return document === '' ? 'There are no notes to export.' : document
  },
})
