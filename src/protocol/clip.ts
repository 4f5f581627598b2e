// Text of a caller on its way back to it, or into the log: as much as shows what was meant.

/** The first 100 characters of a text, and an ellipsis when there are more. */
export function clip(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
