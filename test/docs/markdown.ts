// Reads from a Markdown text what tests check: fenced blocks, code spans, headings and links. Pure.

/** A fenced block. */
export interface Block {
  language: string
  code: string
  /** Line of the opening fence, from 1. */
  line: number
}

export function blocksOf(markdown: string): Block[] {
  const found: Block[] = []
  let open: { language: string; line: number; code: string[] } | undefined
  for (const [i, text] of markdown.split('\n').entries()) {
    const fence = /^```(\w*)\s*$/.exec(text)
    if (!fence) open?.code.push(text)
    else if (open) {
      found.push({ ...open, code: `${open.code.join('\n')}\n` })
      open = undefined
    } else open = { language: fence[1]!, line: i + 1, code: [] }
  }
  if (open) throw new Error(`Could not read the block at line ${open.line}: it has no end`)
  return found
}

/** The text without fenced blocks. */
export function proseOf(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')
}

/** The code spans of the prose. */
export function spansOf(markdown: string): string[] {
  return Array.from(proseOf(markdown).matchAll(/`([^`\n]+)`/g), ([, span]) => span!)
}

/** The targets of `[text](target)`. */
export function linksOf(markdown: string): string[] {
  return Array.from(proseOf(markdown).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!)
}

/** The anchors that headings get. */
export function anchorsOf(markdown: string): string[] {
  return Array.from(proseOf(markdown).matchAll(/^#+ (.+)$/gm), ([, heading]) => {
    return `#${heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
      .replaceAll(' ', '-')}`
  })
}
