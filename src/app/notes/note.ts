// What a note is, for every tool, resource and prompt that takes or shows one. No storage here.

import * as z from 'zod'

/**
 * Bounds of the example. Everybody who can reach this server shares its notes, so they must not grow without end:
 * at most 100 × 2,000 characters, and each is forgotten 30 days after it was last written.
 */
export const noteLimits = { notes: 100, textChars: 2_000, keepMs: 30 * 24 * 60 * 60 * 1000 }

/** The handle of a note. State is never tied to a connection: `add_note` hands this out, everything else takes it. */
export const NoteId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'use lowercase letters, digits and hyphens, at most 64')
  .describe('Name of the note: lowercase letters, digits and hyphens, for example "milk-and-eggs".')

export interface Note {
  id: string
  text: string
  /** ms since the epoch. */
  changedAt: number
}

/** Where the note is read as a resource. */
export function noteUri(id: string): string {
  return `note://${id}`
}

/** Where all of them are read at once. */
export const INDEX_URI = 'notes://index'

/** The first line of a text, shortened, to recognise a note by. */
export function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0]!
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}
