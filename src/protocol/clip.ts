// Text of a caller on its way back to it, or into the log: as much as shows what was meant.

/** The first characters of a text, 100 unless told, and an ellipsis when there are more. */
export function clip(text: string, chars = 100): string {
  return text.length > chars ? `${text.slice(0, chars)}…` : text
}
