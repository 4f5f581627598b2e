// One note as one page of an export.

import type { Note } from './note.ts'

export type ExportFormat = 'html' | 'markdown'

export function renderNote({ id, text }: Note, format: ExportFormat): string {
  if (format === 'markdown') return `## ${id}\n\n${text}\n`
  return `<section id="${id}"><h2>${id}</h2><pre>${escapeHtml(text)}</pre></section>\n`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
