// What this server offers. Replace src/app with your own: README.md, Deleting the example, lists what goes with it.

import { defineServer } from '../server/index.ts'
import { reviewNote } from './prompts/review-note.ts'
import { noteIndex } from './resources/note-index.ts'
import { note } from './resources/note.ts'
import { addNote } from './tools/add-note.ts'
import { deleteNote } from './tools/delete-note.ts'
import { exportNotes } from './tools/export-notes.ts'
import { searchNotes } from './tools/search-notes.ts'

export const server = defineServer({
  name: 'notes',
  version: '1.0.0',
  title: 'Notes',
  description: 'Short notes, shared by everybody who can reach this server.',
  instructions:
    'Keeps short notes. Every note has an id, and is also a resource note://{id}. Look with search_notes before adding a note or naming an id. Notes are shared by all callers and forgotten 30 days after they were last written.',
  tools: [addNote, searchNotes, deleteNote, exportNotes],
  resources: [note, noteIndex],
  prompts: [reviewNote],
  // Who may write may read.
  scopeImplies: { 'notes:write': ['notes:read'] },
})
