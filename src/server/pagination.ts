// Opaque cursors over a list that is known whole. @see server/utilities/pagination

import { ProtocolError } from '../protocol/errors.ts'

export interface Page<T> {
  items: readonly T[]
  nextCursor?: string
}

/**
 * One page of `items`.
 * @param list names the list, so that a cursor of another list is refused
 * @param size items a page; undefined puts everything on one
 * @throws {ProtocolError} InvalidParams for a cursor this list did not hand out
 */
export function paginate<T>(list: string, items: readonly T[], size: number | undefined, cursor?: string): Page<T> {
  const start = cursor === undefined ? 0 : decodeCursor(list, cursor)
  if (start > 0 && start >= items.length) throw badCursor()
  const end = size === undefined ? items.length : start + size
  const page = start === 0 && end >= items.length ? items : items.slice(start, end)
  return end < items.length ? { items: page, nextCursor: encodeCursor(list, end) } : { items: page }
}

function encodeCursor(list: string, offset: number): string {
  return btoa(`${list}:${offset}`).replaceAll('=', '')
}

function decodeCursor(list: string, cursor: string): number {
  const match = /^([^:]+):([1-9]\d{0,8})$/.exec(decode(cursor))
  if (match?.[1] !== list || encodeCursor(list, Number(match[2])) !== cursor) throw badCursor()
  return Number(match[2])
}

function decode(cursor: string): string {
  try {
    return atob(cursor)
  } catch {
    // Not base64, so not a cursor of ours.
    return ''
  }
}

function badCursor(): ProtocolError {
  return new ProtocolError('InvalidParams', 'Invalid params: cursor is none that this list handed out')
}
