// How tools, resources and prompts get at the notes.

import type { NotesObject } from './notes-object.ts'

/**
 * The one object that holds all notes. A server whose users sign in would take one per user instead:
 * `env.NOTES.getByName(ctx.auth.principal)`.
 */
export function notes(env: Cloudflare.Env): DurableObjectStub<NotesObject> {
  return env.NOTES.getByName('notes')
}
