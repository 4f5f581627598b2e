// Plain tables for a terminal: the first column to the left, figures to the right.
export function formatTable(title, columns, rows) {
  const cells = [columns, ...rows.map((row) => columns.map((_, i) => row[i] ?? ''))]
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => row[i].length)))
  const lines = cells.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '),
  )
  return ['', title, ...lines.map((line) => `  ${line.trimEnd()}`)].join('\n')
}
